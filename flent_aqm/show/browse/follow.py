# SPDX-License-Identifier: GPL-3.0-or-later
"""Results that grow while they are watched: each data file is read once, when it is there."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.words import plain
from flent_aqm.results import status
from flent_aqm.results.data_file import SUFFIX
from flent_aqm.results.many_files import each_file
from flent_aqm.show.report.gather import Row, row_of
from flent_aqm.show.report.html import progress_html, render, sections_html, top_html
from flent_aqm.show.report.model import Folder, Report, build, progress

# A sweep needs the cores more: no more than a tenth of the time goes into the page.
_REST_FACTOR = 10


class Follower:
    """folders: of results. look() reads what is new; the other methods tell of it and may be
    called by threads. Raises ConfigError for a folder that isn't there."""

    def __init__(self, folders: Sequence[Path], title: str, jobs: int | None = None) -> None:
        for folder in folders:
            if not os.path.isdir(folder):
                raise ConfigError(f"{folder}: no folder; expected one that a sweep writes to")
        self._folders, self._title, self._jobs = folders, title, jobs
        self._known: dict[Path, tuple[tuple[int, int], Row | BadResult]] = {}
        self._version = 0
        self._built: tuple[int, Report] | None = None
        self._rest_until_s = 0.0
        self._lock = threading.Lock()

    def look(self) -> None:
        """Read new files and changed ones; forget those that have gone."""
        stamps = dict(self._files())
        new = [path for path, stamp in stamps.items()
               if path not in self._known or self._known[path][0] != stamp]
        gone = self._known.keys() - stamps.keys()
        found = {path: (stamps[path], result)
                 for path, result in each_file(new, row_of, self._jobs)}
        if found or gone:
            with self._lock:
                self._known = {path: one for path, one in {**self._known, **found}.items()
                               if path not in gone}
                self._version += 1

    def state(self) -> Mapping[str, Any]:
        """version: goes up with new files; progress: as HTML."""
        now_s = time.time()
        return {"version": self._version, "progress": progress_html(
            [progress(one, now_s) for one in self._places()])}

    def page(self) -> str:
        """The whole page."""
        version, report = self._report()
        return render(report, follow=version)

    def data(self) -> Mapping[str, Any]:
        """What changes on the page: data for its script, and HTML."""
        version, report = self._report()
        return {"version": version, "data": report.data, "top": top_html(report),
                "sections": sections_html(report)}

    def _report(self) -> tuple[int, Report]:
        with self._lock:
            if self._built is None or (self._built[0] != self._version
                                       and time.monotonic() >= self._rest_until_s):
                began_s = time.monotonic()
                known = sorted(self._known.items())
                self._built = self._version, build(
                    [row for _, (_, row) in known if isinstance(row, Row)],
                    [(path, str(fault).removeprefix(f"{plain(path)}: "))
                     for path, (_, fault) in known if isinstance(fault, BadResult)],
                    self._places(), self._title)
                now_s = time.monotonic()
                self._rest_until_s = now_s + _REST_FACTOR * (now_s - began_s)
            return self._built

    def _places(self) -> list[Folder]:
        places = dict.fromkeys([*self._folders, *(path.parent for path in sorted(self._known))])
        found = [Folder(path, status.count_done(path), status.read(path)) for path in places]
        return [one for one in found if one.done or one.status]

    def _files(self) -> Iterator[tuple[Path, tuple[int, int]]]:
        """Data files below the folders, with what changes when they do. None that a symbolic
        link brings in from elsewhere."""
        for folder in self._folders:
            top = folder.resolve()
            for place, folders, names in os.walk(folder, followlinks=False):
                folders.sort()
                for name in sorted(names):
                    path = Path(place, name)
                    if not name.endswith(SUFFIX) or name.startswith("."):
                        continue
                    try:
                        if path.resolve().is_relative_to(top) and path.is_file():
                            about = path.stat()
                            yield path, (about.st_mtime_ns, about.st_size)
                    except OSError:
                        continue  # it went away meanwhile

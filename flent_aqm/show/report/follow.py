# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep a report up to date while a sweep writes data files. Each file is read once.

Nothing in a data file ends it. A run that can't be shown is listed as damaged until its file
changes or is removed. Errors that don't belong to a single run are shown above the page.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult, ConfigError, a_defect, cause_of, why_unreadable
from flent_aqm.base.json_text import json_text
from flent_aqm.base.words import plain
from flent_aqm.results import status
from flent_aqm.results.data_file import SUFFIX
from flent_aqm.results.many_files import each_file
from flent_aqm.show.report.gather import ReportRow, row_of
from flent_aqm.show.report.html import (
    fault_html,
    glitches_html,
    progress_html,
    render,
    sections_html,
    top_html,
)
from flent_aqm.show.report.model import Folder, Report, build, progress
from flent_aqm.show.report.odd import odd_runs

# After building a page, rest ten times as long, so that the sweep has the processors.
_REST_FACTOR = 10


class Follower:
    """Makes a report's page, and its data for updates, which it keeps until the results change.

    look() reads new files, and is called by one thread only. Until its first call there are no
    runs. page(), data() and state() return answers to a browser as bytes, and may be called by any
    number of threads. Raises ConfigError if a folder can't be read, or isn't a folder.

    Args:
        folders: folders of results.
        title: heading of the page.
        jobs: largest number of processes that read files, None for one per core.
    """

    def __init__(self, folders: Sequence[Path], title: str, jobs: int | None = None) -> None:
        for folder in folders:
            if why := why_unreadable(folder):
                raise ConfigError(f"{folder}: {why}; expected a folder that a sweep writes to")
        self._folders, self._title, self._jobs = folders, title, jobs
        self._results: dict[Path, tuple[tuple[int, int], ReportRow | BadResult]] = {}
        self._version = 0
        self._built: tuple[int, Report] | None = None
        self._made: dict[str, tuple[int, bytes]] = {}
        self._rest_until_s = 0.0
        self._lock = threading.Lock()
        # Errors of the last look() and of the last page, "" if there was none.
        self._faults = {"look": "", "page": ""}
        self._progress = self._progress_of(self._results)

    def look(self) -> None:
        """Read new and changed files, and forget those that were removed. Doesn't raise: after an
        error no new runs are shown, and state() tells it until a later call succeeds."""
        try:
            self._look()
        except OSError as error:  # such as a folder that can't be read any more
            where = f"{error.filename}: " if error.filename else ""
            self._faults["look"] = f"no new runs are shown: {where}{cause_of(error)}"
        except Exception as error:
            self._faults["look"] = f"no new runs are shown: {a_defect(error)}"
        else:
            self._faults["look"] = ""

    def _look(self) -> None:
        """Read new and changed files, forget those that were removed, and renew the progress of the
        sweeps. The version increases if any file was read or removed. Files that can't be read are
        kept as damaged. Raises any other error, such as one of the processes that read files. Then
        results, progress and version stay as they were."""
        stamps = dict(self._files())
        new = [path for path, stamp in stamps.items()
               if path not in self._results or self._results[path][0] != stamp]
        gone = self._results.keys() - stamps.keys()
        fresh = {path: (stamps[path], result)
                 for path, result in each_file(new, row_of, self._jobs)}
        results = {path: one for path, one in {**self._results, **fresh}.items()
                   if path not in gone}
        progress = self._progress_of(results)
        with self._lock:
            self._progress = progress
            if fresh or gone:
                self._results = results
                self._version += 1

    def state(self) -> bytes:
        """Return JSON with `progress`, the progress of the sweeps and errors as HTML, and
        `version`, a whole number: that of the answers of page() and data(), unless these can't be
        made. It increases when files are added, changed or removed. After a page was built, it
        stays for a time that grows with the time of building, and changes meanwhile count
        afterwards."""
        built = self._built
        resting = built is not None and time.monotonic() < self._rest_until_s
        version = built[0] if built is not None and resting else self._version
        return _json({"version": version, "progress": "".join(
            [*map(fault_html, filter(None, self._faults.values())), self._progress])})

    def page(self) -> bytes:
        """Return the whole page as HTML in UTF-8. If it can't be made, it is an older one, or one
        without runs."""
        return self._answer("page", lambda version, report: _bytes(render(report, follow=version)))

    def data(self) -> bytes:
        """Return JSON with the parts of the page that change: `version`, a whole number that tells
        the page which answer it has (see state()), `data` for its script, and `top`, `sections` and
        `glitches` as HTML. If they can't be made, they are older ones, or those of a page without
        runs."""
        return self._answer("data", lambda version, report: _json({
            "version": version, "data": report.data, "top": top_html(report),
            "sections": sections_html(report), "glitches": glitches_html(report)}))

    def _answer(self, name: str, make: Callable[[int, Report], bytes]) -> bytes:
        """Return an answer, made once for each version. Other callers wait meanwhile. If making it
        raises any error, runs for which no page can be made (see odd_runs()) count as damaged until
        their files change, and it is made again without them. If that fails, too, the previous
        answer is returned, or one of a page without runs, and state() tells the error until an
        answer is made.

        Args:
            name: key of the answer, "page" or "data".
            make: makes the answer from version and report.
        """
        with self._lock:
            try:
                return self._answer_for_version(name, make)
            except Exception:
                self._leave_out_odd_runs()
            try:
                return self._answer_for_version(name, make)
            except Exception as error:
                shown = "the page is an older one" if name in self._made else "no run can be shown"
                self._faults["page"] = f"{shown}: {a_defect(error)}"
            return self._made[name][1] if name in self._made else make(
                self._version, build([], [], [], self._title))

    def _answer_for_version(self, name: str, make: Callable[[int, Report], bytes]) -> bytes:
        """Return an answer: the previous one if it has the report's version, otherwise a new one,
        which ends the error of the page in state(). Arguments: as for _answer(). Raises any error
        of building the report or of `make`. Called with the lock held."""
        version, report = self._report()
        if name not in self._made or self._made[name][0] != version:
            self._made[name] = version, make(version, report)
            self._faults["page"] = ""
        return self._made[name][1]

    def _leave_out_odd_runs(self) -> None:
        """Treat each run for which no page can be made as a damaged file until the file changes.
        Then the version increases, and the next call of _report() builds a report at once. Without
        such a run nothing changes. Called with the lock held."""
        odd = odd_runs([row for _, row in self._results.values() if isinstance(row, ReportRow)])
        if not odd:
            return  # of no run alone: the same error would follow at each request
        results = {path: (stamp, BadResult(f"{plain(path)}: {odd[path]}") if path in odd else row)
                   for path, (stamp, row) in self._results.items()}
        self._results = results
        self._version += 1
        self._built, self._rest_until_s = None, 0.0

    def _report(self) -> tuple[int, Report]:
        """Return a report and, before it, its version. The first call builds it. A later call
        builds a new one if the results have changed, and if _REST_FACTOR times the duration of the
        last build has passed since its end; otherwise it returns the last one. Raises any error of
        build(). Called with the lock held."""
        if self._built is None or (self._built[0] != self._version
                                   and time.monotonic() >= self._rest_until_s):
            began_s = time.monotonic()
            results = sorted(self._results.items())
            self._built = self._version, build(
                [row for _, (_, row) in results if isinstance(row, ReportRow)],
                [(path, str(fault).removeprefix(f"{plain(path)}: "))
                 for path, (_, fault) in results if isinstance(fault, BadResult)],
                self._folders_of(self._results), self._title)
            now_s = time.monotonic()
            self._rest_until_s = now_s + _REST_FACTOR * (now_s - began_s)
        return self._built

    def _progress_of(self, paths: Iterable[Path]) -> str:
        """Return the progress of the sweeps in the watched folders, and in the folders of data
        files, as HTML. Sweeps that have ended with all runs done are left out; "" if no other is
        there.

        Args:
            paths: the data files.
        """
        now_s = time.time()
        return progress_html([progress(one, now_s) for one in self._folders_of(paths)])

    def _folders_of(self, files: Iterable[Path]) -> list[Folder]:
        """Return a Folder for each watched folder, and then for each other folder in which one of
        `files` lies. Folders, also watched ones, without a sweep's status and without data files of
        their own are left out; those of subfolders don't count."""
        paths = dict.fromkeys([*self._folders, *(path.parent for path in sorted(files))])
        folders = [Folder(path, status.count_done(path), status.read(path)) for path in paths]
        return [one for one in folders if one.done or one.status]

    def _files(self) -> Iterator[tuple[Path, tuple[int, int]]]:
        """Yield the data files (*.flent.gz) in and below the watched folders, each with
        (modification time in ns, size in bytes), which shows changes. Left out are hidden files
        (but not those in hidden folders), files that were removed meanwhile, links that lead out of
        the watched folder, and all that is behind links to folders. A file below two watched
        folders is yielded twice. Raises OSError if a folder that is there can't be read."""
        def refuse(error: OSError) -> None:
            """Raise the error unless the folder was removed."""
            if not isinstance(error, FileNotFoundError):
                raise error

        for folder in self._folders:
            top = folder.resolve()
            for place, folders, names in os.walk(folder, onerror=refuse):
                folders.sort()
                for name in sorted(names):
                    path = Path(place, name)
                    if not name.endswith(SUFFIX) or name.startswith("."):
                        continue
                    try:
                        if path.resolve().is_relative_to(top) and path.is_file():
                            about = path.stat()
                            yield path, (about.st_mtime_ns, about.st_size)
                    except (OSError, RuntimeError):
                        continue  # the file was removed meanwhile, or is a link to itself


def _json(whole: Any) -> bytes:
    """Return a value as JSON in UTF-8, without blanks after commas and colons, and with null in
    place of each number that is not finite. Raises TypeError if JSON has no such type, such as an
    array of numpy."""
    return _bytes(json_text(whole, compact=True))


def _bytes(text: str) -> bytes:
    """Return a text as UTF-8. Characters that UTF-8 can't encode become "?"."""
    return text.encode("utf-8", "replace")

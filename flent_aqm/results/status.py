# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a sweep has come, in a small file beside its data files: `sweep.json`.

A data file tells all of its run. What none can tell is here: how many runs there are to be,
and why some have no data file.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flent_aqm.base.regular_file import read_note
from flent_aqm.base.whole_file import write_text
from flent_aqm.results.data_file import SUFFIX, a_number

NAME = "sweep.json"
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Status:
    """command: words of the command that began it, as typed; planned: runs in all; before:
    data files that were there when it began; began_s, ended_s: host's epoch seconds,
    ended_s None while it goes on; failed: data file's name -> cause; batches: the batch files of
    the sweep and of those before it that it resumed, each a path -> SHA-256 of its content."""

    command: Sequence[str]
    planned: int
    before: int
    began_s: float
    ended_s: float | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    batches: Sequence[Mapping[str, str]] = ()

    def with_failed(self, name: str, cause: str) -> Status:
        return replace(self, failed={**self.failed, name: cause})

    def ended(self) -> Status:
        return replace(self, ended_s=time.time())

    def left_s(self, done: int, now_s: float) -> float | None:
        """Return seconds until its end at the pace so far; None before the first run has ended,
        and after the end. done: data files that are there now."""
        ended = done - self.before + len(self.failed)
        left = self.planned - done - len(self.failed)
        if self.ended_s is not None or ended < 1:
            return None
        return max(0.0, (now_s - self.began_s) * max(left, 0) / ended)


def write(folder: Path, status: Status) -> None:
    """Put it into the folder, whole. A full disk doesn't end a sweep: then it stays away."""
    with contextlib.suppress(OSError):
        write_text(folder / NAME, json.dumps({
            "schema": SCHEMA_VERSION, "command": list(status.command),
            "planned": status.planned, "before": status.before, "began_s": status.began_s,
            "ended_s": status.ended_s, "failed": dict(status.failed),
            "batches": [dict(files) for files in status.batches]}, indent=1) + "\n")


def read(folder: Path) -> Status | None:
    """Return a folder's; None where there is none, or none that makes sense: it may be
    anybody's."""
    path = folder / NAME
    try:
        if path.is_symlink():
            return None
        note: Any = read_note(path)
    except (OSError, ValueError):
        return None
    if not isinstance(note, dict) or note.get("schema") != SCHEMA_VERSION:
        return None
    began_s, failed, command = a_number(note.get("began_s")), note.get("failed"), \
        note.get("command")
    planned, before = note.get("planned"), note.get("before")
    if began_s is None or not isinstance(failed, dict) or not isinstance(command, list) \
            or type(planned) is not int or type(before) is not int:
        return None
    return Status([str(word) for word in command], planned, before, began_s,
                  a_number(note.get("ended_s")),
                  {name: str(cause) for name, cause in failed.items()},
                  _batches(note.get("batches")))


def _batches(note: Any) -> tuple[dict[str, str], ...]:
    """Return the batch files that a note names; none of what is no path with a hash."""
    if not isinstance(note, list):
        return ()
    read = ({path: digest for path, digest in files.items() if isinstance(digest, str)}
            for files in note if isinstance(files, dict))
    return tuple(files for files in read if files)


def count_done(folder: Path) -> int:
    """Data files in a folder."""
    return sum(not path.name.startswith(".") for path in folder.glob(f"*{SUFFIX}"))

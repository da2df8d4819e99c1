# SPDX-License-Identifier: GPL-3.0-or-later
"""Read and write `sweep.json`, a file beside a sweep's data files with the sweep's status.

A data file describes its own run. sweep.json has what no data file can tell: how many runs are
planned, and why some have no data file.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flent_aqm.base.json_text import json_text
from flent_aqm.base.regular_file import read_note
from flent_aqm.base.whole_file import write_text
from flent_aqm.results.data_file import SUFFIX, a_number

NAME = "sweep.json"
RESULTS = "results"  # folder in whose subfolders batches write, below the user's current folder
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Status:
    """Status of a sweep in one of its results folders.

    Attributes:
        command: words of the command line that began it.
        planned: number of runs of the folder: those of the sweep, and those of other batches whose
            data files are in the folder.
        before: number of these runs whose data files existed when the sweep began.
        began_s: start in epoch seconds of the host.
        ended_s: end in epoch seconds of the host, None while the sweep is running, and if it was
            killed.
        failed: name of a data file -> why there is none: cause of its run's failure, or why the run
            was not made.
        batches: path of a batch file -> SHA-256, for each earlier sweep whose data files are in the
            folder, and for this sweep. Equal ones are there once. Empty if this sweep has no batch
            file.
        earlier: words of the different command lines of earlier sweeps whose data files are in the
            folder, the oldest first.
    """

    command: Sequence[str]
    planned: int
    before: int
    began_s: float
    ended_s: float | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    batches: Sequence[Mapping[str, str]] = ()
    earlier: Sequence[Sequence[str]] = ()

    @property
    def commands(self) -> list[Sequence[str]]:
        """Words of the command lines of all sweeps in the folder, this one's last."""
        return [*self.earlier, self.command]

    def with_failed(self, name: str, cause: str) -> Status:
        """Return a copy of the status in which a run has failed, or was not made.

        Args:
            name: name of its data file, with suffix.
            cause: cause of the failure.
        """
        return replace(self, failed={**self.failed, name: cause})

    def resumed_with(self, folder: str) -> str:
        """Return words behind "start it again" that tell how the sweep makes its missing runs:
        "with --batch-resume FOLDER" if Flent began it, else "by the same command", because commands
        that plan their own runs, such as `flent-aqm scorecard`, have no such option.

        Args:
            folder: path of the results folder, as it is to be shown.
        """
        began_by_flent = bool(self.command) and Path(self.command[0]).name == "flent"
        return f"with --batch-resume {folder}" if began_by_flent else "by the same command"

    def ended(self) -> Status:
        """Return a copy of the status whose end is the present time."""
        return replace(self, ended_s=time.time())

    def left_s(self, done: int, now_s: float) -> float | None:
        """Return the seconds until the end of the sweep at its mean pace so far, 0 if no run is
        left. Failed runs count as ended. None before the first run has ended, and after the sweep's
        end.

        Args:
            done: number of data files that exist now, with those from before the sweep.
            now_s: the time in epoch seconds.
        """
        ended = done - self.before + len(self.failed)
        left = self.planned - done - len(self.failed)
        if self.ended_s is not None or ended < 1:
            return None
        return max(0.0, (now_s - self.began_s) * max(left, 0) / ended)


def write(folder: Path, status: Status) -> None:
    """Write the status to sweep.json in the folder, which must exist, atomically. An OSError is
    ignored, because a full disk must not end a sweep."""
    with contextlib.suppress(OSError):
        write_text(folder / NAME, json_text({
            "schema": SCHEMA_VERSION, "command": list(status.command),
            "planned": status.planned, "before": status.before, "began_s": status.began_s,
            "ended_s": status.ended_s, "failed": dict(status.failed),
            "batches": [dict(files) for files in status.batches],
            "earlier": [list(words) for words in status.earlier]}, indent=1) + "\n")


def read(folder: Path) -> Status | None:
    """Return the status in a folder's sweep.json. None if there is none that can be read, if it is
    a symbolic link, damaged, or of another version than SCHEMA_VERSION: the file may come from
    anyone. A damaged end counts as missing. Damaged parts of `batches` and `earlier` are left out.
    """
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
                  _batches(note.get("batches")), _commands(note.get("earlier")))


def _batches(note: Any) -> tuple[dict[str, str], ...]:
    """Return the batch files in the entry `batches` of a sweep.json: path -> SHA-256, for each
    sweep. Hashes that are no text are left out, and sweeps that have no other or are no object.
    Empty if the entry is not a list."""
    if not isinstance(note, list):
        return ()
    read = ({path: digest for path, digest in files.items() if isinstance(digest, str)}
            for files in note if isinstance(files, dict))
    return tuple(files for files in read if files)


def _commands(note: Any) -> tuple[list[str], ...]:
    """Return the command lines in the entry `earlier` of a sweep.json, each as its words. Empty if
    the entry is not a list. What is no list in it is left out."""
    return tuple([str(word) for word in words] for words in note if isinstance(words, list)) \
        if isinstance(note, list) else ()


def count_done(folder: Path) -> int:
    """Return the number of data files (*.flent.gz) in a folder, without hidden ones and those in
    subfolders. 0 if there is no such folder."""
    return sum(not path.name.startswith(".") for path in folder.glob(f"*{SUFFIX}"))


def newest_folder(results: Path) -> Path | None:
    """Return the folder to which an entry was last added, renamed or removed, of those that have
    data files or a sweep's status: `results` and its subfolders. None if there is none."""
    try:
        folders = [path for path in results.iterdir() if path.is_dir()]
    except OSError:
        return None
    folders = [path for path in (*folders, results) if count_done(path) or read(path) is not None]
    return max(folders, key=lambda path: path.stat().st_mtime, default=None)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Read data files, and the status of their sweeps, for a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.words import plain
from flent_aqm.results import status
from flent_aqm.results.many_files import counted_once, each_file, files_below, find_files
from flent_aqm.show.report.gather import ReportRow, row_of
from flent_aqm.show.report.model import Folder


def read(paths: Sequence[Path], jobs: int | None = None
         ) -> tuple[list[ReportRow], list[tuple[Path, str]], list[Folder]]:
    """Read data files. Return the rows of good files, (path, cause) of damaged files, and their
    folders (see folders_of()). Of runs with the same samples and settings, only the first counts
    (see counted_once()). If any are left out, a line on standard error tells how many. Progress is
    shown on a terminal.

    Args:
        paths: data files and folders.
        jobs: largest number of processes, None for one per core.

    Raises ConfigError if a path doesn't exist or has no data files. A folder with a sweep's status
    may have none.
    """
    rows: list[ReportRow] = []
    damaged: list[tuple[Path, str]] = []
    files = files_of(paths)
    for path, result in each_file(files, row_of, jobs):
        if isinstance(result, BadResult):
            damaged.append((path, str(result).removeprefix(f"{plain(path)}: ")))
        else:
            rows.append(result)
    rows, copies = counted_once(rows)
    if copies:
        print(f"flent-aqm: {copies}", file=sys.stderr)
    return rows, damaged, folders_of(paths, files)


def files_of(paths: Sequence[Path]) -> list[Path]:
    """Return the data files at and below the paths, in the order of find_files(). Raises
    ConfigError if a path doesn't exist or has no data files. Only a folder with a sweep's status
    may have none, so the list may be empty."""
    empty = [path for path in paths if os.path.isdir(path) and status.read(path) is not None
             and next(files_below(path), None) is None]
    others = [path for path in paths if path not in empty]
    return find_files(others) if others or not empty else []


def folders_of(paths: Sequence[Path], files: Sequence[Path]) -> list[Folder]:
    """Return the folders that have data files, of those that the user named and their subfolders,
    and the named folders with a sweep's status. Folders of files that the user named themselves are
    left out.

    Args:
        paths: files and folders that the user named.
        files: data files at and below these.
    """
    below = [path for path in paths if os.path.isdir(path)]
    places = dict.fromkeys(file.parent for file in files
                           if any(path == file.parent or path in file.parent.parents
                                  for path in below))
    places |= dict.fromkeys(path for path in below if status.read(path) is not None)
    return [Folder(path, status.count_done(path), status.read(path)) for path in places]


def require_content(rows: Sequence[ReportRow], damaged: Sequence[tuple[Path, str]],
                    folders: Sequence[Folder]) -> None:
    """Raise ConfigError if there is neither a good file nor a failed run in a sweep's status, so
    that there is nothing to report on. Its message names the first damaged file with the cause, or
    without any the first folder with what to do.

    Args:
        rows: good files.
        damaged: damaged files, each with the cause.
        folders: folders, with the failed runs of their sweeps. At least one if there are no files.
    """
    if not rows and not any(one.status.failed for one in folders if one.status):
        if not damaged:
            path, sweep = plain(folders[0].path), folders[0].status
            assert sweep is not None  # without a file, only a sweep's status makes it a folder
            raise ConfigError(f"nothing to report on: the sweep in {path} " + (
                "has not finished a run yet; wait, or if it was interrupted, start it again "
                if sweep.ended_s is None else
                "has ended, and no data file is there; start it again ")
                + sweep.resumed_with(path))
        first = f"{damaged[0][0]}: {damaged[0][1]}"
        raise ConfigError(first if len(damaged) == 1 else
                          f"none of {len(damaged):,} files can be read, the first because {first}")

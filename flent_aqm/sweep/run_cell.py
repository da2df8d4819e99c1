# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes one run on a testbed, and writes its files."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.errors import AqmError, LabError, StorageError
from flent_aqm.base.whole_file import written_whole
from flent_aqm.lab.protocol import Testbed
from flent_aqm.results.metrics.scores import Scores
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep import finish
from flent_aqm.sweep.run_output import RunOutput, make


@dataclass(frozen=True)
class FinishedRun:
    """A run that succeeded: its cell, its scores, and its durations on the guest's clock (None in
    real time) and on the host's clock."""

    cell: Cell
    scores: Scores
    # Duration on the guest's clock, None in real time.
    virtual_s: float | None
    # Duration on the host's clock.
    wall_s: float


def run_cell(cell: Cell, testbed: Testbed, facts: finish.SweepFacts) -> FinishedRun:
    """Run a cell, and write its data file and log.

    Raises an AqmError with the cause if the run fails. Then there is no data file, but there is a
    log.
    """
    started = time.monotonic()
    made = make(cell, testbed)
    scores, virtual_s = keep(made, cell, facts)
    return FinishedRun(cell, scores, virtual_s, time.monotonic() - started)


def keep(made: RunOutput, cell: Cell, facts: finish.SweepFacts) -> tuple[Scores, float | None]:
    """Write the files of a run. The data file is written last, so that if it exists, the run and
    all its other files are complete.

    Returns the run's scores, and its duration on the guest's clock in s. Raises an AqmError with
    the cause if the run failed, StorageError if files can't be written.
    """
    try:
        cell.folder.mkdir(parents=True, exist_ok=True)
        _append(cell.log_file, made.log)
        _write(cell.tools_log_file, made.tools_log)
        _write(cell.capture_file, made.capture)
        try:
            if made.data is None or made.outcome is None:
                raise LabError(made.fault)
            return finish.finish(made.data, cell, facts, made.outcome), made.outcome.virtual_s
        except AqmError as error:
            _append(cell.log_file, f"--- failed\n{error}\n")
            raise
    except OSError as error:
        raise StorageError(f"can't write to the results folder {cell.folder}: "
                           f"{error.strerror or error}") from error


def _append(path: Path, text: str) -> None:
    """Append text to a file."""
    with path.open("a", errors="replace") as file:
        file.write(text)


def _write(path: Path, content: bytes | None) -> None:
    """Write a file atomically. None writes nothing."""
    if content is not None:
        with written_whole(path) as file:
            file.write(content)

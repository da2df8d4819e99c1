# SPDX-License-Identifier: GPL-3.0-or-later
"""Interface for parts that make a sweep's runs on other machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from flent_aqm.base.part import load, parts
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.finish import SweepFacts
from flent_aqm.sweep.run_cell import FinishedRun


class Elsewhere(Protocol):
    """Makes runs on other machines. title: names the machines in messages, after "by"."""

    title: str

    def refuse(self, cell: Cell) -> None:
        """Raise ConfigError if the run can't be made on another machine."""

    def start(self, facts: SweepFacts, say: Callable[[str], None]) -> None:
        """Get ready to make runs. facts: facts of the testbed, the same for all runs. say: shows a
        line to the user. Raises AqmError."""

    def run(self, cell: Cell) -> FinishedRun:
        """Make a run on another machine, and write the files that come back."""

    def room(self) -> int:
        """Return the number of runs that can be made side by side now."""

    def stop(self) -> None:
        """End all runs at once."""

    def close(self) -> None:
        """End the connections. Called after all runs have ended."""


def elsewhere_of(section: Mapping[str, object]) -> Elsewhere | None:
    """Return the part's object that makes this batch's runs on other machines. None if the runs are
    made on this machine. section: keys and values of the batch. Raises ConfigError."""
    for part in parts().values():
        requested: Elsewhere | None = load(part.elsewhere)(section) if part.elsewhere else None
        if requested is not None:
            return requested
    return None

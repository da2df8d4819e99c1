# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes a sweep's runs on other machines; a part may have one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from flent_aqm.base.part import load, parts
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.finish import SweepFacts
from flent_aqm.sweep.run_cell import FinishedRun


class Elsewhere(Protocol):
    """title: where, behind "by"."""

    title: str

    def refuse(self, cell: Cell) -> None:
        """Raise ConfigError for a run that can't be made elsewhere."""

    def start(self, facts: SweepFacts, say: Callable[[str], None]) -> None:
        """Get ready; say: tells the user a fact. Raises AqmError."""

    def run(self, cell: Cell) -> FinishedRun:
        """Make a run, and keep what came back."""

    def room(self) -> int:
        """Return how many runs can be made side by side now."""

    def stop(self) -> None:
        """End all runs at once."""

    def close(self) -> None:
        """Let go."""


def elsewhere_of(section: Mapping[str, object]) -> Elsewhere | None:
    """Return what a batch section asks for; None for this machine. Raises ConfigError."""
    for part in parts().values():
        requested: Elsewhere | None = load(part.elsewhere)(section) if part.elsewhere else None
        if requested is not None:
            return requested
    return None

# SPDX-License-Identifier: GPL-3.0-or-later
"""A span of a run's time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """From start_s to end_s, in seconds of the epoch."""

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s

# SPDX-License-Identifier: GPL-3.0-or-later
"""Define Window, a span of a run's time, and the reason to give if it is empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

# Tolerance for times at the edge of a window. Epoch seconds are floats with a resolution of 0.24
# µs, and in virtual time many events happen at round times, also exactly at an edge.
ROUNDING_S = 1e-6


def no_time(what: str) -> str:
    """Return the reason why nothing can be divided by the duration of a load or of cross traffic,
    which is from the first to the last of its data. what: "load", or what else it is."""
    return f"the time from the {what}'s first data to its last is 0 s"


@dataclass(frozen=True)
class Window:
    """A span of time.

    Attributes:
        start_s: its start in epoch seconds.
        end_s: its end in epoch seconds.
    """

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """Duration in s."""
        return self.end_s - self.start_s

    def holds(self, at_s: NDArray[Any]) -> NDArray[Any]:
        """Return a mask of the times from the window's start to its end, both included. at_s: times
        in epoch seconds."""
        inside: NDArray[Any] = (at_s >= self.start_s) & (at_s <= self.end_s)
        return inside

    def holds_behind_start(self, at_s: NDArray[Any]) -> NDArray[Any]:
        """Return a mask of the times after the window's start, up to and including its end. Times
        up to 1 us (ROUNDING_S) after an edge count as at the edge. at_s: times in epoch seconds."""
        inside: NDArray[Any] = ((at_s > self.start_s + ROUNDING_S)
                                & (at_s <= self.end_s + ROUNDING_S))
        return inside

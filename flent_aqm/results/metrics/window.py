# SPDX-License-Identifier: GPL-3.0-or-later
"""A span of a run's time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

# Times of the epoch are floats 0.24 µs apart. In virtual time many events happen at round times, so
# also exactly at the edge of a window: an edge is compared with this much room.
ROUNDING_S = 1e-6


@dataclass(frozen=True)
class Window:
    """From start_s to end_s, in seconds of the epoch."""

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s

    def holds(self, at_s: NDArray[Any]) -> NDArray[Any]:
        """Return a mask of times, in seconds of the epoch: those from its start to its end."""
        inside: NDArray[Any] = (at_s >= self.start_s) & (at_s <= self.end_s)
        return inside

    def holds_behind_start(self, at_s: NDArray[Any]) -> NDArray[Any]:
        """Return a mask of times: those behind its start, up to its end, whichever way times on
        the edges were rounded."""
        inside: NDArray[Any] = ((at_s > self.start_s + ROUNDING_S)
                                & (at_s <= self.end_s + ROUNDING_S))
        return inside

# SPDX-License-Identifier: GPL-3.0-or-later
"""A span of a run's time."""

from __future__ import annotations

from dataclasses import dataclass

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

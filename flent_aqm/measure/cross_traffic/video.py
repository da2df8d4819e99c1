# SPDX-License-Identifier: GPL-3.0-or-later
"""A player of adaptive video: it fetches a segment, and then nothing until its buffer has room
for another one (on and off); how good a picture it asks for follows from its throughput.

    python -m flent_aqm.measure.cross_traffic.video HOST PORT

The ladder of bit rates is that of Apple's HLS Authoring Specification for H.264. The choice is the
best picture that fits into 0.9 of the mean rate of the last three segments: dash.js 5, Settings.js,
bandwidthSafetyFactor and sampleSettings.live. Of its ways to compute the mean this is the harmonic
one. Segments and buffer are shorter than a film's, as a speed test is, too.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence

from flent_aqm.measure.cross_traffic.client import Connection, Line, run

LADDER_MBPS = (0.145, 0.365, 0.73, 1.1, 2.0, 3.0, 4.5, 6.0, 7.8)
FIRST_MBPS = 1.1
SAFETY = 0.9
RATES_LOOKED_AT = 3
SEGMENT_S = 2.0
BUFFER_S = 8.0


class Screen:
    """What is seen: the buffer is played from when the first segment is there, and stands
    still when it is empty. Times in s on any clock."""

    def __init__(self) -> None:
        self.buffer_s = 0.0
        self._stalled_s = 0.0
        self._at_s: float | None = None  # None: nothing was seen yet

    def add(self, now_s: float) -> None:
        """A segment has come."""
        self.go_on(now_s)
        self._at_s = now_s
        self.buffer_s += SEGMENT_S

    def go_on(self, now_s: float) -> None:
        """Play until now."""
        if self._at_s is None:
            return
        passed_s = now_s - self._at_s
        played_s = min(self.buffer_s, passed_s)
        self.buffer_s -= played_s
        self._stalled_s += passed_s - played_s
        self._at_s = now_s

    def stalled_ms(self) -> float:
        """Return how long it has stood still since this was asked last."""
        stalled_s, self._stalled_s = self._stalled_s, 0.0
        return stalled_s * 1000


def choose(rates_mbps: Sequence[float]) -> float:
    """Return the bit rate of the next segment, from the rates at which the last ones came."""
    if not rates_mbps:
        return FIRST_MBPS
    room = SAFETY * statistics.harmonic_mean(rates_mbps[-RATES_LOOKED_AT:])
    return max((one for one in LADDER_MBPS if one <= room), default=LADDER_MBPS[0])


def play(host: str, port: int, line: Line) -> None:
    """Watch until KeyboardInterrupt."""
    screen = Screen()
    rates: list[float] = []
    connection = Connection(host, port, line)
    try:
        while True:
            mbps = choose(rates)
            size = round(mbps * SEGMENT_S * 125_000)
            begin_s = time.time()
            connection.get(size)
            now_s = time.time()
            rates.append(size * 8e-6 / max(now_s - begin_s, 1e-6))
            screen.add(now_s)
            line.tell(t=begin_s, segment_mbps=mbps)
            line.tell(t=now_s, stalled_ms=screen.stalled_ms())
            time.sleep(max(screen.buffer_s + SEGMENT_S - BUFFER_S, 0))
            screen.go_on(time.time())
    finally:
        screen.go_on(time.time())
        line.tell(t=time.time(), stalled_ms=screen.stalled_ms())


if __name__ == "__main__":
    sys.exit(run(play))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Cross traffic: a player of adaptive video.

It downloads a segment and then waits until its buffer has room for the next (on-off traffic). It
selects the bit rate of each segment by the measured throughput.

    python -m flent_aqm.measure.cross_traffic.video HOST PORT

The ladder of bit rates is that of Apple's HLS Authoring Specification for H.264. The player selects
the highest bit rate that is below 0.9 of the mean rate of the last three segments, as dash.js 5
does: Settings.js, bandwidthSafetyFactor and sampleSettings.live. Of the means that dash.js offers,
this is the harmonic one. Segments and buffer are shorter than those of a film, because a speed test
is short, too.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence

from flent_aqm.measure.cross_traffic.client import Connection, Line, run

# Bit rates of the video, in Mbit/s.
LADDER_MBPS = (0.145, 0.365, 0.73, 1.1, 2.0, 3.0, 4.5, 6.0, 7.8)
# Bit rate of the first segment.
FIRST_MBPS = 1.1
# Share of the mean throughput that a bit rate may use.
SAFETY = 0.9
# Number of segments of which the mean throughput is computed.
RATES_LOOKED_AT = 3
# Length of video in a segment, and in a full buffer, in seconds.
SEGMENT_S = 2.0
BUFFER_S = 8.0


class Screen:
    """Models playback: it begins with the first segment, and stalls while the buffer is empty.
    Times are seconds on any clock."""

    def __init__(self) -> None:
        self.buffer_s = 0.0
        self._stalled_s = 0.0
        self._at_s: float | None = None  # time of the last update; None before the first segment

    def add(self, now_s: float) -> None:
        """Add a segment that arrived at now_s to the buffer."""
        self.go_on(now_s)
        self._at_s = now_s
        self.buffer_s += SEGMENT_S

    def go_on(self, now_s: float) -> None:
        """Play until now_s."""
        if self._at_s is None:
            return
        passed_s = now_s - self._at_s
        played_s = min(self.buffer_s, passed_s)
        self.buffer_s -= played_s
        self._stalled_s += passed_s - played_s
        self._at_s = now_s

    def stalled_ms(self) -> float:
        """Return for how many ms playback has stalled since the last call."""
        stalled_s, self._stalled_s = self._stalled_s, 0.0
        return stalled_s * 1000


def choose(rates_mbps: Sequence[float]) -> float:
    """Return the bit rate of the next segment in Mbit/s, given the throughput of the segments
    before."""
    if not rates_mbps:
        return FIRST_MBPS
    room = SAFETY * statistics.harmonic_mean(rates_mbps[-RATES_LOOKED_AT:])
    return max((one for one in LADDER_MBPS if one <= room), default=LADDER_MBPS[0])


def play(host: str, port: int, line: Line) -> None:
    """Play video until KeyboardInterrupt. Raises OSError if the connection fails."""
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

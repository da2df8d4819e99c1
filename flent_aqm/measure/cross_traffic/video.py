# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays adaptive video without a picture, as cross traffic.

It downloads a segment and then waits until its buffer has room for the next (on-off traffic). It
selects the bit rate of each segment by the measured throughput.

    python -m flent_aqm.measure.cross_traffic.video HOST PORT

The ladder of bit rates is that of Apple's HLS Authoring Specification for H.264. The player selects
the highest bit rate that is at most 0.9 of the mean rate of the last three segments, as dash.js 5
does: Settings.js, bandwidthSafetyFactor and sampleSettings.live. Of the means that dash.js offers,
this is the harmonic one. Segments and buffer are shorter than those of a film, because a speed test
is short, too.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence

from flent_aqm.measure.cross_traffic.client import CrossConnection, ResultPrinter, run

# Bit rates of the video, in Mbit/s.
LADDER_MBPS = (0.145, 0.365, 0.73, 1.1, 2.0, 3.0, 4.5, 6.0, 7.8)
# Bit rate of the first segment.
FIRST_MBPS = 1.1
# Share of the mean throughput that a bit rate may use.
SAFETY = 0.9
# Number of segments of which the mean throughput is computed.
SEGMENTS_AVERAGED = 3
# Length of video in a segment, and in a full buffer, in seconds.
SEGMENT_S = 2.0
BUFFER_S = 8.0


class Screen:
    """Models playback: it begins with the first segment, and stalls while the buffer is empty.
    Times are seconds on any clock.

    Attributes:
        buffer_s: length of the video in the buffer, in s.
    """

    def __init__(self) -> None:
        self.buffer_s = 0.0
        self._stalled_s = 0.0
        self._at_s: float | None = None  # time of the last update; None before the first segment

    def add(self, now_s: float) -> None:
        """Play until now_s, then add a segment that arrived at that time to the buffer. The first
        segment begins playback."""
        self.go_on(now_s)
        self._at_s = now_s
        self.buffer_s += SEGMENT_S

    def go_on(self, now_s: float) -> None:
        """Play until now_s: reduce the buffer, and count the time for which it was empty. Before
        the first segment, do nothing."""
        if self._at_s is None:
            return
        passed_s = now_s - self._at_s
        played_s = min(self.buffer_s, passed_s)
        self.buffer_s -= played_s
        self._stalled_s += passed_s - played_s
        self._at_s = now_s

    def stalled_ms(self) -> float:
        """Return for how many ms playback has stalled since the previous call of this method, until
        the last add() or go_on()."""
        stalled_s, self._stalled_s = self._stalled_s, 0.0
        return stalled_s * 1000


def choose_rate(rates_mbps: Sequence[float]) -> float:
    """Return the bit rate of the next segment in Mbit/s: the highest in LADDER_MBPS that is at most
    SAFETY of the harmonic mean throughput of the last SEGMENTS_AVERAGED segments. If all are
    higher, return the lowest. Return FIRST_MBPS for the first segment.

    Args:
        rates_mbps: throughput of each segment before, the newest last.
    """
    if not rates_mbps:
        return FIRST_MBPS
    room = SAFETY * statistics.harmonic_mean(rates_mbps[-SEGMENTS_AVERAGED:])
    return max((one for one in LADDER_MBPS if one <= room), default=LADDER_MBPS[0])


def play(host: str, port: int, printer: ResultPrinter) -> None:
    """Play video until KeyboardInterrupt, which is passed on to the caller. Raises OSError if the
    connection fails.

    When a segment has arrived, print its start with its bit rate (segment_mbps), and its end with
    the time in ms for which playback stalled since the end of the segment before (stalled_ms). At
    the end, print the time for which it stalled since the last segment, unless the connection could
    not be made.
    """
    screen = Screen()
    rates: list[float] = []
    connection = CrossConnection(host, port, printer)
    try:
        while True:
            mbps = choose_rate(rates)
            size = round(mbps * SEGMENT_S * 125_000)
            begin_s = time.time()
            connection.get(size)
            now_s = time.time()
            rates.append(size * 8e-6 / max(now_s - begin_s, 1e-6))
            screen.add(now_s)
            printer.print_values(t=begin_s, segment_mbps=mbps)
            printer.print_values(t=now_s, stalled_ms=screen.stalled_ms())
            time.sleep(max(screen.buffer_s + SEGMENT_S - BUFFER_S, 0))
            screen.go_on(time.time())
    finally:
        screen.go_on(time.time())
        printer.print_values(t=time.time(), stalled_ms=screen.stalled_ms())


if __name__ == "__main__":
    sys.exit(run(play))

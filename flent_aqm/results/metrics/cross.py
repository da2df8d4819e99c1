# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person noticed of the test: the quality of cross traffic while the test ran.

Counted is what began while the test loaded the link; in a test without load, all.
"""

from __future__ import annotations

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.flows import Flow
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.window import Window

# A frame that is no later than this can be shown: with 50 ms for camera, coder and screen that
# makes the 150 ms from mouth to ear that ITU-T G.114 gives most conversations.
PLAYOUT_MS = 100.0


def lost_frames_pct(run: Run, direction: str) -> float:
    """Return the share in % of a call's frames of which a packet was lost. Raises NotAvailable."""
    return 100 * float(_values(run, "frame_lost", direction).mean())


def late_frames_pct(run: Run, direction: str) -> float:
    """Return the share in % of a call's frames, of those that came whole, that were later than
    PLAYOUT_MS behind the fastest packet. Raises NotAvailable."""
    return 100 * float((_values(run, "frame_ms", direction) > PLAYOUT_MS).mean())


def video_bitrate_mbps(run: Run) -> float:
    """Return the mean bit rate of the picture, over the segments that came. Raises NotAvailable."""
    return float(_values(run, "segment_mbps").mean())


def video_stall_pct(run: Run) -> float:
    """Return the share in % of the load's time in which the picture stood still; in a test without
    load, of the video's. Raises NotAvailable."""
    flow = _flow(run, "stalled_ms")
    window = run.load_window or Window(flow.start_s, flow.end_s)
    points = flow.noticed["stalled_ms"]
    # A stall is told when it ends, which may be after the load.
    start_s = numpy.maximum(points.at_s - points.values / 1000, window.start_s)
    end_s = numpy.minimum(points.at_s, window.end_s)
    return float(numpy.maximum(end_s - start_s, 0).sum()) / window.length_s * 100


def page_time_ms(run: Run, statistic: str) -> float:
    """Return how long pages took, "median" or "max". Raises NotAvailable."""
    times_ms = _values(run, "page_ms")
    return float(numpy.median(times_ms) if statistic == "median" else times_ms.max())


def _values(run: Run, field: str, direction: str | None = None) -> Numbers:
    points = _flow(run, field, direction).noticed[field]
    window = run.load_window
    values = points.values if window is None else points.values[window.holds(points.at_s)]
    if not values.size:
        raise NotAvailable("none of the cross traffic's pages, segments or frames began under "
                           "load and came to its end")
    return values


def _flow(run: Run, field: str, direction: str | None = None) -> Flow:
    """Return the flow that tells of a field."""
    for flow in run.flows:
        if field in flow.noticed and direction in (None, flow.direction):
            return flow
    raise NotAvailable("the cross traffic is of another kind" if any(
        flow.is_cross for flow in run.flows) else "the run has no cross traffic")

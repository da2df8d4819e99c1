# SPDX-License-Identifier: GPL-3.0-or-later
"""Quality of cross traffic as a person notices it: calls, video and web pages during the test.

Only events count that began while the test loaded the link, or all in a test without load.
"""

from __future__ import annotations

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.flows import Flow
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.window import Window

# A frame that is not later than this can be shown. With 50 ms for camera, coder and screen, this
# gives the 150 ms from mouth to ear that ITU-T G.114 allows for most conversations.
PLAYOUT_MS = 100.0


def lost_frames_pct(run: Run, direction: str) -> float:
    """Return the share in % of a call's frames with a lost packet. Raises NotAvailable."""
    return 100 * float(_values(run, "frame_lost", direction).mean())


def late_frames_pct(run: Run, direction: str) -> float:
    """Return the share in % of a call's complete frames that came more than PLAYOUT_MS after the
    fastest packet. Raises NotAvailable."""
    return 100 * float((_values(run, "frame_ms", direction) > PLAYOUT_MS).mean())


def video_bitrate_mbps(run: Run) -> float:
    """Return the mean bit rate of the video in Mbit/s, over the segments that were received. Raises
    NotAvailable."""
    return float(_values(run, "segment_mbps").mean())


def video_stall_pct(run: Run) -> float:
    """Return the share in % of the load's time in which the video was stalled, or of the video's
    time in a test without load. Raises NotAvailable."""
    flow = _flow(run, "stalled_ms")
    window = run.load_window or Window(flow.start_s, flow.end_s)
    points = flow.noticed["stalled_ms"]
    # A stall is recorded at its end, which may be after the load.
    start_s = numpy.maximum(points.at_s - points.values / 1000, window.start_s)
    end_s = numpy.minimum(points.at_s, window.end_s)
    return float(numpy.maximum(end_s - start_s, 0).sum()) / window.length_s * 100


def page_time_ms(run: Run, statistic: str) -> float:
    """Return the time that web pages took to load, in ms. statistic: "median" or "max". Raises
    NotAvailable."""
    times_ms = _values(run, "page_ms")
    return float(numpy.median(times_ms) if statistic == "median" else times_ms.max())


def _values(run: Run, field: str, direction: str | None = None) -> Numbers:
    """Return the values of a field of cross traffic under load. Raises NotAvailable if there are
    none."""
    points = _flow(run, field, direction).noticed[field]
    window = run.load_window
    values = points.values if window is None else points.values[window.holds(points.at_s)]
    if not values.size:
        raise NotAvailable("none of the cross traffic's pages, segments or frames began under "
                           "load and came to its end")
    return values


def _flow(run: Run, field: str, direction: str | None = None) -> Flow:
    """Return the flow of cross traffic that has a field. Raises NotAvailable."""
    for flow in run.flows:
        if field in flow.noticed and direction in (None, flow.direction):
            return flow
    raise NotAvailable("the cross traffic is of another kind" if any(
        flow.is_cross for flow in run.flows) else "the run has no cross traffic")

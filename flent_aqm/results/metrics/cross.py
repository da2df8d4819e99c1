# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the quality of cross traffic as a person notices it: calls, video and web pages.

Events count if they began while the test loaded the link. In a test without load, all events count.
"""

from __future__ import annotations

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.flows import Flow
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.window import Window, no_time

# A frame that is not later than this can be shown. With 50 ms for camera, coder and screen, this
# gives the 150 ms from mouth to ear that ITU-T G.114 allows for most conversations.
PLAYOUT_MS = 100.0
# Field of cross traffic's samples -> the events that it describes, in messages.
_EVENTS = {"frame_lost": "frames of a call",
           "frame_ms": "complete frames of a call with a known delay",
           "segment_mbps": "complete segments of a video", "stalled_ms": "stalls of a video",
           "page_ms": "complete web pages"}


def lost_frames_pct(run: Run, direction: str) -> float:
    """Return the share in % of frames of which a packet was lost, of a run's first call in a
    direction. Only frames that began under load count, in a test without load all. direction:
    "download" or "upload". Raises NotAvailable if the run has no such call, or no such frame."""
    return 100 * float(_values_under_load(run, "frame_lost", direction).mean())


def late_frames_pct(run: Run, direction: str) -> float:
    """Return the share in % of frames that were more than 100 ms (PLAYOUT_MS) slower than the
    fastest packet, of a run's first call in a direction. Only frames that arrived whole, with a
    known delay, and began under load count; in a test without load, those that began at any time.
    direction: "download" or "upload". Raises NotAvailable if the run has no such call, or no such
    frame."""
    return 100 * float((_values_under_load(run, "frame_ms", direction) > PLAYOUT_MS).mean())


def video_bitrate_mbps(run: Run) -> float:
    """Return the mean bit rate of the run's first video in Mbit/s, over the segments that were
    received and began under load (all in a test without load). Raises NotAvailable without a video,
    or without such a segment."""
    return float(_values_under_load(run, "segment_mbps").mean())


def video_stall_pct(run: Run) -> float:
    """Return the share in % of the load's time in which the run's first video was stalled, or of
    the video's time in a test without load. Raises NotAvailable without a video, or if that time is
    0 s."""
    flow = _flow_with_field(run, "stalled_ms")
    window = run.load_window or Window(flow.start_s, flow.end_s)
    if not window.length_s > 0:
        raise NotAvailable(no_time("load" if run.load_window else "video"))
    points = flow.noticed["stalled_ms"]
    # A stall is recorded at its end, which may be after the load.
    start_s = numpy.maximum(points.at_s - points.values / 1000, window.start_s)
    end_s = numpy.minimum(points.at_s, window.end_s)
    return float(numpy.maximum(end_s - start_s, 0).sum()) / window.length_s * 100


def page_time_ms(run: Run, statistic: str) -> float:
    """Return the median or the largest load time in ms of the web pages of the first flow of cross
    traffic that has any. Only pages that began under load and were loaded whole count, in a test
    without load all that were loaded whole. statistic: "median" or "max". Raises NotAvailable if
    there are none."""
    times_ms = _values_under_load(run, "page_ms")
    return float(numpy.median(times_ms) if statistic == "median" else times_ms.max())


def _values_under_load(run: Run, field: str, direction: str | None = None) -> Numbers:
    """Return the values of a field of cross traffic, of the first flow that has it, for events that
    began under load, or for all in a test without load. Raises NotAvailable if there are none.

    Args:
        run: the run.
        field: one of flows.NOTICED_FIELDS, except "stalled_ms", whose times are ends of events. Its
            name tells the unit. "frame_lost" is 1 for a frame that lost a packet, else 0.
        direction: "download" or "upload", None for any.
    """
    points = _flow_with_field(run, field, direction).noticed[field]
    window = run.load_window
    values = points.values if window is None else points.values[window.holds(points.at_s)]
    if not values.size:
        where = f" in the {direction}" if direction else ""
        raise NotAvailable(f"none of the cross traffic's {_EVENTS[field]}{where} began under load")
    return values


def _flow_with_field(run: Run, field: str, direction: str | None = None) -> Flow:
    """Return the first flow with a field. Raises NotAvailable if there is none: cross traffic
    failed, the run has none, another kind of it, or none of this kind in `direction`.

    Args:
        run: the run.
        field: one of flows.NOTICED_FIELDS.
        direction: "download" or "upload", None for any.
    """
    for flow in run.flows:
        if field in flow.noticed and direction in (None, flow.direction):
            return flow
    if failed := run.why_failed(direction, cross=True):
        raise NotAvailable(f"the cross traffic failed: {failed}")
    if not any(flow.is_cross for flow in run.flows):
        raise NotAvailable("the run has no cross traffic")
    if any(field in flow.noticed for flow in run.flows):
        raise NotAvailable(f"the cross traffic has no {_EVENTS[field]} in the {direction}")
    # Each video records its stalls.
    raise NotAvailable("the cross traffic is no video" if field == "stalled_ms" else
                       f"the cross traffic has no {_EVENTS[field]}")

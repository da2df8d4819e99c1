# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the throughput of flows in the same time, such as that in which all of them ran.

Means of flows that start or end at different times can neither be compared nor added. Everything
that compares flows takes their throughput from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.flows import Flow
from flent_aqm.results.metrics.window import Window

# In a shorter common time, only starts and ends of flows would be compared.
SHORTEST_S = 1.0
# If a flow ran for this share of the time, and hardly longer, the tool's own mean is used.
SAME_TIME = 0.95


def shared_window(flows: Sequence[Flow]) -> Window:
    """Return the time in which all flows ran. Raises NotAvailable if it is shorter than 1 s."""
    spans = [flow_window(flow) for flow in flows]
    start_s, end_s = max(one.start_s for one in spans), min(one.end_s for one in spans)
    if end_s - start_s < SHORTEST_S:
        raise NotAvailable(f"all flows run together for {max(end_s - start_s, 0):.3g} s, and "
                           f"{SHORTEST_S:g} s are needed to compare them")
    return Window(start_s, end_s)


def flow_window(flow: Flow) -> Window:
    """Return the time from a flow's first interval to its last one, or the requested time if the
    intervals don't tell it. Raises NotAvailable without intervals."""
    if not flow.at_s.size:
        raise NotAvailable(f"the throughput of {flow.name!r} over time is not known")
    if flow.is_expected:
        return Window(flow.start_s, flow.end_s)
    return Window(float((flow.at_s - flow.length_s).min()), float(flow.at_s.max()))


def mean_mbps(flow: Flow, window: Window) -> float:
    """Return a flow's mean throughput in a window, in Mbit/s. It counts as 0 while it didn't run.

    If the flow ran for the whole window and hardly longer, its tool's mean is returned: for some
    uploads the intervals count what the sender wrote to its socket, and only the mean is the
    receiver's. Raises NotAvailable without intervals, or if the window has no length.
    """
    if not window.length_s > 0:
        raise NotAvailable("the load had no length")
    own = flow_window(flow)
    together_s = min(own.end_s, window.end_s) - max(own.start_s, window.start_s)
    if flow.mean_mbps is not None and together_s >= SAME_TIME * max(own.length_s, window.length_s):
        return flow.mean_mbps
    start, end = carried_mbit(flow, numpy.array([window.start_s, window.end_s]))
    return float(end - start) / window.length_s


def carried_mbit(flow: Flow, at_s: NDArray[Any]) -> Numbers:
    """Return how many megabits a flow had transferred at each time, by interpolation within its
    intervals. Raises NotAvailable without intervals.

    at_s: times in epoch seconds.
    """
    if not flow.at_s.size:
        raise NotAvailable(f"the throughput of {flow.name!r} over time is not known")
    order = numpy.argsort(flow.at_s, kind="stable")
    ends_s = flow.at_s[order]
    # If intervals overlap, the later one is taken to begin at the end of the earlier one.
    starts_s = numpy.maximum(ends_s - flow.length_s[order],
                             numpy.concatenate([[-numpy.inf], ends_s[:-1]]))
    megabits = numpy.cumsum(flow.mbps[order] * flow.length_s[order])
    times_s = numpy.stack([starts_s, ends_s], axis=1).ravel()
    levels_mbit = numpy.stack([numpy.concatenate([[0.0], megabits[:-1]]), megabits], axis=1).ravel()
    carried: Numbers = numpy.interp(at_s, times_s, levels_mbit)
    return carried

# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that packets of scalable congestion controls were in the L queue of DualPI2.

Source: RFC 9332: the queue is chosen by ECT(1) or CE. A congestion control that falls back, or that
sends ECT(0) as Linux' DCTCP does, is served as a classic one. Neither throughput nor latency shows
this.
"""

from __future__ import annotations

from flent_aqm.results.data_file import a_number
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.run import Run

# Beginnings of the names of scalable congestion controls in Linux and in kernels for RFC 9331.
SCALABLE = ("dctcp", "prague")
_IN_C, _IN_L = "pkts-in-c", "pkts-in-l"


def not_in_l(run: Run) -> list[str]:
    """Return a warning for each direction with scalable flows but without a packet in the L
    queue."""
    lines = []
    for way in DIRECTIONS:
        controls = sorted({flow.control for flow in run.flows if flow.direction == way
                           and flow.control.startswith(SCALABLE)})
        in_c, in_l = (_grown(run, way, name) for name in (_IN_C, _IN_L))
        if controls and in_l == 0 and in_c > 0:
            lines.append(f"{way}: none of {in_c:.0f} packets were in DualPI2's L queue, though "
                         f"{' and '.join(controls)} sent some: without ECT(1) they are served as "
                         "classic ones; see docs/results/l4s.md")
    return lines


def _grown(run: Run, way: str, name: str) -> float:
    """Return the increase of a queue's counter during the run, -1 if the queue doesn't have it."""
    before, after = (run.counters(moment, way).get("qdisc") for moment in ("before", "after"))
    if not isinstance(before, dict) or not isinstance(after, dict) or name not in after:
        return -1.0
    return (a_number(after[name]) or 0.0) - (a_number(before.get(name)) or 0.0)

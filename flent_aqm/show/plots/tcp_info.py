# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw TCP's own values over time: RTT, congestion window, retransmissions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import for_plot
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.flows import Flow
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.groups import RunGroup, looks_within
from flent_aqm.show.looks import LineStyle, Look
from flent_aqm.show.plots.axes import from_zero, start_s
from flent_aqm.show.plots.chart import ChartPlotter, about

WAY_LINES: dict[str, LineStyle] = {"download": "-", "upload": (0, (4, 2))}
# Payload of a full-sized segment over IPv4 with time stamps, to convert the bytes that NDT7's
# server counts.
SEGMENT_BYTES = 1448


class AqmTcpInfoPlotter(ChartPlotter):
    """A panel for each value of TCP_INFO that the tools reported: RTT in ms, congestion window and
    retransmissions in packets. For one run, all its flows, cross traffic included. For several, the
    test's flows of the first run of each group."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        flows = _flows_to_draw(runs, self.groups_of(
            runs, own_colours=loads_both_at_once(runs)))
        self.note_first_runs(runs, len({id(run) for _, _, run, _ in flows}))
        if any(_is_receivers(flow) for _, _, _, flow in flows):
            self.note("retransmits of NDT7's upload: not available, as its TCP_INFO is the "
                      "receiver's")
        rows = [(label, find) for label, find in ROWS
                if any(find(flow) is not None for _, _, _, flow in flows)]
        if not rows:
            raise NotAvailable("no RTT, window in packets or retransmits of TCP_INFO " + (
                "of the run's flows in this file" if len(runs) == 1 else
                "of the test's flows in the first run of any group that is shown"))
        axes = self.grid(len(rows), 1, sharex=True)
        labelled = set()
        counted = 0
        for axis, (row, find) in zip(axes, rows, strict=True):
            for label, look, run, flow in flows:
                points = find(flow)
                if points is None:
                    continue
                at_s, values = points
                counted += at_s.size
                begin_s = 0.0 if self.absolute_time else start_s(run)
                line, = axis.plot(at_s - begin_s, values, color=look.colour,
                                  linestyle=look.line, linewidth=1.3, label=label,
                                  drawstyle="steps-pre" if "retrans" in row else "default")
                if label not in labelled:
                    labelled.add(label)
                    self.handles.append(line)
            axis.set_ylabel(row)
            from_zero([axis])
        if not self.absolute_time:
            axes[-1].set_xlim(left=0)
        axes[-1].set_xlabel("time (s)")
        missing = [row for row, _ in ROWS if row not in [label for label, _ in rows]]
        if missing:
            names = ", ".join(row.splitlines()[0] for row in missing)
            self.note(f"not told by the tool: {names}")
        self.note(about(runs, counted))


def _flows_to_draw(runs: Sequence[Run], groups: Sequence[RunGroup]
           ) -> list[tuple[str, Look, Run, Flow]]:
    """Return the flows with TCP's state that are drawn, as label, look, run and flow. For one run,
    they are of the test and of cross traffic. For several runs, they are the test's flows of the
    first run of each group. May be empty."""
    if len(runs) == 1:
        run, = runs
        flows = [flow for flow in run.flows if flow.tcp]
        looks = looks_within(run, [flow.name for flow in flows])
        return [(for_plot(flow.name), looks[flow.name], run, flow) for flow in flows]
    # If directions are loaded one after the other, they can be told apart by their time.
    both = loads_both_at_once(runs)
    return [(f"{group.label}, {flow.direction}" if both else group.label,
             group.look.lined(WAY_LINES.get(flow.direction, "-")) if both else group.look,
             run, flow)
            for group in groups for run in group.runs[:1]
            for flow in run.speed_test if flow.tcp]


def loads_both_at_once(runs: Sequence[Run]) -> bool:
    """Return whether in any run flows of the test in different directions ran at the same time.
    Flows whose names tell no direction count as a direction of their own."""
    return any(one.start_s < other.end_s and other.start_s < one.end_s
               for run in runs for one in run.speed_test for other in run.speed_test
               if one.direction < other.direction)


def _rtt(flow: Flow) -> tuple[Numbers, Numbers] | None:
    """Return times in epoch seconds and TCP's RTTs in ms, None if they were not reported."""
    return _field(flow, "tcp_rtt")


def _window(flow: Flow) -> tuple[Numbers, Numbers] | None:
    """Return times in epoch seconds and congestion windows in packets, None if they were not
    reported in packets."""
    return _field(flow, "tcp_cwnd")


def _retransmits(flow: Flow) -> tuple[Numbers, Numbers] | None:
    """Return times in epoch seconds and the packets sent again since the previous sample, which are
    estimated, with decimals, where only bytes were reported. None if neither was reported, or if
    only the receiver reported TCP's state."""
    if _is_receivers(flow):
        return None
    samples = _field(flow, "retransmits")
    if samples is not None:
        return samples
    counted = _field(flow, "bytes_retrans")
    if counted is None:
        return None
    at_s, total = counted
    return at_s, numpy.diff(total, prepend=0) / SEGMENT_BYTES


def _is_receivers(flow: Flow) -> bool:
    """Return whether a flow's TCP state is that of the receiver, which sends nothing again: NDT7's
    upload."""
    return bool(flow.ndt7) and flow.direction == "upload"


def _field(flow: Flow, name: str) -> tuple[Numbers, Numbers] | None:
    """Return times in epoch seconds and values of a field of TCP_FIELDS, None without samples."""
    points = flow.tcp.get(name)
    return None if points is None or not points.at_s.size else (points.at_s, points.values)


ROWS = (("TCP's RTT\n(ms)", _rtt), ("window\n(packets)", _window),
        ("retransmits\n(packets)", _retransmits))

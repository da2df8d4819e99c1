# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw captured throughput together with the reports of the tool and the router, on one clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.queue_samples import QueueSamples
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.groups import looks_within
from flent_aqm.show.looks import DROPS, MARKS
from flent_aqm.show.plots.axes import from_zero, start_s
from flent_aqm.show.plots.chart import ChartPlotter, about, why_none
from flent_aqm.show.plots.observed import Captured, captured_in, queues_in, why_not_captured
from flent_aqm.show.plots.values import why_no_direction


class AqmInstantPlotter(ChartPlotter):
    """For one run: payload in Mbit/s, per 100 ms, of the test and of cross traffic in each
    direction, and the tool's own results. Below, if the router's queues were sampled, the packets
    that they dropped or marked. For several runs: the test's payload of each, of at most MOST_LINES
    groups. Runs without a capture are left out, without a note, and those whose samples of it are
    damaged with one. The picture shows the reason instead if no run is left."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        seen = {id(run): capture
                for run, capture in self.read_each(runs, results, captured_in)}
        usable = [run for run in runs if seen.get(id(run))]
        if not usable:
            raise NotAvailable(why_none(runs, why_not_captured(results[0])))
        if len(runs) == 1:
            capture = seen[id(runs[0])]
            assert capture is not None
            self._draw_run(runs[0], capture, queues_in(results[0]))
        else:
            self._draw_runs(usable, seen)
        for axis in self.axes:
            from_zero([axis])
        self.axes[-1].set_xlabel("time (s)")
        self.note(about(usable, sum(one.at_s.size for one in seen.values() if one),
                        "steps of 100 ms"))

    def _draw_run(self, run: Run, capture: Captured,
                  queue_by_direction: dict[str, QueueSamples]) -> None:
        """Draw one run: throughput above, of the directions in which it has flows; drops and marks
        below if the router's queues were sampled. Set the legend (self.handles). Raises
        NotAvailable if both panels are needed in a part of a plot, which has room for one.

        Args:
            run: the run.
            capture: its captured throughput.
            queue_by_direction: "download" and "upload" -> the queue. Empty without samples.
        """
        above, *below = self.grid(1 + bool(queue_by_direction), 1, sharex=True, **(
            {"height_ratios": (2.4, 1)} if queue_by_direction else {}))
        begin_s = 0.0 if self.absolute_time else start_s(run)
        looks = looks_within(run, list(DIRECTIONS))
        for direction in DIRECTIONS:
            if not any(flow.direction == direction for flow in run.flows):
                continue
            for name, style in ((direction, "-"), (f"cross_{direction}", (0, (1, 1.2)))):
                if name in capture.mbps:
                    self._draw_steps(above, capture.at_s - begin_s, capture.mbps[name],
                               looks[direction].colour, style,
                               f"{name.replace('_', ' ')}, headers")
        for flow in run.speed_test:
            if flow.at_s.size and flow.direction:
                self.handles += above.plot(
                    flow.at_s - begin_s, flow.mbps, linestyle="none", marker=".", markersize=3.5,
                    color="black", alpha=0.7, zorder=3,
                    label="the tool's own" if not self._has_tool_entry() else "_tool")
        above.set_ylabel("throughput (Mbit/s)")
        for axis in below:
            for direction, queue in queue_by_direction.items():
                sign = "" if len(run.speed_test) == 1 else f", {direction}"
                for name, counts, colour in (("drops", queue.drops, DROPS),
                                             ("marks", queue.marks, MARKS)):
                    there = counts > 0
                    if there.any():
                        self.handles.append(_draw_stems(
                            axis, queue.at_s[there] - begin_s, counts[there], colour, direction,
                            f"{name}{sign}"))
            axis.set_ylabel("packets\nin 0.1 s")
            if not axis.has_data():
                axis.text(0.5, 0.5, "the router dropped and marked nothing", ha="center",
                          va="center", transform=axis.transAxes)
        self.handles = [one for one in self.handles if not one.get_label().startswith("_")]

    def _draw_runs(self, runs: Sequence[Run], captures: dict[int, Captured | None]) -> None:
        """Draw the payload of several runs, with a panel for each direction that a test loads, and
        in it a line for each run of groups_of() that has a capture of this direction. Raises
        NotAvailable if no run has a flow of the test in a known direction, or if two panels are
        needed in a part of a plot, and ConfigError if no run has a setting by which the user
        groups.

        Args:
            runs: the runs.
            captures: id() of a run -> its capture, None without one.
        """
        ways = [direction for direction in DIRECTIONS
                if any(flow.direction == direction for run in runs for flow in run.speed_test)]
        if not ways:
            raise NotAvailable(why_no_direction(runs))
        groups = self.groups_of(runs)
        axes = self.grid(len(ways), 1, sharex=True)
        for axis, direction in zip(axes, ways, strict=True):
            for group in groups:
                for run in group.runs:
                    capture = captures[id(run)]
                    if capture is None or direction not in capture.mbps:
                        continue
                    begin_s = 0.0 if self.absolute_time else start_s(run)
                    labels = [one.get_label() for one in self.handles]
                    line, = axis.plot(capture.at_s - begin_s, capture.mbps[direction],
                                      color=group.look.colour, linestyle=group.look.line,
                                      linewidth=1.2 if len(group.runs) == 1 else 0.6,
                                      label=group.label, drawstyle="steps-pre")
                    if group.label not in labels:
                        self.handles.append(line)
            axis.set_ylabel(f"{direction}\n(Mbit/s)")

    def _draw_steps(self, axis: Any, at_s: Numbers, values: Numbers, colour: str, style: Any,
              label: str) -> None:
        """Draw throughput in Mbit/s as steps that end at `at_s` (s, on the plot's time axis), and
        add the line to the legend."""
        self.handles += axis.plot(at_s, values, color=colour, linestyle=style, linewidth=1.2,
                                  drawstyle="steps-pre", label=label)

    def _has_tool_entry(self) -> bool:
        """Return whether the legend already has an entry for the tool's own results."""
        return any(one.get_label() == "the tool's own" for one in self.handles)


def _draw_stems(axis: Any, at_s: Numbers, counts: Numbers, colour: str, direction: str, label: str
                ) -> Any:
    """Draw a vertical line with a symbol at its end for each sample, so that a single packet is
    seen. Return the symbols, an artist of matplotlib. They are hollow for the download.

    Args:
        axis: matplotlib axes.
        at_s: time of each sample with drops or marks, on the plot's time axis.
        counts: packets dropped or marked in each.
        colour: colour of lines and symbols.
        direction: "download" or "upload".
        label: text for the legend.
    """
    axis.vlines(at_s, 0, counts, color=colour, linewidth=0.9, label=f"_{label}")
    marks, = axis.plot(at_s, counts, linestyle="none", color=colour, markersize=3.5,
                       marker="^" if direction == "upload" else "v", label=label,
                       markeredgewidth=0.8,
                       markerfacecolor=colour if direction == "upload" else "none")
    return marks

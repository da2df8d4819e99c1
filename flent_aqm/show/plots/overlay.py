# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw several runs over each other, labelled by the settings in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.base.words import counted
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.looks import line_key
from flent_aqm.show.plots.axes import from_zero, name_latency_axis, shade_load, start_s
from flent_aqm.show.plots.chart import ChartPlotter, about, probes_of, why_none
from flent_aqm.show.plots.observed import Captured, capture_of

# Length of a step, which has one point. Finer steps can't be seen in a picture of half a minute.
STEP_S = 0.1


class AqmOverlayPlotter(ChartPlotter):
    """A line for each run, of at most MOST_LINES groups of runs. Runs without the values are left
    out, with a note. The plot's key `quantity` is "latency" (the slowest probe of each 0.1 s) or
    "throughput" (captured payload of both directions)."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        latency = self.config.get("quantity", "latency") == "latency"
        curves: dict[int, tuple[Numbers, Numbers]] = {}
        reasons = []
        for run, result in zip(runs, results, strict=True):
            try:
                curves[id(run)] = (slowest_per_step(run) if latency
                                   else captured_payload(run, capture_of(result)))
            except BadResult as reason:
                reasons.append(str(reason))
        drawn = [run for run in runs if id(run) in curves]
        if not drawn:
            raise NotAvailable(why_none(runs, reasons[0]))
        groups = self.groups_of(drawn)
        if latency:
            for group in groups:
                with_probe = [run.probe.rtt_ms for run in group.runs]
                self.note_lost(group.label, numpy.concatenate(with_probe))
        axis, = self.grid()
        many = max(len(group.runs) for group in groups) > 1
        for group in groups:
            for number, run in enumerate(group.runs):
                at_s, values = curves[id(run)]
                axis.plot(
                    at_s + (start_s(run) if self.absolute_time else 0), values,
                    color=group.look.colour, linestyle=group.look.line,
                    linewidth=0.6 if many else 1.3, alpha=0.6 if many else 1,
                    label=group.label if number == 0 else f"_{group.label}")
            self.handles.append(line_key(group.label, group.look))
        if not self.absolute_time:
            shade_load(axis, drawn)
        axis.set_xlabel("time (s)")
        if latency:
            axis.set_yscale("log")
            name_latency_axis(axis, "y")
            axis.set_ylabel("slowest probe in 0.1 s (ms)")
        else:
            from_zero([axis])
            axis.set_ylabel("throughput in 0.1 s (Mbit/s)")
            if added := [run for run in drawn if len(ways_of(run)) > 1]:
                axis.set_ylabel("down + up in 0.1 s (Mbit/s)")
                self.note("download and upload added up"
                          + (f" in {len(added)} of {len(drawn)} runs"
                             if len(added) < len(drawn) else ""))
        self.note(about(drawn, probes=probes_of(drawn) if latency else ()))
        if reasons:
            self.note(f"{counted(len(reasons), 'run')} without: {reasons[0]}")


def slowest_per_step(run: Run) -> tuple[Numbers, Numbers]:
    """Return the slowest answered probe of each step of STEP_S in which a probe was answered: the
    steps' starts in s since the run's start, and RTTs in ms. Raises NotAvailable without a latency
    series, or if no probe was answered."""
    probe = run.probe
    answered = ~probe.lost
    at_s = probe.sent_s[answered] - start_s(run)
    if not at_s.size:
        raise NotAvailable("none of the probes came back")
    steps, first = numpy.unique((at_s / STEP_S).astype(int), return_index=True)
    return steps * STEP_S, numpy.maximum.reduceat(probe.rtt_ms[answered], first)


def ways_of(run: Run) -> set[str]:
    """Return the set of directions that a run's test loads: "download", "upload", or these two.
    Empty if no flow of the test is in a known direction."""
    return {flow.direction for flow in run.speed_test if flow.direction}


def captured_payload(run: Run, capture: Captured) -> tuple[Numbers, Numbers]:
    """Return the test's captured payload in both directions together: the steps' ends in s since
    the run's start, and throughput in Mbit/s. Cross traffic is left out. Raises NotAvailable
    if no packets of the test were captured.

    Args:
        run: the run.
        capture: its capture.
    """
    ways = [mbps for name, mbps in capture.mbps.items() if not name.startswith("cross_")]
    if not ways:
        raise NotAvailable("no packets of the test were captured")
    return capture.at_s - start_s(run), numpy.sum(ways, axis=0)

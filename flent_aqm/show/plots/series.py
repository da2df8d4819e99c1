# SPDX-License-Identifier: GPL-3.0-or-later
"""Selects the latency lines of a plot: each probe of one run, or a line for each group of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import for_plot
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.run import Run, Samples
from flent_aqm.show.groups import looks_within
from flent_aqm.show.looks import Look
from flent_aqm.show.plots.chart import MOST_LINES, ChartPlotter


@dataclass(frozen=True)
class Line:
    """Latency series that are drawn as one line. members: runs, each with one of its probes."""

    label: str
    look: Look
    members: Sequence[tuple[Run, Probe]]

    @property
    def runs(self) -> list[Run]:
        """Runs of the line."""
        return [run for run, _ in self.members]

    def loaded(self) -> list[Samples]:
        """Return each run's probes under load. Raises NotAvailable if a run has none."""
        return [run.loaded(None, probe) for run, probe in self.members]

    def idle(self) -> list[Samples]:
        """Return each run's probes before the load. Runs without such probes are left out."""
        samples = []
        for run, probe in self.members:
            try:
                samples.append(run.idle(probe))
            except NotAvailable:
                continue
        return samples

    def under_load_if_any(self) -> list[Samples]:
        """Return each run's probes under load, or all probes of tests without load. Raises
        NotAvailable."""
        return self.loaded() if any(run.flows for run in self.runs) else self.idle()


def lines(chart: ChartPlotter, runs: Sequence[Run], most: int = MOST_LINES,
          together: bool = False) -> list[Line]:
    """Return the lines to draw: for one run each probe, for several runs the best probe of each.

    Args:
        chart: the plot, whose options group runs.
        runs: the runs.
        most: largest number of lines.
        together: runs that repeat each other share a line.

    Raises NotAvailable if there is no probe.
    """
    with_probe = [run for run in runs if run.probes]
    if not with_probe:
        raise NotAvailable("the run has no latency series" if len(runs) == 1
                           else "none of the runs has a latency series")
    if len(with_probe) == 1 and not chart.group_names(runs):
        run, = with_probe
        looks = looks_within(run, [probe.name for probe in run.probes])
        return [Line(short(probe.name), looks[probe.name], [(run, probe)])
                for probe in run.probes]
    return [Line(group.label, group.look, [(run, run.probe) for run in group.runs])
            for group in chart.groups_of(with_probe, most, together)]


def short(name: str) -> str:
    """Return a series' name without the prefix that all have."""
    return for_plot(name.removeprefix("Ping (ms) ") or name)


def pooled(samples: Sequence[Samples]) -> Numbers:
    """Return all RTTs in ms, sorted. A lost probe is infinite."""
    if not samples:
        return numpy.empty(0)
    return numpy.sort(numpy.concatenate([one.rtt_ms for one in samples]))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the distributions of latency before the load and during it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from matplotlib.ticker import PercentFormatter

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.looks import Look, style_key
from flent_aqm.show.plots.axes import name_latency_axis
from flent_aqm.show.plots.chart import MOST_LINES, ChartPlotter, about
from flent_aqm.show.plots.series import Line, lines, pooled
from flent_aqm.show.plots.tail import LEAST_MS
from flent_aqm.show.plots.thin import thinned

# Distance between marks, which distinguish lines in a grey print, as a share of the axes' diagonal.
MARK_EVERY = 0.12
IDLE_LINE = (0, (1, 1.2))
WAY_LINES = {"download": (0, (5, 1.5)), "upload": (0, (6, 1.5, 1, 1.5))}


class AqmIdleLoadedPlotter(ChartPlotter):
    """A dotted line for the idle link, and a line under load. A single run with one latency series
    also has a line for each direction."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        drawn = lines(self, runs, MOST_LINES // 2)
        axis, = self.grid()
        counted = 0
        for line in drawn:
            try:
                loaded = pooled(line.loaded())
            except NotAvailable as reason:
                self.note(f"{line.label}: {reason}")
                continue
            idle = pooled(line.idle())
            alone = len(runs) == 1
            counted += idle.size + loaded.size
            self.note_lost(f"{line.label}, idle", idle)
            self.note_lost(f"{line.label}, loaded", loaded)
            if idle.size:
                self._step(axis, idle, line.look, IDLE_LINE,
                           f"{line.label}, idle" if alone else "_idle")
            else:
                self.note(f"{line.label}: no probe was sent before the load")
            self._step(axis, loaded, line.look, "-",
                       f"{line.label}, loaded" if alone else line.label)
            if alone and line is drawn[0]:
                self._ways(axis, line)
        self.handles = [one for one in self.handles if not one.get_label().startswith("_")]
        if len(runs) > 1:
            self.handles.append(style_key("the same, idle", linestyle=IDLE_LINE))
        if not axis.get_lines():
            raise NotAvailable("; ".join(self.notes))
        axis.set_xscale("log")
        name_latency_axis(axis)
        axis.set_xlabel("round-trip time (ms)")
        axis.set_ylabel("share of probes")
        axis.yaxis.set_major_formatter(PercentFormatter(1))
        axis.set_ylim(-0.02, 1.02)
        self.note(about(runs, counted, "probes"))

    def _ways(self, axis: Any, line: Line) -> None:
        """Draw a line for each direction, if a run's directions were loaded one after the other."""
        try:
            ways = {way: [run.loaded(way, probe) for run, probe in line.members]
                    for way in DIRECTIONS}
        except NotAvailable:
            return  # with one direction only, its line would be the same as the first
        if all(_one_after_the_other(run) for run in line.runs):
            for way, samples in ways.items():
                self._step(axis, pooled(samples), line.look, WAY_LINES[way],
                           f"{line.label}, {way}", width=1.0)

    def _step(self, axis: Any, latencies: Numbers, look: Look, style: Any, label: str,
              width: float = 1.8) -> None:
        """Draw a distribution as a line with steps."""
        at_ms, share = ecdf(latencies)
        self.handles += axis.plot(at_ms, share, drawstyle="steps-post", color=look.colour,
                                  linestyle=style, linewidth=width, label=label,
                                  marker=look.marker, markevery=MARK_EVERY, markersize=4.5,
                                  markeredgecolor="white", markeredgewidth=0.4)


def ecdf(latencies: Numbers) -> tuple[Numbers, Numbers]:
    """Return latencies, and the share of samples that are not longer, from sorted latencies. The
    share stays below 1 if probes were lost."""
    finite = latencies[numpy.isfinite(latencies)]
    at, first = numpy.unique(finite, return_index=True)
    counted = numpy.append(first[1:], finite.size)
    return thinned(numpy.maximum(numpy.append(at[:1], at), LEAST_MS),
                   numpy.append(0.0, counted / max(1, latencies.size)))


def _one_after_the_other(run: Run) -> bool:
    """Return whether a run's directions were loaded one after the other, as NDT7 does."""
    spans = [(run.loaded(way).sent_s[0], run.loaded(way).sent_s[-1]) for way in DIRECTIONS]
    return bool(spans[0][1] <= spans[1][0] or spans[1][1] <= spans[0][0])

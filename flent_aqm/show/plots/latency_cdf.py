# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the distribution of latency under load: the share of probes answered within a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from matplotlib.ticker import PercentFormatter

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.plots.axes import from_zero, name_latency_axis
from flent_aqm.show.plots.chart import ChartPlotter, about
from flent_aqm.show.plots.idle_loaded import ecdf
from flent_aqm.show.plots.series import lines, pooled


class AqmLatencyCdfPlotter(ChartPlotter):
    """A line for each latency series of a run. For several runs, a line for each, or, with the
    plot's key `together`, for all that repeat each other.

    Each line has the run's own probes under its own load, or all probes of a test without load.
    With the key `log`, the axis of latencies is logarithmic.
    """

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        together = bool(self.config.get("together"))
        drawn = []
        for line in lines(self, runs, together=together):
            try:
                latencies = pooled(line.under_load_if_any())
            except NotAvailable as reason:
                self.note(f"left out: {line.label}: {reason}")
                continue
            if latencies.size:
                drawn.append((line, latencies))
        if not drawn:
            raise NotAvailable("no probe was sent under load")
        axis, = self.grid()
        # Each line is thinner than the one below it, because equal lines coincide.
        widths = numpy.linspace(2.6, 1.4, len(drawn))
        for (line, latencies), width in zip(drawn, widths, strict=True):
            count = f" (n={len(line.runs)})" if len(line.runs) > 1 else ""
            self.handles += axis.plot(*ecdf(latencies), drawstyle="steps-post", linewidth=width,
                                      color=line.look.colour, linestyle=line.look.line,
                                      label=line.label + count)
            self.note_lost(line.label, latencies)
        if self.config.get("log"):
            axis.set_xscale("log")
            name_latency_axis(axis)
        else:
            from_zero([axis], "x")
        axis.set_xlabel("round-trip time under load (ms)" if any(run.flows for run in runs)
                        else "round-trip time (ms)")
        axis.set_ylabel("share of probes")
        axis.yaxis.set_major_formatter(PercentFormatter(1))
        axis.set_ylim(-0.02, 1.02)
        self.note(about(runs, sum(latencies.size for _, latencies in drawn), "probes"))

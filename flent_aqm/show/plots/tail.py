# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the tail of latency: the share of probes that took longer, down to one in a thousand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.percentiles import percentile
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.looks import QUIET
from flent_aqm.show.plots.axes import name_latency_axis
from flent_aqm.show.plots.chart import ChartPlotter, about
from flent_aqm.show.plots.series import lines, pooled
from flent_aqm.show.plots.thin import thinned

PERCENTILES = (50.0, 90.0, 99.0, 99.9)
# Lowest share that is drawn: that of p99.9, and some room.
LEAST_SHARE = 0.0007
# Latencies are drawn at no less than this, because 0 has no place on a logarithmic axis. ping
# prints hundredths of a ms.
LEAST_MS = 0.001


class AqmTailPlotter(ChartPlotter):
    """The complement of the distribution, with two logarithmic axes and marks at percentiles."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        drawn = []
        for line in lines(self, runs):
            try:
                drawn.append((line, pooled(line.under_load_if_any())))
            except NotAvailable as reason:
                self.note(f"left out: {line.label}: {reason}")
        drawn = [(line, latencies) for line, latencies in drawn if latencies.size > 1]
        if not drawn:
            raise NotAvailable("no probe was sent under load")
        axis, = self.grid()
        for line, latencies in drawn:
            percentiles = {percent: _percentile_or_none(latencies, percent)
                           for percent in PERCENTILES}
            at_ms, share = thinned(*ccdf(latencies), log_share=True)
            self.handles += axis.plot(at_ms, share, color=line.look.colour,
                                      linestyle=line.look.line, linewidth=1.6,
                                      drawstyle="steps-post", label=line.label)
            marked = [(value, 1 - percent / 100) for percent, value in percentiles.items()
                      if value is not None]
            if marked:
                axis.plot(*zip(*marked, strict=True), color=line.look.colour, linestyle="none",
                          marker=line.look.marker, markersize=5, label="_percentiles",
                          markeredgecolor="white", markeredgewidth=0.5)
            missing = [f"p{percent:g}" for percent, value in percentiles.items() if value is None]
            if missing:
                self.note(f"{line.label}: too few samples for {', '.join(missing)}"
                          if len(drawn) <= 3 else "no mark: too few samples")
            self.note_lost(line.label, latencies)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(LEAST_SHARE, 1.3)
        axis.yaxis.set_major_formatter("{x:.1%}")
        name_latency_axis(axis)
        axis.set_xlabel("round-trip time under load (ms)" if any(run.flows for run in runs)
                        else "round-trip time (ms)")
        axis.set_ylabel("share of probes that took longer")
        # Percentiles are texts, not a second axis: flent-gui gets the picture from another process,
        # and matplotlib's secondary axes can't be pickled.
        for percent in PERCENTILES:
            share_then = 1 - percent / 100
            axis.axhline(share_then, color=QUIET, linewidth=0.5, alpha=0.5, zorder=0,
                         label="_percentile")
            axis.text(1.01, share_then, f"p{percent:g}", transform=axis.get_yaxis_transform(),
                      va="center", fontsize="small", color=QUIET, label="percentile")
        self.note(about(runs, sum(latencies.size for _, latencies in drawn), "probes"))


def ccdf(latencies: Numbers) -> tuple[Numbers, Numbers]:
    """Return the latencies at which the share of slower probes changes, and that share, from sorted
    latencies. The share does not fall below that of the lost probes."""
    at_ms, first = numpy.unique(latencies[numpy.isfinite(latencies)], return_index=True)
    # Number of samples up to and including each value.
    counted = numpy.append(first[1:], int(numpy.isfinite(latencies).sum()))
    share = 1 - counted / latencies.size
    return numpy.maximum(at_ms, LEAST_MS), share


def _percentile_or_none(latencies: Numbers, percent: float) -> float | None:
    """Return a percentile of latencies, None if there are too few samples or it is a lost probe."""
    try:
        return percentile(latencies, percent)
    except NotAvailable:
        return None

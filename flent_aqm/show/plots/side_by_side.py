# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw runs side by side, as Ping-exp does: a column for each run.

A column has latency over time, its distribution, and that of jitter. Destinations share a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import for_plot
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.looks import looks_for, style_key, wrapped
from flent_aqm.show.plots.axes import from_zero
from flent_aqm.show.plots.chart import ChartPlotter, about
from flent_aqm.show.plots.latency import short_name, why_no_latency
from flent_aqm.show.plots.paper import FLENTS_HEIGHT, is_height_open

MOST_RUNS = 4
# Width of each column in a picture whose size the user did not set.
COLUMN_INCHES = 3.0
# Position of lost probes as a share of the height, the beginning of the strip for them, and their
# look.
LOST_AT, LOST_FROM = 0.97, 0.94
LOST: dict[str, Any] = {"linestyle": "none", "marker": "x", "markersize": 3.5}


class AqmSideBySidePlotter(ChartPlotter):
    """Every latency series of up to MOST_RUNS runs, with a column for each run: its RTTs over time,
    their distribution, and that of jitter_ms(). Lost probes are crosses at the top, and the
    distribution of a series with lost probes ends below 1. A column's title has the share of lost
    probes of each series, in the order of the legend."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        from matplotlib.lines import Line2D

        drawn = [run for run in runs if run.probes]
        if not drawn:
            raise NotAvailable(why_no_latency(runs))
        if len(drawn) > MOST_RUNS:
            self.note(f"{MOST_RUNS} of {len(drawn)} runs shown")
            drawn = drawn[:MOST_RUNS]
        looks = looks_for(sorted({probe.name for run in drawn for probe in run.probes}))
        if self._part_axis is None and is_height_open(self.fig_width, self.fig_height):
            width = self.fig_width
            if self.fig_height == FLENTS_HEIGHT:
                width = COLUMN_INCHES * max(len(drawn), 2)
            self.figure.set_size_inches(width, min(8, 1.3 * width))
        axes = self.grid(3, len(drawn), sharey="row", sharex="row")
        columns = len(axes) // 3 or 1
        for column, run in enumerate(drawn):
            cells = axes[column::columns]
            lost = []
            # The sort is that of the legend, so that shares and entries stand in the same order.
            for probe in sorted(run.probes, key=lambda probe: probe.name):
                colour = looks[probe.name].colour
                _draw_over_time(cells[0], run, probe, colour)
                if len(cells) == 3:
                    _draw_distribution(cells[1], probe.rtt_ms, colour)
                    _draw_distribution(cells[2], jitter_ms(probe), colour)
                lost.append("not known" if probe.loss_unknown
                            else f"{probe.lost.mean() * 100:.1f} %")
            title = for_plot(run.title or run.test)
            cells[0].set_title(wrapped(f"{title}\nlost: {', '.join(lost)}",
                                       self.figure.get_figwidth() / columns), fontsize="small")
        self.handles += [Line2D([], [], label=short_name(name), color=look.colour)
                         for name, look in looks.items()]
        if any(probe.lost.any() for run in drawn for probe in run.probes):
            self.handles.append(style_key("lost, at the upper edge", **LOST))
        labels = (("time (s)", "round-trip time (ms)"),
                  ("round-trip time (ms)", "share of probes"),
                  ("difference of neighbours (ms)", "share of pairs"))
        for row, (below, beside) in enumerate(labels[:len(axes) // columns]):
            for axis in axes[row * columns:(row + 1) * columns]:
                axis.set_xlabel(wrapped(below, 0.8 * self.figure.get_figwidth() / columns))
            axes[row * columns].set_ylabel(beside)
            # The strip for lost probes is above all RTTs.
            if row == 0:
                from_zero(axes[:columns], room=1 / (LOST_FROM - 0.02))
        self.note(about(drawn, sum(probe.rtt_ms.size for run in drawn for probe in run.probes),
                        "probes", (probe for run in drawn for probe in run.probes)))


def jitter_ms(probe: Probe) -> Any:
    """Return the absolute differences in ms between the RTTs of successive probes that were both
    answered. May be empty."""
    differences = numpy.abs(numpy.diff(numpy.where(probe.lost, numpy.nan, probe.rtt_ms)))
    return differences[numpy.isfinite(differences)]


def _draw_over_time(axis: Any, run: Run, probe: Probe, colour: str) -> None:
    """Draw a probe's RTTs in ms over seconds since the run's first probe, and lost probes as
    crosses at the upper edge."""
    begin_s = min(float(one.sent_s[0]) for one in run.probes)
    there = ~probe.lost
    axis.plot(probe.sent_s[there] - begin_s, probe.rtt_ms[there], ".", markersize=2.5,
              color=colour)
    axis.plot(probe.sent_s[probe.lost] - begin_s, numpy.full(int(probe.lost.sum()), LOST_AT),
              color=colour, transform=axis.get_xaxis_transform(), **LOST)


def _draw_distribution(axis: Any, values: Any, colour: str) -> None:
    """Draw the cumulative distribution of an array of values as steps, nothing if it is empty, and
    set the y axis to 0 to 1. The distribution ends below 1 if values are infinite, which are lost
    probes."""
    if values.size:
        came = numpy.sort(values[numpy.isfinite(values)])
        axis.step(came, numpy.arange(1, came.size + 1) / values.size, where="post",
                  color=colour, linewidth=1.3)
    axis.set_ylim(0, 1)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw any metric of many runs as dots with the median's interval, or as boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import counted
from flent_aqm.results.metrics.compare import interval_caveat, level_for
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import LOST, Unavailable, ranked
from flent_aqm.show.plots.axes import from_zero, name_latency_axis, spans_decades
from flent_aqm.show.plots.chart import ChartPlotter, about, why_none
from flent_aqm.show.plots.distributions import FEWEST_FOR_BOX, draw_side_by_side
from flent_aqm.show.plots.places import axis_label, condition_grid, fit_labels, short_labels
from flent_aqm.show.plots.values import metric_named


class AqmCompareMetricPlotter(ChartPlotter):
    """Each run's value of the metric that --metric names (by default DEFAULT_METRIC), by condition
    and compared setting. The plot's key `kind` is "dots" or "box". A percentile that is a lost
    probe is drawn above all values. Runs without a value are left out, and counted in a note.
    draw() raises NotAvailable if no run has a value, and ConfigError if the metric is unknown."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        metric = metric_named(self.metric)
        numbers = {run: metric.of(run) for run in runs}
        reasons = [one.because for one in numbers.values()
                   if isinstance(one, Unavailable) and not one.lost]
        conditions = condition_grid(self, runs)
        cells = {at: numpy.array([value for run in members
                                  if (value := ranked(numbers[run])) is not None])
                 for at, members in conditions.runs.items()}
        together = numpy.concatenate([numpy.empty(0), *cells.values()])
        if not together.size:
            # Of the runs in the places that are drawn: others may have a value.
            drawn = [run for run in runs if any(run in of for of in conditions.runs.values())]
            why = next(one.because for run in drawn
                       if isinstance(one := numbers[run], Unavailable))
            raise NotAvailable(f"{metric.name}: {why_none(drawn, why)}")
        log = spans_decades(together)
        kind = self.config.get("kind", "dots")
        axis, = self.grid()
        self.handles = draw_side_by_side(axis, short_labels(conditions.along, conditions.keys),
                                         conditions.compared, cells, kind, log)
        if log:
            name_latency_axis(axis, "y")
        elif not (together < 0).any():
            from_zero([axis])
        self.heading = metric.description
        axis.set_ylabel(f"{metric.label}\n({metric.unit})" if metric.unit else metric.label)
        axis.set_xlabel(axis_label(conditions.along))
        fit_labels(self, axis)
        for line in _explain_marks(kind, cells.values(), runs):
            self.note(line)
        self.note_pooled(runs, conditions.used)
        if numpy.isinf(together).any():
            self.note(f"{LOST}: that percentile is a lost probe, slower than any")
        if reasons:
            self.note(f"{counted(len(reasons), 'run')} without: {reasons[0]}")
        self.note(about(runs, probes=[run.probe for run in runs if metric.is_of_probe(run)]))


def _explain_marks(kind: str, cells: Any, runs: Sequence[Run]) -> list[str]:
    """Return the caption's lines that explain the marks and the interval. One may be "".

    Args:
        kind: "dots" or "box".
        cells: arrays of values, one for each group of runs, not all of them empty.
        runs: runs of the plot.
    """
    sizes = [cell.size for cell in cells if cell.size]
    if kind == "box":
        return ["a number a run; box: quartiles; whiskers: p5, p95" if max(sizes) >= FEWEST_FOR_BOX
                else "a mark a run"]
    levels = [level for size in sizes if (level := level_for(size)) is not None]
    if not levels:
        return ["small dot: a run; large: the median; an interval needs six runs"]
    percents = " to ".join(dict.fromkeys(f"{100 * one:.0f}" for one in (min(levels), max(levels))))
    return [f"small dot: a run; large: the median; bar: its interval ({percents} %)",
            interval_caveat(run.settings.get("testbed") for run in runs)]

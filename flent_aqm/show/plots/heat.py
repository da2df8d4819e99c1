# SPDX-License-Identifier: GPL-3.0-or-later
"""A metric over two settings, queue and rate unless others are asked for, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import ConfigError, NotAvailable
from flent_aqm.results.grouping import setting
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import LOST, METRICS, Metric, Unavailable, middle, ranked
from flent_aqm.show.grouping import (
    Value,
    axes_of,
    key_of,
    sorted_keys,
    sorted_values,
    word,
)
from flent_aqm.show.looks import DASH, MISSING, NUMBERS_MAP, QUIET
from flent_aqm.show.plots.chart import ChartPlotter, about
from flent_aqm.show.plots.compare import MOST_PLACES, axis_label, short_labels

DEFAULT_METRIC = "latency_loaded_p99_ms"
# Beyond this spread, a linear scale of colours would show the highest cell only.
LOG_FROM = 20


class AqmHeatPlotter(ChartPlotter):
    """Each cell has the median of its runs; --metric names another metric."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        name = self.metric or self.config.get("metric", DEFAULT_METRIC)
        if name not in METRICS:
            raise ConfigError(f"--metric: unknown metric {name!r}; "
                              "'flent-aqm score --list' has all")
        metric = METRICS[name]
        along, down = axes_of(runs, self.group_names(runs))
        columns = self.first(sorted_keys(runs, along), MOST_PLACES)
        rows = sorted_values(down, [setting(run.settings, down) for run in runs])
        table, reasons = medians(metric, runs, (down, rows), (along, columns))
        if numpy.isnan(table).all():
            raise NotAvailable(f"{name}: {reasons[0]}")
        axis, = self.grid()
        image = draw_heat(axis, table, metric)
        self.figure.colorbar(image, ax=axis, label=f"{name} ({metric.unit})" if metric.unit
                             else name, format="{x:g}")
        self.heading = f"{metric.description}; median of each cell's runs"
        axis.set_xticks(range(len(columns)), short_labels(along, columns))
        axis.set_yticks(range(len(rows)), [word(down, value) for value in rows])
        axis.set_xlabel(axis_label(along))
        self.note_pooled(runs, (*along, down))
        if numpy.isinf(table).any():
            self.note(f"{LOST}: that percentile is a lost probe, slower than any")
        if reasons:
            self.note(f"{len(reasons)} runs without: {reasons[0]}")
        self.note(about(runs))


def medians(
    metric: Metric, runs: Sequence[Run], rows: tuple[str, Sequence[Value | None]],
    columns: tuple[Sequence[str], Sequence[Sequence[Value | None]]],
) -> tuple[Any, list[str]]:
    """Return the median of a metric over each cell's runs: not a number where there is none,
    infinite where it is a lost probe. And why runs had none."""
    table = numpy.full((len(rows[1]), len(columns[1])), numpy.nan)
    reasons: list[str] = []
    for row, down in enumerate(rows[1]):
        for column, along in enumerate(columns[1]):
            found = [metric.of(run) for run in runs
                     if (setting(run.settings, rows[0]), key_of(run, columns[0])) == (down, along)]
            reasons += [one.because for one in found
                        if isinstance(one, Unavailable) and not one.lost]
            value = ranked(middle(found))
            if value is not None:
                table[row, column] = value
    return table, reasons


def draw_heat(axis: Any, table: Any, metric: Metric) -> Any:
    """Draw a table of numbers with their values in the cells; gives the image. Cells
    without a number are grey, with a dash; those of a lost probe are as bad as can be."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize

    known = table[numpy.isfinite(table)]
    known = known if known.size else numpy.ones(1)
    positive = known[known > 0]
    if positive.size and positive.size == known.size and known.max() > LOG_FROM * known.min():
        norm: Any = LogNorm(known.min(), known.max())
    else:
        norm = Normalize(min(0.0, known.min()), max(known.max(), 1e-9))
    colours = colormaps[NUMBERS_MAP].with_extremes(bad=MISSING)
    worst = numpy.where(numpy.isinf(table), norm.vmax, table)
    image = axis.imshow(numpy.ma.masked_invalid(worst), cmap=colours, norm=norm, aspect="auto")
    for (row, column), value in numpy.ndenumerate(table):
        if not numpy.isnan(value):
            red, green, blue, _ = colours(norm(worst[row, column]))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            text = LOST if numpy.isinf(value) else metric.text(float(value))
            axis.text(column, row, text, ha="center", va="center",
                      color="white" if dark else "black", fontsize="small")
        else:
            axis.text(column, row, DASH, ha="center", va="center", color=QUIET)
    axis.grid(visible=False)
    return image

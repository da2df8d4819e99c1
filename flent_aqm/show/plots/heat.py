# SPDX-License-Identifier: GPL-3.0-or-later
"""A metric over two settings, queue and rate unless others are asked for, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import METRICS, Metric, Unavailable
from flent_aqm.show.grouping import Value, factors, sorted_values, word
from flent_aqm.show.looks import DASH, MISSING, NUMBERS_MAP, QUIET
from flent_aqm.show.plots.chart import ChartPlotter, about
from flent_aqm.show.plots.compare import axis_names

DEFAULT_METRIC = "latency_loaded_p99_ms"
# Beyond this spread, a linear scale of colours would show the highest cell only.
LOG_FROM = 20


class AqmHeatPlotter(ChartPlotter):
    """Each cell has the median of its runs; --metric names another metric."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        name = self.metric or self.config.get("metric", DEFAULT_METRIC)
        if name not in METRICS:
            raise BadResult(f"unknown metric {name!r}; known: {', '.join(METRICS)}")
        metric = METRICS[name]
        along, down = axis_names(runs, self.group_names(runs))
        columns = sorted_values(along, [run.settings.get(along) for run in runs])
        rows = sorted_values(down, [run.settings.get(down) for run in runs])
        table, reasons = medians(metric, runs, (down, rows), (along, columns))
        if numpy.isnan(table).all():
            raise NotAvailable(f"{name}: {reasons[0]}")
        axis, = self.grid()
        image = draw_heat(axis, table, metric)
        self.figure.colorbar(image, ax=axis, label=f"{name} ({metric.unit})" if metric.unit
                             else name, format="{x:g}")
        self.heading = f"{metric.description}; median of each cell's runs"
        axis.set_xticks(range(len(columns)),
                        [word(along, value).removesuffix(" Mbit/s") for value in columns])
        axis.set_yticks(range(len(rows)), [word(down, value) for value in rows])
        axis.set_xlabel({"rate_mbps": "link rate (Mbit/s)"}.get(along, along.replace("_", " ")))
        rest = [one for one in factors(runs) if one not in (along, down)]
        if rest:
            self.note(f"pooled over {', '.join(rest)}")
        if reasons:
            self.note(f"{len(reasons)} runs without: {reasons[0]}")
        self.note(about(runs))


def medians(
    metric: Metric, runs: Sequence[Run], rows: tuple[str, Sequence[Value | None]],
    columns: tuple[str, Sequence[Value | None]],
) -> tuple[Any, list[str]]:
    """The median of a metric over each cell's runs, not a number where there is none; and
    why runs had none."""
    table = numpy.full((len(rows[1]), len(columns[1])), numpy.nan)
    reasons: list[str] = []
    for row, down in enumerate(rows[1]):
        for column, along in enumerate(columns[1]):
            found = []
            for run in runs:
                if (run.settings.get(rows[0]), run.settings.get(columns[0])) != (down, along):
                    continue
                value = metric.of(run)
                if isinstance(value, Unavailable):
                    reasons.append(value.because)
                else:
                    found.append(value)
            if found:
                table[row, column] = numpy.median(found)
    return table, reasons


def draw_heat(axis: Any, table: Any, metric: Metric) -> Any:
    """Draw a table of numbers with their values in the cells; gives the image. Cells
    without a number are grey, with a dash."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize

    known = table[numpy.isfinite(table)]
    positive = known[known > 0]
    if positive.size and positive.size == known.size and known.max() > LOG_FROM * known.min():
        norm: Any = LogNorm(known.min(), known.max())
    else:
        norm = Normalize(min(0.0, known.min()), max(known.max(), 1e-9))
    colours = colormaps[NUMBERS_MAP].with_extremes(bad=MISSING)
    image = axis.imshow(numpy.ma.masked_invalid(table), cmap=colours, norm=norm, aspect="auto")
    for (row, column), value in numpy.ndenumerate(table):
        if numpy.isfinite(value):
            red, green, blue, _ = colours(norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            axis.text(column, row, metric.text(float(value)), ha="center", va="center",
                      color="white" if dark else "black", fontsize="small")
        else:
            axis.text(column, row, DASH, ha="center", va="center", color=QUIET)
    axis.grid(visible=False)
    return image

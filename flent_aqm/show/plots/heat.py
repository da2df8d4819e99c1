# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw a metric as a heat map over two settings, by default queue and rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import counted
from flent_aqm.results.grouping import setting, sorted_values
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.table import LOST, Metric, Unavailable, middle, ranked
from flent_aqm.show.groups import (
    axes_of,
    key_of,
    sorted_keys,
    word,
)
from flent_aqm.show.looks import DASH, MISSING, NUMBERS_MAP, QUIET
from flent_aqm.show.plots.axes import LogTicks, spans_decades
from flent_aqm.show.plots.chart import ChartPlotter, about
from flent_aqm.show.plots.paper import is_height_open
from flent_aqm.show.plots.places import MOST_PLACES, axis_label, short_labels, turn_upright
from flent_aqm.show.plots.values import metric_named


class AqmHeatPlotter(ChartPlotter):
    """A heat map of the metric that --metric names (by default DEFAULT_METRIC). axes_of() chooses
    the setting of the rows, and the settings whose combinations of values are the columns. Each
    cell has the median of its runs. At most MOST_PLACES columns are drawn.

    Attributes:
        _cells: number of rows and of columns, None until the map is drawn.
    """

    _cells: tuple[int, int] | None = None

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        metric = metric_named(self.metric)
        name = metric.name
        along, down = axes_of(runs, self.group_names(runs))
        columns = self.first(sorted_keys(runs, along), MOST_PLACES)
        rows = sorted_values(down, [setting(run.settings, down) for run in runs])
        table, reasons = medians(metric, runs, (down, rows), (along, columns))
        if numpy.isnan(table).all():
            others = " (other runs lack it for other reasons)" * (len(set(reasons)) > 1)
            raise NotAvailable(f"{name}: {reasons[0]}{others}")
        axis, = self.grid()
        image = draw_heat(axis, table, metric)
        bar = self.figure.colorbar(
            image, ax=axis, label=f"{name} ({metric.unit})" if metric.unit else name,
            format="{x:g}", ticks=LogTicks() if spans_decades(table) else None)
        bar.minorticks_off()
        self.heading = f"{metric.description}; median of each cell's runs"
        axis.set_xticks(range(len(columns)), short_labels(along, columns))
        axis.set_yticks(range(len(rows)), [word(down, value) for value in rows])
        axis.set_xlabel(axis_label(along))
        turned = turn_labels(axis, len(columns))
        if turned and self._part_axis is None and is_height_open(self.fig_width, self.fig_height):
            # The picture grows, so that labels don't take room from the cells.
            self.figure.set_figheight(self.figure.get_figheight() + 0.3 * self.fig_width)
        self.note_pooled(runs, (*along, down))
        if numpy.isinf(table).any():
            self.note(f"{LOST}: that percentile is a lost probe, slower than any")
        if reasons:
            self.note(f"{counted(len(reasons), 'run')} without: {reasons[0]}")
        self.note(about(runs, probes=[run.probe for run in runs if metric.is_of_probe(run)]))
        self._cells = table.shape

    def settle(self) -> str:
        """Fit the values into the cells. If there is no room for them, remove them and return a
        note that says so, otherwise return ""."""
        if not self._cells or fit_values(self.axes[0], self._cells):
            return ""
        return ("cells have no room for their numbers: the colours tell them, and flent-aqm "
                "score --by")


def medians(
    metric: Metric, runs: Sequence[Run], rows: tuple[str, Sequence[Setting | None]],
    columns: tuple[Sequence[str], Sequence[Sequence[Setting | None]]],
) -> tuple[Any, list[str]]:
    """Return the median of a metric over each cell's runs, and the reasons why runs have no value.
    A cell is NaN if none of its runs has a value, infinite if the median is a lost probe, or lies
    between a number and one.

    Args:
        metric: the metric.
        runs: the runs. Those that belong to no cell are ignored.
        rows: name of the setting of the rows, and its values.
        columns: names of the settings of the columns, and their combinations of values, as key_of()
            returns them.

    Returns:
        Array of medians in rows and columns, and a reason for each of the cells' runs without a
            value, row by row. A lost probe is a value.
    """
    table = numpy.full((len(rows[1]), len(columns[1])), numpy.nan)
    reasons: list[str] = []
    for row, down in enumerate(rows[1]):
        for column, along in enumerate(columns[1]):
            cell = [metric.of(run) for run in runs
                    if (setting(run.settings, rows[0]), key_of(run, columns[0])) == (down, along)]
            reasons += [one.because for one in cell
                        if isinstance(one, Unavailable) and not one.lost]
            value = ranked(middle(cell))
            if value is not None:
                table[row, column] = value
    return table, reasons


def draw_heat(axis: Any, table: Any, metric: Metric) -> Any:
    """Draw a table with the values in the cells, and return matplotlib's image. The colours' scale
    is logarithmic if spans_decades() says so, else it begins at zero, or at the lowest value if
    that is negative. Cells without a value are grey with a dash. Cells with a lost probe have the
    text LOST and the colour at the upper end of the scale.

    Args:
        axis: matplotlib axes.
        table: array of values, NaN without a value, infinite for a lost probe.
        metric: the metric, which formats the values.
    """
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize

    finite = table[numpy.isfinite(table)]
    finite = finite if finite.size else numpy.ones(1)
    if spans_decades(finite):
        norm: Any = LogNorm(finite.min(), finite.max())
    else:
        norm = Normalize(min(0.0, finite.min()), max(finite.max(), 1e-9))
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


# Font sizes to try, the most readable first.
_SIZES = ("small", "x-small", "xx-small")
# Share of a cell's width or height that its text may fill.
_FILLED = 0.92


def turn_labels(axis: Any, columns: int) -> bool:
    """Turn the labels of the columns upright if they are too wide, with commas in place of their
    line breaks. Return whether they were turned.

    Args:
        axis: matplotlib axes.
        columns: number of columns.
    """
    axis.figure.draw_without_rendering()  # computes the layout
    if _widest(axis.get_xticklabels()) <= _FILLED * axis.bbox.width / columns:
        return False
    turn_upright(axis)
    return True


def fit_values(axis: Any, shape: tuple[int, int]) -> bool:
    """Choose the font size of the values and of the rows' labels, and turn the values upright if
    that helps. Return whether the values fit into the cells. If not, they are removed.

    Args:
        axis: matplotlib axes with a heat map.
        shape: number of rows and columns.
    """
    down, across = shape
    figure = axis.figure
    for size in _SIZES:
        figure.draw_without_rendering()
        if _highest(axis.get_yticklabels()) <= axis.bbox.height / down:
            break
        axis.tick_params(axis="y", labelsize=size)
    for turned in (0, 90):
        for size in _SIZES:
            for text in axis.texts:
                text.set(fontsize=size, rotation=0 if text.get_text() == DASH else turned)
            figure.draw_without_rendering()
            if (_widest(axis.texts) <= _FILLED * axis.bbox.width / across
                    and _highest(axis.texts) <= _FILLED * axis.bbox.height / down):
                return True
    for text in list(axis.texts):
        text.remove()
    return False


def _widest(texts: Sequence[Any]) -> float:
    """Return the largest width of matplotlib texts in pixels, 0 without any."""
    return max((text.get_window_extent().width for text in texts), default=0.0)


def _highest(texts: Sequence[Any]) -> float:
    """Return the largest height of matplotlib texts in pixels, 0 without any."""
    return max((text.get_window_extent().height for text in texts), default=0.0)

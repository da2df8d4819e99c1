# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw distributions of many runs as lines, in one panel, or in one for each condition.

There are several panels if one would have too many lines, so that no panel has more lines than
there are queues.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.groups import word
from flent_aqm.show.looks import Look, line_key, wrapped
from flent_aqm.show.plots.axes import name_latency_axis
from flent_aqm.show.plots.compare import ComparePlotter
from flent_aqm.show.plots.latency import ecdf
from flent_aqm.show.plots.paper import PAPER_INCHES, is_height_open
from flent_aqm.show.plots.places import ConditionGrid, condition_grid
from flent_aqm.show.plots.values import values

# More lines in one panel can't be told apart.
MOST_TOGETHER = 6
MOST_PANELS = 12
# Width of the first and of the last line, in points. Each line is thinner than the one below it, so
# that both can be seen.
WIDTHS, NARROW_WIDTHS = (3.0, 1.2), (2.6, 0.8)
# Height of a row of panels, and of all text above and below the rows, in inches.
ROW_HEIGHT, NARROW_ROW_HEIGHT, WORDS_HEIGHT = 2.4, 1.15, 1.0
# Letters of a panel's title per inch, and the additional height of a row for each further line of a
# title, in inches.
TITLE_LETTERS, TITLE_LINE_HEIGHT = 13.0, 0.14
Drawn = Sequence[tuple[str, Look, Numbers]]


class AqmCompareEcdfPlotter(ComparePlotter):
    """A line for each group of runs. There is a panel for each direction. If there are more than
    MOST_TOGETHER groups and several conditions, there is one for each condition and direction that
    has samples: a condition is the settings that the runs of one panel share. There are no
    conditions if the user groups by one setting, or by more than two."""

    def _draw(self, runs: Sequence[Run], ways: Sequence[str]) -> None:
        # One setting to group by gives no conditions. With three, the third would be pooled.
        if len(self.group_names(runs)) in (0, 2):
            conditions = condition_grid(self, runs, MOST_PANELS)
            if len(conditions.keys) > 1 and conditions.groups() > MOST_TOGETHER:
                self._draw_panels(runs, conditions, ways)
                return
        self._draw_together(runs, ways)

    def _draw_together(self, runs: Sequence[Run], ways: Sequence[str]) -> None:
        """Draw groups of runs, at most MOST_LINES, in one panel for each direction, and note what
        is left out, pooled or lost. ways: "download", "upload" or both."""
        groups = self.groups_of(runs, together=True)
        shared = self.shares_scale(runs, ways)
        axes = self.grid(1, len(ways), sharey=True, sharex=shared)
        for axis, direction in zip(axes, ways, strict=True):
            lines = [(group.label, group.look, values(self.quantity, group.runs, direction))
                     for group in groups]
            for label, _, samples in lines:
                self.note_lost(f"{label}, {direction}", samples)
            self._draw_lines(axis, lines)
            axis.set_title(direction, fontsize="medium")
        self._label_axes(axes, len(ways), shared)

    def _draw_panels(self, runs: Sequence[Run], conditions: ConditionGrid, ways: Sequence[str]
                     ) -> None:
        """Draw a panel for each condition and direction that has samples, with a line for each
        value of the compared setting that has some. Sets legend and notes, and the figure's height
        unless the user or flent-gui's window determines it.

        Args:
            runs: the runs.
            conditions: the runs by condition and value of the compared setting.
            ways: "download", "upload" or both.
        """
        panels = []
        for place, key in enumerate(conditions.keys):
            for direction in ways:
                lines = [(side.label, side.look,
                          values(self.quantity, conditions.runs[place, number], direction))
                         for number, side in enumerate(conditions.compared)]
                # A test of one direction has no samples in the other.
                if any(samples.size for *_, samples in lines):
                    panels.append((", ".join(map(word, conditions.along, key)), direction, lines))
        whole = len(panels) == len(conditions.keys) * len(ways)
        columns = len(ways) if len(ways) > 1 and whole else self._column_count(len(panels) or 1)
        rows = math.ceil(len(panels) / columns) or 1
        width = self.figure.get_figwidth()
        titles = [wrapped(name if len(ways) == 1 else f"{name}, {direction}", width / columns,
                          TITLE_LETTERS) for name, direction, _ in panels]
        if is_height_open(self.fig_width, self.fig_height) and not self.in_window:
            lines_of_titles = max((title.count("\n") for title in titles), default=0)
            self.figure.set_figheight(WORDS_HEIGHT + rows * (
                lines_of_titles * TITLE_LINE_HEIGHT
                + (NARROW_ROW_HEIGHT if self._narrow else ROW_HEIGHT)))
        axes = self.grid(rows, columns, sharey=True, sharex=True)
        lost = [numpy.empty(0)]
        at = iter(axes)
        for axis, title, (_, _, lines) in zip(at, titles, panels, strict=False):
            lost += [samples for *_, samples in lines]
            self._draw_lines(axis, lines)
            axis.set_title(title, loc="left", fontsize="small")
        for axis in axes[len(panels):]:  # unused panels of the last row
            axis.set_visible(False)
        self.axes = [axis for axis in axes if axis.get_visible()]
        self.handles = [line_key(side.label, side.look) for side in conditions.compared]
        if len(ways) == 1:
            self.note(*ways)
        self.note_lost("all together", numpy.concatenate(lost))
        self.note_pooled(runs, conditions.used)
        self._label_axes(self.axes, columns)

    def _column_count(self, panels: int) -> int:
        """Return the number of columns for a number of panels: one for each of up to three panels,
        2 for four, and 3 for more. In a narrow figure, 1 for up to three panels and 2 for more."""
        if panels <= 3:
            return 1 if self._narrow else panels
        return 2 if self._narrow else math.ceil(panels / math.ceil(panels / 3))

    @property
    def _narrow(self) -> bool:
        """Whether the figure is as narrow as a column of a paper, below PAPER_INCHES."""
        return bool(self.figure.get_figwidth() < PAPER_INCHES)

    def _draw_lines(self, axis: Any, lines: Drawn) -> None:
        """Draw distributions as lines in a panel. Lines without samples are left out. Adds the
        number of samples to self.counted. self.handles gets the lines if they are more than those
        that it has.

        Args:
            axis: the panel.
            lines: label, look and samples of each line.
        """
        drawn = []
        widths = numpy.linspace(*(NARROW_WIDTHS if self._narrow else WIDTHS), len(lines))
        for (label, look, samples), width in zip(lines, widths, strict=True):
            if samples.size:
                self.counted += samples.size
                drawn += axis.plot(*ecdf(numpy.sort(samples)), drawstyle="steps-post",
                                   color=look.colour, linestyle=look.line, linewidth=width,
                                   label=label)
        self.handles = max(self.handles, drawn, key=len)

    def _label_axes(self, axes: Sequence[Any], columns: int, shared: bool = True) -> None:
        """Set the scales of all panels, and label the value axis of those that have no panel below
        them, and the axis of shares of those that have none to their left.

        Args:
            axes: the panels, row by row.
            columns: number of panels in a row.
            shared: whether all panels have the same scale of values.
        """
        label = self.quantity.label if columns == 1 else self.quantity.short
        for index, axis in enumerate(axes):
            if self.quantity.log:
                axis.set_xscale("log")
                name_latency_axis(axis)
            axis.set_ylim(0, 1.02)
            if index + columns >= len(axes):
                axis.tick_params(axis="x", labelbottom=True)
                axis.set_xlabel(f"{label} ({self.quantity.unit})")
            if index % columns == 0:
                axis.set_ylabel("share of probes" if self.quantity.unit == "ms"
                                else "share of runs")
        self.begin_at_zero(axes, "x", shared=shared)

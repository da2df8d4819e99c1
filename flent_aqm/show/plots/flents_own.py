# SPDX-License-Identifier: GPL-3.0-or-later
"""Adapt Flent's own plotters: colours of queues, and value axes that begin at zero.

Flent's own value axis covers only the data: rates of 95.55 and 95.56 Mbit/s look as different as 1
and 100. A logarithmic axis (--log-scale-y) is not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy

from flent_aqm.base.flent_plotting import (
    BarPlotter,
    BoxPlotter,
    CdfPlotter,
    MetaPlotter,
    TimeseriesPlotter,
)
from flent_aqm.results.combined import description_of
from flent_aqm.show.plots.axes import ROOM
from flent_aqm.show.plots.comparing import Combined, Comparing, QueueColours
from flent_aqm.show.plots.frame import FlentDrawn, Framed
from flent_aqm.show.plots.paper import is_height_open

# Height of a panel as a share of the picture's width, and its smallest height.
PANEL_BY_WIDTH, LEAST_PANEL_INCHES = 0.3, 1.1
WORDS_INCHES = 0.9


class FromZero:
    """Mixin for Flent's plotters, placed before them: linear value axes with a value above zero
    begin at zero. Values below zero are cut off there.

    Attributes:
        log_base: base of a logarithmic value axis (--log-scale-y), None for a linear one.
        invert_y: whether axes in ms run from top to bottom.
    """

    log_base: int | None
    invert_y: bool

    def _do_scaling(
        self, axis: Any, data: Any, btm: float, top: float, unit: str | None = None,
        allow_log: bool = True,
    ) -> None:
        """Set the range of a value axis from zero to a little above the highest value; an axis in
        ms is turned over if self.invert_y is set. If it is logarithmic or has no value above zero,
        let Flent set the range. Called by Flent, possibly several times for an axis, of which the
        last call counts.

        Args:
            axis: matplotlib axes.
            data: array of the values to make room for, NaN for a missing one, or None.
            btm: lowest percentile that Flent's own range shows. Only passed on, as are `top`, the
                highest, and `allow_log`.
            top: see btm.
            unit: unit of the values.
            allow_log: see btm.
        """
        highest = numpy.nanmax(data, initial=0) if data is not None else 0
        if self.log_base or not highest > 0:
            super()._do_scaling(axis, data, btm, top, unit, allow_log)  # type: ignore[misc]
            return
        # Some room above keeps a flat line at the top apart from the frame.
        axis.set_ylim(0, highest * ROOM)
        if self.invert_y and unit == "ms":
            axis.invert_yaxis()


class AqmTimeseriesPlotter(FlentDrawn, Comparing, FromZero, TimeseriesPlotter):
    """Flent's plotter `timeseries`, with the colours of queues and value axes from zero, see
    FromZero."""


class NamesInLegend(Framed):
    """Mixin for Flent's box plots, placed before them: labels below the boxes that overlap are left
    out, if the legend has them with the boxes' colours."""

    def settle(self) -> str:
        """Remove the labels of the horizontal axis if the plot has a legend and they overlap.
        Return ""."""
        self.figure.draw_without_rendering()  # computes the layout
        for axis in self.axes if self.legends else ():
            places = [label.get_window_extent() for label in axis.get_xticklabels()
                      if label.get_visible()]
            if any(one.overlaps(other) for one, other in pairwise(places)):
                axis.set_xticklabels([])
        return ""


class AqmBoxPlotter(NamesInLegend, FlentDrawn, QueueColours, FromZero, BoxPlotter):
    """Flent's plotter `box`, with the colours of queues and value axes from zero, see FromZero."""


class AqmBoxCombinePlotter(NamesInLegend, FlentDrawn, Combined, FromZero, BoxPlotter):
    """Flent's plotter `box_combine`, with the colours of queues and value axes from zero, see
    FromZero. A group of files, combined, has the colour of its first file's queue."""


class AqmBarCombinePlotter(FlentDrawn, Combined, BarPlotter):
    """Flent's plotter `bar_combine`, with the colours of queues, one for each group of files. For
    that, the plot's definition must have `colour_mode` "series", or Flent gives each series a
    colour."""


class AqmCdfPlotter(FlentDrawn, Comparing, CdfPlotter):
    """Flent's plotter `cdf`, with the colours of queues."""


class AqmMetaPlotter(FlentDrawn, MetaPlotter):
    """Flent's plotter `meta`, which draws several plots as panels, in a picture whose height
    depends on the number of panels, unless the user sets another height than the default."""

    def init(self, config: Any = None, axis: Any = None) -> None:
        """Make the panels, with labels of the horizontal axis only at the last one, and set the
        figure's height by their number if the user left it open, see is_height_open(). Called by
        Flent.

        Args:
            config: the plot's definition, None for that of the plotter itself.
            axis: always None, because this plot can't be a part of another one.
        """
        super().init(config, axis)
        if is_height_open(self.fig_width, self.fig_height):
            panel = max(LEAST_PANEL_INCHES, PANEL_BY_WIDTH * self.fig_width)
            self.figure.set_figheight(panel * len(self.subplots) + WORDS_INCHES)
        axes = [axis for _, axis in self.subplots]
        for axis in axes[:-1]:
            axis.tick_params(axis="x", labelbottom=False)
        if self.in_window:  # the window has little height at first
            for axis in axes:
                axis.set_ylabel(axis.get_ylabel().replace(" (", "\n("), fontsize="x-small")
        self.figure.align_ylabels(axes)

    def plot(self, results: Sequence[Any], *args: Any, **kwargs: Any) -> None:
        """Draw result sets in the panels. Called by Flent."""
        self.description = description_of(results, self.description)
        super().plot(results, *args, **kwargs)

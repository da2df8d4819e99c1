# SPDX-License-Identifier: GPL-3.0-or-later
"""Flent's plots over time and box plots, with a value axis that begins at zero.

Flent's own axis covers only the data: rates of 95.55 and 95.56 Mbit/s look as different as 1 and
100. A logarithmic axis (--log-scale-y) is not changed.
"""

from __future__ import annotations

from typing import Any

import numpy

from flent_aqm.base.flent_plotting import BarPlotter, BoxPlotter, TimeseriesPlotter
from flent_aqm.show.plots.axes import ROOM
from flent_aqm.show.plots.comparing import Combined, Comparing, QueueColours
from flent_aqm.show.plots.frame import FlentDrawn


class FromZero:
    """Mixin for Flent's plotters, placed before them: value axes begin at zero."""

    log_base: int | None
    invert_y: bool

    def _do_scaling(
        self, axis: Any, data: Any, btm: float, top: float, unit: str | None = None,
        allow_log: bool = True,
    ) -> None:
        """Set the range of a value axis. Called by Flent with all values on it."""
        highest = numpy.nanmax(data, initial=0) if data is not None else 0
        if self.log_base or not highest > 0:
            super()._do_scaling(axis, data, btm, top, unit, allow_log)  # type: ignore[misc]
            return
        # Some room above keeps a flat line at the top apart from the frame.
        axis.set_ylim(0, highest * ROOM)
        if self.invert_y and unit == "ms":
            axis.invert_yaxis()


class AqmTimeseriesPlotter(FlentDrawn, Comparing, FromZero, TimeseriesPlotter):
    """Flent's plotter `timeseries`, with the colours of queues and an axis from zero."""


class AqmBoxPlotter(FlentDrawn, QueueColours, FromZero, BoxPlotter):
    """Flent's plotter `box`, with the colours of queues and an axis from zero."""


class AqmBoxCombinePlotter(FlentDrawn, Combined, FromZero, BoxPlotter):
    """Flent's plotter `box_combine`, with the colours of queues and an axis from zero."""


class AqmBarCombinePlotter(FlentDrawn, Combined, BarPlotter):
    """Flent's plotter `bar_combine`, with the colours of queues. Its plots have `colour_mode`
    "series", which is a colour for each group."""

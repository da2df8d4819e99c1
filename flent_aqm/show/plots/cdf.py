# SPDX-License-Identifier: GPL-3.0-or-later
"""Distributions with a logarithmic axis: queueing delays span three orders of magnitude."""

from __future__ import annotations

from typing import Any

from flent_aqm.base.flent_plotting import CdfPlotter, CombineManyPlotter
from flent_aqm.show.plots.axes import name_latency_axis
from flent_aqm.show.plots.comparing import CombinedColours, Comparing


class AqmCdfPlotter(Comparing, CdfPlotter):
    """Flent's `cdf`."""


class LogAxis:
    """Mixin, before one of Flent's CDF plotters. Samples of 0 ms have no place on the axis,
    but count."""

    log_base: int | None
    config: dict[str, Any]
    bounds_x: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.log_base = self.log_base or 10  # 2, if the user asked for it
        self.zero_y = False

    def _plot(self, *args: Any, **kwargs: Any) -> None:
        super()._plot(*args, **kwargs)  # type: ignore[misc]
        axis = kwargs.get("axis") or self.config["axes"][0]
        shown = [x for line in axis.get_lines() for x in line.get_xdata() if x > 0]
        if not shown or self.bounds_x:
            return
        lowest, highest = min(shown) / 1.2, max(shown) * 1.2
        axis.set_xlim(lowest, highest)
        name_latency_axis(axis)


class AqmLogCdfPlotter(Comparing, LogAxis, CdfPlotter):
    """`cdf` with a logarithmic axis."""


class AqmLogCdfCombinePlotter(CombineManyPlotter, CombinedColours, Comparing, LogAxis, CdfPlotter):
    """`cdf_combine` with a logarithmic axis."""

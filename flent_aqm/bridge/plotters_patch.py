# SPDX-License-Identifier: GPL-3.0-or-later
"""Plotters of ours by the name that a plot gives under the key 'type', and a mend of Flent's.

Plots with two value axes put one pair of axes over the other. When room is made for
the legend, matplotlib before 3.7 moved both; newer ones move only those that have a
place in the grid of subplots, so the second axis' curves are shifted in time against
the first one's. With the same place in the grid for both they move together.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from flent_aqm.bridge.tables import extend_lookup


def patch(module: Any) -> None:
    """Patch flent.plotters."""
    extend_lookup(module, "get_plotter", "plotter")
    _patch_options(module)
    stock = module.TimeseriesPlotter.init

    @wraps(stock)
    def init(self: Any, config: Any = None, axis: Any = None) -> None:
        stock(self, config, axis)
        first, *others = (self.config if config is None else config)["axes"]
        for other in others:
            if first.get_subplotspec() is not None:
                other.set_subplotspec(first.get_subplotspec())

    module.TimeseriesPlotter.init = init


def _patch_options(module: Any) -> None:
    """An option of ours among those for plots, on the command line and in flent-gui."""
    stock = module.add_plotting_args

    def with_ours(parser: Any) -> Any:
        parser.add_argument(
            "--metric", action="store", type=str, dest="METRIC", metavar="NAME", default=None,
            help="Metric of the plot heat_map, by its name in flent-aqm score --list.")
        return parser

    @wraps(stock)
    def add_plotting_args(parser: Any) -> Any:
        return with_ours(stock(parser))

    module.add_plotting_args = add_plotting_args
    with_ours(module.Plotter.params)  # made when the module was loaded

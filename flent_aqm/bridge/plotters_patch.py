# SPDX-License-Identifier: GPL-3.0-or-later
"""Plotters of ours by the name that a plot gives under the key 'type', and a mend of Flent's.

Plots with two value axes put one pair of axes over the other. When room is made for
the legend, matplotlib before 3.7 moved both; newer ones move only those that have a
place in the grid of subplots, so the second axis' curves are shifted in time against
the first one's. With the same place in the grid for both they move together.
"""

from __future__ import annotations

import argparse
from functools import wraps
from typing import Any

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.bridge import layout
from flent_aqm.bridge.exit_status import reported
from flent_aqm.bridge.tables import extend_lookup
from flent_aqm.show.plots.paper import FLENTS_HEIGHT, HEIGHT_BY_WIDTH, drop_untouched, inches


def patch(module: Any) -> None:
    """Patch flent.plotters."""
    extend_lookup(module, "get_plotter", "plotter")
    _patch_options(module)
    _patch_names(module)
    layout.patch(module)
    stock = module.TimeseriesPlotter.init

    @wraps(stock)
    def init(self: Any, config: Any = None, axis: Any = None) -> None:
        stock(self, config, axis)
        first, *others = (self.config if config is None else config)["axes"]
        for other in others:
            if first.get_subplotspec() is not None:
                other.set_subplotspec(first.get_subplotspec())

    module.TimeseriesPlotter.init = init


def _patch_names(module: Any) -> None:
    """End with 1 for a plot that the file's test doesn't have: Flent ends with 0 and leaves an
    empty picture."""
    stock = module.get_plotconfig

    @wraps(stock)
    def get_plotconfig(settings: Any, plot: str | None = None) -> Any:
        name = plot or settings.PLOT
        if name not in settings.PLOTS and not settings.GUI:
            drop_untouched(settings.OUTPUT)
            with reported():
                raise ConfigError(f"the test {settings.NAME} has no plot {name!r}"
                                  f"{did_you_mean(str(name), settings.PLOTS)}; "
                                  "--list-plots lists all")
        return stock(settings, plot)

    module.get_plotconfig = get_plotconfig


GROUP_BY_HELP = (
    "Group runs by. Settings that groups are made of, in plots over many files: names with "
    "commas between, such as aqm,rate_mbps. The first stands along the axis, the second side by "
    "side. In Flent's own combination plots, the name of a combiner.")


class _Width(argparse.Action):
    """Sets the figure's size in inches."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        try:
            width = inches(str(values))
        except ConfigError as fault:
            parser.error(str(fault))
        namespace.FIG_WIDTH = width
        if getattr(namespace, "FIG_HEIGHT", FLENTS_HEIGHT) == FLENTS_HEIGHT:
            namespace.FIG_HEIGHT = width * HEIGHT_BY_WIDTH


def _patch_options(module: Any) -> None:
    """Options of ours among those for plots, on the command line and in flent-gui.

    flent-gui makes a field's label of the help's first sentence, and of the rest what it
    shows when one points at the field.
    """
    stock = module.add_plotting_args

    def with_ours(parser: Any) -> Any:
        parser.add_argument(
            "--metric", action="store", type=str, dest="METRIC", metavar="NAME", default=None,
            help="Heat map's metric. What the cells of the plot heat_map show, by its name in "
                 "flent-aqm score --list (default: latency_loaded_p99_ms).")
        parser.add_argument(
            "--width", action=_Width, dest="FIG_WIDTH", metavar="WIDTH", default=6.4,
            help="Width of a picture for a paper. With its unit, such as 3.33in, 8.5cm or 240pt; "
                 "letters become as small as a column's. Its height is three quarters of it "
                 "unless --figure-height says another.").hide_gui = True
        parser.add_argument(
            "--caption-apart", action="store_true", dest="CAPTION_APART",
            help="Caption apart. Write what stands below the plot into a file beside the "
                 "picture, NAME.txt.").hide_gui = True
        for action in parser._actions:
            if action.dest == "OVERRIDE_GROUP_BY":
                action.gui_help = GROUP_BY_HELP
        return parser

    @wraps(stock)
    def add_plotting_args(parser: Any) -> Any:
        return with_ours(stock(parser))

    module.add_plotting_args = add_plotting_args
    with_ours(module.Plotter.params)  # made when the module was loaded

# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds this package's options for plots to Flent, and reports a plot that the test doesn't have."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.bridge.definitions import stock_dir
from flent_aqm.bridge.exit_status import tell
from flent_aqm.bridge.unknown_test import is_unknown
from flent_aqm.show.plots.paper import (
    HEIGHT_BY_WIDTH,
    drop_untouched,
    is_height_open,
    parse_inches,
)

# fontTools, which embeds fonts into PDF files, logs dozens of lines that would hide a warning on
# Flent's console.
logging.getLogger("fontTools").setLevel(logging.WARNING)

GROUP_BY_HELP = (
    "Group runs by. Settings that groups are made of, in plots over many files: names with "
    "commas between, such as aqm,rate_mbps. The first stands along the axis, the second side by "
    "side. In Flent's own combination plots, the name of a combiner.")


def get_plotconfig(stock: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replacement for the look-up of a plot. An unknown name ends `flent` with a message
    and exit status 1, and the empty picture that Flent has made is removed. Flent itself exits with
    0 and leaves it. In flent-gui, nothing changes.

    stock: Flent's look-up.
    """
    @wraps(stock)
    def get_plotconfig(settings: Any, plot: str | None = None) -> Any:
        name = plot or settings.PLOT
        if name not in settings.PLOTS and not settings.GUI:
            drop_untouched(settings.OUTPUT)
            sys.exit(tell(ConfigError(
                f"the test {settings.NAME} has no plot {name!r}"
                f"{did_you_mean(str(name), settings.PLOTS)}; {_where_plots_are(settings)}")))
        return stock(settings, plot)

    return get_plotconfig


def _where_plots_are(settings: Any) -> str:
    """Return the end of a message: the command that lists a test's plots, or the plots themselves
    if the test is not installed, of which that command knows nothing."""
    if is_unknown(settings, stock_dir()):
        return f"known: {', '.join(settings.PLOTS)}"
    return f"flent {settings.NAME} --list-plots lists all"


class _WidthAction(argparse.Action):
    """Action of the option --width: sets the figure's width in inches. If the figure's height is
    still Flent's default, or three quarters of an earlier width, it becomes three quarters of this
    one, until a later --figure-height changes it. A wrong width ends the program with a message."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        try:
            width = parse_inches(str(values))
        except ConfigError as fault:
            parser.error(str(fault))
        if is_height_open(namespace.FIG_WIDTH, namespace.FIG_HEIGHT):
            namespace.FIG_HEIGHT = width * HEIGHT_BY_WIDTH
        namespace.FIG_WIDTH = width


def add_plotting_args(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a replacement for the function that adds options for plots to the command line and to
    flent-gui. It adds this package's options, too.

    stock: Flent's function.
    """
    @wraps(stock)
    def add_plotting_args(parser: Any) -> Any:
        return with_ours(stock(parser))

    return add_plotting_args


def with_ours(parser: Any) -> Any:
    """Add this package's options for plots (--metric, --width, --caption-apart) to an argument
    parser, set the text that flent-gui shows for Flent's option of grouping runs, and return the
    parser.

    flent-gui shows only --metric of the three. It uses the first sentence of an option's help as
    label, and the rest as tooltip.
    """
    parser.add_argument(
        "--metric", action="store", type=str, dest="METRIC", metavar="NAME", default=None,
        help="Metric to plot. What heat_map and compare_metric show, by its name in "
             "flent-aqm score --list (default: latency_loaded_p99_ms).")
    parser.add_argument(
        "--width", action=_WidthAction, dest="FIG_WIDTH", metavar="WIDTH", default=6.4,
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

# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that flent-gui loads come with what our plots need of them.

flent-gui loads files in other processes, side by side, and draws each plot in one of
them, which gets all results anew. What our plots make of raw samples is made when a file
is loaded, once and on all cores, and goes with the results from there on: with 200 files
open that is two seconds less for each plot.
"""

from __future__ import annotations

from contextlib import suppress
from functools import wraps
from typing import Any

from flent_aqm.base.errors import BadResult


def patch(module: Any) -> None:
    """Patch flent.gui."""
    _offer_metrics()
    stock = module.results_load_helper

    @wraps(stock)  # by whose name it is pickled
    def results_load_helper(filename: str) -> Any:
        loaded = stock(filename)
        if loaded is not None:
            _prepare(loaded["results"])
        return loaded

    module.results_load_helper = results_load_helper


def _offer_metrics() -> None:
    """A list of the metrics to choose from, where the command line takes a name."""
    from flent.plotters import Plotter

    from flent_aqm.results.metrics.table import METRICS

    for action in Plotter.params._actions:
        if action.dest == "METRIC":
            action.choices = list(METRICS)


def _prepare(results: Any) -> None:
    from flent_aqm.show.plots.chart import run_of
    from flent_aqm.show.plots.observed import captured_in, queues_in

    for make in (run_of, captured_in, queues_in):
        with suppress(BadResult):  # a plot that is asked for says so
            make(results)

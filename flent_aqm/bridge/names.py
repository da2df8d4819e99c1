# SPDX-License-Identifier: GPL-3.0-or-later
"""Our classes by the names that test definitions use for them.

Flent finds its classes in the globals of the module that looks for them. Ours stand
in explicit tables, which are read when a name is asked for that Flent doesn't know:
a run of a stock test imports none of them, and a runner's module may import Flent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module

Lookup = Callable[[str], type]

# Package and module of a table, and its name: dict[str, type].
RUNNERS = ("flent_aqm.measure.runners", "all_runners", "RUNNERS")
PLOTTERS = ("flent_aqm.show.plots", "all_plotters", "PLOTTERS")


def table(package: str, module: str, name: str) -> dict[str, type]:
    """Return all our classes of a kind by name; empty while the table's module isn't there."""
    path = f"{package}.{module}"
    try:
        classes: dict[str, type] = getattr(import_module(path), name)
    except ModuleNotFoundError as error:
        if error.name not in (package, path):
            raise
        return {}
    return classes


def get_runner(stock: Lookup) -> Lookup | None:
    """Replace the look-up of runners."""
    from flent_aqm.setup.tools import put_tools_on_path

    # Flent's own runners look for their tools on PATH, and start others by name.
    put_tools_on_path()
    return _extended(stock, RUNNERS)


def get_plotter(stock: Lookup) -> Lookup | None:
    """Replace the look-up of types of plots."""
    return _extended(stock, PLOTTERS)


def _extended(stock: Lookup, ours: tuple[str, str, str]) -> Lookup | None:
    """Flent's own names win, and a name that nobody knows raises what Flent raises. A Flent that
    looks for entry points itself (release/upstream) finds ours in setup.cfg, and stays as it is."""
    if hasattr(sys.modules[stock.__module__], "plugins"):
        return None

    @wraps(stock)  # by whose name it is pickled
    def lookup(name: str) -> type:
        try:
            return stock(name)
        except RuntimeError:
            own = table(*ours).get(name)
            if own is None:
                raise
            return own

    return lookup

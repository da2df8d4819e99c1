# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets Flent find this package's classes by the names that test definitions use for them.

Flent finds its classes in the globals of the module that looks for them. This package's classes are
in explicit tables. A table is imported only for a name that Flent doesn't know: a run of a stock
test imports none, and a module of a runner may import Flent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module

Lookup = Callable[[str], type]

# Package, module and name of each table, which is a dict[str, type].
RUNNERS = ("flent_aqm.measure.runners", "all_runners", "RUNNERS")
PLOTTERS = ("flent_aqm.show.plots", "all_plotters", "PLOTTERS")


def table(package: str, module: str, name: str) -> dict[str, type]:
    """Return a table of this package's classes by name. Return an empty table if its module does
    not exist.

    Args:
        package: of the module.
        module: in which the table is.
        name: of the table.
    """
    path = f"{package}.{module}"
    try:
        classes: dict[str, type] = getattr(import_module(path), name)
    except ModuleNotFoundError as error:
        if error.name not in (package, path):
            raise
        return {}
    return classes


def get_runner(stock: Lookup) -> Lookup | None:
    """Return a look-up of runners by name that also finds this package's, and put this package's
    tools on PATH. Return None, which keeps Flent's, if Flent itself finds them."""
    from flent_aqm.setup.tools import put_tools_on_path

    # Flent's own runners find their tools on PATH.
    put_tools_on_path()
    return _extended(stock, RUNNERS)


def get_plotter(stock: Lookup) -> Lookup | None:
    """Return a look-up of plot types by name that also finds this package's. Return None, which
    keeps Flent's, if Flent itself finds them."""
    return _extended(stock, PLOTTERS)


def _extended(stock: Lookup, ours: tuple[str, str, str]) -> Lookup | None:
    """Return a look-up that also finds the classes of a table, if Flent has none of that name.

    For a name that neither has, it raises Flent's error. Return None if this Flent looks for entry
    points (release/upstream): it finds this package's in setup.cfg.
    """
    if hasattr(sys.modules[stock.__module__], "plugins"):
        return None

    @wraps(stock)  # pickle needs the name of Flent's function
    def lookup(name: str) -> type:
        try:
            return stock(name)
        except RuntimeError:
            own = table(*ours).get(name)
            if own is None:
                raise
            return own

    return lookup

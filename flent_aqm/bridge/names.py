# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds this package's runners and plots for Flent, by the names in test definitions.

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


def import_table(package: str, module: str, name: str) -> dict[str, type]:
    """Import a table of this package's classes, and return it: name -> class. Empty if its module
    or package does not exist. Other errors of the import are raised, and AttributeError if the
    module has no such table.

    Args:
        package: dotted name of the module's package.
        module: name of the module.
        name: name of the table in the module.
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
    """Put the folders of this package's tools on PATH, except inside a lab or namespaces, and
    return a look-up of runners by name that also finds this package's runners. None, which keeps
    Flent's look-up, if Flent itself finds them.

    stock: Flent's look-up.
    """
    from flent_aqm.setup.tools import put_tools_on_path

    # Flent's own runners find their tools on PATH.
    put_tools_on_path()
    return _extended(stock, RUNNERS)


def get_plotter(stock: Lookup) -> Lookup | None:
    """Return a look-up of plot types by name that also finds this package's. None, which keeps
    Flent's look-up, if Flent itself finds them.

    stock: Flent's look-up.
    """
    return _extended(stock, PLOTTERS)


def _extended(stock: Lookup, table_address: tuple[str, str, str]) -> Lookup | None:
    """Return a look-up that also finds the classes of a table, if Flent has none of that name. The
    look-up raises Flent's RuntimeError for a name that neither has.

    None if this Flent looks for entry points (release/upstream): it finds this package's in
    setup.cfg.

    Args:
        stock: Flent's look-up.
        table_address: package, module and name of the table.
    """
    if hasattr(sys.modules[stock.__module__], "plugins"):
        return None

    @wraps(stock)  # pickle needs the name of Flent's function
    def lookup(name: str) -> type:
        try:
            return stock(name)
        except RuntimeError:
            own = import_table(*table_address).get(name)
            if own is None:
                raise
            return own

    return lookup

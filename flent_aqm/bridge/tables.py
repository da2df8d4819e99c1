# SPDX-License-Identifier: GPL-3.0-or-later
"""Our classes by the names that test definitions use for them.

Flent finds its classes in the globals of the module that looks for them. Ours stand
in explicit tables, which are read when a name is asked for that Flent doesn't know:
a run of a stock test imports none of them, and a runner's module may import Flent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType

# Kind -> package and module of the table, and its name: dict[str, type].
TABLES = {
    "runner": ("flent_aqm.measure.runners", "all_runners", "RUNNERS"),
    "plotter": ("flent_aqm.show.plots", "all_plotters", "PLOTTERS"),
}


def table(kind: str) -> dict[str, type]:
    """Return all our classes of a kind by name; empty while the table's module isn't there."""
    package, module, name = TABLES[kind]
    path = f"{package}.{module}"
    try:
        found: dict[str, type] = getattr(import_module(path), name)
    except ModuleNotFoundError as error:
        if error.name not in (package, path):
            raise
        return {}
    return found


def extend_lookup(module: ModuleType, function: str, kind: str) -> None:
    """Let a look-up function of a Flent module, name -> class, fall back on our table.

    Flent's own names win. A name that nobody knows raises what Flent raises. A Flent that
    looks for entry points itself (docs/upstream) finds ours in setup.cfg, and stays as it is.
    """
    if hasattr(module, "plugins"):
        return
    stock: Callable[[str], type] = getattr(module, function)

    @wraps(stock)  # by whose name it is pickled
    def lookup(name: str) -> type:
        try:
            return stock(name)
        except RuntimeError:
            ours = table(kind).get(name)
            if ours is None:
                raise
            return ours

    setattr(module, function, lookup)

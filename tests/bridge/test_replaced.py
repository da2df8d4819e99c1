# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of Flent is replaced: what the table says, and no more."""

from __future__ import annotations

import json

from flent_aqm.bridge.hook import REPLACED

from .conftest import Env

MOST_ATTRIBUTES = 21

# All functions, classes and constants of Flent's modules by name, and of its classes those of
# their own, with what they are.
CENSUS = """
import importlib, json, pkgutil
import flent
found = {}
for one in pkgutil.iter_modules(flent.__path__):
    if one.name in ("gui", "__main__", "flycheck_runners") or one.ispkg:
        continue
    module = importlib.import_module(f"flent.{one.name}")
    for name, value in (*vars(module).items(), *vars(flent).items()):
        if getattr(value, "__module__", module.__name__).startswith(("flent.", "flent_aqm.")) \
                or name.isupper():
            parts = {"": value}
            if isinstance(value, type) and value.__module__ == module.__name__:
                parts |= {f".{key}": part for key, part in vars(value).items()}
            for key, part in parts.items():
                part = getattr(part, "__func__", part)
                code = getattr(part, "__code__", None)
                found[f"{module.__name__}:{name}{key}"] = (
                    code.co_filename.rpartition("site-packages/")[2] + str(code.co_firstlineno)
                    if code else type(part).__name__)
found["flent:run_flent"] = flent.run_flent.__code__.co_filename.rpartition("site-packages/")[2]
print(json.dumps(found))
"""


def test_few_attributes_of_flent_are_replaced() -> None:
    """Each more binds this package to the insides of one version of Flent."""
    assert len(REPLACED) <= MOST_ATTRIBUTES
    assert len({(module, attribute) for module, attribute, _ in REPLACED}) == len(REPLACED)


def test_nothing_else_of_flent_is_replaced(stock: Env, installed: Env) -> None:
    """Functions and methods of all its modules are those of stock Flent, but for the table's."""
    theirs, ours = (json.loads(env.code(CENSUS)) for env in (stock, installed))
    differing = {name for name in theirs.keys() | ours.keys()
                 if theirs.get(name) != ours.get(name)}
    named = {f"{module}:{attribute}" for module, attribute, _ in REPLACED}
    assert len(theirs) > 1000
    # Some modules have imported functions from where they are replaced; values are no functions;
    # the window needs Qt.
    assert {name.partition(":")[2] for name in differing} == {
        name.partition(":")[2] for name in named
        if name not in ("flent.plotters:Plotter.params", "flent.settings:parser",
                        "flent.resultset:RECORDED_SETTINGS", "flent.gui:MainWindow.load_one")
        # replaced in a run on a testbed alone
        and not name.startswith(("flent.metadata:", "flent.resultset:ResultSet.dump_dir"))}

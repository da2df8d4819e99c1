# SPDX-License-Identifier: GPL-3.0-or-later
"""The package's folders are layers along the way of a measurement; imports go one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.files import ROOT

PACKAGE = ROOT / "flent_aqm"

# A layer imports itself and the layers before it. CONTRIBUTING.md says what each one is.
LAYERS = ("base", "tools", "spec", "router", "setup", "lab", "servers", "measure", "results",
         "sweep", "show", "parts", "bridge", "commands", "cli")


def _imported(source: str) -> Iterator[str]:
    """The dotted names that a module imports, those inside of functions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _back_arrows(layer: str, source: str) -> list[str]:
    """What a module of that layer imports and must not: layers after its own."""
    later = LAYERS[LAYERS.index(layer) + 1:]
    return [name for name in _imported(source)
            if name.startswith("flent_aqm.") and name.split(".")[1] in later]


def test_layers_as_listed_are_the_folders_there_are() -> None:
    """A new folder needs its place in the order."""
    there = {path.name for path in PACKAGE.iterdir()
             if path.is_dir() and path.name != "__pycache__"}
    assert there == set(LAYERS) - {"cli"}


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_imports_only_layers_before_it(layer: str) -> None:
    """So that each one can be read, and changed, without those that come after."""
    files = [PACKAGE / "cli.py"] if layer == "cli" else sorted((PACKAGE / layer).rglob("*.py"))
    assert files
    found = {str(file.relative_to(ROOT)): back for file in files
             if (back := _back_arrows(layer, file.read_text()))}
    assert not found


def test_nothing_but_parts_imports_a_part() -> None:
    """So that each can be taken out; the core asks for them by base/part.py."""
    found = [str(file.relative_to(ROOT)) for file in PACKAGE.rglob("*.py")
             if file.relative_to(PACKAGE).parts[0] != "parts"
             and any(name.startswith("flent_aqm.parts") for name in _imported(file.read_text()))]
    assert found == []


def test_back_arrow_when_inside_a_function_is_found() -> None:
    """The check can fail."""
    source = "def late():\n    from flent_aqm.sweep.pool import Pool\n"
    assert _back_arrows("lab", source) == ["flent_aqm.sweep.pool.Pool"]
    assert not _back_arrows("show", source)


def test_layers_stand_in_contributing_in_the_same_order() -> None:
    """The drawing that a newcomer reads first."""
    text = (ROOT / "docs" / "CONTRIBUTING.md").read_text()
    places = [text.index(f"- `flent_aqm/{layer}/`:") for layer in LAYERS if layer != "cli"]
    assert places == sorted(places)

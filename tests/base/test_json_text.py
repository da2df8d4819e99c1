# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that are not finite never reach JSON, as other readers refuse it then."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.base.json_text import json_text, measured_json_text
from flent_aqm.results.data_file import write_data_file
from tests.files import ROOT

PACKAGE = ROOT / "flent_aqm"
NAN, INFINITE = float("nan"), float("inf")
# Modules that write JSON by themselves, with the reason. Everything else calls json_text().
ON_THEIR_OWN = {
    "base/json_text.py": "the one place",
    "commands/share.py": "orjson writes null for such numbers, and needs a tenth of the memory",
    "measure/cross_traffic/client.py": "starts in the guest without importing the package; refuses",
    "servers/ndt7/session.py": "checks a client's message, writes nothing",
    "tools/command.py": "quotes in an error what a tool printed, such as Infinity",
    "results/share/open_in_flent.py": "runs in stock Flent's process; a text or null",
}


def strict(text: str) -> object:
    """Read JSON as others do, without NaN and Infinity."""
    def refuse(name: str) -> object:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def writers(source: str) -> Iterator[str]:
    """The calls of a module's source that write JSON with a function of their own."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called = ast.unparse(node.func)
            if called in ("json.dump", "json.dumps", "json.JSONEncoder", "orjson.dumps"):
                yield called
        elif isinstance(node, ast.ImportFrom) and node.module in ("json", "orjson"):
            yield from (f"from {node.module} import {alias.name}" for alias in node.names
                        if alias.name in ("dump", "dumps", "JSONEncoder"))


def test_only_one_module_writes_json() -> None:
    """A new json.dumps() in the package is found here."""
    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")
             if any(writers(path.read_text()))}
    assert found == set(ON_THEIR_OWN)


@pytest.mark.parametrize("source", [
    "import json\njson.dumps(1)", "import json\ndef f():\n    json.dump(1, file)",
    "from json import dumps as text", "import orjson\norjson.dumps(1)",
])
def test_writer_is_found_in_any_form(source: str) -> None:
    assert len(list(writers(source))) == 1


@pytest.mark.parametrize(("value", "read"), [
    (NAN, None), (-INFINITE, None), (1.5, 1.5),
    ({"a": [1, NAN, (INFINITE, {"b": -INFINITE, "c": "NaN"})]},
     {"a": [1, None, [None, {"b": None, "c": "NaN"}]]}),
    ({"a": True, "b": None, "c": 3}, {"a": True, "b": None, "c": 3}),
])
def test_number_that_is_not_finite_is_null(value: object, read: object) -> None:
    """At any depth. All else is as it was."""
    assert strict(json_text(value)) == read
    assert strict(json_text(value, indent=2, compact=True, sort_keys=True)) == read


def test_text_has_the_form_requested() -> None:
    value = {"b": [1], "a": NAN}
    assert json_text(value) == '{"b": [1], "a": null}'
    assert json_text(value, compact=True, sort_keys=True) == '{"a":null,"b":[1]}'
    assert json_text(value, indent=1) == '{\n "b": [\n  1\n ],\n "a": null\n}'
    assert json_text([NAN, Path("/x")], default=str) == '[null, "/x"]'


def test_measurement_that_is_not_finite_is_refused_with_its_place() -> None:
    """It must not look like one that is missing."""
    data = {"raw_values": {"Ping": [{"t": 1.0, "val": 2.5}, {"t": 2.0, "val": INFINITE}]}}
    with pytest.raises(BadResult, match=r"raw_values\.Ping\[1\]\.val is inf; .*finite"
                       ".* not written; see what the tool"):
        measured_json_text(data)
    assert measured_json_text({"b": 1.5, "a": None}, sort_keys=True) == '{"a": null, "b": 1.5}'


def test_data_file_with_such_a_number_is_not_written(tmp_path: Path) -> None:
    """Nor is an unfinished one left behind."""
    with pytest.raises(BadResult, match=r"results\.x is nan"):
        write_data_file(tmp_path / "run.flent.gz", {"results": {"x": NAN}})
    assert list(tmp_path.iterdir()) == []

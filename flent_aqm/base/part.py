# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds parts: the folders of flent_aqm/parts, each of which can be deleted.

A part's __init__.py defines PART, a record of what the part adds. The core reads only these
records, and imports a part's modules when they are needed. tests/parts/test_taken_out.py deletes
each part in turn and runs the core without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "parts"


@dataclass(frozen=True)
class Command:
    """A subcommand of flent-aqm.

    Attributes:
        module: dotted name of a module with add_arguments(parser) and main(args), which returns the
            exit status.
        summary: a line for `flent-aqm --help`.
        example: a command line that works as typed, for the command's help.
    """

    module: str
    summary: str
    example: str


@dataclass(frozen=True)
class Part:
    """Everything that a part adds to the core.

    Values of the form "MODULE:NAME" name an object in a module, which load() imports.

    Attributes:
        commands: subcommands of flent-aqm, by name.
        testbeds: scheme in the key `testbed`, such as "ssh" in "ssh://router" -> "MODULE:NAME" of a
            function that takes the key's value and returns a testbed (lab/table.py).
        doctor: "MODULE:NAME" of the function behind `flent-aqm doctor --testbed` for these
            testbeds, "" if there is none. It takes the address, and as keywords `server` (host or
            None) and `as_json`, and returns the exit status.
        elsewhere: "MODULE:NAME" of a function that takes a batch's keys and values, and returns the
            object that makes the batch's runs on other machines (Elsewhere of sweep/pool.py), or
            None if they are made here. "" if the part has no such function.
        sweep_keys: batch keys that the sweep itself reads: name -> Key (spec/key.py).
        tools: "MODULE:NAME" of each Tool record (tools/tool.py).
        records: name -> class of a record of a scenario's settings (spec/key.py).
        path_models: name of a record -> "MODULE:NAME" of a class without arguments that is its
            PathModel (lab/path_model.py).
    """

    commands: Mapping[str, Command] = field(default_factory=dict)
    testbeds: Mapping[str, str] = field(default_factory=dict)
    doctor: str = ""
    elsewhere: str = ""
    sweep_keys: Mapping[str, Any] = field(default_factory=dict)
    tools: Sequence[str] = ()
    records: Mapping[str, type[Any]] = field(default_factory=dict)
    path_models: Mapping[str, str] = field(default_factory=dict)


@cache
def parts() -> Mapping[str, Part]:
    """Return the parts that exist: name of the folder -> PART, sorted by name. A part is a folder
    with an __init__.py. The first call imports all parts; later calls return the same mapping."""
    names = sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))
    return {name: import_module(f"flent_aqm.parts.{name}").PART for name in names}


def load(module_and_name: str) -> Any:
    """Import a module and return the object that "MODULE:NAME" names in it. Raises ImportError or
    AttributeError if it doesn't exist.

    module_and_name: "MODULE:NAME", with the dotted name of the module.
    """
    module, _, name = module_and_name.partition(":")
    return getattr(import_module(module), name)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts: the folders of flent_aqm/parts, each of which can be deleted.

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
    """A subcommand of flent-aqm."""

    # Dotted name of a module with add_arguments(parser) and main(args), which returns the exit
    # status.
    module: str
    # One line for `flent-aqm --help`.
    summary: str
    # A command line that works as typed.
    example: str


@dataclass(frozen=True)
class Part:
    """Everything that a part adds to the core.

    Values of the form "MODULE:NAME" name an object in a module, which load() imports.
    """

    # Subcommands of flent-aqm, by name.
    commands: Mapping[str, Command] = field(default_factory=dict)
    # Scheme in the key `testbed`, such as "ssh" in "ssh://router" -> "MODULE:NAME" of a function
    # that takes the key's value and returns a testbed (lab/table.py).
    testbeds: Mapping[str, str] = field(default_factory=dict)
    # "MODULE:NAME" of the function behind `flent-aqm doctor --testbed` for these testbeds.
    doctor: str = ""
    # "MODULE:NAME" of the class that makes runs on other machines (sweep/pool.py).
    elsewhere: str = ""
    # Batch keys that the sweep itself reads, by name (spec/key.py).
    sweep_keys: Mapping[str, Any] = field(default_factory=dict)
    # "MODULE:NAME" of each Tool record (tools/tool.py).
    tools: Sequence[str] = ()
    # Records of a scenario's settings, by name (spec/key.py).
    records: Mapping[str, type[Any]] = field(default_factory=dict)
    # Name of a record -> "MODULE:NAME" of its PathModel (lab/path_model.py).
    path_models: Mapping[str, str] = field(default_factory=dict)


@cache
def parts() -> Mapping[str, Part]:
    """Return the parts whose folders exist, by name."""
    names = sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))
    return {name: import_module(f"flent_aqm.parts.{name}").PART for name in names}


def load(place: str) -> Any:
    """Import a module and return the object that "MODULE:NAME" names in it."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)

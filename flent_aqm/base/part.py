# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts: folders of flent_aqm/parts, each of which can be taken out.

A part's __init__.py has a PART, which names what it adds. The core knows of parts only what stands
here, and asks for a module of theirs when it is needed. tests/parts/test_taken_out.py takes each
one out.
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
    """A subcommand of flent-aqm. Its module has add_arguments(parser) and main(args) -> exit
    status."""

    module: str
    summary: str
    example: str


@dataclass(frozen=True)
class Part:
    """What a part adds. "MODULE:NAME" stands for what load() returns.

    commands: by name; testbeds: what stands before "://" in the key `testbed` -> what makes one of
    the key's whole value (lab/table.py); doctor: of them, for `flent-aqm doctor --testbed`;
    elsewhere: what makes runs on other machines where a batch asks for it (sweep/elsewhere.py);
    sweep_keys: keys of a batch that the sweep reads, by name, as rows (spec/key.py); tools: what
    makes the records of what tests run (tools/tool.py); records: of a scenario, by name
    (spec/key.py);
    path_models: by a record's name -> what makes its PathModel (lab/path_model.py).
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
    """Return all that are there, by name."""
    names = sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))
    return {name: import_module(f"flent_aqm.parts.{name}").PART for name in names}


def load(place: str) -> Any:
    """Return what "MODULE:NAME" names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)

# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm doctor`: lists every part that is needed, or the abilities of a router."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.json_text import json_text
from flent_aqm.base.part import load
from flent_aqm.base.part import parts as parts_there
from flent_aqm.base.waiting import announced
from flent_aqm.setup.parts import GET_PYTHON, GROUPS, Requirement, all_parts, missing

if TYPE_CHECKING:
    from rich.table import Table

# Width in columns without a terminal, and the smallest width with room for paths.
_WIDE, _WITH_PATHS = 160, 110
_STATE = {True: "[green]found[/]", False: "[red]missing[/]"}
# The group whose parts each have a line, even on a narrow terminal.
_MEASURING = "run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm doctor`."""
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    parser.add_argument("--testbed", metavar="ADDRESS",
                        help="show what a router can do: ssh://[user@]router[:port], or netns for "
                             "this machine; changes nothing there")
    parser.add_argument("--server", metavar="HOST",
                        help="with --testbed: show which of the router's devices lead to this "
                             "machine and to HOST")


def main(args: argparse.Namespace) -> int:
    """Print all parts (programs, kernels, libraries, Python packages), as a table or JSON. Those
    that measuring or set-up needs and that are missing (see missing()) are printed to standard
    error, with the command that gets them. Return 1 if there are any, else 0.

    With --testbed, print the abilities of that router instead, and return the exit status of its
    examination, whose errors are raised. Raises ConfigError if the part of flent-aqm that examines
    routers isn't installed, or if --server is given without --testbed.
    """
    if args.testbed:
        for part in parts_there().values():
            if part.doctor:
                return int(load(part.doctor)(args.testbed, server=args.server, as_json=args.json))
        raise ConfigError("--testbed: this installation lacks the part ssh, which queries routers; "
                          "leave --testbed out, or install the whole package")
    if args.server is not None:
        raise ConfigError("--server: needs --testbed, the router between this machine and it, such "
                          "as --testbed ssh://router")
    with announced("looking for programs"):
        parts = list(all_parts())
    if args.json:
        print(json_text([asdict(part) for part in parts], indent=1))
    else:
        _print_table(parts)
    lacking = missing(parts)
    for how in sorted({part.how_to_get for part in lacking}):
        names = ", ".join(part.name for part in lacking if part.how_to_get == how)
        print(f"missing: {names}; run: {how}", file=sys.stderr)
    return 1 if lacking else 0


def _print_table(parts: list[Requirement]) -> None:
    """Print the parts as the wide or narrow table, whichever fits the terminal, and the number of
    parts found. Without a terminal, it is the wide one."""
    from rich.console import Console

    # Rich assumes 80 columns without a terminal, which would break paths.
    console = Console(width=None if sys.stdout.isatty() else _WIDE)
    console.print(_wide_table(parts) if console.width >= _WITH_PATHS else _narrow_table(parts))
    found = sum(part.found for part in parts)
    console.print(f"{found} of {len(parts)} parts found", highlight=False)


def _wide_table(parts: Sequence[Requirement]) -> Table:
    """Return the table for wide terminals: a line for each part, with its path or the command that
    gets it."""
    table = _empty_table("part", "", "version", "needed for", "where, or how to get it")
    for part in parts:
        table.add_row(part.name, _STATE[part.found], part.version, GROUPS[part.group],
                      part.where if part.found else part.how_to_get)
    return table


def _narrow_table(parts: Sequence[Requirement]) -> Table:
    """Return a table for 80 columns and 24 lines. Each found part that measuring needs (except
    Python packages), and each missing part that is needed (see missing()), has a line. Of the other
    parts with the same purpose, those found share a line, and so do those missing."""
    table = _empty_table("part", "", "version", "needed for, or how to get it")
    needed = missing(list(parts))
    for group, purpose in GROUPS.items():
        of_group = [part for part in parts if part.group == group]
        single = [part for part in of_group if part in needed or (
            part.found and group == _MEASURING and part.how_to_get != GET_PYTHON)]
        for part in single:
            table.add_row(part.name, _STATE[part.found], part.version,
                          purpose if part.found else part.how_to_get)
        rest = [part for part in of_group if part not in single]
        for found in (True, False):
            alike = [part for part in rest if part.found == found]
            if len(alike) == 1:
                table.add_row(alike[0].name, _STATE[found], alike[0].version, purpose)
            elif alike:
                others = "others" if single else "parts"
                table.add_row(f"{len(alike)} {others}", _STATE[found], "", purpose)
    return table


def _empty_table(*headings: str) -> Table:
    """Return an empty table with a column for each heading."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table

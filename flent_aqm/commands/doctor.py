# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm doctor`: list every part that is needed, or tell what a router can do."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.part import load
from flent_aqm.base.part import parts as parts_there
from flent_aqm.base.waiting import announced
from flent_aqm.setup.parts import GROUPS, Part, all_parts, missing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    parser.add_argument("--testbed", metavar="ADDRESS",
                        help="show what a router can do: ssh://[user@]router[:port], or netns for "
                             "this machine; changes nothing there")
    parser.add_argument("--server", metavar="HOST",
                        help="with --testbed: show which of the router's devices lead to this "
                             "machine and to HOST")


def main(args: argparse.Namespace) -> int:
    """Print all parts. Exit status 1 if one is missing that measuring or set-up needs."""
    if args.testbed:
        for part in parts_there().values():
            if part.doctor:
                return int(load(part.doctor)(args.testbed, server=args.server, as_json=args.json))
        raise ConfigError("--testbed: this installation has no part that asks routers; leave it "
                          "out")
    with announced("looking for programs"):
        parts = list(all_parts())
    if args.json:
        json.dump([asdict(part) for part in parts], sys.stdout, indent=1)
        print()
    else:
        _print_table(parts)
    lacking = missing(parts)
    for how in sorted({part.how_to_get for part in lacking}):
        names = ", ".join(part.name for part in lacking if part.how_to_get == how)
        print(f"missing: {names}; run: {how}", file=sys.stderr)
    return 1 if lacking else 0


def _print_table(parts: list[Part]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("part", "", "version", "needed for", "where, or how to get it"):
        table.add_column(heading, overflow="fold")
    for part in parts:
        state = "[green]found[/]" if part.found else "[red]missing[/]"
        table.add_row(part.name, state, part.version, GROUPS[part.group],
                      part.where if part.found else part.how_to_get)
    # Rich takes 80 columns where there is no terminal, which would break paths.
    Console(width=None if sys.stdout.isatty() else 160).print(table)

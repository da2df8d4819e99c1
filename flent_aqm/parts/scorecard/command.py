# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm scorecard`: what speed tests show on lines that are known to the packet."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("tests", nargs="*", metavar="TEST", help="a speed test by name")
    parser.add_argument("--all", action="store_true", help="all that this machine has")
    parser.add_argument("--cells", default="core", metavar="SET",
                        help="core: 60 cells; small: 4; ten: 10 that real time keeps up with; "
                             "full: 576 (default: core)")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="only cells with this in their name, such as 50mbit-40ms; repeatable")
    parser.add_argument("--seeds", metavar="N,...", help="each cell with these seeds")
    parser.add_argument("--testbed", choices=("virtual", "netns"), default="virtual",
                        help="netns: namespaces of this machine, in real time, as root")
    parser.add_argument("--jobs", metavar="N", help="runs side by side (default: one per core)")
    parser.add_argument("--scheduler", metavar="tcp://HOST:PORT",
                        help="make the runs on the workers of a cluster")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/scorecard"),
                        metavar="DIR", help="folder for runs and page; runs that are there stay "
                                            "(default: %(default)s)")


def main(args: argparse.Namespace) -> int:
    """Make runs and page; 1 where a cell has no number. Raises AqmError."""
    # Late, as --help needs none of it.
    from flent_aqm.parts.scorecard.contestant import CONTESTANTS, contestant, why_not
    from flent_aqm.parts.scorecard.places import places
    from flent_aqm.parts.scorecard.steps import score, show

    if bool(args.tests) == args.all:
        raise ConfigError("which test? give one by name, such as ndt7, or --all; known: "
                          + ", ".join(CONTESTANTS))
    chosen = [*CONTESTANTS.values()] if args.all else [contestant(name) for name in args.tests]
    if args.all:
        for one in chosen:
            if missing := why_not(one):
                print(f"left out: {one.label}: {missing}", file=sys.stderr)
        chosen = [one for one in chosen if not why_not(one)]
    cells = places(args.cells, _seeds(args.seeds), args.only)
    keys = {name: value for name in ("jobs", "scheduler") if (value := getattr(args, name))}
    complete = [score(one, cells, args.output, args.testbed, keys) for one in chosen]
    show(args.output)
    return 0 if all(complete) else 1


def _seeds(text: str | None) -> Sequence[int]:
    if text is None:
        return ()
    words = text.split(",")
    if not all(word.strip().isdigit() for word in words):
        raise ConfigError(f"--seeds: {text!r}; expected whole numbers with commas, such as 4,5,6")
    return [int(word) for word in words]

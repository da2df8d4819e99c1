# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm replay`: repeats the run of a data file, and compares the results."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from flent_aqm.base.errors import AqmError, ConfigError
from flent_aqm.base.words import plain
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.replay import recorded
from flent_aqm.sweep.replay.again import again
from flent_aqm.sweep.replay.compare import Difference, differences, other_versions
from flent_aqm.sweep.replay.one_file import add_file
from flent_aqm.sweep.replay.run_programs import add_run_programs

IDENTICAL, DIFFERENT, NOT_REPLAYED = 0, 1, 2
# More differences are not printed, because they follow from the first ones.
SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm replay`."""
    parser.description = (
        "Repeat the run of a data file in the lab, with its settings and its seed, and compare "
        "all samples, results and counters. Exit status: 0 identical, 1 different, 2 the run "
        "could not be repeated.")
    add_file(parser)
    parser.add_argument("--trace", metavar="FOLDER", type=Path, action="append", default=[],
                        help="file or folder with the trace that the run's link played; the trace "
                             "is recognised by its SHA-256, and also looked for beside the data "
                             "file; may be repeated")
    add_run_programs(parser)
    parser.add_argument("--keep", metavar="DIR", type=Path,
                        help="keep the new data file in DIR, under the name of the old one")


def main(args: argparse.Namespace) -> int:
    """Repeat the run of a data file, and print the differences. Return the exit status: IDENTICAL
    (0), DIFFERENT (1), or NOT_REPLAYED (2) after an AqmError, which is printed. With --keep, the
    new data file stays."""
    try:
        with tempfile.TemporaryDirectory(prefix="flent-aqm-replay-") as temporary:
            folder = args.keep or Path(temporary)
            was = recorded.read(args.file, folder, args.trace,
                                run_programs=args.run_programs)
            if os.path.lexists(was.cell.data_file):
                raise ConfigError(f"--keep: {was.cell.data_file} exists already; name another "
                                  "folder")
            print(f"replaying {_run_title(was.cell)}", file=sys.stderr, flush=True)
            now = again(was.cell)
    except AqmError as error:
        print(f"flent-aqm: {error}", file=sys.stderr)
        return NOT_REPLAYED
    return _print_comparison(other_versions(was.data["metadata"], now["metadata"]),
                             differences(was.data, now), recorded.why_programs_differ(was.cell))


def _print_comparison(versions: list[Difference], differing: list[Difference],
                      programs: str) -> int:
    """Print the versions that differ, the first SHOWN differences in results and the number of the
    others, or that the results are identical. Return IDENTICAL or DIFFERENT, by the results alone.

    Args:
        versions: differences in versions.
        differing: differences in results.
        programs: note on the user's programs, printed if the results differ. "" for none.
    """
    for difference in versions:
        print(f"other version: {plain(difference)}")
    if not differing:
        print("identical" + (", despite other versions" if versions else ""))
        return IDENTICAL
    print(f"different: {plain(differing[0])}")
    for difference in differing[1:SHOWN]:
        print(f"      also: {plain(difference)}")
    if len(differing) > SHOWN:
        print(f"      also: {len(differing) - SHOWN} more")
    if programs:
        print(f"perhaps: {programs}")
    return DIFFERENT


def _run_title(cell: Cell) -> str:
    """Return a line about the run: test, queues, rates of the modem, rates of the shaper or "not
    shaped", seed."""
    router, path = cell.scenario.router, cell.scenario.path
    shaped = ("not shaped" if router.shaper == "none" else
              f"{'shaped to ' if path.modem_up_mbps else ''}{router.rate_down_mbps:g} Mbit/s down, "
              f"{router.rate_up_mbps:g} up")
    modem = (f"modem of {path.modem_down_mbps:g} Mbit/s down, {path.modem_up_mbps:g} up, "
             if path.modem_up_mbps else "")
    return (f"{cell.test_name}, {router.queues_text}, {modem}{shaped}, "
            f"seed {cell.scenario.lab.seed}")

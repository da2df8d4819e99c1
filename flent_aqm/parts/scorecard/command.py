# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm scorecard`: score speed tests on lines whose packets are all recorded."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.base.regular_file import open_regular
from flent_aqm.spec.testbeds import NETNS, VIRTUAL

if TYPE_CHECKING:
    from flent_aqm.parts.scorecard.contestant import Contestant

OWN_SUFFIX = ".py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("tests", nargs="*", metavar="TEST",
                        help="name of a speed test, or FILE.py with your own Tool")
    parser.add_argument("--all", action="store_true",
                        help="score all speed tests that this machine has, except those in "
                             "browsers")
    parser.add_argument("--client", metavar="COMMAND",
                        help="command that starts your own test, such as 'mytest {host}:{port}'")
    parser.add_argument("--server", metavar="COMMAND",
                        help="command that starts the test's server, such as 'mytestd -p {port}'")
    parser.add_argument("--reads", metavar="WHERE",
                        help="the numbers in the client's output, first the place, then the "
                             "name: 'json: down.mbps=download_mbps up.mbps=upload_mbps "
                             "rtt=latency_ms', or \"text: 'Download: (.*) Mbit=download_mbps'\"")
    parser.add_argument("--name", help="name of your own test on the page (default: the client's)")
    parser.add_argument("--longest", type=float, default=60.0, metavar="S",
                        help="longest duration of a run of your own test (default: %(default)g)")
    parser.add_argument("--cells", default="core", metavar="SET",
                        help="core: 77 cells; small: 4; ten: 10 that real time keeps up with; "
                             "full: 576 (default: core)")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="only cells with this in their name, such as 50mbit-40ms; repeatable")
    parser.add_argument("--seeds", metavar="N,...", help="run each cell once with each of these "
                                                         "seeds")
    parser.add_argument("--worst", metavar="WHAT", choices=("latency", "throughput"),
                        help="search the line on which its latency or throughput is farthest from "
                             "the truth, in place of the cells; the page keeps it")
    parser.add_argument("--runs", type=int, metavar="N",
                        help="make no more runs for --worst (10 to 150; default: 100)")
    parser.add_argument("--against", action="append", default=[], type=Path, metavar="DIR",
                        help="say whether the tests of -o have the same order in the runs of "
                             "another -o, with other seeds or in real time; repeatable")
    parser.add_argument("--testbed", choices=(VIRTUAL, NETNS), default=VIRTUAL,
                        help="netns: namespaces of this machine, in real time, as root")
    parser.add_argument("--jobs", metavar="N", help="runs side by side (default: one per core)")
    parser.add_argument("--scheduler", metavar="tcp://HOST:PORT",
                        help="make the runs on the workers of a cluster")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/scorecard"),
                        metavar="DIR", help="folder for runs and page; runs that are there stay "
                                            "(default: %(default)s)")


def main(args: argparse.Namespace) -> int:
    """Make the missing runs, or search for worst lines, compare with the folders of --against, and
    write and print the page. A test of the user's own is executed, and named to child processes by
    FLENT_AQM_OWN_TOOL. If its file has changed, the runs of its earlier version are moved aside
    first, and back if no run of the new one succeeds. Return the exit status: 1 if a run has no
    reading, otherwise 0, and always 0 with --worst.

    Raises ConfigError for wrong options or if a file can't be written, other AqmErrors if the runs
    can't be made or read.
    """
    own = _own_file(args)
    if own:
        # Set before the table of tools is imported, in this process and in its children.
        os.environ[environment.OWN_TOOL] = str(own.resolve())
    # Imported here, because --help needs none of these modules.
    from flent_aqm.parts.scorecard.contestant import own_contestant
    from flent_aqm.parts.scorecard.order import compare_folders, refuse_incomparable
    from flent_aqm.parts.scorecard.places import places
    from flent_aqm.parts.scorecard.steps import (
        keep_earlier,
        own_folder,
        print_and_write_page,
        refuse_missing_programs,
        score,
        search,
    )
    from flent_aqm.parts.scorecard.worst import USUAL_RUNS

    _check_search(args)
    selected = _selected_tests(args, own)
    mine = own_contestant() if own else None
    if mine:
        _refuse_silent(args, mine)
    # A search for the worst line gives no card.
    refuse_incomparable(args.output, args.against,
                        [] if args.worst else [*selected, *([mine] if mine else [])])
    pairs = [(one, args.output / one.name) for one in selected]
    cells = places(args.cells, _parse_seeds(args.seeds), args.only)
    refuse_missing_programs(pairs, cells, args.testbed)
    keys = {name: value for name in ("jobs", "scheduler") if (value := getattr(args, name))}
    earlier = None
    if own and mine:
        if args.scheduler:
            raise ConfigError("--scheduler: workers don't have your own test; leave --scheduler "
                              "out")
        folder_of_own, earlier = own_folder(args.output, mine.label, own)
        pairs.append((mine, folder_of_own))
    complete = []
    try:
        for one, folder in pairs:
            if args.worst:
                search(one, args.worst, args.runs or USUAL_RUNS, folder, keys)
            else:
                complete.append(score(one, cells, folder, args.testbed, keys))
    finally:
        if earlier:
            keep_earlier(folder_of_own, earlier)
    for folder in args.against:
        compare_folders(args.output, folder)
    print_and_write_page(args.output)
    return 0 if all(complete) else 1


def _selected_tests(args: argparse.Namespace, own: Path | None) -> Sequence[Contestant]:
    """Return the tests of this package that are to be scored. Print those that --all leaves out to
    standard error.

    Args:
        args: the command's options.
        own: file of the user's test, if any.

    Raises ConfigError for an unknown test, for names together with --all, for the name of the
    user's test without its file, for --worst latency of a test that shows none, or if there is
    nothing to do: no name, no --all, no test of the user's and no --against.
    """
    from flent_aqm.parts.scorecard.contestant import CONTESTANTS, contestant, why_not
    from flent_aqm.tools.own import NAME

    contestants = [one for name, one in CONTESTANTS.items() if name != NAME]
    names = [name for name in args.tests if not name.endswith(OWN_SUFFIX)]
    if names and args.all:
        raise ConfigError(f"{', '.join(names)}: tests are named beside --all; give either; a "
                          "second command with the same -o adds tests that --all leaves out")
    if NAME in names and not own:
        raise ConfigError(f"{NAME}: this is the test of your own file; name the file, or give "
                          "--client, --server and --reads")
    if not (names or own or args.all or args.against):
        raise ConfigError("no test given; name a test, such as ndt7, your own file, or --all; "
                          f"known: {', '.join(one.name for one in contestants)}")
    if not args.all:
        named = [contestant(name) for name in names if name != NAME]
        for one in named:
            _refuse_silent(args, one)
        return named
    left_out = {one.name: why_not(one) or _why_silent(args, one) for one in contestants}
    for one in contestants:
        if left_out[one.name]:
            print(f"left out: {one.label}: {left_out[one.name]}", file=sys.stderr)
    return [one for one in contestants if not left_out[one.name]]


def _why_silent(args: argparse.Namespace, test: Contestant) -> str:
    """Return why the latency of a test can't be searched, "" if it can or isn't to be. args: the
    command's options."""
    return "it shows no latency" if args.worst == "latency" and not test.shown.latency else ""


def _refuse_silent(args: argparse.Namespace, test: Contestant) -> None:
    """Raise ConfigError for --worst latency if the test shows no latency. args: the command's
    options."""
    if why := _why_silent(args, test):
        raise ConfigError(f"--worst latency: {test.label}: {why}; give --worst throughput, or "
                          "another test")


def _own_file(args: argparse.Namespace) -> Path | None:
    """Return the file with the user's own test, None without such a test. If the test is given by
    --client, --server and --reads, write the file first, below --output.

    Raises ConfigError if more than one test of the user's is given, the file can't be opened, the
    commands are incomplete or wrong, or the file can't be written.
    """
    files = [Path(name) for name in args.tests if name.endswith(OWN_SUFFIX)]
    parts = [args.client, args.server, args.reads]
    if any(parts) and not all(parts):
        lacks = [name for name in ("client", "server", "reads") if not getattr(args, name)]
        raise ConfigError("--client, --server and --reads belong together, but "
                          f"--{' and --'.join(lacks)} {'are' if len(lacks) > 1 else 'is'} missing "
                          "or empty; give all three")
    if len(files) + any(parts) > 1:
        raise ConfigError("only one test of your own at a time: give one .py file, or --client "
                          "with --server and --reads; score the next test by a second command "
                          "with the same -o, and under another name (--name, or its Tool's), or "
                          "its runs replace those of the first")
    if files:
        try:
            open_regular(files[0]).close()
        except OSError as error:
            raise ConfigError(f"{files[0]}: {cause_of(error)}; expected a Python file with a TOOL"
                              ) from None
        return files[0]
    if not any(parts):
        return None
    from flent_aqm.parts.scorecard.own_commands import write_tool

    return write_tool(args.output, args.name, args.client, args.server, args.reads, args.longest)


def _check_search(args: argparse.Namespace) -> None:
    """Raise ConfigError if --runs is given without --worst or is out of range, or if --worst is
    given together with --seeds, --only or a --testbed other than virtual."""
    from flent_aqm.parts.scorecard.worst import LEAST_RUNS, MOST_RUNS

    if args.runs is not None and not args.worst:
        raise ConfigError("--runs: needs --worst; give both, or leave --runs out")
    if args.runs is not None and not LEAST_RUNS <= args.runs <= MOST_RUNS:
        raise ConfigError(f"--runs: {args.runs}; expected {LEAST_RUNS} to {MOST_RUNS}")
    if args.worst and (args.seeds or args.only or args.testbed != VIRTUAL):
        raise ConfigError("--worst chooses its own lines, in the virtual lab; leave out --seeds, "
                          "--only and --testbed")


def _parse_seeds(text: str | None) -> Sequence[int]:
    """Parse the value of --seeds. Each seed is returned once. Empty if it isn't given. Raises
    ConfigError if it isn't whole numbers from 0 to 10^18 - 1 with commas between them."""
    if text is None:
        return ()
    from flent_aqm.spec.readers import seed

    try:
        # A run that is counted twice would seem to be two.
        return list(dict.fromkeys(seed("--seeds", word.strip()) for word in text.split(",")))
    except ConfigError:
        raise ConfigError(f"--seeds: {text[:60]!r}; expected whole numbers from 0 to 10^18 - 1 "
                          "with commas, such as 4,5,6") from None

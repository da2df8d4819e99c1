# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm bisect`: which commit, patch of a series, or version of Debian's made a batch's runs
worse?"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from flent_aqm.base.errors import BadResult, ConfigError, NotAvailable, SetupError
from flent_aqm.base.paths import cache_to_write
from flent_aqm.base.words import counted
from flent_aqm.commands.assert_ import ask
from flent_aqm.commands.verdict import scored
from flent_aqm.results.many_files import each_run, find_files
from flent_aqm.results.score.evaluate import truth
from flent_aqm.results.score.expression import leaves, parse
from flent_aqm.results.verdict.decide import USUAL, is_worse, judge
from flent_aqm.results.verdict.pairs import pair
from flent_aqm.setup.install import locked
from flent_aqm.setup.kernel import named
from flent_aqm.setup.kernel.build import SOURCE_PATTERN
from flent_aqm.setup.kernel.own import (
    KernelRequest,
    build_named,
    more_of_debian,
    read_options,
    read_patches,
)
from flent_aqm.sweep.bisect import Commits, History, Series, between, search

# The name under which the kernel of a step is known.
KERNEL = "bisect"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Build kernels of several versions, run a batch on each, and name the first bad version: "
        "one whose runs fail --assert, or got worse than those of the good version (flent-aqm "
        "verdict).")
    parser.add_argument("batch", metavar="BATCH", type=Path,
                        help="a batch file, such as batches/gate.batch")
    parser.add_argument("--source", metavar="SOURCE",
                        help="the git repository of --good and --bad, or the source that "
                        "--series patches (default: the source of set-up's kernel)")
    parser.add_argument("--good", metavar="REF", help="a commit that is good; or a version of "
                        "Debian's source packages, such as 7.2.6-1~bpo13+1, with --debian")
    parser.add_argument("--bad", metavar="REF", help="a bad commit or version")
    parser.add_argument("--debian", action="store_true",
                        help="--good and --bad are versions in Debian's suites; search between "
                             "them")
    parser.add_argument("--series", metavar="FILE", type=Path, nargs="+",
                        help="patches in their order, instead of commits")
    parser.add_argument("--assert", metavar="EXPR", dest="condition",
                        help="a condition as for flent-aqm assert; runs that fail it are bad "
                             "(default: flent-aqm verdict decides)")
    parser.add_argument("--batch-override", metavar="KEY=VALUE", action="append", default=[],
                        help="for each sweep, as in Flent")
    parser.add_argument("--config", metavar="FRAGMENT", help="as for flent-aqm kernel build")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, default=Path("results/bisect"),
                        help="folder for the runs, with a folder for each version (default: "
                             "%(default)s)")


def main(args: argparse.Namespace) -> int:
    """Print the first bad version. Raises AqmError."""
    history, wishes = _history(args)
    if args.condition:
        parse(args.condition)  # a mistake in it is told at once
    if not args.batch.is_file():
        raise ConfigError(f"bisect: there is no batch file {args.batch}")
    try:
        args.output.mkdir(parents=True)
    except FileExistsError:
        if any(args.output.iterdir()):
            raise ConfigError(f"--output: {args.output} is not empty; name another folder"
                              ) from None
    except OSError as error:
        raise ConfigError(f"--output: can't make {args.output}: {error.strerror}") from None
    found = search(history, partial(_is_bad, args, history, wishes), _tell)
    titles = [history.title(one) for one in found.first_bad]
    steps = counted(found.steps, "step")
    if len(titles) == 1:
        print(f"first bad: {titles[0]} ({steps})")
        return 0
    print("the first bad version is one of these; all but the first could not be tested "
          f"({steps}): {'; '.join(titles)}")
    return 1


def _history(args: argparse.Namespace) -> tuple[History, Mapping[str, KernelRequest]]:
    """Return the versions, and what each is built of."""
    options = read_options(args.config) if args.config else ""
    if args.debian:
        if args.series or args.source or not (args.good and args.bad):
            raise ConfigError("bisect: with --debian, give --good VERSION --bad VERSION, and "
                              "neither --source nor --series")
        cache = cache_to_write()
        with locked(cache):
            found = between(more_of_debian(cache).versions(SOURCE_PATTERN), args.good, args.bad)
        return Series([each.version for each in found[1:]], found[0].version), {
            str(number): KernelRequest(f"{each.name}={each.version}", options=options)
            for number, each in enumerate(found)}
    if args.series:
        if args.good or args.bad:
            raise ConfigError("bisect: give --series, or --good and --bad")
        patches = read_patches(args.series)
        return Series([name for name, _ in patches]), {
            str(count): KernelRequest(args.source, patches[:count], options=options)
            for count in range(len(patches) + 1)}
    if not (args.source and args.good and args.bad):
        raise ConfigError("bisect: give --source REPOSITORY --good REF --bad REF, --series FILE …, "
                          "or --debian --good VERSION --bad VERSION")
    if not Path(args.source).is_dir():
        raise ConfigError(f"--source: there is no folder {args.source}")
    return Commits(Path(args.source), args.good, args.bad), _Refs(args.source, options)


class _Refs(dict[str, KernelRequest]):
    """Commit -> what is built of it."""

    def __init__(self, source: str, options: str) -> None:
        super().__init__()
        self._source, self._options = source, options

    def __missing__(self, commit: str) -> KernelRequest:
        return KernelRequest(f"{self._source}@{commit}", options=self._options)


def _is_bad(args: argparse.Namespace, history: History, wishes: Mapping[str, KernelRequest],
            version: str) -> bool | None:
    """Return None for a version that can't be built or doesn't run to its end."""
    cache = cache_to_write()
    try:
        with locked(cache):
            build_named(cache, KERNEL, wishes[version], "flent-aqm bisect …")
        folder = args.output / version[:12]
        _sweep(args, folder)
        bad = _fails(folder, args.condition) if args.condition else (
            version != history.good and is_worse(judge(pair(
                scored([args.output / history.good[:12]]), scored([folder])), USUAL)))
    except (SetupError, BadResult) as fault:
        _tell(f"can't be tested: {fault}")
        return None
    finally:
        # Of so many kernels none is wanted any more.
        with locked(cache), contextlib.suppress(ConfigError):
            # Each of Debian's has a tree of its own, of 1 GB.
            named.remove(cache, KERNEL, keep_tree=not args.debian)
    _tell("bad" if bad else "good")
    return bad


def _sweep(args: argparse.Namespace, folder: Path) -> None:
    """Run the batch on the step's kernel. Raises BadResult where a run fails."""
    words = [sys.executable, "-P", "-m", "flent", "-B", str(args.batch),
             *(f"--batch-override={each}" for each in args.batch_override),
             f"--batch-override=kernel={KERNEL}", f"--batch-override=output_path={folder}"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode:
        causes = [line for line in done.stdout.splitlines() if line.strip()] or ["no output"]
        raise BadResult(f"the batch ended with an error: {causes[-1].strip()}")


def _fails(folder: Path, condition: str) -> bool:
    """Return whether the condition doesn't hold for a run. Raises BadResult where that isn't
    known."""
    node = parse(condition)
    fails = False
    for path, result in each_run(find_files([folder]), partial(ask, leaves(node))):
        if isinstance(result, BadResult):
            raise result
        try:
            fails |= not truth(node, result[1])
        except NotAvailable as error:
            raise BadResult(f"{path.name}: {error}") from None
    return fails


def _tell(text: str) -> None:
    print(f"bisect: {text}", file=sys.stderr, flush=True)

# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm verdict`: say whether a change made runs better, worse or not different.

It may also say that these runs can't tell.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from flent_aqm.base.errors import AqmError, BadResult, ConfigError, cause_of, why_unreadable
from flent_aqm.base.json_text import json_text
from flent_aqm.base.whole_file import write_text
from flent_aqm.base.words import counted, plain
from flent_aqm.parts.kernels.verdict import page
from flent_aqm.parts.kernels.verdict.chance import failed_more
from flent_aqm.parts.kernels.verdict.counters import differing, flat
from flent_aqm.parts.kernels.verdict.decide import (
    USUAL,
    JudgedMetric,
    can_tell,
    is_better,
    is_worse,
    judge,
)
from flent_aqm.parts.kernels.verdict.exercised import (
    Reach,
    exercise,
    is_bad,
    reach_of_change,
)
from flent_aqm.parts.kernels.verdict.made_with import differing as differing_programs
from flent_aqm.parts.kernels.verdict.made_with import (
    programs,
    refuse_two_builds,
)
from flent_aqm.parts.kernels.verdict.more_seeds import FOLDER, add_seeds
from flent_aqm.parts.kernels.verdict.pairs import (
    PairedSides,
    Pairs,
    TooFewPairs,
    failed_alone_at_most,
    pair,
)
from flent_aqm.parts.kernels.verdict.suggest import suggest
from flent_aqm.results import status
from flent_aqm.results.data_file import DataFile
from flent_aqm.results.many_files import each_file, find_files
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.score.shown import ScoredFile, score
from flent_aqm.spec.readers import number_or_nan
from flent_aqm.sweep.sweep import NOT_MADE, OF_A_KERNEL

# Exit statuses. Without a verdict it is not that of "worse", which `git bisect run` would believe.
AS_EXPECTED, WORSE, NO_VERDICT, CAN_NOT_TELL, NOT_EXERCISED, OTHER = 0, 1, 2, 3, 4, 5
EXPECTATIONS = ("same", "better", "worse")
# Settings of a run's load. Sides that differ in them can't be compared.
_LOAD = ("test", "flows", "cross_traffic")
# Paths of a side that the page names.
MOST_PATHS = 3
PAGES = {".md": lambda text: text, ".html": page.html}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `flent-aqm verdict`: --base and --test, which are required, --metrics,
    --until-decided (as `minutes`), --expect, --no-coverage (as `coverage`, which it makes False),
    --suggest and --output."""
    parser.add_argument("--base", nargs="+", type=Path, metavar="RESULTS", required=True,
                        help="data files, or folders of them, before the change")
    parser.add_argument("--test", nargs="+", type=Path, metavar="RESULTS", required=True,
                        help="data files, or folders of them, after the change, with the same "
                             "settings and seeds")
    parser.add_argument("--metrics", metavar="NAME,...", help="compare these metrics")
    parser.add_argument("--until-decided", type=_minutes, metavar="MINUTES", dest="minutes",
                        help="where the runs can't tell, make more, of folders that the lab has "
                             "made, with further seeds, for so long at most")
    parser.add_argument("--expect", choices=EXPECTATIONS, default="same",
                        help="what the change is meant to do: exit status 0 if it does that and "
                             "nothing worse (default: same, as a refactoring is)")
    parser.add_argument("--no-coverage", action="store_false", dest="coverage",
                        help="don't make a run of each cell with an instrumented kernel, which "
                             "tells the lines of the change that ran")
    parser.add_argument("--suggest", action="store_true",
                        help="for lines that never ran, try the other cells of gate.batch, and "
                             "name those that reach them")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="write the page to NAME.md or NAME.html (default: print it)")


def main(args: argparse.Namespace) -> int:
    """Print the verdict's page in Markdown, without its backslashes. With --output, write it to
    that file, with backslashes, or as HTML to NAME.html, and print only what was found. If too few
    runs are left to compare, and the failed runs of the test side are evidence against the change,
    the page says so and names them. Print errors to standard error.

    Returns:
        The exit status, the first that applies: 2 if an error prevented a verdict. 1 if the change
            is worse: a metric, more failed runs, a kernel under test that failed in a run, a broken
            rule of counters or a call that may sleep (0 with --expect worse). 4 if it never ran, or
            some of its lines never or rarely did and no metric is better. Otherwise one of three,
            as _exit_status() says: 0 if it does what --expect says. 3 if these runs can't tell
            everything, for example if a metric in a cell isn't decided, or a run failed or has no
            partner. 5 if it is better, the same or has other counters where --expect says
            otherwise.
    """
    try:
        return _run_verdict(args)
    except AqmError as error:
        print(f"flent-aqm: {error}", file=sys.stderr)
        return NO_VERDICT


def _minutes(text: str) -> float:
    """Return the value of --until-decided. Raises ArgumentTypeError if it is not a number above 0
    and up to a million."""
    minutes = number_or_nan(text)
    if not 0 < minutes <= 1e6:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of minutes above 0 and up "
                                         "to 1,000,000")
    return minutes


def _run_verdict(args: argparse.Namespace) -> int:
    """Compare the runs, print or write the page, and return the exit status, as main() describes.
    Makes further runs for --until-decided. If the sides have different kernels and --no-coverage
    isn't given, also makes runs with an instrumented kernel, and for --suggest runs of other cells.
    Prints failed runs, runs without a partner, the state after further runs, and advice to standard
    error. Raises AqmError if there can be no verdict, or if the page can't be written."""
    if args.output and args.output.suffix not in PAGES:
        raise ConfigError(f"--output: {args.output}; expected NAME.md for Markdown or NAME.html "
                          "for a web page")
    names = tuple(name.strip() for name in (args.metrics or "").split(",") if name.strip()) or USUAL
    folders = _folders_for_new_runs(args) if args.minutes else []
    failed = [*failed_runs("base", args.base), *failed_runs("test", args.test)]
    for line in _name_failed(failed):
        print(f"flent-aqm: {line}", file=sys.stderr)
    # A kernel that doesn't get through the runs is worse than any that does.
    broken = any(run.side == "test" and run.cause.startswith(OF_A_KERNEL) for run in failed)
    files = [find_files(args.base)]
    try:
        files.append(find_files(args.test))
    except ConfigError:
        if broken or _fails_more(failed, {"base": len(files[0])}):
            return _say_failures(failed, args)
        raise
    if both := {path.resolve() for path in files[0]} & {path.resolve() for path in files[1]}:
        raise ConfigError(f"{min(both)} is on both sides, and a run is always like itself; "
                          "expected runs before the change and runs after it")
    sides = [scored(side) for side in files]
    for side, runs in zip(("base", "test"), sides, strict=True):
        refuse_two_builds(side, runs)
    try:
        comparison, judged = _compare_and_judge(sides, failed, names)
    except TooFewPairs:
        if broken or _fails_more(
                failed, {"base": len(sides[0]), "test": len(sides[1])}):
            return _say_failures(failed, args)
        raise
    until_s = time.monotonic() + 60 * (args.minutes or 0)
    while args.minutes and (cells := _undecided(comparison, judged)) and add_seeds(
            cells, folders, _seeds_to_reach(cells, judged), until_s):
        sides = [[*runs, *scored(_files_not_read(runs, find_files(side)))]
                 for runs, side in zip(sides, (args.base, args.test), strict=True)]
        comparison, judged = _compare_and_judge(sides, failed, names)
        print(page.sentence(comparison, judged), file=sys.stderr)
    if not args.minutes and _undecided(comparison, judged):
        print("flent-aqm: where these runs can't tell, further seeds may: --until-decided MINUTES "
              "makes their runs", file=sys.stderr)
    exercised = None
    if args.coverage:
        one_folder = len(args.test) == 1 and os.path.isdir(args.test[0])
        exercised = exercise(comparison, args.test[0] if one_folder else None)
        if args.suggest and exercised is not None and exercised.recording is not None:
            for line in suggest(comparison.cells, exercised, exercised.recording):
                print(f"flent-aqm: {line}", file=sys.stderr)
    reach = Reach.ENOUGH if broken else reach_of_change(comparison, judged, exercised)
    worse = broken or is_bad(comparison, judged, exercised)
    # All samples are alike: either the best news, or the sign that nothing of the change ran.
    is_told = exercised is None or bool(exercised.lines) or \
        comparison.identical < comparison.pairs
    is_decided = is_told and not failed and not comparison.alone and can_tell(judged)
    better, differs = is_better(judged), bool(differing(comparison))
    for (side, cell), count in sorted(comparison.alone.items()):
        print(f"flent-aqm: {cell}: {counted(count, 'run')} of the {side} side left out: the other "
              "side has no run of the same settings and seed", file=sys.stderr)
    text = page.markdown(
        _heading(reach, worse=worse, better=better, differs=differs, is_decided=is_decided),
        comparison, judged, exercised, _places(args), _name_failed(failed))
    _put_out(args.output, text, page.findings(comparison, judged, exercised))
    if reach is not Reach.ENOUGH:
        return NOT_EXERCISED
    return _exit_status(args.expect, worse=worse, better=better, differs=differs,
                        is_decided=is_decided)


def _heading(reach: Reach, *, worse: bool, better: bool, differs: bool, is_decided: bool) -> str:
    """Return the verdict for the page's heading: "Worse", "Not exercised", "Exercised in part",
    "Better", "A difference", "The same" or "Can't tell". If several apply, the first of these.

    Args:
        reach: how much of the change ran.
        worse, better, differs, is_decided: as for _exit_status().
    """
    if worse:
        return "Worse"
    if reach is not Reach.ENOUGH:
        return "Not exercised" if reach is Reach.NONE else "Exercised in part"
    if better:
        return "Better"
    if differs:
        return "A difference"
    return "The same" if is_decided else "Can't tell"


def _fails_more(failed: Sequence[Failed], made: Mapping[str, int]) -> bool:
    """Return whether more runs failed on the test side than chance explains, where too few are left
    to be paired.

    Args:
        failed: runs of both sides that could not be made.
        made: side -> number of its runs that were made. So few are paired that all count as runs
            without a partner.
    """
    return failed_more(*failed_alone_at_most(Counter(run.side for run in failed), made))


def _name_failed(failed: Sequence[Failed]) -> list[str]:
    """Return a line for each cause of failed runs of a side, with the name of the first such run,
    and the number of the others.

    Args:
        failed: runs of both sides that could not be made.
    """
    lines = []
    for (side, cause), count in Counter((run.side, run.cause) for run in failed).items():
        name = next(run.name for run in failed if (run.side, run.cause) == (side, cause))
        more = f", and {count - 1} more like it," if count > 1 else ""
        if cause.startswith(NOT_MADE):
            told = f"{'were' if more else 'was'} {cause}"
        else:
            told = f"failed: {cause}"
        lines.append(f"{name} of the {side} side{more} {told}")
    return lines


def _say_failures(failed: Sequence[Failed], args: argparse.Namespace) -> int:
    """Print or write the page that the test side is worse because its runs fail, with the number of
    failed runs of each side. Return the exit status: 0 with --expect worse, otherwise 1. Raises
    ConfigError if the page can't be written.

    Args:
        failed: runs of both sides that could not be made.
        args: the command's options.
    """
    count = Counter(run.side for run in failed)
    finding = (f"Worse: {counted(count['test'], 'run')} of the test side failed or could not be "
               f"made, {count['base']} of the base side. Too few are left to compare samples.")
    _put_out(args.output, page.failures(finding, _places(args), _name_failed(failed)), [finding])
    return AS_EXPECTED if args.expect == "worse" else WORSE


def _places(args: argparse.Namespace) -> dict[str, str]:
    """Return "base" and "test" -> the paths of the side's runs, for readers of the page. At most
    three are named (MOST_PATHS)."""
    return {side: plain(" ".join(map(str, paths[:MOST_PATHS]))) + (
        f" and {len(paths) - MOST_PATHS} more" if len(paths) > MOST_PATHS else "")
        for side, paths in (("base", args.base), ("test", args.test))}


def _put_out(output: Path | None, text: str, found: Sequence[str]) -> None:
    """Write the page to the file of --output, and print what was found. Without a file, print the
    page. Raises ConfigError if the file can't be written.

    Args:
        output: value of --output, with a suffix of PAGES.
        text: the page in Markdown.
        found: what was found, a paragraph each.
    """
    if output is None:
        print(page.without_escapes(text), end="")
        return
    try:
        write_text(output, PAGES[output.suffix](text))
    except OSError as error:
        raise ConfigError(f"--output: can't write {output}: {cause_of(error)}; name a file that "
                          "can be written") from None
    print("\n".join(found))


def _exit_status(expected: str, *, worse: bool, better: bool, differs: bool,
                 is_decided: bool) -> int:
    """Return the exit status for runs in which the change was exercised. The first that applies:

    - `worse`: 0 if that is expected, otherwise 1.
    - `better` or `differs`, where "same" is expected: 5.
    - Not `is_decided`: 3.
    - Otherwise 0 if "better" is expected and `better` is true, or "same" is expected, else 5.

    Args:
        expected: value of --expect: "same", "better" or "worse".
        worse: whether the runs are evidence against the change, see is_bad(), or the kernel under
            test failed.
        better: whether a metric got better and none worse.
        differs: whether counters differ between runs with the same samples.
        is_decided: whether these runs can tell everything that the verdict is about.
    """
    if worse:
        return AS_EXPECTED if expected == "worse" else WORSE
    if (better or differs) and expected == "same":
        return OTHER
    if not is_decided:
        return CAN_NOT_TELL
    return AS_EXPECTED if expected == ("better" if better else "same") else OTHER


def _compare_and_judge(sides: Sequence[Sequence[ScoredFile]], failed: Sequence[Failed],
                       names: Sequence[str]) -> tuple[PairedSides, list[JudgedMetric]]:
    """Pair the runs of the two sides and judge the metrics. Return the comparison, and the judged
    metrics.

    Args:
        sides: the runs of the base side, the runs of the test side.
        failed: runs of both sides that could not be made.
        names: names of the metrics.

    Raises TooFewPairs if no cell has enough pairs. Raises ConfigError if all runs of a side have
    one test, flows or cross traffic, and all of the other side another one, if a side has
    two runs with the same settings and seed, if a name is no metric that can be judged, or if no
    run has a value to judge.
    """
    paired = pair(*sides)
    for name in _LOAD:
        if name in paired.compared:
            ours, theirs = paired.compared[name]
            raise ConfigError(f"the sides were loaded differently: {name} {plain(ours)} (base) and "
                              f"{plain(theirs)} (test); expected the same cells on both sides")
    comparison = replace(paired, failed=Counter(run.side for run in failed),
                         programs=differing_programs(*sides))
    return comparison, judge(comparison, names)


def _files_not_read(runs: Sequence[ScoredFile], files: Sequence[Path]) -> list[Path]:
    """Return the files that no run in `runs` was read from. Files aren't read twice, because
    reading a file takes longer than judging all runs."""
    there = {run.path for run in runs}
    return [path for path in files if path not in there]


def _folders_for_new_runs(args: argparse.Namespace) -> list[Path]:
    """Return the folders of --base and --test, into which --until-decided puts new runs. Raises
    ConfigError if either isn't a single folder that can be read."""
    for option, given in (("--base", args.base), ("--test", args.test)):
        why = why_unreadable(given[0])
        if len(given) == 1 and not why:
            continue
        seen = f"{len(given)} paths are given" if len(given) != 1 else f"{given[0]}: {why}"
        raise ConfigError(f"--until-decided: {option}: {seen}; expected one folder, into which the "
                          "new runs go")
    return [args.base[0], args.test[0]]


def _undecided(comparison: PairedSides, judged: Sequence[JudgedMetric]) -> list[Pairs]:
    """Return the cells in which a metric isn't decided yet, and for which it is known how many
    seeds would probably decide it (`seeds_needed` of its effect). Empty once a metric got worse."""
    names = {effect.cell for metric in judged for effect in metric.effects if effect.seeds_needed}
    return [] if is_worse(judged) else [cell for cell in comparison.cells if cell.name in names]


def _seeds_to_reach(cells: Sequence[Pairs], judged: Sequence[JudgedMetric]) -> int:
    """Return how many seeds each of these cells should have in all after the next runs: the largest
    `seeds_needed` of all effects, but at most twice as many as the largest of the cells has pairs
    now, because few seeds tell little of the scatter."""
    present = max(len(cell.pairs) for cell in cells)
    needed = max(effect.seeds_needed or 0 for metric in judged for effect in metric.effects)
    return min(needed, 2 * present)


class Failed(NamedTuple):
    """A run that a sweep could not make.

    Attributes:
        side: "base" or "test".
        name: name of the data file that it would have written.
        cause: the error message.
    """

    side: str
    name: str
    cause: str


def failed_runs(side: str, paths: Sequence[Path]) -> Iterator[Failed]:
    """Yield the runs of a side that a sweep could not make, as its sweep.json says, and whose data
    file isn't there: a later sweep may have made it.

    Args:
        side: "base" or "test", for the records.
        paths: the side's folders and files. Of each folder, its sweep.json and that of its
            subfolder `more-seeds` are read. Files, and folders without a sweep.json that can be
            read, yield none.
    """
    for folder in (place for path in paths for place in (path, path / FOLDER)):
        sweep = status.read(folder)
        for name, cause in sorted(sweep.failed.items()) if sweep else ():
            if not os.path.exists(folder / Path(name).name):
                yield Failed(side, plain(name), plain(cause))


def scored(files: Sequence[Path]) -> list[ScoredFile]:
    """Read the data files of a side, with progress on a terminal. Return each run, in the files'
    order, with its metrics, hash of samples, counters, programs and kernel. Raises BadResult for
    the first file that can't be read, is damaged or can't be evaluated."""
    runs = []
    for _, result in each_file(files, _score_with_evidence):
        if isinstance(result, BadResult):
            # A verdict that leaves runs out could be bought by damaging them.
            raise result
        runs.append(result)
    return runs


def _score_with_evidence(data: DataFile) -> ScoredFile:
    """Return the metrics of a data file as a ScoredFile, with the hash of its samples, its
    counters, the versions of its programs and its kernel. Raises BadResult if the run is damaged.
    """
    samples = json_text(data.raw_values, sort_keys=True).encode()
    aqm = data.metadata.get("AQM")
    aqm = aqm if isinstance(aqm, dict) else {}
    after = aqm.get("after")
    return replace(score(as_run(data)), samples=hashlib.sha256(samples).hexdigest(),
                   counters=flat(after.get("counters") if isinstance(after, dict) else None),
                   programs=programs(aqm))

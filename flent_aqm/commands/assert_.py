# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm assert`: checks a condition for runs, or for medians of groups of runs.

Exit status: 0 if the condition holds for all. 1 if it fails for some, if it can't be decided, or if
a file is damaged. 2 if the condition or the name of a file is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from flent_aqm.base.errors import BadResult, ConfigError, NotAvailable, cause_of
from flent_aqm.base.words import plain
from flent_aqm.results.grouping import check_keys, grouped, parse_keys, shown, unpooled
from flent_aqm.results.many_files import counted_once, each_run, find_files
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.table import LOST, Unavailable
from flent_aqm.results.score.evaluate import Values, medians, truth
from flent_aqm.results.score.expression import Node, conjuncts, leaves, parse
from flent_aqm.results.score.junit import JunitCase, write_junit
from flent_aqm.results.score.leaves import UNITS, Leaf
from flent_aqm.results.score.shown import wide_console

MISTAKE = 2


@dataclass(frozen=True)
class Subject:
    """A file or group of runs for which the condition is checked.

    Attributes:
        name: name of the file, or the settings of the group and its number of runs.
        numbers: each metric (Leaf) that the condition uses -> its value, or Unavailable; medians
            for a group. Empty for a damaged file.
        fault: reason why nothing can be checked, "" except for a damaged file.
    """

    name: str
    numbers: Values
    fault: str = ""


@dataclass(frozen=True)
class FileValues:
    """Values of the metrics of one data file that the condition uses, with all that is needed to
    group the file and to count it once.

    Attributes:
        path: the data file.
        settings: settings by which runs are grouped: name -> value.
        numbers: each metric (Leaf) -> its value, or Unavailable if the run lacks it.
        samples: hash of the run's samples, "" if its file has none.
    """

    path: Path
    settings: Mapping[str, Setting]
    numbers: Values
    samples: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `flent-aqm assert`: a condition, data files or folders, settings
    that make groups, settings that may differ within a group, and a JUnit file to write."""
    parser.add_argument("expression", metavar="EXPR",
                        help="condition, such as 'p99(latency_loaded) < 20ms'; names of "
                             "metrics: flent-aqm score --list")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE",
                        help="data file, or folder of data files")
    parser.add_argument("--median-by", metavar="SETTING,...",
                        help="compare the medians of groups of runs; for example aqm,rate")
    parser.add_argument("--pool", metavar="SETTING,...",
                        help="with --median-by: put runs that differ in these settings into one "
                             "group; 'all' for any setting (default: keep them apart)")
    parser.add_argument("--junit", metavar="FILE", type=Path,
                        help="also write the result as JUnit XML, for CI systems: a test case "
                             "for each file and each condition between 'and'")


def main(args: argparse.Namespace) -> int:
    """Check the condition, and print the failures or that it holds. With --junit, write a JUnit
    file. Return the exit status: 0 if the condition holds for all files or groups, 1 if it fails,
    can't be decided or a file is damaged, MISTAKE (2) after a ConfigError, which is printed."""
    try:
        if args.median_by is not None and not parse_keys(args.median_by):
            raise ConfigError(f"--median-by: {args.median_by!r} names no setting; give one or "
                              "more, such as --median-by aqm,rate")
        if args.pool and args.median_by is None:
            raise ConfigError("--pool: needs --median-by, which groups the runs, such as "
                              "--median-by aqm --pool seed")
        if os.path.exists(args.expression) and not os.path.exists(args.files[0]):
            raise ConfigError(f"{plain(args.expression)} is a file or folder; give the condition "
                              "first, as in: flent-aqm assert 'p99(latency_loaded) < 20ms' "
                              f"{plain(args.expression)}")
        condition = parse(args.expression)
        files = find_files(args.files)
        wanted = leaves(condition)
        readable: list[FileValues] = []
        subjects: list[Subject] = []
        for path, result in each_run(files, partial(read_values, wanted)):
            if isinstance(result, BadResult):
                subjects.append(Subject(plain(path.name), {}, str(result)))
            else:
                readable.append(result)
        subjects += (
            _group_subjects(readable, args.median_by, args.pool or "") if args.median_by else
            [Subject(plain(file_values.path.name), file_values.numbers)
             for file_values in readable])
        if args.junit is not None:
            _write_junit(args.junit, args.expression, subjects)
    except ConfigError as error:
        print(f"flent-aqm: {error}", file=sys.stderr)
        return MISTAKE
    cases = [_check_subject(args.expression, condition, subject) for subject in subjects]
    failures = [case for case in cases if case.failure or case.error]
    _print_failures(args.expression, failures, len(subjects), "group" if args.median_by else "file")
    return 1 if failures else 0


def read_values(wanted: Sequence[Leaf], run: Run) -> FileValues:
    """Return the values of a run that the condition uses, with Unavailable for each that the run
    lacks. Called by each_run(), for many files in other processes.

    Args:
        wanted: the metrics that the condition uses.
        run: the run.
    """
    return FileValues(run.path, dict(run.settings), {leaf: leaf.of(run) for leaf in wanted},
                      run.samples)


def _group_subjects(files: Sequence[FileValues], by: str, pool: str) -> list[Subject]:
    """Return the groups of runs, with the medians of their values, empty if there are no files.
    Groups are sorted by the values of their settings. Runs that differ in a setting that is neither
    in `by` nor in `pool` are in different groups, too, unless it is in NEVER (grouping.py), such as
    the seed, or differs only together with one in `pool`. Files that repeat another file's samples
    and settings count once, and a line on standard error says so.

    Args:
        files: the runs.
        by: settings that make groups, separated by commas.
        pool: settings that may differ within a group, separated by commas, or "all". "" for none.

    Raises ConfigError if no run has one of the settings.
    """
    if not files:  # all are damaged, which others report
        return []
    files, repeated = counted_once(files)
    if repeated:
        print(f"flent-aqm: {repeated}", file=sys.stderr)
    everything = [file_values.settings for file_values in files]
    requested, pooled = parse_keys(by), parse_keys(pool)
    check_keys(everything, [*requested, *(name for name in pooled if name != "all")])
    keys, _ = unpooled(everything, requested, pooled)
    groups = grouped([(file_values.settings, file_values.numbers) for file_values in files], keys)
    # The runs of a group may not record a setting that others have.
    return [Subject(", ".join(f"{key} {shown(value)}"
                              for key, value in zip(keys, values, strict=True) if value != "")
                    + f" ({len(members)})", medians(members))
            for values, members in groups.items()]


def _check_subject(text: str, condition: Node, subject: Subject) -> JunitCase:
    """Check a condition for a file or group. Return the result as a JUnit test case. Its `error` is
    the reason if the condition can't be decided or the file is damaged. Its `failure` has the
    metrics with their values if the condition doesn't hold. Otherwise both are "".

    Args:
        text: the condition as the user typed it.
        condition: the parsed condition.
        subject: the file or group.
    """
    if subject.fault:
        return JunitCase(subject.name, text, error=subject.fault)
    try:
        if truth(condition, subject.numbers):
            return JunitCase(subject.name, text)
    except NotAvailable as error:
        return JunitCase(subject.name, text, error=str(error))
    digits = 15 if _holds_rounded(condition, subject.numbers) else 6
    # An empty failure would count as none.
    return JunitCase(subject.name, text, failure=", ".join(
        _leaf_text(leaf, subject.numbers[leaf], digits) for leaf in leaves(condition))
        or "it is false for every file, as it names no metric")


def _holds_rounded(condition: Node, numbers: Values) -> bool:
    """Return whether a condition holds for the numbers rounded to 6 significant digits, as they are
    usually shown: 20.0000001 ms would be shown as 20 ms beside "<= 20ms". False also if that can't
    be decided.

    Args:
        condition: a condition that doesn't hold for the numbers themselves.
        numbers: value of each leaf of the condition.
    """
    try:
        return truth(condition, {
            leaf: value if isinstance(value, Unavailable) else float(f"{value:.6g}")
            for leaf, value in numbers.items()})
    except NotAvailable:
        return False


def _write_junit(path: Path, text: str, subjects: Sequence[Subject]) -> None:
    """Check the conditions that "and" joins in `text`, or the whole text if it has "or" outside of
    brackets, for each subject. Write a JUnit file with a test case for each pair, over an existing
    file. Raises ConfigError if the file can't be written.

    Args:
        path: the file.
        text: the condition as the user typed it.
        subjects: files or groups, with the values of their metrics.
    """
    conditions = conjuncts(text)
    cases = [_check_subject(part, condition, subject)
             for subject in subjects for part, condition in conditions]
    try:
        write_junit(path, cases)
    except OSError as error:
        raise ConfigError(f"--junit: can't write {plain(path)}: {cause_of(error)}") from None


def _leaf_text(leaf: Leaf, value: float | Unavailable, digits: int) -> str:
    """Return a metric with its value, rounded to `digits` significant digits, and its unit as text:
    "p99(latency_loaded) = 12.3 ms". "p99(latency_loaded) lost" if it is a lost probe, and
    "p99(latency_loaded) not available" if it has no value for another reason."""
    if isinstance(value, Unavailable):
        if value.lost:
            return f"{leaf.text} {LOST}"
        return f"{leaf.text} not available"
    return f"{leaf.text} = {value:.{digits}g}{UNITS[leaf.kind]}"


def _print_failures(expression: str, failures: Sequence[JunitCase], total: int, noun: str) -> None:
    """Print the failures as a table, and how many files or groups fail or can't be decided. If
    there are none, print that the condition holds.

    Args:
        expression: the condition as the user typed it.
        failures: results for the files or groups that fail or can't be decided.
        total: number of files or groups.
        noun: "file" or "group".
    """
    console = wide_console()
    plural = noun if total == 1 else f"{noun}s"
    if not failures:
        console.print(f"holds for {total} {plural}: {expression}", markup=False, highlight=False)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(noun, overflow="fold")
    table.add_column("seen", overflow="fold")
    for case in failures:
        table.add_row(escape(case.subject), escape(case.failure or case.error))
    console.print(table)
    undecided = sum(bool(case.error) for case in failures)
    also = f" ({undecided} of them can't be decided)" if undecided else ""
    console.print(f"fails for {len(failures)} of {total} {plural}{also}: {expression}",
                  markup=False, highlight=False)

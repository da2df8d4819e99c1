# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm assert`: checks a condition for runs, or for medians of groups of runs.

Exit status: 0 if the condition holds for all. 1 if it fails for some, if it can't be decided, or if
a file is damaged. 2 if the condition or the name of a file is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from flent_aqm.base.errors import BadResult, ConfigError, NotAvailable
from flent_aqm.base.words import plain
from flent_aqm.results.grouping import check_keys, grouped, parse_keys, shown, unpooled
from flent_aqm.results.many_files import counted_once, each_run, find_files
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.table import Unavailable
from flent_aqm.results.score.evaluate import Values, medians, truth
from flent_aqm.results.score.expression import Node, conjuncts, leaves, parse
from flent_aqm.results.score.junit import Case, write_junit
from flent_aqm.results.score.leaves import UNITS, Leaf
from flent_aqm.results.score.shown import wide_console

MISTAKE = 2


@dataclass(frozen=True)
class Subject:
    """A file or group of runs for which the condition is checked."""

    # Name of the file, or the settings of the group.
    name: str
    # Values of the metrics that the condition uses. Empty for a damaged file.
    numbers: Values
    # Why nothing can be checked, "" except for a damaged file.
    fault: str = ""


@dataclass(frozen=True)
class Asked:
    """What the condition needs of one file."""

    path: Path
    # Settings by which runs are grouped.
    settings: Mapping[str, Setting]
    # Values of the metrics that the condition uses.
    numbers: Values
    # Hash of the run's samples, "" if its file has none.
    samples: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm assert`."""
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
    """Check the condition and print the failures. Return the exit status."""
    try:
        condition = parse(args.expression)
        files = find_files(args.files)
        wanted = leaves(condition)
        scored: list[Asked] = []
        subjects: list[Subject] = []
        for path, result in each_run(files, partial(ask, wanted)):
            if isinstance(result, BadResult):
                subjects.append(Subject(plain(path.name), {}, str(result)))
            else:
                scored.append(result)
        subjects += (_groups(scored, args.median_by, args.pool or "") if args.median_by else [
            Subject(plain(one.path.name), one.numbers) for one in scored])
        if args.junit is not None:
            _write_junit(args.junit, args.expression, subjects)
    except ConfigError as error:
        print(f"flent-aqm: {error}", file=sys.stderr)
        return MISTAKE
    cases = [_judge(args.expression, condition, subject) for subject in subjects]
    failures = [case for case in cases if case.failure or case.error]
    _show(args.expression, failures, len(subjects), "group" if args.median_by else "file")
    return 1 if failures else 0


def ask(wanted: Sequence[Leaf], run: Run) -> Asked:
    """Return what the condition needs of a run. Called in other processes."""
    return Asked(run.path, dict(run.settings), {leaf: leaf.of(run) for leaf in wanted},
                 run.samples)


def _groups(files: Sequence[Asked], by: str, pool: str) -> list[Subject]:
    """Return the groups of runs, with the medians of their values. Files that repeat another one
    count once, and a line on standard error says so.

    Args:
        files: the runs.
        by: settings that make groups, with commas between.
        pool: settings that may differ within a group, with commas between, or "all".

    Raises ConfigError if a setting is unknown.
    """
    files, repeated = counted_once(files)
    if repeated:
        print(f"flent-aqm: {repeated}", file=sys.stderr)
    everything = [one.settings for one in files]
    requested, pooled = parse_keys(by), parse_keys(pool)
    check_keys(everything, [*requested, *(name for name in pooled if name != "all")])
    keys, _ = unpooled(everything, requested, pooled)
    groups = grouped([(one.settings, one.numbers) for one in files], keys)
    return [Subject(", ".join(f"{key} {shown(value)}"
                              for key, value in zip(keys, values, strict=True))
                    + f" ({len(members)})", medians(members))
            for values, members in groups.items()]


def _judge(text: str, condition: Node, subject: Subject) -> Case:
    """Check a condition for a file or group. text: the condition as the user typed it."""
    if subject.fault:
        return Case(subject.name, text, error=subject.fault)
    try:
        if truth(condition, subject.numbers):
            return Case(subject.name, text)
    except NotAvailable as error:
        return Case(subject.name, text, error=str(error))
    return Case(subject.name, text, failure=", ".join(
        _leaf_text(leaf, subject.numbers[leaf]) for leaf in leaves(condition)))


def _write_junit(path: Path, text: str, subjects: Sequence[Subject]) -> None:
    """Write a test case for each subject and each condition that `text` joins by "and". Raises
    ConfigError if the file can't be written."""
    conditions = conjuncts(text)
    cases = [_judge(part, condition, subject)
             for subject in subjects for part, condition in conditions]
    try:
        write_junit(path, cases)
    except OSError as error:
        raise ConfigError(f"--junit: can't write {plain(path)}: {error.strerror}") from None


def _leaf_text(leaf: Leaf, value: float | Unavailable) -> str:
    """Return a metric with its value and unit as text."""
    if isinstance(value, Unavailable):
        return f"{leaf.text} not available"
    return f"{leaf.text} = {value:.6g}{UNITS[leaf.kind]}"


def _show(expression: str, failures: Sequence[Case], total: int, noun: str) -> None:
    """Print the failures as a table, and how many files or groups fail.

    Args:
        expression: the condition as the user typed it.
        failures: files or groups that fail.
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
    console.print(f"fails for {len(failures)} of {total} {plural}: {expression}", markup=False,
                  highlight=False)

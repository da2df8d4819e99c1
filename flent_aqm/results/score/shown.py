# SPDX-License-Identifier: GPL-3.0-or-later
"""Print scores as tables, JSON and CSV."""

from __future__ import annotations

import csv
import math
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.json_text import json_text
from flent_aqm.base.switch import switch
from flent_aqm.base.words import counted, for_spreadsheet, plain, significant
from flent_aqm.results.data_file import SUFFIX
from flent_aqm.results.grouping import (
    along_with,
    check_keys,
    collect,
    factors,
    grouped,
    harmless,
    shown,
    unpooled,
)
from flent_aqm.results.metrics.compare import (
    Summary,
    cliffs_deltas,
    interval_caveat,
    kruskal_wallis,
    level_for,
    p_value_caveat,
    summarise,
    two_groups,
    variance_share,
)
from flent_aqm.results.metrics.run import Run, probe_line
from flent_aqm.results.metrics.settings import (
    Setting,
    rebuilt_kernels,
    recorded_kernel,
)
from flent_aqm.results.metrics.table import (
    LOST,
    METRICS,
    Metric,
    Unavailable,
    digits,
    ranked,
    values,
)
from flent_aqm.results.metrics.throughput import shares_line

Value = float | Unavailable

_UPLOAD = "utilisation_upload_pct"
# Characters in a line of a file. Width of a terminal below which descriptions of metrics have no
# room.
NO_TERMINAL, NARROW = 250, 110


@dataclass(frozen=True)
class ScoredFile:
    """Settings and metrics of a data file.

    Attributes:
        path: path of the file.
        settings: settings of the run by name.
        values: metric -> value, or Unavailable with the reason why there is none. All of METRICS.
        samples: SHA-256 of all samples of the file, as its metadata has it, "" without one. For
            `verdict`, it is computed from the samples.
        probe: name, kind and spacing of the latency series from which metrics are computed, as
            text, "" without one.
        notes: lines on how the run was measured.
        counters: the router's counters after the run, by names such as `up qdisc drops`, for
            `verdict`.
        programs: name of a program that the run was made with -> its version, for `verdict`.
        kernel: name and hash of the lab's kernel, None if no hash is recorded.
    """

    path: Path
    settings: Mapping[str, Setting]
    values: Mapping[str, Value]
    samples: str = ""
    probe: str = ""
    notes: Sequence[str] = ()
    counters: Mapping[str, float] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    kernel: tuple[str, str] | None = None


def score(run: Run) -> ScoredFile:
    """Return a run's settings and every metric, without counters and programs. May be called in
    another process."""
    numbers = values(run)
    return ScoredFile(run.path, run.settings, numbers, run.samples,
                      probe=probe_line(run.probe) if run.probes else "",
                      notes=(*run.notes, *_notes_of_utilisation(run, numbers)),
                      kernel=recorded_kernel(run.aqm))


def _notes_of_utilisation(run: Run, numbers: Mapping[str, Value]) -> list[str]:
    """Return a list with a line on why the upload's utilisation is above 100 %, as it is shown.
    Else, and with burst shaping, which may exceed the rate, it is empty.

    Args:
        run: the run.
        numbers: metric -> value.
    """
    value = numbers[_UPLOAD]
    if (isinstance(value, Unavailable) or switch(run.settings.get("burst_shaping"))
            or float(METRICS[_UPLOAD].text(value)) <= 100):
        return []
    return [(f"{_UPLOAD} is above 100, because senders count what they hand to their kernel: part "
             "of it still waits there, or in the queue, when the test ends")]


def wide_console() -> Console:
    """Return the console of standard output. If that is not a terminal, lines are long enough for
    whole tables: at least 250 characters (NO_TERMINAL)."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, NO_TERMINAL)
    return console


def _table(*headings: str, left: int = 1, narrow: bool = False) -> Table:
    """Return a table without rows.

    Args:
        headings: headings of the columns.
        left: number of columns that are aligned to the left. The others are aligned to the right.
        narrow: columns are close together.
    """
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=narrow)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < left else "right", no_wrap=True,
                         vertical="bottom")
    return table


def show_list(console: Console) -> None:
    """Print a table of all metrics with their unit, which values are better ("lower", "higher" or
    "neither"), description and source."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("metric", "unit", "better", "what it is", "source"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "metric")
    for metric in METRICS.values():
        table.add_row(metric.name, metric.unit, metric.better, metric.description, metric.source)
    console.print(table)


def show_table(console: Console, scored: Sequence[ScoredFile], names: Sequence[str]) -> None:
    """Print metrics as a table. For one file, each metric has a line, with the reason if it is
    missing. For several files, each file has a line, and columns that don't fit are in further
    tables. Below are lines on missing values, probes, kernels and notes.

    A file's line is labelled with the title or the part of the path in which files differ, see
    _distinct_names(). On a terminal, it is labelled with the settings in which files differ instead
    of the path, if they distinguish all files.

    Args:
        console: receives the text.
        scored: the files, at least one.
        names: names of the metrics.
    """
    if len(scored) == 1:
        _print_one(console, scored[0], names)
        return
    paths = [one.path for one in scored]
    labels = _distinct_names(paths)
    # Settings are shorter than the names of files, but not than titles.
    if console.is_terminal and labels != _distinct_titles(paths):
        labels = _differing_settings(scored) or labels

    def table_of(shown: Sequence[str]) -> Table:
        """Return the table of `scored`, with a line for each file and a column for each of the
        metrics whose names are in `shown`."""
        made = _table("run", *(_column_heading(METRICS[name]) for name in shown),
                      narrow=console.width < NARROW)
        for label, one in zip(labels, scored, strict=True):
            made.add_row(escape(label), *(METRICS[name].text(one.values[name]) for name in shown))
        return made

    for number, part in enumerate(_split_to_width(console, table_of, names)):
        console.print(*[""] * (number > 0), table_of(part), sep="\n")
    if any(isinstance(one.values[name], Unavailable) for one in scored for name in names):
        console.print("- : not available; 'flent-aqm score --metrics all FILE' says why.")
    for name in names:
        few = [(label, value) for label, one in zip(labels, scored, strict=True)
               if isinstance(value := one.values[name], Unavailable) and value.too_few]
        if few:
            label, value = few[0]
            console.print(Text(f"{name} is not available in {counted(len(few), 'file')}, such as "
                               f"{label}: {value.because}."))
    _print_probes_and_notes(console, scored)


def _print_probes_and_notes(console: Console, scored: Sequence[ScoredFile]) -> None:
    """Print which probes measured latency, if files differ in it, kernels of which the files have
    several builds, and how many files have notes, with the first note as an example. Nothing is
    printed otherwise."""
    kinds = Counter(str(one.settings["probe"]) for one in scored if "probe" in one.settings)
    if len(kinds) > 1:
        told = "; ".join(f"{plain(kind)} in {counted(files, 'file')}"
                         for kind, files in kinds.most_common())
        console.print(Text(f"Latency was measured by different probes, so that it can't be "
                           f"compared between them: {told}."))
    for sentence in rebuilt_kernels(one.kernel for one in scored):
        console.print(Text(sentence))
    noted = sum(bool(one.notes) for one in scored)
    if noted:
        first = next(one for one in scored if one.notes)
        console.print(Text(f"{counted(noted, 'file')} with a note, such as "
                           f"{plain(first.path.name)}: {first.notes[0]}."))


def _split_to_width(console: Console, table: Callable[[Sequence[str]], Table], names: Sequence[str]
           ) -> Iterator[Sequence[str]]:
    """Yield lists of metrics' names, each of which fits into a table of the console's width. A
    metric that is too wide alone has a list of its own.

    Args:
        console: the console.
        table: makes the table of a list of metrics.
        names: names of all metrics.
    """
    labels = _width(console, table(()))
    part: list[str] = []
    room = console.width - labels
    for name in names:
        # A column has the same width in any table. Each is measured only once, because it takes
        # long.
        width = _width(console, table((name,))) - labels
        if part and width > room:
            yield part
            part, room = [], console.width - labels
        part.append(name)
        room -= width
    if part:
        yield part


def _fits(console: Console, table: Table) -> bool:
    """Return whether a table fits the console's width without shortened cells."""
    return _width(console, table) <= console.width


def _width(console: Console, table: Table) -> int:
    """Return how many characters wide a table is if no cell is shortened or wrapped, at most
    10,000."""
    wide = console.options.update(width=10_000)
    return console.measure(table, options=wide).maximum


def _differing_settings(scored: Sequence[ScoredFile]) -> list[str]:
    """Return a text for each file, in their order: the values of the settings that distinguish the
    files (factors()), with blanks between them and "-" for one that the file doesn't record. Return
    an empty list if two files have the same text."""
    settings = [one.settings for one in scored]
    names = factors(settings)
    words = [" ".join(shown(one.get(name, "-")) for name in names) for one in settings]
    return words if len(set(words)) == len(words) else []


def _print_one(console: Console, scored_file: ScoredFile, names: Sequence[str]) -> None:
    """Print the metrics of one file, a line each with the description, or the reason if the value
    is missing. On a narrow terminal there are no descriptions, and missing metrics follow, by
    reason. Below, print grades, the probe and notes, as _print_below() does."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    if console.width < NARROW:
        _print_one_narrow(console, table, scored_file, names)
        return
    table.add_column("", overflow="fold")
    for name in names:
        metric, value = METRICS[name], scored_file.values[name]
        note = (f"[dim]not available, because {escape(value.because)}[/]"
                if isinstance(value, Unavailable) else escape(metric.description))
        table.add_row(name, metric.text(value), metric.unit, note)
    console.print(table)
    _print_below(console, scored_file, names)


def _print_below(console: Console, scored_file: ScoredFile, names: Sequence[str]) -> None:
    """Print below the table of one file: the probe from which latencies are, if any, and the file's
    notes. If the table has all metrics that have a value, also print all grades together, and how
    many metrics are not shown, unless there are none.

    Args:
        console: receives the text.
        scored_file: the file.
        names: names of the metrics in the table.
    """
    missing = {name for name, value in scored_file.values.items() if isinstance(value, Unavailable)}
    is_whole = {*scored_file.values} - missing <= {*names}
    grades = [f"{name} {word}" for name in names
              if (word := _word_for(name, scored_file.values[name]))]
    if grades and is_whole:
        console.print(Text(f"\nGrades: {', '.join(grades)}."))
    if scored_file.probe:
        console.print(Text(f"\nLatency is that of {scored_file.probe}."))
    for note in scored_file.notes:
        console.print(Text(f"Note: {note}."))
    hidden = missing - {*names}
    if hidden and is_whole:
        console.print(Text(f"{counted(len(hidden), 'metric')} not shown, because this file has no "
                           "value; --metrics all says why."))


def _print_one_narrow(console: Console, table: Table, scored_file: ScoredFile, names: Sequence[str]
                      ) -> None:
    """Print the metrics of one file on a narrow terminal: those with a value, the missing ones by
    reason, and then grades, the probe and notes, as _print_below() does.

    Args:
        console: receives the text.
        table: a table without rows, with columns for name, value and unit. The rows are added to
            it.
        scored_file: the file.
        names: names of the metrics.
    """
    missing: dict[str, list[str]] = {}
    for name in names:
        value = scored_file.values[name]
        if isinstance(value, Unavailable):
            missing.setdefault(value.because, []).append(name)
        else:
            table.add_row(name, METRICS[name].text(value), METRICS[name].unit)
    console.print(table)
    for because, without in missing.items():
        console.print(Text(f"\nnot available, because {because}: {', '.join(without)}"))
    _print_below(console, scored_file, names)


def show_json(console: Console, scored: Sequence[ScoredFile], names: Sequence[str]) -> None:
    """Write a JSON list with an object for each file: "file" (path), "settings", "probe", "notes",
    "metrics" (null if not available), "words" (metric -> word for its value, such as a grade), and
    "not_available" (metric -> reason).

    Args:
        console: receives the text.
        scored: the files.
        names: names of the metrics.
    """
    console.file.write(json_text([{
        "file": str(one.path),
        "settings": one.settings,
        "probe": one.probe,
        "notes": list(one.notes),
        "metrics": {name: None if isinstance(one.values[name], Unavailable)
                    else one.values[name] for name in names},
        "words": {name: word for name in names if (word := _word_for(name, one.values[name]))},
        "not_available": {name: value.because for name in names
                          if isinstance(value := one.values[name], Unavailable)},
    } for one in scored], indent=1) + "\n")


def show_csv(console: Console, scored: Sequence[ScoredFile], names: Sequence[str]) -> None:
    """Write CSV: a line with the headings, then a line for each file: path, settings in the order
    of their names, metrics. A field is empty if the file has no such setting, or the metric is not
    available. Text that a spreadsheet would take for a formula has an apostrophe before it.

    Args:
        console: receives the text.
        scored: the files.
        names: names of the metrics.
    """
    settings = sorted({name for one in scored for name in one.settings})
    lines = csv.writer(console.file, lineterminator="\n")
    lines.writerow(["file", *map(for_spreadsheet, settings), *names])
    for file in scored:
        lines.writerow([_for_csv(plain(file.path)),
                        *(_for_csv(file.settings.get(name, "")) for name in settings), *(
            "" if isinstance(file.values[name], Unavailable) else file.values[name]
            for name in names)])


def _for_csv(value: Setting) -> Setting:
    """Return a setting for a field of CSV: text that a spreadsheet would take for a formula with an
    apostrophe before it, other values as they are."""
    return for_spreadsheet(value) if isinstance(value, str) else value


FORMATS: dict[str, Callable[[Console, Sequence[ScoredFile], Sequence[str]], None]] = {
    "table": show_table, "json": show_json, "csv": show_csv}


Groups = Mapping[tuple[Setting, ...], Sequence[ScoredFile]]


def groups_of(scored: Sequence[ScoredFile], requested: Sequence[str], pool: Sequence[str]
              ) -> tuple[Sequence[str], Sequence[str], Groups]:
    """Group files by their settings. Return the names of the settings by which they are grouped,
    the names of those in which files of one group still differ, and the groups: values of the
    settings -> files, sorted by the values.

    Args:
        scored: the files.
        requested: names of settings to group by. Those that are needed to tell apart other files,
            see factors(), are added.
        pool: names of settings that are not added. If "all" is among them, none is added.

    Raises ConfigError if no run has a setting of `requested` or `pool`.
    """
    settings = [one.settings for one in scored]
    check_keys(settings, [*requested, *(one for one in pool if one != "all")])
    keys, pooled = unpooled(settings, requested, pool)
    return keys, pooled, grouped([(one.settings, one) for one in scored], keys)


def numbers_of(members: Sequence[ScoredFile], name: str) -> list[float]:
    """Return the values of the metric `name` of those files that have it. A lost probe is
    infinite."""
    return [value for one in members if (value := ranked(one.values[name])) is not None]


_GROUP_COLUMNS = ("median", "quartiles", "interval of\nthe median")


def show_groups(console: Console, scored: Sequence[ScoredFile], requested: Sequence[str],
                pool: Sequence[str], names: Sequence[str]) -> None:
    """Print for each metric the groups' median, quartiles and interval, and how groups differ. If
    the console is too narrow, quartiles are left out, then intervals. Groups are not compared by
    throughput of the test alone if a run has cross traffic. Raises ConfigError if no run has a
    setting of `requested` or `pool`.

    Args:
        console: receives the text.
        scored: the files.
        requested: names of settings to group by, at least one. Those that are needed to tell apart
            other files, see factors(), are added.
        pool: names of settings that are not added. If "all" is among them, none is added.
        names: names of the metrics.
    """
    keys, pooled, groups = groups_of(scored, requested, pool)
    if pooled:
        console.print(Text(f"A line is pooled over {', '.join(map(harmless, pooled))}."))
    along = along_with([one.settings for one in scored], keys)
    if along:
        console.print(Text(f"Lines also differ in {', '.join(map(harmless, along))}."))
    for name in names:
        numbers = {key: numbers_of(members, name) for key, members in groups.items()}
        metric = METRICS[name]
        console.print(f"\n[bold]{name}[/] {metric.unit}: {escape(metric.description)}")
        reason = _why_without(scored, name)
        if not any(numbers.values()):
            console.print(Text(f"  no run has a value: {reason}"))
            continue
        lines = [([*map(escape, map(shown, key)), _runs_text(len(values), len(groups[key]))],
                  _group_cells(metric, values)) for key, values in numbers.items()]
        # If there is no room, the quartiles are left out first, then the interval.
        for columns in (_GROUP_COLUMNS, _GROUP_COLUMNS[::2], _GROUP_COLUMNS[:1]):
            table = _table(*(key.replace("_", "\n") for key in keys), "runs", *columns,
                           left=len(keys), narrow=console.width < NARROW)
            for labels, cells in lines:
                table.add_row(*labels, *(cells[_GROUP_COLUMNS.index(one)] for one in columns))
            if _fits(console, table):
                break
        console.print(table)
        repeated = any(len(members) > 1 for members in groups.values())
        for key, its in numbers.items():
            if found := two_groups(its):
                low, high = (f"{metric.text(summarise(group).median)} in {len(group)}"
                             for group in found)
                console.print(Text(f"  {' '.join(map(shown, key))}: its runs fall into two groups, "
                                   f"{low} and {high} runs, so that the median is not a typical "
                                   "value"))
        if name.startswith("throughput_") and any(shares_line(one.settings) for one in scored):
            console.print(Text("  no comparison, because test and cross traffic share the line: "
                               f"compare {name.replace('throughput', 'total')}, and fairness"))
            continue
        for line in _comparisons(keys, numbers, _why_no_comparison(reason, repeated)):
            console.print(Text(f"  {line}"))
    few = [len(members) for members in groups.values() if level_for(len(members)) is None]
    if any(count > 1 for count in few):
        console.print(Text(f"\nNo interval with {counted(max(few), 'run')}: even the range from "
                           "the smallest to the largest value holds the median in less than 95 % "
                           "of cases; six runs are enough."))
    if (tells := interval_caveat(one.settings.get("testbed") for one in scored)) and any(
            level_for(len(members)) for members in groups.values()):
        console.print(Text(f"\nIntervals: {tells}."))
    _print_probes_and_notes(console, scored)


def _why_without(scored: Sequence[ScoredFile], name: str) -> str:
    """Return why runs have no number as value of the metric `name`, which includes that it is a
    lost probe. Several reasons have the number of their runs behind them, most runs first. "" if
    all runs have a number."""
    reasons = Counter(lacking.because for one in scored
                      if isinstance(lacking := one.values[name], Unavailable))
    if len(reasons) < 2:
        return "".join(reasons)
    return "; ".join(f"{because} ({counted(runs, 'run')})"
                     for because, runs in reasons.most_common())


def _runs_text(having: int, all_runs: int) -> str:
    """Return the number of runs of a line as text: "5", or "4 of 5" if only 4 have a value.

    Args:
        having: number of runs that have a value.
        all_runs: number of runs.
    """
    return str(all_runs) if having == all_runs else f"{having} of {all_runs}"


def _group_cells(metric: Metric, values: Sequence[float]) -> Sequence[str]:
    """Return the texts of median, quartiles and interval. "-" for what there are too few values
    for: all of them without values, the quartiles with one, the interval with fewer than six. LOST
    for a median or an end of a range that is a lost probe. values: infinite for a lost probe."""
    if not values:
        return "-", "-", "-"
    summary: Summary = summarise(values)
    spread = "-" if (sure := summary.interval) is None else (
        f"{digits(sure.low)} to {digits(sure.high)} ({100 * sure.level:.1f} %)")
    quartiles = "-" if summary.count < 2 else (
        f"{digits(summary.lower_quartile)} to {digits(summary.upper_quartile)}")
    return (LOST if math.isinf(summary.median) else metric.text(summary.median)), quartiles, spread


def _balanced(numbers: Mapping[tuple[Setting, ...], Sequence[float]]) -> bool:
    """Return whether every combination of the settings' values that occur in the keys is a key, and
    all keys have equally many values. False without keys.

    Args:
        numbers: values of the settings -> values of the metric.
    """
    combinations = math.prod(len(set(values)) for values in zip(*numbers, strict=True))
    return len(numbers) == combinations and len({*map(len, numbers.values())}) == 1


def _why_no_comparison(reason: str, repeated: bool) -> str:
    """Return the line that says why groups can't be compared, for groups with a value, but none
    with two.

    Args:
        reason: why runs have no value, see _why_without(). Not used without `repeated`.
        repeated: a group has several runs.
    """
    if repeated:
        return ("no comparison, because of the runs that repeat each other one at most has a "
                f"value: {reason}")
    return "no comparison, because no two runs repeat each other"


def _why_none_alike(keys: Sequence[str], numbers: Mapping[tuple[Setting, ...], Sequence[float]]
                    ) -> str:
    """Return the line that says why no groups are compared, although their settings differ: no two
    of them with values differ in the first setting alone. It names the option that compares those
    which differ in another one, if there are any. "" if some differ in the first setting alone, or
    if there is only one setting.

    Args:
        keys: names of the settings of the groups, at least one.
        numbers: values of these settings -> values of the metric.
    """
    def is_compared(place: int) -> bool:
        alike = collect((key for key, values in numbers.items() if values),
                        lambda key: key[:place] + key[place + 1:])
        return any(len(members) > 1 and max(len(numbers[key]) for key in members) > 1
                   for members in alike.values())

    compared = [place for place in range(len(keys)) if is_compared(place)]
    if len(keys) < 2 or 0 in compared:
        return ""
    first = keys[compared[0]] if compared else ""
    by = ",".join([first, *(key for key in keys if key != first)])
    return (f"no comparison, because no two groups with values differ in {keys[0]} alone"
            + (f"; --by {by} compares those that differ in {first} alone" if first else ""))


def _comparisons(keys: Sequence[str], numbers: Mapping[tuple[Setting, ...], Sequence[float]],
                 nothing: str) -> Sequence[str]:
    """Return lines that compare groups. For each combination of the values of all settings but the
    first, a line compares the groups that differ in the first setting, or says why they can't be
    compared. It is left out if none of these groups has at least two values. If no two groups
    differ in the first setting alone, one line says that, see _why_none_alike().

    Then follow a note on p-values, if there are any, and, if groups with values differ in a
    setting, a line with the share of the variance of each such setting, or why there is none. If no
    group has at least two values, return only the line `nothing`.

    Args:
        keys: names of the settings of the groups, at least one.
        numbers: values of these settings -> values of the metric, infinite for a lost probe.
        nothing: the line that says why, if no group has two values.
    """
    alike = collect(numbers, lambda key: key[1:])
    none_alike = _why_none_alike(keys, numbers)
    lines: list[str] = []
    tests, fewest = 0, len(max(numbers.values(), key=len, default=()))
    for rest, members in alike.items():
        groups = {key[0]: numbers[key] for key in members if numbers[key]}
        where = "".join(f", {name} {shown(value)}"
                        for name, value in zip(keys[1:], rest, strict=True))
        # With one run in each group, only their order is known, which the table shows.
        if max(map(len, groups.values()), default=0) < 2:
            continue
        if none_alike:
            lines = [none_alike]
            continue
        try:
            test = kruskal_wallis(list(groups.values()))
        except NotAvailable as error:
            lines.append(f"{keys[0]}{where}: no comparison, because {error}")
            continue
        tests += 1
        fewest = min(fewest, *map(len, groups.values()))
        lines.append(f"{keys[0]}{where}: Kruskal-Wallis H = {significant(test.statistic)}, "
                     f"p = {test.probability:.3g}; Cliff's delta: " + ", ".join(
                         f"{shown(one)} and {shown(other)} {delta:+.2f}"
                         for (one, other), delta in cliffs_deltas(groups).items()))
    if not lines:
        return [nothing]
    if tests:
        lines.append(p_value_caveat(tests, fewest))
    having = {key: values for key, values in numbers.items() if values}
    flat = [(value, key) for key, values in having.items() for value in values]
    differing = [place for place in range(len(keys)) if len({key[place] for key in having}) > 1]
    try:
        shares = [f"{keys[place]} " + format(variance_share(
            [value for value, _ in flat], [key[place] for _, key in flat]), ".0%")
            for place in differing]
        if shares:
            lines.append(f"share of variance: {', '.join(shares)}" + (
                "" if len(shares) < 2 or _balanced(having) else
                "; they overlap, as not every combination has equally many runs"))
    except NotAvailable as error:
        lines.append(f"no share of variance, because {error}")
    return lines


def _word_for(name: str, value: Value) -> str:
    """Return the metric's word for a value, such as a grade. "" if the metric has no words or the
    value is Unavailable. name: name of the metric."""
    word = METRICS[name].word
    return word(value) if word and not isinstance(value, Unavailable) else ""


def _column_heading(metric: Metric) -> str:
    """Return a metric's name as heading of a column: with blanks in place of "_", in lines of up to
    10 characters."""
    return "\n".join(textwrap.wrap(metric.name.replace("_", " "), 10))


# The name that Flent gives to a data file with a title, without a batch.
_TITLED = re.compile(r".*\d{4}-\d\d-\d\dT\d{6}\.\d{6}\.(.+)" + re.escape(SUFFIX))


def _distinct_titles(paths: Sequence[Path]) -> list[str]:
    """Return the title of each path, in their order, if Flent named several files TEST-TIME.TITLE,
    all with different titles. Else return an empty list."""
    titles = [match[1] for path in paths if (match := _TITLED.fullmatch(plain(path.name)))]
    return titles if len(set(titles)) == len(paths) > 1 else []


def _distinct_names(paths: Sequence[Path]) -> list[str]:
    """Return a name of each path, in their order: its title or what it doesn't share with the
    others. There must be at least one path.

    The names are the titles if they differ, see _distinct_titles(). Else they are the paths as text
    without SUFFIX, and without the words, separated by "-", with which all of them begin; each
    keeps at least its last word. Files of one folder whose paths begin with no common word have
    their file names alone.
    """
    if titles := _distinct_titles(paths):
        return titles
    words = [plain(path).removesuffix(SUFFIX).split("-") for path in paths]
    same = 0
    while all(len(one) > same + 1 and one[:same + 1] == words[0][:same + 1] for one in words):
        same += 1
    parents = {path.parent for path in paths}
    if not same and len(parents) == 1:
        return [plain(path.name).removesuffix(SUFFIX) for path in paths]
    return ["-".join(one[same:]) for one in words]

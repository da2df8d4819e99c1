# SPDX-License-Identifier: GPL-3.0-or-later
"""Scores as tables, JSON and CSV."""

from __future__ import annotations

import csv
import json
import math
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
from flent_aqm.base.words import counted, for_spreadsheet, plain
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
from flent_aqm.results.many_files import recorded_samples
from flent_aqm.results.metrics.compare import (
    Summary,
    cliffs_deltas,
    how_far_to_trust,
    interval_tells,
    kruskal_wallis,
    level_for,
    summarise,
    two_groups,
    variance_share,
)
from flent_aqm.results.metrics.run import Run, probe_line
from flent_aqm.results.metrics.settings import Setting
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

# Characters in a line: of a file; below which there is no room for what metrics are.
NO_TERMINAL, NARROW = 250, 110


@dataclass(frozen=True)
class ScoredFile:
    """A file's settings and metrics by name. samples: a hash of all its samples, "" where nobody
    asked. probe: the latency series that metrics are of, with its tool, "" without one. notes:
    what a reader has to know of how the numbers came about, a line each."""

    path: Path
    settings: Mapping[str, Setting]
    values: Mapping[str, Value]
    samples: str = ""
    probe: str = ""
    notes: Sequence[str] = ()
    # The router's counters after the run, by names such as `up qdisc drops`, for `verdict`.
    counters: Mapping[str, float] = field(default_factory=dict)


def score(run: Run) -> ScoredFile:
    """Return what other processes send back: a run's settings, and every metric."""
    return ScoredFile(run.path, run.settings, values(run), recorded_samples(run.aqm),
                      probe=probe_line(run.probe) if run.probes else "", notes=tuple(run.notes))


def wide_console() -> Console:
    """Return standard output; a file has room for whole tables."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, NO_TERMINAL)
    return console


def _table(*headings: str, left: int = 1, narrow: bool = False) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=narrow)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < left else "right", no_wrap=True,
                         vertical="bottom")
    return table


def show_list(console: Console) -> None:
    """All metrics: name, unit, which way is better, what it is."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("metric", "unit", "better", "what it is", "source"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "metric")
    for metric in METRICS.values():
        table.add_row(metric.name, metric.unit, metric.better, metric.description, metric.source)
    console.print(table)


def show_table(console: Console, scored: Sequence[ScoredFile], names: Sequence[str]) -> None:
    """One file: a metric a line, with the reasons of those that are missing. More: a line each."""
    if len(scored) == 1:
        _show_one(console, scored[0], names)
        return
    labels = _labels([one.path for one in scored])
    if console.is_terminal:  # names of files are longer than what tells them apart
        labels = _words_of_settings(scored) or labels

    def table(shown: Sequence[str]) -> Table:
        made = _table("run", *(_heading(METRICS[name]) for name in shown),
                      narrow=console.width < NARROW)
        for label, one in zip(labels, scored, strict=True):
            made.add_row(escape(label), *(METRICS[name].text(one.values[name]) for name in shown))
        return made

    for number, part in enumerate(_parts(console, table, names)):
        console.print(*[""] * (number > 0), table(part), sep="\n")
    if any(isinstance(one.values[name], Unavailable) for one in scored for name in names):
        console.print("- : not available; 'flent-aqm score FILE' with one file says why.")
    _say_of_what(console, scored)


def _say_of_what(console: Console, scored: Sequence[ScoredFile]) -> None:
    """Print which probes latencies are of where files differ in it, and how many files have
    notes."""
    kinds = Counter(str(one.settings["probe"]) for one in scored if "probe" in one.settings)
    if len(kinds) > 1:
        told = "; ".join(f"{plain(kind)} in {counted(files, 'file')}"
                         for kind, files in kinds.most_common())
        console.print(Text(f"Latency was measured by different probes, so that it can't be "
                           f"compared between them: {told}."))
    noted = sum(bool(one.notes) for one in scored)
    if noted:
        first = next(one for one in scored if one.notes)
        console.print(Text(f"{counted(noted, 'file')} with a note, such as "
                           f"{plain(first.path.name)}: {first.notes[0]}."))


def _parts(console: Console, table: Callable[[Sequence[str]], Table], names: Sequence[str]
           ) -> Iterator[Sequence[str]]:
    """Yield the metrics of as many tables as it takes for each to fit."""
    labels = _width(console, table(()))
    part: list[str] = []
    room = console.width - labels
    for name in names:
        # A column is as wide in any table, and each is measured once: that takes long.
        width = _width(console, table((name,))) - labels
        if part and width > room:
            yield part
            part, room = [], console.width - labels
        part.append(name)
        room -= width
    if part:
        yield part


def _fits(console: Console, table: Table) -> bool:
    return _width(console, table) <= console.width


def _width(console: Console, table: Table) -> int:
    wide = console.options.update(width=10_000)
    return console.measure(table, options=wide).maximum


def _words_of_settings(scored: Sequence[ScoredFile]) -> list[str]:
    """Return the settings that tell files apart; none where they don't tell all."""
    settings = [one.settings for one in scored]
    names = factors(settings)
    words = [" ".join(shown(one.get(name, "-")) for name in names) for one in settings]
    return words if len(set(words)) == len(words) else []


def _show_one(console: Console, one: ScoredFile, names: Sequence[str]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    if console.width < NARROW:
        _show_one_narrow(console, table, one, names)
        return
    table.add_column("", overflow="fold")
    for name in names:
        metric, value = METRICS[name], one.values[name]
        note = (f"[dim]not available, because {escape(value.because)}[/]"
                if isinstance(value, Unavailable) else escape(metric.description))
        table.add_row(name, metric.text(value), metric.unit, note)
    console.print(table)
    _say_of_one(console, one)


def _say_of_one(console: Console, one: ScoredFile) -> None:
    """Print the probe that a file's latencies are of, and its notes."""
    if one.probe:
        console.print(Text(f"\nLatency is that of {one.probe}."))
    for note in one.notes:
        console.print(Text(f"Note: {note}."))


def _show_one_narrow(console: Console, table: Table, one: ScoredFile, names: Sequence[str]) -> None:
    """What there is; then what there isn't, by its reason."""
    missing: dict[str, list[str]] = {}
    for name in names:
        value = one.values[name]
        if isinstance(value, Unavailable):
            missing.setdefault(value.because, []).append(name)
        else:
            table.add_row(name, METRICS[name].text(value), METRICS[name].unit)
    console.print(table)
    for because, without in missing.items():
        console.print(Text(f"\nnot available, because {because}: {', '.join(without)}"))
    _say_of_one(console, one)


def show_json(console: Console, scored: Sequence[ScoredFile], names: Sequence[str]) -> None:
    """Write a list of objects: file, settings, the probe that latencies are of, notes, metrics
    (null where not available), the metrics' words such as grades, and the reasons of missing
    ones."""
    json.dump([{
        "file": str(one.path),
        "settings": one.settings,
        "probe": one.probe,
        "notes": list(one.notes),
        "metrics": {name: None if isinstance(one.values[name], Unavailable)
                    else one.values[name] for name in names},
        "words": {name: word for name in names if (word := _word(name, one.values[name]))},
        "not_available": {name: value.because for name in names
                          if isinstance(value := one.values[name], Unavailable)},
    } for one in scored], console.file, indent=1, allow_nan=False)
    console.file.write("\n")


def show_csv(console: Console, scored: Sequence[ScoredFile], names: Sequence[str]) -> None:
    """A line per file: its name, settings, metrics; empty where not available."""
    settings = sorted({name for one in scored for name in one.settings})
    lines = csv.writer(console.file, lineterminator="\n")
    lines.writerow(["file", *map(for_spreadsheet, settings), *names])
    for one in scored:
        lines.writerow([_cell(plain(one.path)),
                        *(_cell(one.settings.get(name, "")) for name in settings), *(
            "" if isinstance(one.values[name], Unavailable) else one.values[name]
            for name in names)])


def _cell(value: Setting) -> Setting:
    return for_spreadsheet(value) if isinstance(value, str) else value


FORMATS: dict[str, Callable[[Console, Sequence[ScoredFile], Sequence[str]], None]] = {
    "table": show_table, "json": show_json, "csv": show_csv}


Groups = Mapping[tuple[Setting, ...], Sequence[ScoredFile]]


def groups_of(scored: Sequence[ScoredFile], requested: Sequence[str], pool: Sequence[str]
              ) -> tuple[Sequence[str], Sequence[str], Groups]:
    """Return the settings by which runs are grouped, those that groups are pooled over, and the
    groups.

    requested: settings to group by; others in which runs differ are added, unless pool names them
    or is "all". Raises ConfigError for a setting that no run has.
    """
    settings = [one.settings for one in scored]
    check_keys(settings, [*requested, *(one for one in pool if one != "all")])
    keys, pooled = unpooled(settings, requested, pool)
    return keys, pooled, grouped([(one.settings, one) for one in scored], keys)


def numbers_of(members: Sequence[ScoredFile], name: str) -> list[float]:
    """Return a metric of those of some runs that have it."""
    return [value for one in members if (value := ranked(one.values[name])) is not None]


_GROUP_COLUMNS = ("median", "quartiles", "interval of\nthe median")


def show_groups(console: Console, scored: Sequence[ScoredFile], requested: Sequence[str],
                pool: Sequence[str], names: Sequence[str]) -> None:
    """Per metric: each group's median, quartiles and interval, and what tells groups apart.
    requested, pool: see groups_of()."""
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
        lines = [([*map(escape, map(shown, key)), _runs(len(values), len(groups[key]))],
                  _cells(metric, values)) for key, values in numbers.items()]
        # Where there is no room, first the quartiles go, then the interval.
        for columns in (_GROUP_COLUMNS, _GROUP_COLUMNS[::2], _GROUP_COLUMNS[:1]):
            table = _table(*(key.replace("_", "\n") for key in keys), "runs", *columns,
                           left=len(keys), narrow=console.width < NARROW)
            for labels, cells in lines:
                table.add_row(*labels, *(cells[_GROUP_COLUMNS.index(one)] for one in columns))
            if _fits(console, table):
                break
        console.print(table)
        reason = next((lacking.because for one in scored
                       if isinstance(lacking := one.values[name], Unavailable)), "")
        repeated = any(len(members) > 1 for members in groups.values())
        for key, its in numbers.items():
            if found := two_groups(its):
                low, high = (f"{metric.text(summarise(group).median)} in {len(group)}"
                             for group in found)
                console.print(Text(f"  {' '.join(map(shown, key))}: its runs fall into two groups, "
                                   f"{low} and {high} runs, and a median is no typical value"))
        if name.startswith("throughput_") and any(shares_line(one.settings) for one in scored):
            console.print(Text("  no comparison, because test and cross traffic share the line: "
                               f"compare {name.replace('throughput', 'total')}, and fairness"))
            continue
        for line in _comparisons(keys, numbers, _nothing(numbers, reason, repeated)):
            console.print(Text(f"  {line}"))
    few = [len(members) for members in groups.values() if level_for(len(members)) is None]
    if any(count > 1 for count in few):
        console.print(Text(f"\nNo interval of {counted(max(few), 'run')}: even from the least to "
                           "the most they hold the median less often than in 95 % of cases; six "
                           "runs do."))
    if (tells := interval_tells(one.settings.get("testbed") for one in scored)) and any(
            level_for(len(members)) for members in groups.values()):
        console.print(Text(f"\nIntervals: {tells}."))
    _say_of_what(console, scored)


def _runs(having: int, all_runs: int) -> str:
    """Return how many runs a line is of: "5", or "4 of 5" where others have no value."""
    return str(all_runs) if having == all_runs else f"{having} of {all_runs}"


def _cells(metric: Metric, values: Sequence[float]) -> Sequence[str]:
    """One run has a number, but no distribution."""
    if not values:
        return "-", "-", "-"
    summary: Summary = summarise(values)
    spread = "-" if (sure := summary.interval) is None else (
        f"{digits(sure.low)} to {digits(sure.high)} ({100 * sure.level:.1f} %)")
    quartiles = "-" if summary.count < 2 else (
        f"{digits(summary.lower_quartile)} to {digits(summary.upper_quartile)}")
    return (LOST if math.isinf(summary.median) else metric.text(summary.median)), quartiles, spread


def _balanced(numbers: Mapping[tuple[Setting, ...], Sequence[float]]) -> bool:
    """Return whether every combination of the settings' values has equally many numbers."""
    combinations = math.prod(len(set(values)) for values in zip(*numbers, strict=True))
    return len(numbers) == combinations and len({*map(len, numbers.values())}) == 1


def _nothing(numbers: Mapping[tuple[Setting, ...], Sequence[float]], reason: str,
             repeated: bool) -> str:
    """Return why groups can't be compared. reason: why a run has no number; repeated: whether
    any group has several runs."""
    if not any(numbers.values()):
        return f"no comparison, because no run has a value: {reason}"
    if repeated:
        return ("no comparison, because no two runs that repeat each other have a value, "
                f"but one at most: {reason}")
    return "no comparison, because no two runs repeat each other"


def _comparisons(keys: Sequence[str], numbers: Mapping[tuple[Setting, ...], Sequence[float]],
                 nothing: str) -> Sequence[str]:
    """Of the values of the first setting, where all others are the same; and each setting's
    share of the whole variance. nothing: what is said where no group has two values."""
    alike = collect(numbers, lambda key: key[1:])
    lines: list[str] = []
    tests, fewest = 0, len(max(numbers.values(), key=len, default=()))
    for rest, members in alike.items():
        groups = {shown(key[0]): numbers[key] for key in members if numbers[key]}
        where = "".join(f", {name} {shown(value)}"
                        for name, value in zip(keys[1:], rest, strict=True))
        # Each with one run: their order is all that is known, and the table has it.
        if max(map(len, groups.values()), default=0) < 2:
            continue
        try:
            test = kruskal_wallis(list(groups.values()))
        except NotAvailable as error:
            lines.append(f"{keys[0]}{where}: no comparison, because {error}")
            continue
        tests += 1
        fewest = min(fewest, *map(len, groups.values()))
        lines.append(f"{keys[0]}{where}: Kruskal-Wallis H = {test.statistic:.3g}, "
                     f"p = {test.probability:.2g}; Cliff's delta: " + ", ".join(
                         f"{one} and {other} {delta:+.2f}"
                         for (one, other), delta in cliffs_deltas(groups).items()))
    if not lines:
        return [nothing]
    if tests:
        lines.append(how_far_to_trust(tests, fewest))
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


def _word(name: str, value: Value) -> str:
    word = METRICS[name].word
    return word(value) if word and not isinstance(value, Unavailable) else ""


def _heading(metric: Metric) -> str:
    """Return the name in lines that are short enough for a column."""
    return "\n".join(textwrap.wrap(metric.name.replace("_", " "), 10))


def _labels(paths: Sequence[Path]) -> list[str]:
    """File names without the words that all of them begin with."""
    words = [plain(path).removesuffix(SUFFIX).split("-") for path in paths]
    same = 0
    while all(len(one) > same + 1 and one[:same + 1] == words[0][:same + 1] for one in words):
        same += 1
    parents = {path.parent for path in paths}
    if not same and len(parents) == 1:
        return [plain(path.name).removesuffix(SUFFIX) for path in paths]
    return ["-".join(one[same:]) for one in words]

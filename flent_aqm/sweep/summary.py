# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the table at the end of a sweep, with one line per group of cells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.words import counted
from flent_aqm.results.advice.advice import advise
from flent_aqm.results.advice.measured import Measured, measured, tried
from flent_aqm.results.grouping import (
    AQM,
    SHAPER_RATE,
    along_with,
    factors,
    grouped,
    heading,
    parse_keys,
    pooled_over,
    setting_text,
    shown,
)
from flent_aqm.results.metrics.compare import two_groups
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.scores import Scores, Value, scores
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.table import LOST, Unavailable, digits, middle
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.keys import QUEUE_PREFIXES
from flent_aqm.spec.scenario import KEYS
from flent_aqm.sweep.in_brief import cell_settings

# Settings by which runs are grouped by default, if the runs differ in them. Other settings in which
# runs differ come after these, and the queue last.
USUAL = ("test", "cross_traffic", "rate_mbps")
COLUMNS = {"download": ("down", "download_mbps"), "upload": ("up", "upload_mbps")}
# Up to this width in columns, the table's columns are closer together.
NARROW = 100


def parse_group_by(value: object) -> tuple[str, ...]:
    """Parse the batch key `summary_by`: names of settings, separated by commas. Return an empty
    tuple for an empty value, which groups runs by all settings in which they differ. Raises
    ConfigError if a name is unknown."""
    names = parse_keys("" if value is None else str(value))
    valid = ("test", *KEYS, "rate_mbps", SHAPER_RATE)
    for name in names:
        name = _OLD_NAMES.get(name, name)
        if name not in valid and not name.startswith(QUEUE_PREFIXES):
            raise ConfigError(f"summary_by: unknown key {name!r}; known: {', '.join(valid)}")
    return tuple(_OLD_NAMES.get(name, name) for name in names)


# Flent's name of a batch key -> this package's name of the setting.
_OLD_NAMES = {"test_name": "test"}


def show(
    console: Console,
    cells: Sequence[Cell],
    scored: Mapping[Path, Scores],
    failures: Mapping[Path, str],
    group_by: Sequence[str],
) -> None:
    """Print the table, notes on it, the failed runs with their causes, and commands to open the
    data.

    Args:
        console: where to print.
        cells: all cells of the sweep.
        scored: data file -> scores. Scores of files from before a resumed sweep are computed from
            the files.
        failures: data file -> cause of the run's failure.
        group_by: settings that define a line. If empty, all settings in which runs differ, so that
            the runs of a line are repetitions of each other.
    """
    settings = [cell_settings(cell) for cell in cells]
    differing = factors(settings)
    keys = list(group_by)
    if not keys:
        keys = [name for name in USUAL if name in settings[0] and not _same(name, settings)]
        keys += [name for name in differing if name not in (*keys, AQM)]
        keys += [AQM] if any(AQM in one for one in settings) else []
    failed = bool(failures)
    ways = [way for way, (_, field) in COLUMNS.items()
            if any(_is_available(getattr(_scores(cell, scored), field)) for cell in cells
                   if cell.data_file.exists())]
    groups = grouped(zip(settings, cells, strict=True), keys)

    def table(own: bool, totals: bool) -> Table:
        """Return the table.

        own: with a column for the round trips of the flows' own packets.
        totals: with the throughput of all flows, if the test shares the line with cross traffic.
        """
        made = Table(box=None, pad_edge=False, header_style="bold",
                     collapse_padding=console.width < NARROW)
        for key in keys:
            made.add_column("\n" + heading(key), no_wrap=True,
                            justify="right" if key == "rate_mbps" else "left")
        headings = ["\nruns", *(["\nfailed"] if failed else []),
                    *(f"{'Mbit/s' if number == 0 else ''}\n{COLUMNS[way][0]}"
                      for number, way in enumerate(ways)), "RTT under\nmedian", "load, ms\np99",
                    *(["flow's\nmedian"] if own else [])]
        for title in headings:
            made.add_column(title, justify="right", no_wrap=True)
        for values, members in groups.items():
            done = [_scores(cell, scored) for cell in members if cell.data_file.exists()]
            lost = sum(cell.data_file in failures for cell in members)
            made.add_row(
                *map(shown, values), str(len(done)),
                *([f"[red]{lost}[/]" if lost else "0"] if failed else []),
                *(_mbps(done, COLUMNS[way][1], totals) for way in ways),
                _middle([one.latency_median_ms for one in done]),
                _middle([one.latency_p99_ms for one in done]),
                *([_middle([one.flow_rtt_ms for one in done])] if own else []))
        return made

    own = any(_is_available(_scores(cell, scored).flow_rtt_ms) for cell in cells
              if cell.data_file.exists())
    # If the table is too wide, the last column is left out first, then the totals.
    shown_table, totals = table(own, True), True
    for parts in ((False, True), (False, False)):
        if console.measure(shown_table, options=console.options.update(width=10_000)
                           ).maximum <= console.width:
            break
        shown_table, totals = table(*parts), parts[1]
    console.print(shown_table)
    _say_what_lines_are(console, settings, keys, groups)
    _say_of_throughput(console, [_scores(cell, scored) for cell in cells
                                 if cell.data_file.exists()], groups, scored, totals)
    _advise(console, groups)
    _say_failures(console, failures)
    _say_how_to_open(console, cells)


def _say_what_lines_are(
    console: Console, settings: Sequence[Mapping[str, Setting]], keys: Sequence[str],
    groups: Mapping[tuple[Setting, ...], Sequence[Cell]],
) -> None:
    """Print the settings that all runs share, and how the runs of a line were summarised.

    Args:
        settings: of each cell.
        keys: settings that define a line.
        groups: values of `keys` -> cells of the line.
    """
    same = [setting_text(name, settings[0][name]) for name in USUAL
            if name not in keys and name in settings[0] and _same(name, settings)]
    if same:
        console.print(f"All runs: {', '.join(same)}.", markup=False, highlight=False,
                      soft_wrap=True)
    along = along_with(settings, keys)
    if along:
        console.print(f"Lines also differ in {', '.join(along)}.", markup=False, highlight=False,
                      soft_wrap=True)
    pooled = pooled_over(settings, keys)
    if pooled:
        console.print(f"Medians over the runs of each line, pooled over {', '.join(pooled)}.",
                      markup=False, highlight=False, soft_wrap=True)
    elif any(len(members) > 1 for members in groups.values()):
        console.print("Medians over the runs of each line.", highlight=False)


def _say_of_throughput(console: Console, done: Sequence[Scores],
                       groups: Mapping[tuple[Setting, ...], Sequence[Cell]],
                       scored: Mapping[Path, Scores], totals: bool) -> None:
    """Print notes on the throughput: what "430 of 860" means, or that totals are left out, and
    lines whose runs fall into two groups.

    Args:
        done: scores of finished runs.
        groups: values of the settings that define a line -> cells of the line.
        scored: data file -> scores.
        totals: the table shows the throughput of all flows.
    """
    if any(_is_available(one.total_download_mbps) or _is_available(one.total_upload_mbps)
           for one in done):
        of = ("what all flows together carried" if totals
              else "the line, and not a cost of the queue")
        console.print(f"With cross traffic, throughput is the test's share of {of}.",
                      highlight=False, soft_wrap=True)
    for values, members in groups.items():
        runs = [_scores(cell, scored) for cell in members if cell.data_file.exists()]
        for way, (title, name) in COLUMNS.items():
            numbers = [value for one in runs
                       if not isinstance(value := getattr(one, name), Unavailable)]
            if found := two_groups(numbers):
                low, high = ([digits(float(median(group))), counted(len(group), "run")]
                             for group in found)
                console.print(f"Runs of {' '.join(map(shown, values))} fall into two groups in "
                              f"{way}: {' in '.join(low)}, {' in '.join(high)}, Mbit/s {title}.",
                              markup=False, highlight=False, soft_wrap=True)


def _mbps(done: Sequence[Scores], name: str, totals: bool) -> str:
    """Return the median throughput over runs as text. With totals and cross traffic, "430 of 860",
    of which the second is the throughput of all flows.

    name: the field of Scores.
    """
    own = _middle([getattr(one, name) for one in done])
    total = middle([getattr(one, f"total_{name}") for one in done])
    return own if isinstance(total, Unavailable) or not totals else f"{own} of {digits(total)}"


def _advise(console: Console, groups: Mapping[tuple[Setting, ...], Sequence[Cell]]) -> None:
    """Print advice on the line, if all runs had a modem, as a home has."""
    if not all(cell.scenario.path.modem_mbps("up") for cells in groups.values() for cell in cells):
        return
    configurations = []
    for values, cells in groups.items():
        runs = [(cell_settings(cell), _measured(cell.data_file)) for cell in cells]
        titles = {str(cell.metadata.get("TITLE") or "") for cell in cells}
        name = titles.pop() if len(titles) == 1 else ""
        configurations.append(tried(name or " ".join(map(shown, values)), runs))
    text = " ".join(advise({"": [one for one in configurations if one]}))
    if text:
        console.print(f"What to do: {text}", markup=False, highlight=False)


def _measured(path: Path) -> Measured | None:
    """Return a run's measurements for advice, None if its file can't be read."""
    try:
        return measured(load_run(path))
    except BadResult:
        return None


def _same(name: str, settings: Sequence[Mapping[str, Setting]]) -> bool:
    """Return whether all runs have the same value of a setting."""
    return len({one.get(name) for one in settings}) == 1


def _say_failures(console: Console, failures: Mapping[Path, str]) -> None:
    """Print a line for each cause, the most frequent first. Causes that differ only in numbers,
    such as ports and processes, count as the same."""
    alike: dict[str, list[Path]] = {}
    for path, cause in failures.items():
        alike.setdefault(re.sub("[0-9]+", "#", cause), []).append(path)
    for paths in sorted(alike.values(), key=len, reverse=True):
        many = f"{len(paths)} runs, such as " if len(paths) > 1 else ""
        console.print(f"[red]failed:[/] {many}{escape(paths[0].name)}: "
                      f"{escape(failures[paths[0]])}", soft_wrap=True)


def _say_how_to_open(console: Console, cells: Sequence[Cell]) -> None:
    """Print a command that opens all data files, and one that opens those of one AQM as an
    example."""
    there = [cell for cell in cells if cell.data_file.exists()]
    if not there:
        return
    folder = there[0].folder
    console.print(f"To look at them:\n"
                  f"  flent-gui {folder}/*.flent.gz", markup=False, soft_wrap=True)
    aqm = there[0].scenario.router.aqm
    if any(cell.scenario.router.aqm != aqm for cell in there):
        console.print(f"  flent-gui {folder}/*-{there[-1].scenario.router.aqm}-*.flent.gz",
                      markup=False, soft_wrap=True)


def _scores(cell: Cell, scored: Mapping[Path, Scores]) -> Scores:
    """Return a cell's scores, from its data file if necessary. All values are unavailable if the
    file is damaged."""
    if cell.data_file in scored:
        return scored[cell.data_file]
    try:
        return scores(load_run(cell.data_file))
    except BadResult as fault:
        nothing = Unavailable(str(fault))  # a damaged file counts as a run that doesn't tell
        return Scores(nothing, nothing, nothing, nothing, nothing)


def _middle(values: Sequence[Value]) -> str:
    """Return the median over runs as text: "-" if unavailable, LOST if too many probes were
    lost."""
    value = middle(values)
    if isinstance(value, Unavailable):
        return LOST if value.lost else "-"
    return digits(value)


def _is_available(value: Value) -> bool:
    """Return whether a score has a value."""
    return not isinstance(value, Unavailable)

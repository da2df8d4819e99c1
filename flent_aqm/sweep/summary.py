# SPDX-License-Identifier: GPL-3.0-or-later
"""The table at the end of a sweep: one line per group of cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flent_aqm.asked.cell import Cell
from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.scores import Scores, scores

# What cells can be grouped by: batch key -> heading, and the value's text.
_KEYS: dict[str, tuple[str, Callable[[Cell], str]]] = {
    "test_name": ("test", lambda cell: cell.test_name),
    "aqm": ("AQM", lambda cell: cell.scenario.aqm),
    "rate_mbps": ("Mbit/s", lambda cell: _rates(cell)),
    "burst_shaping": ("burst", lambda cell: _switch(cell.scenario.burst_shaping)),
    "cross_traffic": ("cross", lambda cell: _switch(cell.scenario.cross_traffic)),
    "base_delay_ms": ("delay ms", lambda cell: f"{cell.scenario.base_delay_ms:g}"),
    "testbed": ("testbed", lambda cell: cell.scenario.testbed),
    "router_model": ("router", lambda cell: cell.scenario.router_model),
}
DEFAULT_GROUP_BY = ("test_name", "cross_traffic", "rate_mbps", "aqm")


def parse_group_by(value: object) -> tuple[str, ...]:
    """The batch key `summary_by`: names of keys, separated by commas. Raises ConfigError."""
    if value is None or value == "":
        return DEFAULT_GROUP_BY
    names = tuple(name.strip() for name in str(value).split(","))
    for name in names:
        if name not in _KEYS:
            raise ConfigError(f"summary_by: unknown key {name!r}; known: {', '.join(_KEYS)}")
    return names


def show(
    console: Console,
    cells: Sequence[Cell],
    known: Mapping[Path, Scores],
    failures: Mapping[Path, str],
    group_by: Sequence[str],
) -> None:
    """Print the table, the failed runs with their causes, and how to look at the rest.

    known: scores by data file; those of other files, from before a resumed sweep, are
    read from them.
    """
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: _sort_key(cell, group_by)):
        groups.setdefault(tuple(_KEYS[key][1](cell) for key in group_by), []).append(cell)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for key in group_by:
        table.add_column("\n" + _KEYS[key][0], no_wrap=True,
                         justify="right" if key == "rate_mbps" else "left")
    for heading in ("\nruns", "\nfailed", "throughput\nMbit/s", "loaded RTT\nmedian ms",
                    "\np99 ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for values, members in groups.items():
        done = [_scores(cell, known) for cell in members if cell.data_file.exists()]
        failed = sum(cell.data_file in failures for cell in members)
        table.add_row(
            *values, str(len(done)), f"[red]{failed}[/]" if failed else "0",
            _middle([one.throughput_mbps for one in done], 1),
            _middle([one.latency_median_ms for one in done], 2),
            _middle([one.latency_p99_ms for one in done], 2),
        )
    console.print(table)
    _say_failures(console, failures)
    _say_how_to_open(console, cells)


def _say_failures(console: Console, failures: Mapping[Path, str]) -> None:
    """A line for each cause, the most frequent first; causes that differ by numbers alone,
    such as those of ports and processes, are one."""
    alike: dict[str, list[Path]] = {}
    for path, cause in failures.items():
        alike.setdefault(re.sub("[0-9]+", "#", cause), []).append(path)
    for paths in sorted(alike.values(), key=len, reverse=True):
        many = f"{len(paths)} runs, such as " if len(paths) > 1 else ""
        console.print(f"[red]failed:[/] {many}{escape(paths[0].name)}: "
                      f"{escape(failures[paths[0]])}", soft_wrap=True)


def _say_how_to_open(console: Console, cells: Sequence[Cell]) -> None:
    """One command for all, and one for the cells of one AQM as an example of picking."""
    there = [cell for cell in cells if cell.data_file.exists()]
    if not there:
        return
    folder = there[0].folder
    console.print(f"Medians over the runs of each line. To look at them:\n"
                  f"  flent-gui {folder}/*.flent.gz", markup=False, soft_wrap=True)
    aqm = there[0].scenario.aqm
    if any(cell.scenario.aqm != aqm for cell in there):
        console.print(f"  flent-gui {folder}/*-{there[-1].scenario.aqm}-*.flent.gz",
                      markup=False, soft_wrap=True)


def _scores(cell: Cell, known: Mapping[Path, Scores]) -> Scores:
    if cell.data_file in known:
        return known[cell.data_file]
    try:
        return scores(load_run(cell.data_file))
    except BadResult:
        return Scores(None, None, None)  # a damaged file counts as a run that doesn't tell


def _middle(values: Sequence[float | None], digits: int) -> str:
    numbers = [value for value in values if value is not None]
    return f"{median(numbers):.{digits}f}" if numbers else "-"


def _rates(cell: Cell) -> str:
    up, down = cell.scenario.rate_up_mbps, cell.scenario.rate_down_mbps
    return f"{up:g}" if up == down else f"{up:g} up, {down:g} down"


def _switch(value: bool) -> str:
    return "on" if value else "off"


def _sort_key(cell: Cell, group_by: Sequence[str]) -> tuple[object, ...]:
    scenario = cell.scenario
    numeric = {"rate_mbps": (scenario.rate_down_mbps, scenario.rate_up_mbps),
               "base_delay_ms": (scenario.base_delay_ms,)}
    return tuple(numeric.get(key, (_KEYS[key][1](cell),)) for key in group_by)

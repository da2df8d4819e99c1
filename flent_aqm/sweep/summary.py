# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the table at the end of a sweep, with one line per group of cells."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.words import counted
from flent_aqm.results.advice.advice import advise
from flent_aqm.results.advice.measured import Configuration, Measured, measured, tried
from flent_aqm.results.grouping import (
    AQM,
    ROUTER,
    SHAPER_RATE,
    along_with,
    check_keys,
    factors,
    grouped,
    heading,
    own_title,
    parse_keys,
    pooled_over,
    setting_text,
    shown,
)
from flent_aqm.results.metrics.compare import two_groups
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.scores import Scores, Value, scores
from flent_aqm.results.metrics.settings import HOST_CC, Setting
from flent_aqm.results.metrics.table import LOST, Unavailable, digits, middle
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.keys import QUEUE_PREFIXES, SEE
from flent_aqm.spec.readers import text_of
from flent_aqm.spec.scenario import KEYS
from flent_aqm.spec.testbeds import NETNS
from flent_aqm.sweep.in_brief import cell_settings

# Settings by which runs are grouped by default, if the runs differ in them. Other settings in which
# runs differ come after these, and the queue last.
USUAL = ("test", "cross_traffic", "rate_mbps", SHAPER_RATE)
COLUMNS = {"download": ("down", "download_mbps"), "upload": ("up", "upload_mbps")}
# Up to this width in columns, the table's columns are closer together.
NARROW = 100


def parse_group_by(value: object) -> tuple[str, ...]:
    """Parse the batch key `summary_by`, names of settings that are separated by commas, and return
    the names. Short names, and Flent's name test_name, are replaced by the settings' own names.

    For None or an empty value, return an empty tuple, for which show() chooses the settings. Raises
    ConfigError if a name is unknown, or the value is True or False. Names of parameters, which
    begin with one of QUEUE_PREFIXES, are not checked.
    """
    text = "" if value is None else text_of("summary_by", value, "names of settings")
    words = [word.strip() for word in text.split(",")]
    valid = ("test", *KEYS, "rate_mbps", SHAPER_RATE)
    names = []
    for word in filter(None, words):
        (name,) = parse_keys(word)
        name = _NAME_OF_FLENTS_KEY.get(name, name)
        if name not in valid and not name.startswith(QUEUE_PREFIXES):
            raise ConfigError(f"summary_by: unknown key {word[:40]!r}"
                              f"{did_you_mean(word, valid) or SEE}; expected test, keys of the "
                              "testbed such as aqm, or parameters such as aqm_target")
        names.append(name)
    return tuple(names)


def check_group_by(cells: Sequence[Cell], group_by: Sequence[str]) -> None:
    """Raise ConfigError if `group_by` has a setting that no cell has.

    Args:
        cells: all cells of a sweep.
        group_by: names of settings, as parse_group_by() returns them.
    """
    try:
        check_keys([cell_settings(cell) for cell in cells], group_by)
    except ConfigError as error:
        raise ConfigError(f"summary_by: {error}", "summary_by") from None


# Flent's name of a batch key -> this package's name of the setting.
_NAME_OF_FLENTS_KEY = {"test_name": "test"}


def show(
    console: Console,
    cells: Sequence[Cell],
    scored: Mapping[Path, Scores],
    failures: Mapping[Path, str],
    group_by: Sequence[str],
) -> None:
    """Print the table, notes on it, advice on the home's line, the failed runs with their causes,
    and commands to open the data.

    Args:
        console: where to print, made with highlight=False, so that it colours no numbers by itself.
        cells: all cells of the sweep, at least one.
        scored: scores by data file. Scores of other data files that exist, such as those from
            before a resumed sweep, are computed from the files.
        failures: cause of a run's failure, by data file.
        group_by: settings that define a line. If empty, the queue, the settings of USUAL in which
            runs differ, and further ones needed to tell the runs apart, so that the runs of a line
            are repetitions of each other.

    Raises ConfigError if `group_by` has a setting that no cell has.
    """
    settings = [cell_settings(cell) | _settings_of_hosts(cell) for cell in cells]
    differing = factors(settings)
    keys = list(group_by)
    if not keys:
        keys = [name for name in USUAL if not _is_shared(name, settings)]
        keys += [name for name in differing if name not in (*keys, AQM)]
        keys += [AQM] if any(AQM in one for one in settings) else []
    failed = bool(failures)
    directions = [direction for direction, (_, field) in COLUMNS.items()
                  if any(_is_available(getattr(_scores(cell, scored), field)) for cell in cells
                         if cell.data_file.exists())]
    groups = grouped(zip(settings, cells, strict=True), keys)

    def make_table(with_own_rtt: bool, totals: bool,
                   widths: Mapping[str, int] | None = None) -> Table:
        """Return the table, with a row for each of `groups`, cells with the same values of `keys`.
        It has these values, the number of finished and, if any run failed, of failed runs, and
        medians over the finished runs: throughput in `directions`, and RTTs under load.

        Args:
            with_own_rtt: add a column for the RTTs of the flows' own packets.
            totals: add the throughput of all flows, if the test shares the line with cross traffic.
            widths: setting -> width of its column, in which longer values take several lines. None
                if each value is to have one line.
        """
        table = Table(box=None, pad_edge=False, header_style="bold",
                      collapse_padding=console.width < NARROW)
        for key in keys:
            table.add_column("\n" + escape(heading(key)), no_wrap=widths is None,
                             overflow="ellipsis" if widths is None else "fold",
                             width=widths[key] if widths else None,
                             justify="right" if key == "rate_mbps" else "left")
        headings = ["\nruns", *(["\nfailed"] if failed else []),
                    *(f"{'Mbit/s' if number == 0 else ''}\n{COLUMNS[direction][0]}"
                      for number, direction in enumerate(directions)),
                    "RTT under\nmedian", "load, ms\np99",
                    *(["flow's\nmedian"] if with_own_rtt else [])]
        for title in headings:
            table.add_column(title, justify="right", no_wrap=True)
        for values, members in groups.items():
            done = [_scores(cell, scored) for cell in members if cell.data_file.exists()]
            lost = sum(cell.data_file in failures for cell in members)
            table.add_row(
                *(escape(shown(value)) for value in values), str(len(done)),
                *([f"[red]{lost}[/]" if lost else "0"] if failed else []),
                *(_throughput_text(done, COLUMNS[direction][1], totals)
                  for direction in directions),
                _median_text([run_scores.latency_median_ms for run_scores in done]),
                _median_text([run_scores.latency_p99_ms for run_scores in done]),
                *([_median_text([run_scores.flow_rtt_ms for run_scores in done])]
                  if with_own_rtt else []))
        return table

    with_own_rtt = any(_is_available(_scores(cell, scored).flow_rtt_ms) for cell in cells
                       if cell.data_file.exists())
    # If the table is too wide, the last column is left out first, then the totals. If that isn't
    # enough, long settings are folded, because a number that is cut says nothing.
    shown_table, totals = make_table(with_own_rtt, True), True
    unlimited = console.options.update(width=10_000)
    for parts in ((False, True), (False, False)):
        if console.measure(shown_table, options=unlimited).maximum <= console.width:
            break
        shown_table, totals = make_table(*parts), parts[1]
    excess = console.measure(shown_table, options=unlimited).maximum - console.width
    if excess > 0:
        widths = {key: max(len(heading(key)), *(len(shown(values[place])) for values in groups))
                  for place, key in enumerate(keys)}
        while excess > 0 and max(widths.values()) > _LEAST_FOLDED:
            widths[max(widths, key=widths.__getitem__)] -= 1
            excess -= 1
        # Where not even that is enough, lines are cut.
        if excess <= 0:
            shown_table = make_table(False, False, widths)
    console.print(shown_table)
    _print_line_notes(console, settings, keys, groups)
    _print_latency_notes(console, [_scores(cell, scored) for cell in cells
                                   if cell.data_file.exists()])
    _print_throughput_notes(console, [_scores(cell, scored) for cell in cells
                                      if cell.data_file.exists()], keys, groups, scored, totals)
    _print_advice(console, keys, groups)
    _print_failures(console, failures)
    _print_open_commands(console, cells)


# A column of a setting whose values are folded is at least so wide.
_LEAST_FOLDED = 16


def _print_line_notes(
    console: Console, settings: Sequence[Mapping[str, Setting]], keys: Sequence[str],
    groups: Mapping[tuple[Setting, ...], Sequence[Cell]],
) -> None:
    """Print below the table: the settings of USUAL that all runs share, other than those of the
    lines; the settings in which lines differ, too, without telling more runs apart; and, if a line
    has several runs, that values are medians over the runs of a line, with the settings in which
    these runs differ.

    Args:
        console: where to print.
        settings: settings of each cell, at least one.
        keys: settings that define a line.
        groups: values of `keys` -> cells of the line.
    """
    same = [setting_text(name, settings[0][name]) for name in USUAL
            if name not in keys and name in settings[0] and _is_shared(name, settings)]
    if same:
        console.print(f"All runs: {', '.join(same)}.", markup=False, soft_wrap=True)
    along = along_with(settings, keys)
    if along:
        console.print(f"Lines also differ in {', '.join(along)}.", markup=False, soft_wrap=True)
    pooled = pooled_over(settings, keys)
    if pooled:
        console.print(f"Medians over the runs of each line, pooled over {', '.join(pooled)}.",
                      markup=False, soft_wrap=True)
    elif any(len(members) > 1 for members in groups.values()):
        console.print("Medians over the runs of each line.")


def _print_latency_notes(console: Console, done: Sequence[Scores]) -> None:
    """Print, for the median and for the 99th percentile of latency, how many runs have too few
    probes for it, and in how many it is a lost probe, with the reason of the first of these runs,
    as that of one of them if others have another reason. Nothing is printed if there are none.

    Args:
        done: scores of finished runs.
    """
    for title, name in (("median", "latency_median_ms"), ("p99", "latency_p99_ms")):
        none = [value for run_scores in done
                if isinstance(value := getattr(run_scores, name), Unavailable)]
        for words, some in (("without", [value for value in none if value.too_few]),
                            (f'with "{LOST}" as', [value for value in none if value.lost])):
            if some:
                of_one = "for example, " if any(value != some[0] for value in some) else ""
                console.print(f"{counted(len(some), 'run')} {words} {title}: {of_one}"
                              f"{some[0].because}.", markup=False, soft_wrap=True)


def _print_throughput_notes(console: Console, done: Sequence[Scores], keys: Sequence[str],
                            groups: Mapping[tuple[Setting, ...], Sequence[Cell]],
                            scored: Mapping[Path, Scores], totals: bool) -> None:
    """Print notes on the throughput: with cross traffic, that it is the test's share of the line,
    or of the total that the table shows; and each line whose runs fall into two groups with a gap
    between them, for which the median says little.

    Args:
        console: where to print.
        done: scores of finished runs.
        keys: settings that define a line.
        groups: values of `keys` -> cells of the line.
        scored: scores by data file.
        totals: True if the table shows the throughput of all flows.
    """
    if any(_is_available(total) for run_scores in done
           for total in (run_scores.total_download_mbps, run_scores.total_upload_mbps)):
        of = ("what all flows together carried" if totals
              else "the line, and not a cost of the queue")
        console.print(f"With cross traffic, throughput is the test's share of {of}.",
                      soft_wrap=True)
    for values, members in groups.items():
        runs = [_scores(cell, scored) for cell in members if cell.data_file.exists()]
        for direction, (title, name) in COLUMNS.items():
            numbers = [value for run_scores in runs
                       if not isinstance(value := getattr(run_scores, name), Unavailable)]
            if found := two_groups(numbers):
                low, high = ([digits(float(median(group))), counted(len(group), "run")]
                             for group in found)
                line = ", ".join(map(setting_text, keys, values))
                console.print(f"Runs fall into two groups in {direction} ({line}): "
                              f"{' in '.join(low)}, {' in '.join(high)}, "
                              f"Mbit/s {title}.",
                              markup=False, soft_wrap=True)


def _throughput_text(done: Sequence[Scores], name: str, totals: bool) -> str:
    """Return the median throughput over runs in Mbit/s as text, "-" if no run has one. With cross
    traffic "430 of 860" (or "- of 860"), of which the second number is the median throughput of all
    flows, unless `totals` is false.

    Args:
        done: scores of the runs.
        name: field of Scores: download_mbps or upload_mbps.
        totals: whether to show the throughput of all flows.
    """
    own = _median_text([getattr(run_scores, name) for run_scores in done])
    total = middle([getattr(run_scores, f"total_{name}") for run_scores in done])
    return own if isinstance(total, Unavailable) or not totals else f"{own} of {digits(total)}"


def _print_advice(console: Console, keys: Sequence[str],
                  groups: Mapping[tuple[Setting, ...], Sequence[Cell]]) -> None:
    """Print advice on the home's line, if there is any and if all runs had a modem, as a home has.
    If a line's runs have several kinds of load, such as downloads and then uploads, a sentence
    before it says that it is about the worse of them. Lines are compared if they differ in the
    router's settings alone: another test, cross traffic or line can't be chosen. A line is named by
    the title of all its runs, or by these settings, the queue first, or if `keys` has none of them,
    by the queues of its runs.

    Args:
        console: where to print.
        keys: settings that define a line.
        groups: values of `keys` -> cells of the line.
    """
    if not all(cell.scenario.path.modem_mbps("up") for cells in groups.values() for cell in cells):
        return
    conditions: dict[str, list[Configuration]] = {}
    for values, cells in groups.items():
        runs = [(cell_settings(cell), _measured(cell.data_file)) for cell in cells
                if cell.data_file.exists()]
        if not runs:
            continue
        titles = {own_title(cell.metadata.get("TITLE")) for cell in cells}
        name = titles.pop() if len(titles) == 1 else ""
        of_settings = sorted(zip(keys, values, strict=True), key=lambda pair: pair[0] != AQM)
        chosen, given = (", ".join(setting_text(*pair) for pair in of_settings
                                   if _is_of_router(pair[0]) == of_router)
                         for of_router in (True, False))
        queues = dict.fromkeys(setting_text(AQM, settings.get(AQM, "")) for settings, _ in runs)
        conditions.setdefault(given, []).append(tried(name or chosen or ", ".join(queues), runs))
    text = " ".join(advise(conditions))
    if text:
        if any(len(one.busy) > 1 for tried_here in conditions.values() for one in tried_here):
            # A median over both may hide one, if BBR keeps the download's queue short.
            console.print("RTT under load is of downloads and uploads together; advice is about "
                          "the worse of them.", soft_wrap=True)
        console.print(f"What to do: {text}", markup=False)


def _is_of_router(name: str) -> bool:
    """Return whether a setting is one of the router's, which its owner can choose: the queue, the
    shaper, or a parameter of them."""
    return name in (AQM, *ROUTER) or name.startswith(QUEUE_PREFIXES)


def _measured(path: Path) -> Measured | Unavailable:
    """Return a run's measurements for advice, or the reason why it has none, such as that its data
    file can't be read."""
    try:
        return measured(load_run(path))
    except BadResult as fault:
        return Unavailable(str(fault))


def _is_shared(name: str, settings: Sequence[Mapping[str, Setting]]) -> bool:
    """Return whether all runs have the same value of the setting `name`, or all lack it."""
    return len({run_settings.get(name) for run_settings in settings}) == 1


def _print_failures(console: Console, failures: Mapping[Path, str]) -> None:
    """Print a line for each cause, the most frequent first, with the number of its runs and the
    name of one's data file. Causes that differ only in numbers, such as ports and processes, count
    as the same.

    Args:
        failures: cause of a run's failure, by data file.
    """
    alike: dict[str, list[Path]] = {}
    for path, cause in failures.items():
        alike.setdefault(re.sub("[0-9]+", "#", cause), []).append(path)
    for paths in sorted(alike.values(), key=len, reverse=True):
        many = f"{len(paths)} runs, such as " if len(paths) > 1 else ""
        console.print(f"[red]failed:[/] {many}{escape(paths[0].name)}: "
                      f"{escape(failures[paths[0]])}", soft_wrap=True)


def _print_open_commands(console: Console, cells: Sequence[Cell]) -> None:
    """Print a command that opens all data files in the folder of the first one. If there are
    several queues, and the last file's name has its queue between dashes, print a command that
    opens the files of this queue, too, as an example. Nothing is printed if there is no data file.
    """
    there = [cell for cell in cells if cell.data_file.exists()]
    if not there:
        return
    folder = shlex.quote(str(there[0].folder))
    console.print(f"To look at them:\n"
                  f"  flent-gui {folder}/*.flent.gz", markup=False, soft_wrap=True)
    aqm, last = there[0].scenario.router.aqm, there[-1].scenario.router.aqm
    # A file's name need not have its queue's between dashes.
    if any(cell.scenario.router.aqm != aqm for cell in there) and f"-{last}-" in there[-1].name:
        console.print(f"  flent-gui {folder}/*-{last}-*.flent.gz", markup=False, soft_wrap=True)


def _settings_of_hosts(cell: Cell) -> dict[str, Setting]:
    """Return the settings that a cell's data file has from the machine that ran it: HOST_CC, in
    namespaces. Empty for other testbeds, if it is Cubic, and if there is no valid file."""
    if cell.scenario.lab.testbed != NETNS or not cell.data_file.exists():
        return {}
    try:
        of_file = load_run(cell.data_file).settings
    except BadResult:
        return {}
    return {HOST_CC: of_file[HOST_CC]} if HOST_CC in of_file else {}


def _scores(cell: Cell, scored: Mapping[Path, Scores]) -> Scores:
    """Return a cell's scores, computed from its data file if `scored` has none. All values are
    Unavailable if the file is damaged."""
    if cell.data_file in scored:
        return scored[cell.data_file]
    try:
        return scores(load_run(cell.data_file))
    except BadResult as fault:
        nothing = Unavailable(str(fault))  # a damaged file counts as a run that doesn't tell
        return Scores(nothing, nothing, nothing, nothing, nothing)


def _median_text(values: Sequence[Value]) -> str:
    """Return the median over runs as text. Runs without a value are left out, and lost probes count
    as slower than any number: LOST if the median is one, "-" if no run has a value."""
    value = middle(values)
    if isinstance(value, Unavailable):
        return LOST if value.lost else "-"
    return digits(value)


def _is_available(value: Value) -> bool:
    """Return whether a score has a value, which it lacks if it is Unavailable."""
    return not isinstance(value, Unavailable)

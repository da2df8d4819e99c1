# SPDX-License-Identifier: GPL-3.0-or-later
"""Write statistics of groups of runs as JSON or CSV, with a row for each group and metric.

Arguments of the functions: console: receives the text. scored: the runs. requested, pool: as for
groups_of(). names: names of the metrics.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console

from flent_aqm.base.json_text import json_text
from flent_aqm.base.words import for_spreadsheet
from flent_aqm.results.grouping import shown
from flent_aqm.results.metrics.compare import summarise
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.results.score.shown import ScoredFile, groups_of, numbers_of

Number = float | None
# Statistics of a row. interval_level: confidence level of the median's interval. A value that is a
# lost probe is left empty, and `lost` counts such runs.
NUMBERS = ("runs", "values", "lost", "median", "lower_quartile", "upper_quartile", "interval_low",
           "interval_high", "interval_level")


def _rows(scored: Sequence[ScoredFile], requested: Sequence[str], pool: Sequence[str],
          names: Sequence[str]) -> Iterator[tuple[dict[str, str], str, dict[str, Number]]]:
    """Yield the settings of a group (name -> value as text), the name of a metric, and its
    statistics over the group's runs (see NUMBERS): for each metric, all groups. Raises ConfigError
    if a setting is one that no run has.

    Args:
        scored: the runs.
        requested: names of the settings to group by. Others in which runs differ are added.
        pool: names of the settings that are not added. If "all" is among them, none is added.
        names: names of the metrics.
    """
    keys, _, groups = groups_of(scored, requested, pool)
    for name in names:
        for key, members in groups.items():
            group = {setting: shown(part) for setting, part in zip(keys, key, strict=True)}
            yield group, name, _statistics(len(members), numbers_of(members, name))


def _statistics(runs: int, values: Sequence[float]) -> dict[str, Number]:
    """Return the statistics of a group: each of NUMBERS -> value, None if it is not known or is a
    lost probe.

    Args:
        runs: number of runs in the group.
        values: the metric of those runs that have it, infinite for a lost probe.
    """
    numbers: dict[str, Number] = dict.fromkeys(NUMBERS)
    numbers |= {"runs": runs, "values": len(values), "lost": sum(map(math.isinf, values))}
    if values:
        summary = summarise(values)
        numbers["median"] = _finite(summary.median)
        if summary.count > 1:
            numbers["lower_quartile"] = _finite(summary.lower_quartile)
            numbers["upper_quartile"] = _finite(summary.upper_quartile)
        if (sure := summary.interval) is not None:
            numbers |= {"interval_low": _finite(sure.low), "interval_high": _finite(sure.high),
                        "interval_level": sure.level}
    return numbers


def _finite(value: float) -> Number:
    """Return a number, or None if it is infinite."""
    return value if math.isfinite(value) else None


def write_groups_json(console: Console, scored: Sequence[ScoredFile], requested: Sequence[str],
                pool: Sequence[str], names: Sequence[str]) -> None:
    """Write a JSON list to the console, with an object for each group and metric: settings (an
    object of texts), metric, unit, and the statistics in NUMBERS, null for a missing value. The
    list is empty without a group or a metric. Raises ConfigError if a setting is one that no run
    has.

    Args:
        console: receives the text.
        scored: the runs.
        requested: names of the settings to group by. Others in which runs differ are added.
        pool: names of the settings that are not added. If "all" is among them, none is added.
        names: names of the metrics.
    """
    console.file.write(json_text(
        [{"settings": settings, "metric": name, "unit": METRICS[name].unit, **numbers}
         for settings, name, numbers in _rows(scored, requested, pool, names)], indent=1) + "\n")


def write_groups_csv(console: Console, scored: Sequence[ScoredFile], requested: Sequence[str],
               pool: Sequence[str], names: Sequence[str]) -> None:
    """Write CSV to the console: a line with the headings, then a line for each group and metric:
    its settings, metric, unit, and the statistics in NUMBERS. A field is empty for a missing value.
    Settings that a spreadsheet would take for a formula get an apostrophe. Nothing is written
    without a group or a metric. Raises ConfigError if a setting is one that no run has.

    Args:
        console: receives the text.
        scored: the runs.
        requested: names of the settings to group by. Others in which runs differ are added.
        pool: names of the settings that are not added. If "all" is among them, none is added.
        names: names of the metrics.
    """
    lines = csv.writer(console.file, lineterminator="\n")
    for place, (settings, name, numbers) in enumerate(_rows(scored, requested, pool, names)):
        if not place:
            lines.writerow([*map(for_spreadsheet, settings), "metric", "unit", *NUMBERS])
        lines.writerow([*map(for_spreadsheet, settings.values()), name, METRICS[name].unit,
                        *numbers.values()])


GROUP_FORMATS: dict[str, Callable[[Console, Sequence[ScoredFile], Sequence[str], Sequence[str],
                                   Sequence[str]], None]] = {
    "json": write_groups_json, "csv": write_groups_csv}

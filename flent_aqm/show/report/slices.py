# SPDX-License-Identifier: GPL-3.0-or-later
"""Group runs into slices (test and other settings) and cells (queue and rate)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from flent_aqm.results.grouping import (
    AQM,
    NOT_TOLD,
    RATE,
    ROUTER,
    SHAPER_RATE,
    alike_in,
    along_with,
    own_title,
    setting,
    setting_text,
    sorted_values,
)
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.percentiles import SAMPLES_BEYOND, of_any, of_sorted
from flent_aqm.results.metrics.settings import NO_SHAPER, Setting
from flent_aqm.results.metrics.table import LOST, METRICS
from flent_aqm.results.metrics.throughput import shares_line
from flent_aqm.show.looks import order
from flent_aqm.show.report.gather import STEP_S, ReportRow

MOST_SIDES = 12
# Percentiles of the distributions, with smaller steps in the tail.
LEVELS_PCT = (0, 1, 2, *range(5, 100, 5), 98, 99, 99.5, 99.8, 99.9, 99.95, 99.99, 100)
BOX_PCT = (5, 25, 50, 75, 95, 99)


@dataclass(frozen=True)
class Dimension:
    """A setting that distinguishes slices.

    Attributes:
        name: name of the setting.
        values: its different values in the runs, in the order of sorted_values(). Runs that don't
            record it have its default in UNRECORDED_DEFAULTS, or else the text NOT_TOLD, which is
            last.
    """

    name: str
    values: Sequence[Setting]


def with_sides(rows: Sequence[ReportRow]) -> tuple[list[ReportRow], tuple[str, ...]]:
    """Decide what is compared: queues, or whole configurations of the router.

    Configurations are compared if a setting in ROUTER goes together with the queue: if there is
    only one queue, or not every queue was measured with each of its values. Then it is part of the
    configuration. If there are more than MOST_SIDES configurations, queues are compared.

    Returns:
        The rows, with `side` set as told below, and the names of the settings that belong to what
        is compared, AQM first.

    If configurations are compared, and a queue has several or SQM's rate is part of them, `side` is
    the configuration's name: the words of the user's titles if they distinguish all configurations
    (see _titles_of_each()), otherwise its settings. In all other cases, the queue's name tells what
    is compared, and `side` is set only if _with_titles() finds titles for it.
    """
    rows = _as_one_line(rows)
    queues_count = len(_value_pairs(AQM, AQM, rows))
    apart = [name for name in ROUTER if len(_value_pairs(AQM, name, rows)) > 1
             and (queues_count == 1 or len(_value_pairs(AQM, name, rows))
                  < queues_count * len(_value_pairs(name, name, rows)))]
    names = (AQM, *apart)
    keys = {_values_of(row, names) for row in rows}
    if not apart or len(keys) > MOST_SIDES:
        return _with_titles(rows, (AQM,)), (AQM,)
    # Each queue has a configuration of its own. But no_aqm is no name for a line without SQM.
    if len(keys) == queues_count and SHAPER_RATE not in apart:
        return _with_titles(rows, names), names
    titles = _titles_of_each(rows, names) or [_configuration_name(row, names) for row in rows]
    return [replace(row, side=title) for row, title in zip(rows, titles, strict=True)], names


def _as_one_line(rows: Sequence[ReportRow]) -> Sequence[ReportRow]:
    """Return the rows with the rate of the others in place of "no shaper" (NO_SHAPER) if these have
    one rate: runs with and without a shaper on a line whose own rate isn't known, as a real
    router's, are compared. Otherwise return the rows unchanged."""
    shaped = {rate_of(row) for row in rows} - {NO_SHAPER}
    if len(shaped) != 1:
        return rows
    rate, = shaped
    return [replace(row, settings={**row.settings, RATE: rate})
            if rate_of(row) == NO_SHAPER else row for row in rows]


def _with_titles(rows: Sequence[ReportRow], names: Sequence[str]) -> list[ReportRow]:
    """Return the rows with the words of their titles (see _own_title_words()) as `side`, if the
    user named what is compared by them: no run is of a batch, each has a queue and such words, and
    at least two different titles stand for as many different combinations of values of the settings
    `names`. Otherwise return the rows unchanged."""
    # A batch's titles say again what its settings are.
    if any(row.settings.get("batch") or not row.settings.get(AQM) for row in rows):
        return list(rows)
    titles = _titles_of_each(rows, names)
    if not all(titles) or len(set(titles)) < 2:
        return list(rows)
    return [replace(row, side=title) for row, title in zip(rows, titles, strict=True)]


def _titles_of_each(rows: Sequence[ReportRow], names: Sequence[str]) -> list[str]:
    """Return the words of each run's title (_own_title_words()), in the order of the rows, if each
    different combination of values of the settings `names` has words of its own, the same in all
    its runs. Otherwise return an empty list. The words of one combination may be ""."""
    titles = [_own_title_words(row, rows) for row in rows]
    keys = [_values_of(row, names) for row in rows]
    pairs = set(zip(titles, keys, strict=True))
    return titles if len(pairs) == len(set(titles)) == len(set(keys)) else []


def _value_pairs(name: str, other_name: str, rows: Sequence[ReportRow]
                 ) -> set[tuple[Setting | None, ...]]:
    """Return the different pairs of values that the settings `name` and `other_name` have in the
    runs. A setting that a run doesn't record has its default in UNRECORDED_DEFAULTS, else None."""
    return {_values_of(row, (name, other_name)) for row in rows}


def _values_of(row: ReportRow, names: Sequence[str]) -> tuple[Setting | None, ...]:
    """Return a run's values of the settings `names`. For a setting that it doesn't record, that is
    the default in UNRECORDED_DEFAULTS, else None."""
    return tuple(setting(row.settings, name) for name in names)


def _configuration_name(row: ReportRow, names: Sequence[str]) -> str:
    """Return the name of a run's configuration: the values of the settings `names` as text, with
    commas between, such as "cake, ingress ifb". Settings that the run doesn't record are left out,
    unless they have a default in UNRECORDED_DEFAULTS."""
    return ", ".join(setting_text(name, value) for name, value in
                     zip(names, _values_of(row, names), strict=True) if value is not None)


def _own_title_words(row: ReportRow, rows: Sequence[ReportRow]) -> str:
    """Return a run's title without the words that are the value, such as "50.0" or "50", of one of
    its settings in which the runs differ and which doesn't belong to the router's configuration,
    such as the rate. The rest is the user's name for the configuration. "" if nothing is left.

    Args:
        row: the run.
        rows: all runs of the report.
    """
    others = {text for name, value in row.settings.items()
              if name not in (AQM, "title", *ROUTER) and len(_value_pairs(name, name, rows)) > 1
              for text in (str(value), f"{value:g}" if isinstance(value, float) else "")}
    return " ".join(part for part in own_title(row.settings.get("title")).split()
                    if part not in others)


def queue_of(row: ReportRow) -> str:
    """Return the name as which a run is compared: its `side` (see with_sides()) if it has one, else
    the first of queue, title and test that it records, NOT_TOLD if it records none of these."""
    return str(row.side or row.settings.get(AQM) or row.settings.get("title")
               or row.settings.get("test") or NOT_TOLD)


def rate_of(row: ReportRow) -> Setting:
    """Return the link's rate in Mbit/s, text such as "100/20" (download/upload) if directions
    differ, NOT_TOLD if the file doesn't record it."""
    return row.settings.get(RATE, NOT_TOLD)


def dimensions(rows: Sequence[ReportRow], side: Sequence[str] = (AQM,)) -> list[Dimension]:
    """Return the test, which comes first and always, and the other settings that distinguish slices
    (see alike_in()), each with its values in order. The rate, and other settings that are alike in
    all runs, are not among them. Runs of a slice and rate differ only in the settings that are
    compared, in parameters of queues and the upload's queue, and in settings of grouping.NEVER,
    such as the seed.

    Args:
        rows: the runs.
        side: names of the settings that are compared.
    """
    names = ["test", *alike_in([row.settings for row in rows], side, ("test", RATE))]
    return [Dimension(name, [NOT_TOLD if one is None else one for one in sorted_values(
        name, [setting(row.settings, name) for row in rows])]) for name in names]


def apart(rows: Sequence[ReportRow], dims: Sequence[Dimension], side: Sequence[str]
          ) -> list[str]:
    """Return the names of the settings that tell slices and rates from each other: dimensions with
    several values, then the rate if there are several. The other settings that differ only together
    with these follow, see along_with().

    Args:
        rows: the runs.
        dims: the settings that distinguish slices.
        side: names of the settings that are compared. They are not returned.
    """
    names = [one.name for one in dims if len(one.values) > 1] + [RATE] * (len(rates(rows)) > 1)
    return [*names, *along_with([row.settings for row in rows], (*names, *side))]


def also_differ(rows: Sequence[ReportRow], side: Sequence[str]) -> list[str]:
    """Return the names of the settings besides the queue in which the compared configurations
    differ. Empty if queues alone are compared. An upload queue doesn't count if each run has the
    same one as for the download, or records none.

    Args:
        rows: the runs.
        side: names of the settings of the configuration.
    """
    return [name for name in side
            if name != AQM and len(_value_pairs(name, name, rows)) > 1 and not (
        name == "up_aqm" and all(_values_of(row, (AQM, name)) in (
            (row.settings.get(AQM), None), (row.settings.get(AQM),) * 2) for row in rows))]


def key_of(row: ReportRow, dims: Sequence[Dimension]) -> tuple[Setting, ...]:
    """Return the key of a run's slice: its values of the dimensions, in their order. For a setting
    that the run doesn't record, it is the default in UNRECORDED_DEFAULTS, else NOT_TOLD."""
    return tuple(_setting(row, one.name) for one in dims)


def _setting(row: ReportRow, name: str) -> Setting:
    """Return a run's value of a setting. If it records none, return the default in
    UNRECORDED_DEFAULTS, else NOT_TOLD."""
    value = setting(row.settings, name)
    return NOT_TOLD if value is None else value


def queues(rows: Sequence[ReportRow]) -> list[str]:
    """Return the different names as which the runs are compared (see queue_of()): queues in the
    order of the table of queues, then others, see looks.order()."""
    return order([queue_of(row) for row in rows])


def rates(rows: Sequence[ReportRow]) -> list[Setting]:
    """Return all different rates of the runs in Mbit/s: numbers by size, then texts such as
    "100/20". NOT_TOLD, which is last, stands for runs that don't record it."""
    return [NOT_TOLD if one is None else one
            for one in sorted_values(RATE, [row.settings.get(RATE) for row in rows])]


def cell(rows: Sequence[ReportRow]) -> dict[str, Any]:
    """Return the data that plots show of a cell:

    - runs: number of runs.
    - ways: direction -> values of _latency_data(), if it has probes; mbps, the throughput in Mbit/s
      of each run that has it; possible_mbps, what TCP can carry in each of these runs, None where
      that is not known; over_time and rtt_over_time, results of _curve_over_runs() for
      throughput and RTT. Directions with neither probes nor throughput are left out.
    - words: metric that has words -> median over runs as text, after its word: "B 47.10". Metrics
      without a value are left out.
    - shared: whether cross traffic was on the line in any run.

    Args:
        rows: runs of the cell, at least one.
    """
    ways = {}
    for direction in DIRECTIONS:
        sent = [row.loaded_ms[direction] for row in rows if direction in row.loaded_ms]
        name = f"throughput_{direction}_mbps"
        carried = [row for row in rows if name in row.metrics]
        if not sent and not carried:
            continue
        ways[direction] = {
            **(_latency_data(numpy.concatenate(sent)) if sent else {}),
            "mbps": [number(row.metrics[name]) for row in carried],
            "possible_mbps": [None if (possible := row.possible_mbps.get(direction)) is None
                              else number(possible) for row in carried],
            "over_time": _curve_over_runs([row.mbps[direction] for row in rows
                                           if direction in row.mbps]),
            "rtt_over_time": _curve_over_runs([row.rtt_ms[direction] for row in rows
                                               if direction in row.rtt_ms])}
    words = {name: metric.text(of_any(samples, 50)) for name, metric in METRICS.items()
             if metric.word and (samples := [row.metrics[name] for row in rows
                                             if name in row.metrics])}
    return {"runs": len(rows), "ways": ways, "words": words,
            "shared": any(shares_line(row.settings) for row in rows)}


def _latency_data(loaded_ms: Any) -> dict[str, Any]:
    """Return a distribution of latency: probes and lost (numbers of probes), levels (list of
    percentiles: 0, 100, and those of LEVELS_PCT with about SAMPLES_BEYOND or more samples above
    them), ms (list of the latencies at these levels), box (list of those at BOX_PCT, however few
    the probes). A lost probe counts as later than any other. A latency that is a lost probe is
    None.

    Args:
        loaded_ms: array of each probe's latency, at least one, infinite if it was lost.
    """
    count = loaded_ms.size
    levels = [level for level in LEVELS_PCT if level in (0, 100)
              or round(count * (1 - level / 100)) >= SAMPLES_BEYOND]
    ordered = numpy.sort(loaded_ms)
    lost = int(numpy.isinf(loaded_ms).sum())
    box = [of_sorted(ordered, level) for level in BOX_PCT]
    return {"probes": count, "lost": lost, "levels": levels,
            "ms": [number(of_sorted(ordered, level)) for level in levels],
            "box": [number(one) for one in box]}


def _curve_over_runs(curves: Sequence[Any]) -> dict[str, Any] | None:
    """Return the median, the smallest and the largest value over runs at each step of time: s
    (middle of each step, in s), middle, and with several curves least and most. Steps without
    finite values are left out, and so are curves without a step. None if no curve is left.

    Args:
        curves: a curve of each run, with a value for each step of STEP_S. NaN (no value) and
            infinity (lost probes) don't count.
    """
    curves = [curve for curve in curves if curve.size]
    if not curves:
        return None
    steps = max(curve.size for curve in curves)
    table = numpy.full((len(curves), steps), numpy.nan)
    for line, curve in enumerate(curves):
        table[line, :curve.size] = curve
    measured = numpy.isfinite(table).sum(axis=0) > 0
    table = numpy.where(numpy.isfinite(table), table, numpy.nan)[:, measured]
    curve_of: dict[str, Any] = {
        "s": [number((place + 0.5) * STEP_S) for place in numpy.flatnonzero(measured)],
        "middle": [number(one) for one in numpy.nanmedian(table, axis=0)]}
    if len(curves) > 1:
        curve_of["least"] = [number(one) for one in numpy.nanmin(table, axis=0)]
        curve_of["most"] = [number(one) for one in numpy.nanmax(table, axis=0)]
    return curve_of


def json_value(value: float) -> float | int | str | None:
    """Return a metric's value for JSON, rounded to five significant digits, as an integer if it is
    one. LOST for a percentile that is a lost probe (infinite), None for NaN."""
    return LOST if numpy.isinf(value) else number(value)


def number(value: float) -> float | int | None:
    """Return a number rounded to five significant digits, as an integer if it is one, so that the
    page is smaller. None if it is not finite."""
    if not numpy.isfinite(value):
        return None
    rounded = float(f"{value:.5g}")
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded

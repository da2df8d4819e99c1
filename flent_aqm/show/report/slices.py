# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in slices (test, load and whatever else differs) and cells (a queue at a rate)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from flent_aqm.results.grouping import AQM, RATE, SHAPER_RATE, alike_in, along_with, setting
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.percentiles import SAMPLES_BEYOND, of_any, of_sorted
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.table import LOST, METRICS
from flent_aqm.results.metrics.throughput import shares_line
from flent_aqm.show.grouping import sorted_values, word
from flent_aqm.show.looks import order
from flent_aqm.show.report.gather import STEP_S, ReportRow

MOST_SIDES = 12
# What else a router's configuration is made of, besides the queue.
_ROUTER = ("up_aqm", "shaper", SHAPER_RATE, "txqueuelen", "tx_queues", "ingress", "tiers")
NOT_TOLD = "not told"
# Of the distributions; finer where a tail is.
LEVELS_PCT = (0, 1, 2, *range(5, 100, 5), 98, 99, 99.5, 99.8, 99.9, 99.95, 99.99, 100)
BOX_PCT = (5, 25, 50, 75, 95, 99)


@dataclass(frozen=True)
class Dimension:
    """name: of a setting; values: those that the runs have, in order."""

    name: str
    values: Sequence[Setting]


def with_sides(rows: Sequence[ReportRow]) -> tuple[list[ReportRow], tuple[str, ...]]:
    """Return the rows with what they are compared as, and the settings in which that may differ:
    the queue; and what else of the router goes with it, as in a batch that compares whole
    configurations. What is tried with each of the queues is no part of it."""
    apart = [name for name in _ROUTER if len(_pairs(AQM, name, rows)) > 1
             and len(_pairs(AQM, name, rows)) < len(_pairs(AQM, AQM, rows))
             * len(_pairs(name, name, rows))]
    names = (AQM, *apart)
    keys = {_key(row, names) for row in rows}
    if not apart or len(keys) > MOST_SIDES:
        return list(rows), (AQM,)
    if len(keys) == len(_pairs(AQM, AQM, rows)):  # each queue has a configuration of its own
        return list(rows), names
    titles = [_own_words(row, rows) for row in rows]
    pairs = {(title, _key(row, names)) for title, row in zip(titles, rows, strict=True)}
    if not len(pairs) == len(set(titles)) == len(keys):  # the user calls them otherwise
        titles = [_side(row, names) for row in rows]
    return [replace(row, side=title) for row, title in zip(rows, titles, strict=True)], names


def _pairs(one: str, other: str, rows: Sequence[ReportRow]) -> set[tuple[Setting | None, ...]]:
    return {_key(row, (one, other)) for row in rows}


def _key(row: ReportRow, names: Sequence[str]) -> tuple[Setting | None, ...]:
    return tuple(setting(row.settings, name) for name in names)


def _side(row: ReportRow, names: Sequence[str]) -> str:
    return ", ".join(word(name, value) for name, value in
                     zip(names, _key(row, names), strict=True) if value is not None)


def _own_words(row: ReportRow, rows: Sequence[ReportRow]) -> str:
    """Return a run's title without the words that say its other settings."""
    others = {str(value) for name, value in row.settings.items()
              if name not in (AQM, "title", *_ROUTER) and len(_pairs(name, name, rows)) > 1}
    return " ".join(part for part in str(row.settings.get("title", "")).split()
                    if part not in others)


def queue_of(row: ReportRow) -> str:
    """Return what a run is compared as: its queue; in files of other origin, what the user called
    the run."""
    return str(row.side or row.settings.get(AQM) or row.settings.get("title")
               or row.settings.get("test") or NOT_TOLD)


def rate_of(row: ReportRow) -> Setting:
    """Return the link's rate."""
    return row.settings.get(RATE, NOT_TOLD)


def dimensions(rows: Sequence[ReportRow], side: Sequence[str] = (AQM,)) -> list[Dimension]:
    """Return the settings, besides what is compared and the rate, that tell slices apart; the test
    always. Runs of a slice and rate are alike in all but what is compared."""
    names = ["test", *alike_in([row.settings for row in rows], side, ("test", RATE))]
    return [Dimension(name, [NOT_TOLD if one is None else one for one in sorted_values(
        name, [_setting(row, name) for row in rows])]) for name in names]


def apart(rows: Sequence[ReportRow], dims: Sequence[Dimension], side: Sequence[str]
          ) -> list[str]:
    """Return the names of the settings that tell conditions apart, and of those that differ only
    together with them."""
    names = [one.name for one in dims if len(one.values) > 1] + [RATE] * (len(rates(rows)) > 1)
    return [*names, *along_with([row.settings for row in rows], (*names, *side))]


def also_differ(rows: Sequence[ReportRow], side: Sequence[str]) -> list[str]:
    """Return in what else than the queue those that are compared differ, of what side names."""
    return [name for name in side if name != AQM and len(_pairs(name, name, rows)) > 1 and not (
        name == "up_aqm" and all(_key(row, (AQM, name)) in (
            (row.settings.get(AQM), None), (row.settings.get(AQM),) * 2) for row in rows))]


def key_of(row: ReportRow, dims: Sequence[Dimension]) -> tuple[Setting, ...]:
    """Return the slice that a run is in."""
    return tuple(_setting(row, one.name) for one in dims)


def _setting(row: ReportRow, name: str) -> Setting:
    value = setting(row.settings, name)
    return NOT_TOLD if value is None else value


def queues(rows: Sequence[ReportRow]) -> list[str]:
    """Return all queues in the order of legends."""
    return order([queue_of(row) for row in rows])


def rates(rows: Sequence[ReportRow]) -> list[Setting]:
    """Return all rates in the order of an axis."""
    return [NOT_TOLD if one is None else one
            for one in sorted_values(RATE, [rate_of(row) for row in rows])]


def cell(rows: Sequence[ReportRow]) -> dict[str, Any]:
    """Return what plots show of the runs of a cell; rows isn't empty."""
    ways = {}
    for way in DIRECTIONS:
        sent = [row.loaded_ms[way] for row in rows if way in row.loaded_ms]
        mbps = [row.metrics[name] for row in rows
                if (name := f"throughput_{way}_mbps") in row.metrics]
        if not sent and not mbps:
            continue
        ways[way] = {
            **(_latencies(numpy.concatenate(sent)) if sent else {}),
            "mbps": [number(one) for one in mbps],
            "over_time": _together([row.mbps[way] for row in rows if way in row.mbps]),
            "rtt_over_time": _together([row.rtt_ms[way] for row in rows if way in row.rtt_ms])}
    words = {name: metric.text(of_any(samples, 50)) for name, metric in METRICS.items()
             if metric.word and (samples := [row.metrics[name] for row in rows
                                             if name in row.metrics])}
    return {"runs": len(rows), "ways": ways, "words": words,
            "shared": any(shares_line(row.settings) for row in rows)}


def _latencies(loaded_ms: Any) -> dict[str, Any]:
    """Percentiles of all probes; one that is lost is later than any."""
    count = loaded_ms.size
    levels = [level for level in LEVELS_PCT if level in (0, 100)
              or round(count * (1 - level / 100)) >= SAMPLES_BEYOND]
    ordered = numpy.sort(loaded_ms)
    lost = int(numpy.isinf(loaded_ms).sum())
    box = [of_sorted(ordered, level) for level in BOX_PCT]
    return {"probes": count, "lost": lost, "levels": levels,
            "ms": [number(of_sorted(ordered, level)) for level in levels],
            "box": [number(one) for one in box]}


def _together(curves: Sequence[Any]) -> dict[str, Any] | None:
    """Return the median over runs at each step, and the least and most of them."""
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
    """Return a metric's number, or the word for a percentile that is a lost probe."""
    return LOST if numpy.isinf(value) else number(value)


def number(value: float) -> float | int | None:
    """Five digits, which are less to send; None for what isn't finite."""
    if not numpy.isfinite(value):
        return None
    rounded = float(f"{value:.5g}")
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded

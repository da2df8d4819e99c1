# SPDX-License-Identifier: GPL-3.0-or-later
"""The scores of a test, from its readings.

Intervals: of a median, exact by the sign test; of a share, exact by Clopper and Pearson. Both take
cells for independent, which those of one line are not quite: they say how much fewer cells would
have told, and nothing of lines that are no cells.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy

from flent_aqm.parts.scorecard.reading import WORSE, Reading, Way
from flent_aqm.results.metrics.compare import median_interval
from flent_aqm.results.metrics.flows import DIRECTIONS

LEVEL = 0.95
# Queues whose true 95th percentiles differ by this factor are to be told apart; those that differ
# by less than this share are alike.
APART_FACTOR, ALIKE_SHARE = 2.0, 0.1
# Of the true rise, 95th percentile: beyond which a line is bad, below which it is good.
BAD_MS, GOOD_MS = 100.0, 20.0
# The United States' BEAD programme: 95 % of latencies at or under it, and 80 % of tests at this
# share of what is sold: docs/scorecard.md.
BEAD_MS, BEAD_SHARE = 100.0, 0.8


@dataclass(frozen=True)
class Case:
    """cell: in words; value: there, None of what is so or not."""

    cell: str
    value: float | None = None


@dataclass(frozen=True)
class Score:
    """value: a median or a share; low, high: its interval, None where there are too few; least,
    most: of what it is of; count: how many; best, worst: the case that is nearest to what is best,
    and the farthest; None where there is none of the kind."""

    value: float
    count: int
    low: float | None = None
    high: float | None = None
    least: float | None = None
    most: float | None = None
    best: Case | None = None
    worst: Case | None = None


@dataclass(frozen=True)
class Kind:
    """A row of the design's table: its name, unit and words, what is best, and how it is found from
    a test's readings; None where the test doesn't tell."""

    name: str
    unit: str
    words: str
    best: float
    of: Callable[[Sequence[Reading]], Score | None]


def scores(readings: Sequence[Reading]) -> dict[str, Score]:
    """Return all that there are, by name."""
    by_name = {kind.name: kind.of(readings) for kind in KINDS}
    return {name: score for name, score in by_name.items() if score is not None}


def _median(values: Iterable[tuple[float, str]], best: float) -> Score | None:
    """Of numbers with their cells; those nearest to best, as a factor where that is 1, are the
    best."""
    finite = [(value, cell) for value, cell in values if math.isfinite(value)]
    if not finite:
        return None
    numbers = [value for value, _ in finite]
    interval = median_interval(numbers)
    nearest, farthest = (pick(finite, key=lambda one: _distance(one[0], best))
                         for pick in (min, max))
    return Score(float(numpy.median(numbers)), len(numbers),
                 interval.low if interval else None, interval.high if interval else None,
                 min(numbers), max(numbers), Case(nearest[1], nearest[0]),
                 Case(farthest[1], farthest[0]))


def _distance(value: float, best: float) -> float:
    if best == 1:
        return abs(math.log(value)) if value > 0 else math.inf
    return abs(value - best)


def _share(cases: Iterable[tuple[bool, str]], best: float) -> Score | None:
    """Of cases that are so or not, with their cells."""
    listed = list(cases)
    if not listed:
        return None
    from scipy.stats import binomtest

    yes = sum(so for so, _ in listed)
    interval = binomtest(yes, len(listed)).proportion_ci(LEVEL)
    right, wrong = (next((Case(cell) for so, cell in listed if (so == bool(best)) is good), None)
                    for good in (True, False))
    return Score(yes / len(listed), len(listed), float(interval.low), float(interval.high),
                 best=right, worst=wrong)


def _ways(readings: Iterable[Reading]) -> Iterator[tuple[Way, Reading, str]]:
    for one in readings:
        for name, way in one.telling:
            yield way, one, name


def rates(readings: Iterable[Reading]) -> Iterator[tuple[float, str]]:
    """Yield the rate of each direction of which the test tells one, of what is possible."""
    for one in readings:
        for name in DIRECTIONS:
            way = one.ways[name]
            if way.shown_mbps is not None and way.possible_mbps:
                yield way.shown_mbps / way.possible_mbps, f"{one.words}, {name}"


def _throughput(readings: Sequence[Reading]) -> Score | None:
    return _median(rates(readings), 1)


def _spread(value: Callable[[Way], float | None]
            ) -> Callable[[Sequence[Reading]], Score | None]:
    """Of each cell and direction with several seeds: from the least to the most, of the median."""
    def of(readings: Sequence[Reading]) -> Score | None:
        cells: dict[tuple[str, str], list[float]] = defaultdict(list)
        for one in readings:
            own = [name for name in DIRECTIONS if value(one.ways[name]) is not None]
            for name in own or [WORSE]:
                if (number := value(one.ways[name])) is not None:
                    cells[one.without_seed, name].append(number)
        return _median((((max(values) - min(values)) / float(numpy.median(values)),
                         f"{cell}, {name}") for (cell, name), values in cells.items()
                        if len(values) > 1 and numpy.median(values) > 0), 0)
    return of


def _ratio(true_ms: Callable[[Way], float | None]
           ) -> Callable[[Sequence[Reading]], Score | None]:
    def of(readings: Sequence[Reading]) -> Score | None:
        return _median((
            (way.shown_ms / true, f"{one.words}, {name}") for way, one, name in _ways(readings)
            if way.shown_ms is not None and (true := true_ms(way))), 1)
    return of


def _pairs(readings: Sequence[Reading]) -> Iterator[tuple[Way, Way, str]]:
    """Yield two queues on the same line with the same seed, in the same direction."""
    lines: dict[tuple[str, str], list[tuple[Way, Reading]]] = defaultdict(list)
    for way, one, name in _ways(readings):
        if way.others_p95_ms is not None:
            lines[one.group, name].append((way, one))
    for (_, name), there in lines.items():
        for (first, one), (second, other) in combinations(there, 2):
            yield first, second, f"{one.words} | {other.words}, {name}"


def _tells(readings: Sequence[Reading]) -> Score | None:
    """A difference too small to be called one tells nothing."""
    return _share(((_factor(first, second, "shown_ms") >= 1 + ALIKE_SHARE and _order(
        first, second, "shown_ms") == _order(first, second, "others_p95_ms"), cells)
        for first, second, cells in _pairs(readings)
        if _factor(first, second, "others_p95_ms") >= APART_FACTOR), 1)


def _invents(readings: Sequence[Reading]) -> Score | None:
    return _share(((_factor(first, second, "shown_ms") >= 1 + ALIKE_SHARE, cells)
                   for first, second, cells in _pairs(readings)
                   if _factor(first, second, "others_p95_ms") < 1 + ALIKE_SHARE), 0)


def _factor(first: Way, second: Way, name: str) -> float:
    low, high = sorted((getattr(first, name), getattr(second, name)))
    return float(high / low) if low > 0 else math.inf


def _order(first: Way, second: Way, name: str) -> int:
    one, other = getattr(first, name), getattr(second, name)
    return int(one > other) - int(one < other)


def _wrong(says_good: Callable[[Reading], bool | None], *, good: bool
           ) -> Callable[[Sequence[Reading]], Score | None]:
    """Of the bad lines those that it calls good, or the other way round."""
    def of(readings: Sequence[Reading]) -> Score | None:
        if all(says_good(one) is None for one in readings):
            return None
        return _share(((says_good(one) is good, one.words) for one in readings
                       if (rise := one.ways[WORSE].rise_p95_ms) is not None
                       and (rise > BAD_MS if good else rise < GOOD_MS)), 0)
    return of


def _bead_says(one: Reading) -> bool | None:
    """Whether its latency passes."""
    shown_ms = one.ways[WORSE].shown_ms
    if shown_ms is None:
        return None
    return shown_ms <= BEAD_MS


def _bead(readings: Sequence[Reading], *, good: bool) -> Score | None:
    """By the same rule for the probe's samples: of lines that fail those that pass by the test's
    numbers, or the other way round."""
    return _share(((_bead_says(one) is good, one.words) for one in readings
                   if _bead_says(one) is not None
                   and (true := one.ways[WORSE].others_p95_ms) is not None
                   and (true > BEAD_MS) is good), 0)


def _bead_slow(readings: Sequence[Reading]) -> Score | None:
    """Of all directions of lines that carry all that is sold."""
    return _share(((share < BEAD_SHARE, cell) for share, cell in rates(readings)), 0)


def _blind(readings: Sequence[Reading]) -> Score | None:
    """Glitches of the runs whose test shows no latency that high; none shown is none."""
    return _median(((way.glitches_per_minute, one.words) for one in readings
                    if (way := one.ways[WORSE]).glitches_per_minute is not None
                    and way.idle_ms is not None
                    and (way.shown_ms or 0.0) <= way.idle_ms + BAD_MS), 0)


def _cost(value: Callable[[Reading], float | None]
          ) -> Callable[[Sequence[Reading]], Score | None]:
    def of(readings: Sequence[Reading]) -> Score | None:
        return _median(((number, one.words) for one in readings
                        if not one.beside and (number := value(one)) is not None), 0)
    return of


KINDS: Sequence[Kind] = (
    Kind("throughput", "", "throughput shown, of what is possible", 1, _throughput),
    Kind("repeats_throughput", "", "spread of the throughput over seeds of a cell", 0,
         _spread(lambda way: way.shown_mbps)),
    Kind("repeats_latency", "", "spread of the latency over seeds of a cell", 0,
         _spread(lambda way: way.shown_ms)),
    Kind("latency_to_median", "", "latency shown, of the other flows' median", 1,
         _ratio(lambda way: way.others_median_ms)),
    Kind("latency_to_p95", "", "latency shown, of the other flows' 95th percentile", 1,
         _ratio(lambda way: way.others_p95_ms)),
    Kind("latency_to_own", "", "latency shown, of the loading flow's own median", 1,
         _ratio(lambda way: way.own_ms)),
    Kind("tells_apart", "", "pairs of queues that differ twofold: ordered rightly", 1, _tells),
    Kind("invents_difference", "", "pairs of queues that are alike: called different", 0, _invents),
    Kind("calls_bad_good", "", "lines that rise by more than 100 ms: called good", 0,
         _wrong(lambda one: one.good, good=True)),
    Kind("calls_good_bad", "", "lines that rise by less than 20 ms: called bad", 0,
         _wrong(lambda one: one.good, good=False)),
    Kind("bead_passes_bad", "", "lines that fail BEAD's latency rule: pass by its numbers", 0,
         lambda readings: _bead(readings, good=True)),
    Kind("bead_fails_good", "", "lines that pass BEAD's latency rule: fail by its numbers", 0,
         lambda readings: _bead(readings, good=False)),
    Kind("bead_too_slow", "", "rates below 80 % of what the line can carry", 0, _bead_slow),
    Kind("blind_to_tail", "1/min", "true glitches where it shows none", 0, _blind),
    Kind("megabytes", "MB", "traffic of a run", 0, _cost(lambda one: one.megabytes)),
    Kind("seconds", "s", "time of a run's load", 0, _cost(lambda one: one.seconds)),
    Kind("lab_wall_s", "s", "time that the lab took for a run, on cores that others may share", 0,
         _cost(lambda one: one.lab_wall_s)),
)
KIND: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}

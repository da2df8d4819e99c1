# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the scores of a test from its readings.

Intervals of medians are exact by the sign test, those of shares by Clopper and Pearson. Both assume
that cells are independent, which cells of the same line are not quite. An interval describes the
uncertainty from the number of cells. It doesn't cover lines that are not among the cells.
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
# A test should tell queues apart if their true 95th percentiles differ by this factor. Queues are
# alike if they differ by less than this share.
APART_FACTOR, ALIKE_SHARE = 2.0, 0.1
# A line is bad if the 95th percentile of its true rise is above BAD_MS, good if below GOOD_MS.
BAD_MS, GOOD_MS = 100.0, 20.0
# Limits of the United States' BEAD programme: 95 % of latencies at or below BEAD_MS, and 80 % of
# tests at or above BEAD_SHARE of the sold rate. docs/scorecard.md.
BEAD_MS, BEAD_SHARE = 100.0, 0.8


@dataclass(frozen=True)
class Case:
    """A cell as an example for a score."""

    # Description of the cell.
    cell: str
    # Value in the cell, None for a share's cases.
    value: float | None = None


@dataclass(frozen=True)
class Score:
    """A median of values, or a share of cases."""

    value: float
    # Number of values or cases.
    count: int
    # Bounds of the 95 % interval, None if there are too few values.
    low: float | None = None
    high: float | None = None
    # Least and greatest of the values, None for a share.
    least: float | None = None
    most: float | None = None
    # The case nearest to the ideal, and the farthest. None if there is none.
    best: Case | None = None
    worst: Case | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of score."""

    name: str
    unit: str
    words: str
    # The ideal value.
    best: float
    # Function that computes the score of a test's readings, None if the test shows no such numbers.
    of: Callable[[Sequence[Reading]], Score | None]


def scores(readings: Sequence[Reading]) -> dict[str, Score]:
    """Return the scores of a test's readings, by the names of their kinds. Kinds without a score
    are left out."""
    by_name = {kind.name: kind.of(readings) for kind in KINDS}
    return {name: score for name, score in by_name.items() if score is not None}


def _median(values: Iterable[tuple[float, str]], best: float) -> Score | None:
    """Return the score of the median of values with their cells. None without values.

    best: the ideal value. If it is 1, distances from it are factors, otherwise differences.
    """
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
    """Return the distance of a value from the ideal: |log(value)| if that is 1, otherwise the
    difference."""
    if best == 1:
        return abs(math.log(value)) if value > 0 else math.inf
    return abs(value - best)


def _share(cases: Iterable[tuple[bool, str]], best: float) -> Score | None:
    """Return the score of the share of true cases, given with their cells. None without cases.

    best: the ideal share, 0 or 1.
    """
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
    """Yield the values of each direction for which the test shows a latency, with reading and
    direction."""
    for one in readings:
        for name, way in one.telling:
            yield way, one, name


def rates(readings: Iterable[Reading]) -> Iterator[tuple[float, str]]:
    """Yield shown / possible throughput, with the cell, of each direction for which both are
    known."""
    for one in readings:
        for name in DIRECTIONS:
            way = one.ways[name]
            if way.shown_mbps is not None and way.possible_mbps:
                yield way.shown_mbps / way.possible_mbps, f"{one.words}, {name}"


def _throughput(readings: Sequence[Reading]) -> Score | None:
    """Score: shown / possible throughput."""
    return _median(rates(readings), 1)


def _spread(value: Callable[[Way], float | None]
            ) -> Callable[[Sequence[Reading]], Score | None]:
    """Return the function for a score of repeatability: (largest - least) / median over the seeds
    of each cell and direction.

    value: function that returns the quantity of a direction.
    """
    def of(readings: Sequence[Reading]) -> Score | None:
        """Return the score of repeatability. None without a cell with several seeds."""
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
    """Return the function for the score of shown / true latency. `true_ms` returns the true
    latency."""
    def of(readings: Sequence[Reading]) -> Score | None:
        """Return the score of shown / true latency. None if no reading has both."""
        return _median((
            (way.shown_ms / true, f"{one.words}, {name}") for way, one, name in _ways(readings)
            if way.shown_ms is not None and (true := true_ms(way))), 1)
    return of


def _pairs(readings: Sequence[Reading]) -> Iterator[tuple[Way, Way, str]]:
    """Yield pairs of queues on the same line with the same seed, in the same direction: the values
    of both, and a description."""
    lines: dict[tuple[str, str], list[tuple[Way, Reading]]] = defaultdict(list)
    for way, one, name in _ways(readings):
        if way.others_p95_ms is not None:
            lines[one.group, name].append((way, one))
    for (_, name), there in lines.items():
        for (first, one), (second, other) in combinations(there, 2):
            yield first, second, f"{one.words} | {other.words}, {name}"


def _tells(readings: Sequence[Reading]) -> Score | None:
    """Score: share of pairs of queues with clearly different true latency that the test orders
    rightly. Differences below ALIKE_SHARE don't count as an order."""
    return _share(((_factor(first, second, "shown_ms") >= 1 + ALIKE_SHARE and _order(
        first, second, "shown_ms") == _order(first, second, "others_p95_ms"), cells)
        for first, second, cells in _pairs(readings)
        if _factor(first, second, "others_p95_ms") >= APART_FACTOR), 1)


def _invents(readings: Sequence[Reading]) -> Score | None:
    """Score: share of pairs of queues with alike true latency that the test shows as different."""
    return _share(((_factor(first, second, "shown_ms") >= 1 + ALIKE_SHARE, cells)
                   for first, second, cells in _pairs(readings)
                   if _factor(first, second, "others_p95_ms") < 1 + ALIKE_SHARE), 0)


def _factor(first: Way, second: Way, name: str) -> float:
    """Return larger / smaller value of the attribute `name` of two directions."""
    low, high = sorted((getattr(first, name), getattr(second, name)))
    return float(high / low) if low > 0 else math.inf


def _order(first: Way, second: Way, name: str) -> int:
    """Return 1, 0 or -1, as the attribute `name` is greater, equal or less in the first
    direction."""
    one, other = getattr(first, name), getattr(second, name)
    return int(one > other) - int(one < other)


def _wrong(says_good: Callable[[Reading], bool | None], *, good: bool
           ) -> Callable[[Sequence[Reading]], Score | None]:
    """Return the function for a score of wrong verdicts: the share of bad lines that are called
    good (if `good`), or of good lines that are called bad."""
    def of(readings: Sequence[Reading]) -> Score | None:
        """Return the score of wrong verdicts. None if the test never judges, or no line is bad (or
        good)."""
        if all(says_good(one) is None for one in readings):
            return None
        return _share(((says_good(one) is good, one.words) for one in readings
                       if (rise := one.ways[WORSE].rise_p95_ms) is not None
                       and (rise > BAD_MS if good else rise < GOOD_MS)), 0)
    return of


def _bead_says(one: Reading) -> bool | None:
    """Return whether a line passes BEAD's latency rule by the test's numbers, None if it shows no
    latency."""
    shown_ms = one.ways[WORSE].shown_ms
    if shown_ms is None:
        return None
    return shown_ms <= BEAD_MS


def _bead(readings: Sequence[Reading], *, good: bool) -> Score | None:
    """Score of wrong results of BEAD's latency rule, compared with the same rule applied to the
    probe: the share of failing lines that pass by the test's numbers (if `good`), or of passing
    lines that fail."""
    return _share(((_bead_says(one) is good, one.words) for one in readings
                   if _bead_says(one) is not None
                   and (true := one.ways[WORSE].others_p95_ms) is not None
                   and (true > BEAD_MS) is good), 0)


def _bead_slow(readings: Sequence[Reading]) -> Score | None:
    """Score: share of directions whose shown throughput is below 80 % of the possible one."""
    return _share(((share < BEAD_SHARE, cell) for share, cell in rates(readings)), 0)


def _blind(readings: Sequence[Reading]) -> Score | None:
    """Score: true glitches per minute of the runs in which the test shows no high latency, or none
    at all."""
    return _median(((way.glitches_per_minute, one.words) for one in readings
                    if (way := one.ways[WORSE]).glitches_per_minute is not None
                    and way.idle_ms is not None
                    and (way.shown_ms or 0.0) <= way.idle_ms + BAD_MS), 0)


def _cost(value: Callable[[Reading], float | None]
          ) -> Callable[[Sequence[Reading]], Score | None]:
    """Return the function for the score of a run's cost, without runs beside a bulk flow. `value`
    returns the cost of a reading."""
    def of(readings: Sequence[Reading]) -> Score | None:
        """Return the score of the readings' costs. None without any."""
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

# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the scores of a test from its readings.

An interval is the wider of two. One is exact if cells are independent: by the sign test for
medians, by Clopper and Pearson for shares. But seeds of one line, and pairs that share a run, are
not independent, so the other is a bootstrap that draws whole lines with replacement (cluster
bootstrap, Davison and Hinkley 1997, section 3.8). Neither covers lines that are not among the
cells.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy

from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues, Reading
from flent_aqm.results.metrics.compare import median_interval
from flent_aqm.results.metrics.flows import DIRECTIONS

LEVEL = 0.95
# Number of draws of the bootstrap, and its seed.
_DRAWS, _SEED = 500, 1
# Value of one case for a score, its cell in words, and its line.
Value = tuple[float, str, str]
# A test should tell queues apart if their true 95th percentiles differ by this factor. Queues are
# alike if they differ by less than this share.
APART_FACTOR, ALIKE_SHARE = 2.0, 0.1
# Of other truths than round trips, the least difference of a clear order: glitches per minute (one
# in the ten seconds of a load), percentage points of loss, points of QoO.
_LEAST_GLITCHES, _LEAST_LOSS_PCT, _LEAST_QOO = 6.0, 0.5, 20.0
# A rise is clearly larger if it is so many ms larger, besides APART_FACTOR.
_LEAST_RISE_MS = 5.0
# A line is bad if the 95th percentile of its true rise is above BAD_MS, good if below GOOD_MS.
BAD_MS, GOOD_MS = 100.0, 20.0
# Limits of one run, after those that the United States' BEAD programme sets for weeks of tests: the
# 95th percentile of latency under load, and the share of the possible throughput. docs/scorecard.md
# says how the programme's rules differ.
LIMIT_MS, LEAST_SHARE = 100.0, 0.8


@dataclass(frozen=True)
class Case:
    """A cell, or a pair of cells that are compared, as an example for a score.

    Attributes:
        cell: description of the cell or of both.
        value: value in the cell, None for a share's cases.
    """

    cell: str
    value: float | None = None


@dataclass(frozen=True)
class Score:
    """A median of values, or a share of cases.

    Attributes:
        value: the median, or the share from 0 to 1.
        count: number of values or cases.
        low: lower bound of the 95 % interval, None if there are too few values.
        high: upper bound of the 95 % interval, None if there are too few values.
        least: least of the values, None for a share.
        most: greatest of the values, None for a share.
        best: the case nearest to the ideal. For a share, the first right case, None if there is
            none.
        worst: the case farthest from the ideal. For a share, the first wrong case, None if there is
            none.
    """

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
    """A kind of score.

    Attributes:
        name: name of the kind, which stands in cards.
        unit: unit of the values, "" for a ratio or share.
        words: description for readers.
        best: the ideal value.
        of: function that computes the score of a test's readings, None if they have no such
            numbers.
    """

    name: str
    unit: str
    words: str
    best: float
    of: Callable[[Sequence[Reading]], Score | None]


def scores(readings: Sequence[Reading]) -> dict[str, Score]:
    """Return the scores of a test's readings, by the names of their kinds. Kinds without a score
    are left out. Raises KeyError if a reading lacks "download", "upload" or WORSE in `ways`."""
    by_name = {kind.name: kind.of(readings) for kind in KINDS}
    return {name: score for name, score in by_name.items() if score is not None}


def _median_score(values: Iterable[Value], best: float) -> Score | None:
    """Return the score of the median of values. Infinite values are left out. None if no value is
    left.

    Args:
        values: (value, description of its cell, name of its line).
        best: the ideal value. If it is 1, distances from it are factors, otherwise differences.
    """
    finite = [value for value in values if math.isfinite(value[0])]
    if not finite:
        return None
    numbers = [number for number, _, _ in finite]
    interval = median_interval(numbers)
    nearest, farthest = (pick(finite, key=lambda value: _distance(value[0], best))
                         for pick in (min, max))
    low, high = _wider_interval((interval.low, interval.high) if interval else None,
                                _bootstrap_over_lines(finite, numpy.median))
    return Score(float(numpy.median(numbers)), len(numbers), low, high, min(numbers), max(numbers),
                 Case(nearest[1], nearest[0]), Case(farthest[1], farthest[0]))


def _bootstrap_over_lines(values: Sequence[Value], statistic: Callable[[Any], Any]
                          ) -> tuple[float, float] | None:
    """Return the 95 % interval (low, high) of a statistic, by drawing whole lines with replacement.
    The draws depend on nothing but the number of lines. None with fewer than two lines.

    Args:
        values: (value, description of its cell, name of its line).
        statistic: function that computes the statistic of an array.
    """
    by_line: dict[str, list[float]] = defaultdict(list)
    for number, _, line in values:
        by_line[line].append(number)
    if len(by_line) < 2:
        return None
    groups = [numpy.array(numbers) for numbers in by_line.values()]
    draws = numpy.random.default_rng(_SEED).integers(len(groups), size=(_DRAWS, len(groups)))
    results = [statistic(numpy.concatenate([groups[index] for index in draw])) for draw in draws]
    low, high = numpy.quantile(results, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _wider_interval(exact: tuple[float, float] | None, over_lines: tuple[float, float] | None
                    ) -> tuple[float, float] | tuple[None, None]:
    """Return the interval that spans both, the exact one alone if the other is None, or (None,
    None) if the exact one is None.

    Args:
        exact: exact interval, None with too few cells.
        over_lines: interval of the bootstrap over lines, None with a single line.
    """
    if exact is None:
        return None, None
    if over_lines is None:
        return exact
    return min(exact[0], over_lines[0]), max(exact[1], over_lines[1])


def _distance(value: float, best: float) -> float:
    """Return the distance of a value from the ideal: |log(value)| if the ideal is 1 (infinite for
    values up to 0), otherwise the absolute difference."""
    if best == 1:
        return abs(math.log(value)) if value > 0 else math.inf
    return abs(value - best)


def _share_score(cases: Iterable[Value], best: float) -> Score | None:
    """Return the share of true cases as a score. None without cases.

    Args:
        cases: (1 or True for a true case, else 0; description of its cell; name of its line).
        best: the ideal share, 0 or 1.
    """
    listed = list(cases)
    if not listed:
        return None
    from scipy.stats import binomtest

    yes = sum(bool(is_true) for is_true, _, _ in listed)
    exact = binomtest(yes, len(listed)).proportion_ci(LEVEL)
    low, high = _wider_interval((float(exact.low), float(exact.high)),
                                _bootstrap_over_lines(listed, numpy.mean))
    right, wrong = (next((Case(cell) for is_true, cell, _ in listed
                          if (bool(is_true) == bool(best)) is wanted), None)
                    for wanted in (True, False))
    return Score(yes / len(listed), len(listed), low, high, best=right, worst=wrong)


def _directions_with_latency(readings: Iterable[Reading]) -> Iterator[tuple[DirectionValues,
                                                                            Reading, str]]:
    """Yield (values, reading, direction) of each direction for which the test shows a latency, for
    each reading. If a reading has only a latency without a direction, the direction is WORSE (see
    Reading.telling). Nothing for a reading without a latency."""
    for one in readings:
        for name, way in one.telling:
            yield way, one, name


def rates(readings: Iterable[Reading], directions: Sequence[str] = DIRECTIONS
          ) -> Iterator[Value]:
    """Yield (shown / possible throughput, description of the cell, name of the line) of each
    direction for which both are known.

    directions: a sequence of "download", "upload" or both.
    """
    for one in readings:
        for name in directions:
            way = one.ways[name]
            if way.shown_mbps is not None and way.possible_mbps:
                yield way.shown_mbps / way.possible_mbps, f"{one.words}, {name}", one.line


def _throughput(readings: Sequence[Reading]) -> Score | None:
    """Return the median of shown / possible throughput over all readings and directions (ideal: 1).
    None if no direction has both."""
    return _median_score(rates(readings), 1)


def _spread_scorer(value: Callable[[DirectionValues], float | None]
                   ) -> Callable[[Sequence[Reading]], Score | None]:
    """Return a function that scores repeatability: the median of (largest - least) / median over
    the seeds of each cell and direction (ideal: 0). Cells with a single value, or with a median of
    0, are left out. A run that has the quantity in neither direction counts with that of the worse
    direction. The function returns None if no cell is left.

    Args:
        value: function that returns the quantity of a direction, None if it isn't known.
    """
    def spread_score(readings: Sequence[Reading]) -> Score | None:
        """Return the score of the repeatability of `value`. None without a cell that has it for
        several seeds, with a median above 0. Without a value per direction, that of the worse
        direction counts."""
        cells: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for one in readings:
            own = [name for name in DIRECTIONS if value(one.ways[name]) is not None]
            for name in own or [WORSE]:
                if (number := value(one.ways[name])) is not None:
                    cells[one.without_seed, name, one.line].append(number)
        return _median_score((((max(values) - min(values)) / float(numpy.median(values)),
                               f"{cell}, {name}", line) for (cell, name, line),
                               values in cells.items()
                              if len(values) > 1 and numpy.median(values) > 0), 0)
    return spread_score


def _latency_ratio_scorer(true_ms: Callable[[DirectionValues], float | None]
                          ) -> Callable[[Sequence[Reading]], Score | None]:
    """Return a function that scores shown / true latency: the median over readings and directions
    (ideal: 1). Directions whose true latency is lost are left out.

    Args:
        true_ms: function that returns the true latency of a direction, None or 0 if it isn't known.
    """
    def latency_ratio_score(readings: Sequence[Reading]) -> Score | None:
        """Return the score of shown latency / `true_ms`. None if no direction of a reading has
        both, with a true one that is neither lost nor 0."""
        return _median_score((
            (way.shown_ms / true, f"{one.words}, {name}", one.line)
            for way, one, name in _directions_with_latency(readings)
            if way.shown_ms is not None and (true := true_ms(way)) and math.isfinite(true)), 1)
    return latency_ratio_score


def _queue_pairs(readings: Sequence[Reading]) -> Iterator[tuple[DirectionValues, DirectionValues,
                                                                str, str]]:
    """Yield pairs of queues on the same line with the same seed and the same bulk flow or none, in
    the same direction: the values of both, a description, and the name of the line. A latency that
    a test shows without a direction counts as that of the worse direction (WORSE). Directions
    without a shown latency, or a true 95th percentile, are left out."""
    lines: dict[tuple[str, str], list[tuple[DirectionValues, Reading]]] = defaultdict(list)
    for way, one, name in _directions_with_latency(readings):
        if way.others_p95_ms is not None:
            lines[one.group, name].append((way, one))
    for (_, name), there in lines.items():
        for (first, one), (second, other) in combinations(there, 2):
            yield first, second, f"{one.words} | {other.words}, {name}", one.line


def _tells_apart(readings: Sequence[Reading]) -> Score | None:
    """Return the share that the test orders rightly (ideal: 1) of the pairs of queues on the same
    line, see _queue_pairs(), whose true 95th percentiles differ by a factor of 2 (APART_FACTOR) or
    more. A pair whose shown latencies differ by less than 10 % (ALIKE_SHARE) isn't ordered rightly.
    None without such pairs."""
    return _share_score(((_ratio_of_attribute(first, second, "shown_ms") >= 1 + ALIKE_SHARE
                          and _compare_attribute(
        first, second, "shown_ms") == _compare_attribute(first, second, "others_p95_ms"), cells,
        line)
        for first, second, cells, line in _queue_pairs(readings)
        if _ratio_of_attribute(first, second, "others_p95_ms") >= APART_FACTOR), 1)


def _orders_scorer(truth: Callable[[DirectionValues], float | None], least: float, factor: float = 1
                   ) -> Callable[[Sequence[Reading]], Score | None]:
    """Return a function that scores the order of queues by another truth than the 95th percentile:
    the share of pairs of queues that clearly differ in it and that the test's latency orders
    rightly (ideal: 1), None without such pairs. A pair whose shown latencies differ by less than a
    tenth (ALIKE_SHARE) isn't ordered rightly. Directions without a true 95th percentile are left
    out as in _queue_pairs().

    Args:
        truth: function that returns the truth of a direction, larger for a worse queue. None: not
            known.
        least: least difference of a pair that clearly differs, in the unit of the truth.
        factor: least ratio, larger to smaller, of a pair that clearly differs, which has to hold,
            too. It always holds if the smaller value is 0 or less.
    """
    def orders_score(readings: Sequence[Reading]) -> Score | None:
        """Return the share that the test orders rightly of the pairs that differ clearly in
        `truth`. None without such pairs."""
        cases = []
        for first, second, cells, line in _queue_pairs(readings):
            one, other = truth(first), truth(second)
            # Of two lost percentiles none is the larger one.
            if one is None or other is None or one == other or abs(one - other) < least or \
                    min(one, other) * factor > max(one, other):
                continue
            apart = _ratio_of_attribute(first, second, "shown_ms") >= 1 + ALIKE_SHARE
            cases.append((apart and (one > other) == (
                _compare_attribute(first, second, "shown_ms") > 0), cells, line))
        return _share_score(cases, 1)
    return orders_score


def _invents_difference(readings: Sequence[Reading]) -> Score | None:
    """Return the share of the pairs of queues which are alike, as their true 95th percentiles
    differ by less than a tenth (ALIKE_SHARE) or are both lost, whose shown latencies differ by a
    tenth or more (ideal: 0). None without such pairs."""
    return _share_score(((_ratio_of_attribute(first, second, "shown_ms") >= 1 + ALIKE_SHARE, cells,
                          line)
                         for first, second, cells, line in _queue_pairs(readings)
                         if _ratio_of_attribute(first, second, "others_p95_ms") < 1 + ALIKE_SHARE),
                         0)


def _ratio_of_attribute(first: DirectionValues, second: DirectionValues, name: str) -> float:
    """Return larger / smaller value of the attribute `name` of two directions, at least 1. 1 if
    they are equal, as two lost percentiles are. Otherwise infinite if the smaller value is not
    above 0, or the larger one is lost. Neither value may be None."""
    low, high = sorted((getattr(first, name), getattr(second, name)))
    if low == high:
        return 1.0
    return float(high / low) if low > 0 else math.inf


def _compare_attribute(first: DirectionValues, second: DirectionValues, name: str) -> int:
    """Return 1, 0 or -1, as the attribute `name` is greater, equal or less in the first
    direction. It may be None in neither."""
    one, other = getattr(first, name), getattr(second, name)
    return int(one > other) - int(one < other)


def _wrong_verdict_scorer(says_good: Callable[[Reading], bool | None], *, good: bool
                          ) -> Callable[[Sequence[Reading]], Score | None]:
    """Return a function that scores wrong verdicts: the share of the runs on bad lines that are
    called good, or of those on good lines that are called bad (ideal: 0). It returns None if no run
    has a verdict, or if there is no such line; otherwise a run without a verdict counts as not
    wrong. A line is bad if the probe's 95th percentile under load, in the worse direction, is more
    than 100 ms (BAD_MS) above its median on the idle line, good if it is less than 20 ms (GOOD_MS)
    above. Runs in which this rise isn't known are left out.

    Args:
        says_good: function that returns the verdict on a reading's line, None for none.
        good: True: share of bad lines that are called good. False: share of good lines that are
            called bad.
    """
    def wrong_verdict_score(readings: Sequence[Reading]) -> Score | None:
        """Return the share of the runs on bad lines that `says_good` calls good if `good` is True,
        otherwise of those on good lines that it calls bad; both are arguments of
        _wrong_verdict_scorer(), whose docstring says what bad and good lines are. A run without a
        verdict counts as not wrong. None if no run has a verdict, or none is on such a line."""
        if all(says_good(one) is None for one in readings):
            return None
        return _share_score(((says_good(one) is good, one.words, one.line) for one in readings
                             if (rise := one.ways[WORSE].rise_p95_ms) is not None
                             and (rise > BAD_MS if good else rise < GOOD_MS)), 0)
    return wrong_verdict_score


def _is_within_limit(reading: Reading) -> bool | None:
    """Return whether the latency that the test shows for the worse direction is at most LIMIT_MS
    (100), None if it shows no latency."""
    shown_ms = reading.ways[WORSE].shown_ms
    if shown_ms is None:
        return None
    return shown_ms <= LIMIT_MS


def _wrong_side_of_limit(readings: Sequence[Reading], *, hides: bool) -> Score | None:
    """Return the share of runs whose latency the test puts on the wrong side of LIMIT_MS, 100 ms
    (ideal: 0). The truth is the 95th percentile of the probe, in the worse direction. Runs without
    a shown or a true latency don't count. None if no run counts.

    Args:
        readings: the readings of the runs.
        hides: True: only runs above the limit count, and are wrong if the test shows the limit or
            less. False: only the others count, and are wrong if the test shows more.
    """
    return _share_score(((_is_within_limit(one) is hides, one.words, one.line) for one in readings
                         if _is_within_limit(one) is not None
                         and (true := one.ways[WORSE].others_p95_ms) is not None
                         and (true > LIMIT_MS) is hides), 0)


def _too_slow(readings: Sequence[Reading]) -> Score | None:
    """Return the share of directions whose shown throughput is below 80 % of the possible one
    (ideal: 0). None if no direction has both."""
    return _share_score(((share < LEAST_SHARE, cell, line) for share, cell,
                         line in rates(readings)), 0)


def _unseen_glitches(readings: Sequence[Reading]) -> Score | None:
    """Return the median of the true glitches per minute in the worse direction, over the runs in
    which the test shows no latency, or one that is at most 100 ms (BAD_MS) above the true idle
    latency (ideal: 0). Runs whose glitches or true idle latency aren't known are left out. None if
    no run is left."""
    return _median_score(((way.glitches_per_minute, one.words, one.line) for one in readings
                          if (way := one.ways[WORSE]).glitches_per_minute is not None
                          and way.idle_ms is not None
                          and (way.shown_ms is None or way.shown_ms <= way.idle_ms + BAD_MS)), 0)


def _idle_ratio(readings: Sequence[Reading]) -> Score | None:
    """Return the median of shown / true latency of the idle line (ideal: 1). None if no reading has
    both."""
    return _median_score(((one.shown_idle_ms / true, one.words, one.line) for one in readings
                          if one.shown_idle_ms is not None and (true := one.ways[WORSE].idle_ms)),
                         1)


def _rise_error_ms(readings: Sequence[Reading]) -> Score | None:
    """Return the median of shown - true rise of the latency under load, in ms (ideal: 0). The true
    rise is that of the probe's median. Directions in which half or more of the probes were lost are
    left out. None if no other direction has both."""
    return _median_score(((way.shown_rise_ms - way.rise_median_ms, f"{one.words}, {name}", one.line)
                          for way, one, name in _directions_with_latency(readings)
                          if way.shown_rise_ms is not None and way.rise_median_ms is not None), 0)


def _cost_scorer(value: Callable[[Reading], float | None]
                 ) -> Callable[[Sequence[Reading]], Score | None]:
    """Return a function that scores a run's cost: the median over the runs that aren't beside a
    bulk flow.

    Args:
        value: function that returns the cost of a reading, None if it isn't known.
    """
    def cost_score(readings: Sequence[Reading]) -> Score | None:
        """Return the median of the cost, as `value` reads it, over the runs without a bulk flow
        beside. None if it is known for none."""
        return _median_score(((number, one.words, one.line) for one in readings
                              if not one.beside and (number := value(one)) is not None), 0)
    return cost_score


KINDS: Sequence[Kind] = (
    Kind("throughput", "", "throughput shown, of what is possible", 1, _throughput),
    Kind("repeats_throughput", "", "spread of the throughput over seeds of a cell", 0,
         _spread_scorer(lambda way: way.shown_mbps)),
    Kind("repeats_latency", "", "spread of the latency over seeds of a cell", 0,
         _spread_scorer(lambda way: way.shown_ms)),
    Kind("latency_to_median", "", "latency shown, of the other flows' median", 1,
         _latency_ratio_scorer(lambda way: way.others_median_ms)),
    Kind("latency_to_p95", "", "latency shown, of the other flows' 95th percentile", 1,
         _latency_ratio_scorer(lambda way: way.others_p95_ms)),
    Kind("latency_to_own", "", "latency shown, of the loading flow's own median", 1,
         _latency_ratio_scorer(lambda way: way.own_ms)),
    Kind("idle_to_true", "", "idle latency shown, of the true one", 1, _idle_ratio),
    Kind("rise_error_ms", "ms", "rise under load shown, minus the true one of the median", 0,
         _rise_error_ms),
    Kind("tells_apart", "", "pairs of queues that differ twofold: ordered rightly", 1,
         _tells_apart),
    Kind("orders_median", "", "pairs of queues whose true median round trip (so 60000 / RPM) "
         "differs twofold: ordered rightly", 1,
         _orders_scorer(lambda way: way.others_median_ms, 0, APART_FACTOR)),
    Kind("orders_rise", "", "pairs of queues whose true rise over the idle line (95th percentile) "
         "differs twofold and by 5 ms: ordered rightly", 1,
         _orders_scorer(lambda way: way.rise_p95_ms, _LEAST_RISE_MS, APART_FACTOR)),
    Kind("orders_glitches", "", "pairs of queues that differ by 6 true glitches per minute: "
         "ordered rightly", 1,
         _orders_scorer(lambda way: way.glitches_per_minute, _LEAST_GLITCHES)),
    Kind("orders_loss", "", "pairs of queues whose true loss under load differs by 0.5 percentage "
         "points: ordered rightly", 1,
         _orders_scorer(lambda way: way.others_loss_pct, _LEAST_LOSS_PCT)),
    Kind("orders_qoo", "", "pairs of queues that differ by 20 points of QoO: ordered rightly", 1,
         _orders_scorer(lambda way: None if way.qoo is None else 100 - way.qoo, _LEAST_QOO)),
    Kind("invents_difference", "", "pairs of queues that are alike: called different", 0,
         _invents_difference),
    Kind("calls_bad_good", "", "lines that rise by more than 100 ms: called good", 0,
         _wrong_verdict_scorer(lambda one: one.good, good=True)),
    Kind("calls_good_bad", "", "lines that rise by less than 20 ms: called bad", 0,
         _wrong_verdict_scorer(lambda one: one.good, good=False)),
    Kind("hides_100_ms", "", "lines whose 95th percentile under load is above 100 ms: it shows "
         "100 ms or less", 0, lambda readings: _wrong_side_of_limit(readings, hides=True)),
    Kind("invents_100_ms", "", "lines whose 95th percentile under load is 100 ms or less: it shows "
         "more than 100 ms", 0, lambda readings: _wrong_side_of_limit(readings, hides=False)),
    Kind("too_slow", "", "rates below 80 % of what the line can carry", 0, _too_slow),
    Kind("blind_to_tail", "1/min", "true glitches where it shows none", 0, _unseen_glitches),
    Kind("megabytes", "MB", "traffic of a run", 0, _cost_scorer(lambda one: one.megabytes)),
    Kind("seconds", "s", "time of a run's load", 0, _cost_scorer(lambda one: one.seconds)),
    Kind("lab_wall_s", "s", "time that the lab took for a run, on cores that others may share", 0,
         _cost_scorer(lambda one: one.lab_wall_s)),
)
KIND: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}

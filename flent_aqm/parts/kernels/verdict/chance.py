# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics on paired runs: how likely chance explains a difference, and how many pairs it takes.

They cover the mean of the differences, values that occur in some seeds only, lost probes, and runs
that fail.

Sources: Student's t-test of pairs; S. Rosenbaum, Annals of Mathematical Statistics 25, 1954: of two
samples of n that are from one distribution, the k largest values are all from one of them with a
probability of C(n, k) / C(2n, k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy

from flent_aqm.results.data_file import Numbers

CONFIDENCE = 0.99
# Of the numbers themselves: differences of floats that are no differences.
ROUNDING = 1e-9
# Two sides, and either of them may be the one with the stray values.
_TAILS = 4
# Runs that fail with less than this probability by chance, five or more of the test side alone.
FAILED_BY_CHANCE = 0.05
# Nobody makes more runs of a cell than this.
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Mean:
    """The mean of the differences test - base over the pairs in which not both values are lost
    probes, in the metric's unit. If each side lost probes in pairs in which the other didn't, it is
    that over the pairs in which neither did, and Stray is about the lost ones.

    Attributes:
        difference: the mean. Infinity if only the test side lost probes in these pairs, -infinity
            if only the base side did, NaN if there is no pair.
        low: lower end of its 99 % interval (CONFIDENCE). -infinity if it isn't known: of a single
            pair, and with lost probes.
        high: upper end of the interval. Infinity if it isn't known.
        probability: p-value: the probability that chance alone gives a mean so far from 0. 1 if it
            isn't known.
        deviation: standard deviation of the differences. 0 if it isn't known.
    """

    difference: float
    low: float
    high: float
    probability: float
    deviation: float


@dataclass(frozen=True)
class Stray:
    """Values of one side that lie beyond all values of the other side by more than a margin. There
    may be none. Both sides have equally many values.

    If each side lost probes in pairs in which the other didn't, the stray values are instead the
    lost probes by which one side has more of these.

    Attributes:
        more: True if they show that the test side has larger values: they are the test side's
            highest, or the base side's lowest. True also if there are none.
        share: their number as a share of one side's values, 0 to 1.
        probability: upper bound of the probability that chance alone gives so many stray values, on
            whichever side and at whichever end.
        lost_share: if each side lost probes in pairs in which the other didn't, the number of both
            kinds of pairs as a share of all, else 0.
    """

    more: bool
    share: float
    probability: float
    lost_share: float = 0.0


def mean_of(base: Numbers, test: Numbers) -> Mean:
    """Compare base and test by the mean of the differences test - base (t-test of pairs). The
    values are paired by index. Infinite ones are lost probes.

    If all differences are equal but for rounding, the interval has no width, and the probability is
    1 if they are 0, otherwise 0. Without pairs, or if all are lost on both sides, the interval is 0
    with probability 1. If each pair has a lost probe, in some only the base side's and in others
    only the test side's, the interval isn't known.
    """
    from scipy import stats

    base_lost, test_lost = _lost_alone(base, test)
    if base_lost and test_lost:
        counts = numpy.isfinite(base) & numpy.isfinite(test)
    else:
        counts = numpy.isfinite(base) | numpy.isfinite(test)
    base, test = base[counts], test[counts]
    differences = test - base
    if not differences.size:
        unknown = math.inf if base_lost or test_lost else 0.0
        return Mean(math.nan, -unknown, unknown, 1.0, 0.0)
    mean = float(differences.mean())
    if differences.size == 1 or not math.isfinite(mean):
        return Mean(mean, -math.inf, math.inf, 1.0, 0.0)
    # A t-test divides by the spread, which may be nothing but rounding.
    rounding = ROUNDING * float(numpy.abs([base, test]).max())
    if float(numpy.ptp(differences)) <= rounding:
        return Mean(mean, mean, mean, 1.0 if abs(mean) <= rounding else 0.0, 0.0)
    result = stats.ttest_rel(test, base)
    interval = result.confidence_interval(CONFIDENCE)
    return Mean(mean, float(interval.low), float(interval.high), float(result.pvalue),
                float(differences.std(ddof=1)))


def stray_of(base: Numbers, test: Numbers, margin: float) -> Stray:
    """Find the values of one side that lie beyond all of the other side's by more than `margin`.

    There are four cases: values of the test or of the base side, above or below those of the other
    side. Return the Stray of the case with the most such values, which may be 0 values. Of cases
    with equally many, one with `more` is taken. If each side lost probes in pairs in which the
    other didn't, return the Stray of these instead (sign test).

    Args:
        base: the base side's values. Infinite values of either side are lost probes.
        test: the test side's values, as many as `base` has, at least one.
        margin: largest difference that nobody cares about, in the metric's unit.
    """
    size = base.size
    base_lost, test_lost = _lost_alone(base, test)
    if base_lost and test_lost:
        return Stray(test_lost >= base_lost, abs(test_lost - base_lost) / size,
                     _sign_test(test_lost, base_lost), (test_lost + base_lost) / size)
    ends = {True: ((test > base.max() + margin).sum(), (base < test.min() - margin).sum()),
            False: ((test < base.min() - margin).sum(), (base > test.max() + margin).sum())}
    more = max(ends[True]) >= max(ends[False])
    count = int(max(ends[more]))
    return Stray(more, count / size, _probability_by_chance(size, count))


def _lost_alone(base: Numbers, test: Numbers) -> tuple[int, int]:
    """Return the number of pairs in which only the base side's value is a lost probe, and of those
    in which only the test side's is."""
    base_lost, test_lost = numpy.isinf(base), numpy.isinf(test)
    return int((base_lost & ~test_lost).sum()), int((test_lost & ~base_lost).sum())


def _sign_test(one: int, other: int) -> float:
    """Return the probability that chance alone divides one + other pairs so unevenly (two-sided
    sign test). 1 without pairs."""
    from scipy import stats

    return float(stats.binomtest(one, one + other).pvalue) if one + other else 1.0


def _probability_by_chance(size: int, count: int) -> float:
    """Return an upper bound, at most 1, of the probability that by chance alone at least `count` of
    the `size` values of one of two equally large sides lie beyond all values of the other, at
    either end (Rosenbaum's test)."""
    return min(1.0, _TAILS * math.comb(size, count) / math.comb(2 * size, count))


def failed_more(base: int, test: int) -> bool:
    """Return True if chance doesn't explain that so many more runs failed on the test side
    (one-sided sign test, less than 5 %).

    Args:
        base: number of runs that failed on the base side alone.
        test: number of runs that failed on the test side alone.
    """
    from scipy import stats

    return bool(test + base) and float(
        stats.binomtest(test, test + base, alternative="greater").pvalue) < FAILED_BY_CHANCE


def seeds_for_mean(mean: Mean, margin: float) -> int | None:
    """Return the smallest number of seeds (pairs of runs, at least 2) with which the mean's
    interval of 99 % (CONFIDENCE) would lie wholly within -margin to margin or wholly outside of it
    on one side, if mean and deviation stayed as they are. None if 1000 seeds (MOST_SEEDS) would not
    be enough.

    Args:
        mean: a mean whose interval is known, with finite `low`.
        margin: in the metric's unit.
    """
    distance = abs(abs(mean.difference) - margin)
    enough = numpy.flatnonzero(_half_widths() * mean.deviation < distance)
    return int(enough[0]) + 2 if enough.size else None


@cache
def _half_widths() -> Numbers:
    """Return the half width of the mean's interval at 99 % (CONFIDENCE; Student's t) for 2 to 1000
    seeds (MOST_SEEDS), in standard deviations of one seed. The first value is that of 2 seeds."""
    from scipy import stats

    sizes = numpy.arange(2, MOST_SEEDS + 1)
    widths: Numbers = stats.t.ppf((1 + CONFIDENCE) / 2, sizes - 1) / numpy.sqrt(sizes)
    return widths


def seeds_for_stray(stray: Stray, least: float) -> int | None:
    """Return the smallest number of seeds with which the same share of stray values would have a
    probability by chance below `least`. None if 1000 seeds (MOST_SEEDS) would not be enough."""
    def probability(size: int) -> float:
        """Return the probability by chance with `size` seeds."""
        if not stray.lost_share:
            return _probability_by_chance(size, round(stray.share * size))
        fewer = round((stray.lost_share - stray.share) / 2 * size)
        return _sign_test(fewer + round(stray.share * size), fewer)

    return next((size for size in range(2, MOST_SEEDS + 1) if probability(size) < least), None)

# SPDX-License-Identifier: GPL-3.0-or-later
"""How sure the differences of some pairs are: of their mean, and of values that occur in some seeds
only; of runs that fail; and how many pairs it takes to be sure.

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
    """The mean of differences, its interval, and the probability of one as large by chance."""

    difference: float
    low: float
    high: float
    probability: float
    deviation: float


@dataclass(frozen=True)
class Stray:
    """Values beyond all those of the other side. more: they say that the test side has more;
    share: how many of its values; probability: of as many by chance."""

    more: bool
    share: float
    probability: float


def mean_of(base: Numbers, test: Numbers) -> Mean:
    """Compare pairs by the mean of their differences."""
    from scipy import stats

    if not base.size:
        return Mean(0.0, 0.0, 0.0, 1.0, 0.0)
    apart = test - base
    mean = float(apart.mean())
    # A t-test divides by the spread, which may be nothing but rounding.
    rounding = ROUNDING * float(numpy.abs([base, test]).max())
    if float(numpy.ptp(apart)) <= rounding:
        return Mean(mean, mean, mean, 1.0 if abs(mean) <= rounding else 0.0, 0.0)
    result = stats.ttest_rel(test, base)
    interval = result.confidence_interval(CONFIDENCE)
    return Mean(mean, float(interval.low), float(interval.high), float(result.pvalue),
                float(apart.std(ddof=1)))


def stray_of(base: Numbers, test: Numbers, margin: float) -> Stray:
    """Compare sides by the values that lie beyond all of the other's by more than margin, whichever
    end has the most; infinite ones are lost probes."""
    size = base.size
    ends = {True: ((test > base.max() + margin).sum(), (base < test.min() - margin).sum()),
            False: ((test < base.min() - margin).sum(), (base > test.max() + margin).sum())}
    more = max(ends[True]) >= max(ends[False])
    count = int(max(ends[more]))
    return Stray(more, count / size, _by_chance(size, count))


def _by_chance(size: int, count: int) -> float:
    return min(1.0, _TAILS * math.comb(size, count) / math.comb(2 * size, count))


def failed_more(base: int, test: int) -> bool:
    """True if chance doesn't explain that so many runs failed on the test side alone, beside so
    many on the base side alone (sign test, one-sided)."""
    from scipy import stats

    return bool(test + base) and float(
        stats.binomtest(test, test + base, alternative="greater").pvalue) < FAILED_BY_CHANCE


def seeds_for_mean(mean: Mean, margin: float) -> int | None:
    """Return with how many seeds the interval would lie wholly on one side of the margin, if mean
    and deviation stayed as they are; None for more than anybody makes."""
    room = abs(abs(mean.difference) - margin)
    enough = numpy.flatnonzero(_half_widths() * mean.deviation < room)
    return int(enough[0]) + 2 if enough.size else None


@cache
def _half_widths() -> Numbers:
    """Of the interval, in deviations, with two seeds and more."""
    from scipy import stats

    sizes = numpy.arange(2, MOST_SEEDS + 1)
    widths: Numbers = stats.t.ppf((1 + CONFIDENCE) / 2, sizes - 1) / numpy.sqrt(sizes)
    return widths


def seeds_for_stray(stray: Stray, least: float) -> int | None:
    """Return with how many seeds the same share of stray values would have less than this
    probability."""
    return next((size for size in range(2, MOST_SEEDS + 1)
                 if _by_chance(size, round(stray.share * size)) < least), None)

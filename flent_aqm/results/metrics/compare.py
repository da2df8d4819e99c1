# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics between groups of runs, all of them by rank: latencies under load are not normally
distributed, and a batch has few repetitions.

SciPy's statistics are imported where they are used, as that takes a second.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy
from numpy.typing import ArrayLike

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import counted
from flent_aqm.results.metrics.percentiles import of_any

# An interval that holds the median less often isn't given.
LEAST_LEVEL = 0.95
# Kruskal and Wallis give exact tables for groups of up to five; below, chi-square is rough.
FEWEST_FOR_P = 6
# What makes two groups of runs.
FEWEST_IN_GROUP, FAR_APART, LEAST_GAP_SHARE = 2, 4.0, 0.1


@dataclass(frozen=True)
class Interval:
    """Where the median of all runs that there could be lies, in level, a share of such intervals:
    from one of the group's runs to another, which may be infinite, a lost probe."""

    low: float
    high: float
    level: float


@dataclass(frozen=True)
class Summary:
    """A group's runs: count, median, quartiles, and the interval of the median, None where there
    are too few runs. Infinite is a lost probe."""

    count: int
    median: float
    lower_quartile: float
    upper_quartile: float
    interval: Interval | None


@dataclass(frozen=True)
class RankTest:
    """Kruskal and Wallis' H, and how likely groups of one distribution are as different."""

    statistic: float
    probability: float


def summarise(values: Sequence[float]) -> Summary:
    """Of one group's numbers. Raises NotAvailable without any."""
    if not values:
        raise NotAvailable("the group has no run")
    array = numpy.asarray(values, dtype=float)
    lower, median, upper = (of_any(array, percent) for percent in (25, 50, 75))
    return Summary(array.size, median, lower, upper, median_interval(array))


def kruskal_wallis(groups: Sequence[Sequence[float]]) -> RankTest:
    """Return whether groups differ at all. Source: W. Kruskal, W. Wallis, JASA 47, 1952; SciPy's.

    Raises NotAvailable for fewer than two groups, or numbers that are all the same.
    """
    filled = [group for group in groups if group]
    if len(filled) < 2:
        raise NotAvailable("there is only one group")
    if len({value for group in filled for value in group}) < 2:
        raise NotAvailable("all runs have the same number")
    from scipy import stats

    test = stats.kruskal(*filled)
    return RankTest(float(test.statistic), float(test.pvalue))


def how_far_to_trust(tests: int, fewest: int) -> str:
    """Return what to think of when reading p-values: how many there are, and of how few runs.

    tests: how many p-values stand together; fewest: runs of the smallest group.
    """
    words = []
    if tests > 1:
        words.append(f"{tests} p-values: by chance alone one in 20 is below 0.05; divided among "
                     f"them that limit is {0.05 / tests:.2g} (Bonferroni)")
    if fewest < FEWEST_FOR_P:
        words.append(f"p is the chi-square approximation, rough with "
                     f"{counted(fewest, 'run')} in a group")
    return "; ".join(words) or "p is the chi-square approximation"


def cliffs_delta(first: Sequence[float], second: Sequence[float]) -> float:
    """Return how often a run of the first group has more than one of the second, less how often it
    has less: -1 to 1, 0 when neither.

    Source: N. Cliff, Psychological Bulletin 114, 1993; 2 U / (n m) - 1 with SciPy's U.
    Raises NotAvailable for an empty group.
    """
    if not first or not second:
        raise NotAvailable("a group has no run")
    from scipy import stats

    statistic = stats.mannwhitneyu(first, second, method="asymptotic").statistic
    return float(2 * statistic / (len(first) * len(second)) - 1)


def cliffs_deltas(groups: Mapping[str, Sequence[float]]) -> dict[tuple[str, str], float]:
    """Cliff's delta of each pair of groups that have runs."""
    filled = {name: group for name, group in groups.items() if group}
    return {(one, other): cliffs_delta(filled[one], filled[other])
            for one, other in combinations(filled, 2)}


def variance_share(values: Sequence[float], labels: Sequence[Hashable]) -> float:
    """Eta squared of one factor: the sum of squares between its groups, of the whole.

    labels: the factor's value for each run. In a balanced batch the shares of several
    factors add up to at most 1. Source: R. Fisher's analysis of variance. Raises
    NotAvailable when all numbers are the same.
    """
    array = numpy.asarray(values, dtype=float)
    if not numpy.isfinite(array).all():
        raise NotAvailable("for some runs the number is a lost probe, which has no distance to "
                           "others")
    centre = array.mean() if array.size else 0.0
    whole = float(((array - centre) ** 2).sum())
    if not whole > 0:
        raise NotAvailable("all runs have the same number")
    groups: dict[Hashable, list[float]] = {}
    for value, label in zip(values, labels, strict=True):
        groups.setdefault(label, []).append(value)
    between = sum(len(group) * (float(numpy.mean(group)) - centre) ** 2
                  for group in groups.values())
    return float(between / whole)


def two_groups(values: Sequence[float]) -> tuple[Sequence[float], Sequence[float]] | None:
    """Return the lower and the upper of two groups that the values of runs fall into, each in
    order; None where they are one group, or fewer than two values would be one of the groups.

    The groups are FAR_APART times as far from each other as the values of either are, and
    LEAST_GAP_SHARE of their middle. A median of such runs is a value that depends on which group
    had one run more.
    """
    ordered = sorted(value for value in values if math.isfinite(value))
    if len(ordered) < 2 * FEWEST_IN_GROUP or len(ordered) < len(values):
        return None
    cuts = range(FEWEST_IN_GROUP, len(ordered) - FEWEST_IN_GROUP + 1)
    cut = max(cuts, key=lambda at: ordered[at] - ordered[at - 1])
    low, high = ordered[:cut], ordered[cut:]
    gap = high[0] - low[-1]
    within = max(low[-1] - low[0], high[-1] - high[0])
    middle = (high[0] + low[-1]) / 2
    if gap < FAR_APART * within or gap < LEAST_GAP_SHARE * abs(middle) or not gap > 0:
        return None
    return low, high


def median_interval(values: ArrayLike) -> Interval | None:
    """Return the narrowest interval between two order statistics, equally far from both ends, that
    holds the median in LEAST_LEVEL of all cases or more, whatever the distribution; None of fewer
    than six values, as even their least and most hold it less often.

    Source: the sign test's, W. Thompson, Annals of Mathematical Statistics 7, 1936. The median lies
    outside if fewer than k of n values fall on one side of it: binomial with a half.
    """
    ordered = numpy.sort(numpy.asarray(values, dtype=float))
    if (place_and_level := _place_and_level(ordered.size)) is None:
        return None
    place, level = place_and_level
    return Interval(float(ordered[place]), float(ordered[-1 - place]), level)


def level_for(count: int) -> float | None:
    """Return how often the interval of so many values holds the median; None for too few."""
    place_and_level = _place_and_level(count)
    return None if place_and_level is None else place_and_level[1]


def interval_tells(testbeds: Iterable[object]) -> str:
    """Return what an interval over runs of these testbeds tells, "" where that needs no word."""
    if {*testbeds} != {"virtual"}:
        return ""
    return ("the lab's runs differ in their seeds alone: their interval tells how much random "
            "draws matter, not how other hosts, routers or days would differ")


def _place_and_level(count: int) -> tuple[int, float] | None:
    """Return from which place of the ordered values an interval begins, and its level."""
    from scipy.stats import binom

    outside = 2 * binom.cdf(numpy.arange((count + 1) // 2), count, 0.5)
    held = numpy.flatnonzero(outside <= 1 - LEAST_LEVEL)
    return (int(held[-1]), 1 - float(outside[held[-1]])) if held.size else None

# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare groups of runs by statistics on ranks: medians and their intervals, tests, effect sizes.

Latencies under load are not normally distributed, and a batch has few repetitions. SciPy's
statistics are imported where they are used, because the import takes a second.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy
from numpy.typing import ArrayLike

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import counted
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.spec.testbeds import VIRTUAL

# Name of a group.
Name = TypeVar("Name", bound=Hashable)
# Lowest confidence level of an interval that is returned.
LEAST_LEVEL = 0.95
# Kruskal and Wallis give exact tables for groups of up to five runs, for which the chi-square
# approximation is rough.
FEWEST_FOR_P = 6
# Conditions for two groups of runs, see two_groups().
FEWEST_IN_GROUP, FAR_APART, LEAST_GAP_SHARE = 2, 4.0, 0.1


@dataclass(frozen=True)
class Interval:
    """Confidence interval of the median. An infinite end is a lost probe.

    Attributes:
        low: lower end, in the unit of the values.
        high: upper end.
        level: confidence level, 0.95 to 1.
    """

    low: float
    high: float
    level: float


@dataclass(frozen=True)
class Summary:
    """Summary of one value per run of a group. An infinite value is a lost probe, and an infinite
    median or quartile is one, or lies between a number and a lost probe.

    Attributes:
        count: number of runs.
        median: in the unit of the values, as are the quartiles.
        lower_quartile: 25th percentile, linearly interpolated.
        upper_quartile: 75th percentile, linearly interpolated.
        interval: confidence interval of the median, None with fewer than six runs.
    """

    count: int
    median: float
    lower_quartile: float
    upper_quartile: float
    interval: Interval | None


@dataclass(frozen=True)
class RankTest:
    """Result of Kruskal and Wallis' test.

    Attributes:
        statistic: H.
        probability: the p-value, 0 to 1.
    """

    statistic: float
    probability: float


def summarise(values: Sequence[float]) -> Summary:
    """Return the summary of a group's values, one for each run, infinite if it is a lost probe.
    Raises NotAvailable if there are none."""
    if not values:
        raise NotAvailable("no run of the group has a value")
    array = numpy.asarray(values, dtype=float)
    lower, median, upper = (of_any(array, percent) for percent in (25, 50, 75))
    return Summary(array.size, median, lower, upper, median_interval(array))


def kruskal_wallis(groups: Sequence[Sequence[float]]) -> RankTest:
    """Test whether groups of runs differ at all, with the chi-square approximation. Empty groups
    are left out. Source: W. Kruskal, W. Wallis, JASA 47, 1952, as in SciPy.

    Args:
        groups: values of each group's runs, infinite for a lost probe, which ranks above all
            others.

    Raises NotAvailable if fewer than two groups have values, if all values are lost probes, or if
    all are the same.
    """
    filled = [group for group in groups if group]
    if len(filled) < 2:
        raise NotAvailable("fewer than two groups have a value")
    different = {value for group in filled for value in group}
    if different == {math.inf}:
        raise NotAvailable("the value of each run is a lost probe, and which is slower is not "
                           "known")
    if len(different) < 2:
        raise NotAvailable("all runs have the same value")
    from scipy import stats

    test = stats.kruskal(*filled)
    return RankTest(float(test.statistic), float(test.pvalue))


def p_value_caveat(tests: int, fewest: int) -> str:
    """Return a note on interpreting p-values: the Bonferroni limit if there are several, and that p
    is a rough approximation if a group has fewer than six runs (FEWEST_FOR_P). With neither, the
    note only says that p is the chi-square approximation.

    Args:
        tests: number of p-values shown together.
        fewest: number of runs in the smallest group.
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
    """Return Cliff's delta, -1 to 1: the share of pairs in which the first group's run has the
    larger value, less the share in which it has the smaller one.

    Source: N. Cliff, Psychological Bulletin 114, 1993. It is 2 U / (n m) - 1 with SciPy's U. Raises
    NotAvailable if a group is empty.
    """
    if not first or not second:
        raise NotAvailable("no run of one of the groups has a value")
    from scipy import stats

    statistic = stats.mannwhitneyu(first, second, method="asymptotic").statistic
    return float(2 * statistic / (len(first) * len(second)) - 1)


def cliffs_deltas(groups: Mapping[Name, Sequence[float]]) -> dict[tuple[Name, Name], float]:
    """Return Cliff's delta of each pair of groups. Groups without values are left out.

    Args:
        groups: name of a group -> value of each run.

    Returns:
        (name of the first group, name of the second) -> delta, see cliffs_delta(). Each pair occurs
        once, in the order of `groups`.
    """
    filled = {name: group for name, group in groups.items() if group}
    return {(one, other): cliffs_delta(filled[one], filled[other])
            for one, other in combinations(filled, 2)}


def variance_share(values: Sequence[float], labels: Sequence[Hashable]) -> float:
    """Return eta squared of a factor: the sum of squares between its groups as a share of the
    total.

    In a balanced batch the shares of several factors add up to at most 1. Source: R. Fisher's
    analysis of variance. Raises NotAvailable if there are no values, if all are the same, or if one
    is a lost probe.

    Args:
        values: value of each run.
        labels: the factor's value for each run.
    """
    array = numpy.asarray(values, dtype=float)
    if not numpy.isfinite(array).all():
        raise NotAvailable("for some runs the value is a lost probe, so there is no variance")
    if not array.size:
        raise NotAvailable("no run has a value")
    centre = array.mean()
    whole = float(((array - centre) ** 2).sum())
    if not whole > 0:
        raise NotAvailable("all runs have the same value")
    groups: dict[Hashable, list[float]] = {}
    for value, label in zip(values, labels, strict=True):
        groups.setdefault(label, []).append(value)
    between = sum(len(group) * (float(numpy.mean(group)) - centre) ** 2
                  for group in groups.values())
    return float(between / whole)


def two_groups(values: Sequence[float]) -> tuple[Sequence[float], Sequence[float]] | None:
    """Return the lower and the upper group, each sorted, if the values of runs fall into two
    groups. Return None if they don't, if there are fewer than four values, or if one is infinite (a
    lost probe).

    The groups are parted by the largest gap that leaves at least two values on each side. It must
    be at least 4 times (FAR_APART) as wide as the range of each group, and a tenth
    (LEAST_GAP_SHARE) of the value in its middle. The median of such runs depends on which group has
    one run more.
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
    """Return the narrowest confidence interval of the median between two order statistics, equally
    far from both ends, with a level of at least 0.95 (LEAST_LEVEL) for any distribution. None for
    fewer than six values, whose smallest and largest have a lower level.

    Source: the sign test's interval, W. Thompson, Annals of Mathematical Statistics 7, 1936. The
    median lies outside if fewer than k of n values are on one side of it, which is binomial with p
    = 1/2.
    """
    ordered = numpy.sort(numpy.asarray(values, dtype=float))
    if (start_and_level := _interval_start_and_level(ordered.size)) is None:
        return None
    start, level = start_and_level
    return Interval(float(ordered[start]), float(ordered[-1 - start]), level)


def level_for(count: int) -> float | None:
    """Return the confidence level (LEAST_LEVEL to 1) that median_interval() has for `count` values,
    None for fewer than six."""
    start_and_level = _interval_start_and_level(count)
    return None if start_and_level is None else start_and_level[1]


def interval_caveat(testbeds: Iterable[object]) -> str:
    """Return a note that an interval over runs in the lab shows the effect of seeds only. Return ""
    if any run has another testbed or records none, or if there are no runs.

    Args:
        testbeds: the setting `testbed` of each run, "virtual" for the lab.
    """
    if {*testbeds} != {VIRTUAL}:
        return ""
    return ("the lab's runs differ in their seeds alone: their interval tells how much random "
            "draws matter, not how other hosts, routers or days would differ")


def _interval_start_and_level(count: int) -> tuple[int, float] | None:
    """Return the index, from 0, in the sorted values at which the median's interval begins, and its
    confidence level. The interval ends as far from the last value as it begins from the first. None
    for fewer than six values. SciPy is imported."""
    from scipy.stats import binom

    outside = 2 * binom.cdf(numpy.arange((count + 1) // 2), count, 0.5)
    held = numpy.flatnonzero(outside <= 1 - LEAST_LEVEL)
    return (int(held[-1]), 1 - float(outside[held[-1]])) if held.size else None

# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics between groups of runs, against what is known of them."""

from __future__ import annotations

import math

import numpy
import pytest

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.compare import (
    Interval,
    cliffs_delta,
    interval_caveat,
    level_for,
    median_interval,
    p_value_caveat,
    summarise,
    two_groups,
)


@pytest.mark.parametrize(("count", "places", "level"), [
    # From tables of the sign test, such as Conover's, with two tails.
    (6, (1, 6), 0.96875), (7, (1, 7), 0.984375), (8, (1, 8), 0.9921875), (9, (2, 8), 0.9609375),
    (10, (2, 9), 0.978515625), (20, (6, 15), 0.958610534),
    (100, (40, 61), 0.9647998)])
def test_interval_of_the_median_is_between_order_statistics_with_their_level(
    count: int, places: tuple[int, int], level: float
) -> None:
    """Whatever the order of the runs."""
    interval = median_interval(range(count, 0, -1))
    assert interval is not None
    assert (interval.low, interval.high) == places
    assert interval.level == pytest.approx(level)


@pytest.mark.parametrize("count", range(1, 6))
def test_fewer_than_six_runs_have_no_interval(count: int) -> None:
    """From the least to the most of five is the median in 93.75 % of cases."""
    assert median_interval(range(count)) is None


@pytest.mark.parametrize("count", [6, 7, 12, 20])
def test_interval_holds_the_median_as_often_as_its_level_says(count: int) -> None:
    """Of 4,000 groups of a skewed distribution, whose median is 1."""
    groups = numpy.random.default_rng(1).lognormal(sigma=1.5, size=(4000, count))
    intervals = [one for group in groups if (one := median_interval(group))]
    share = sum(one.low <= 1 <= one.high for one in intervals) / len(groups)
    assert share == pytest.approx(intervals[0].level, abs=0.012)
    assert intervals[0].level >= 0.95


def test_lost_probes_are_at_the_end_of_an_interval() -> None:
    """They have no distance, but an order."""
    summary = summarise([1.0, 2.0, 3.0, 4.0, 5.0, math.inf])
    assert summary.interval == Interval(1.0, math.inf, 0.96875)
    assert summary.median == 3.5


@pytest.mark.parametrize("count", [5, 6, 9, 30])
def test_level_is_known_before_there_are_values(count: int) -> None:
    """As of an interval of so many."""
    interval = median_interval(range(count))
    assert level_for(count) == (interval.level if interval else None)


def test_interval_over_the_labs_runs_is_said_to_be_one_over_seeds() -> None:
    """Runs of other testbeds, or of several, differ in more."""
    assert "differ in their seeds alone" in interval_caveat(["virtual", "virtual"])
    assert interval_caveat(["virtual", "netns"]) == interval_caveat([None]) == ""


@pytest.mark.parametrize(("tests", "limit"), [(2, "0.025"), (4, "0.013"), (10, "0.005")])
def test_limit_of_several_p_values_is_a_share_of_the_usual_one(tests: int, limit: str) -> None:
    """By Bonferroni: 0.05 divided by the number of tests."""
    assert f"that limit is {limit} (Bonferroni)" in p_value_caveat(tests, 30)
    assert "Bonferroni" not in p_value_caveat(1, 30)


def test_cliffs_delta_without_runs_on_one_side_is_not_available() -> None:
    """Of either side."""
    for first, second in (((), (1.0,)), ((1.0,), ()), ((), ())):
        with pytest.raises(NotAvailable, match=r"^no run of one of the groups has a value$"):
            cliffs_delta(first, second)
    assert cliffs_delta((2.0, 3.0), (1.0, 2.5)) == 0.5


def test_runs_are_parted_at_their_widest_gap() -> None:
    """Wherever among them it is: neither at the largest values nor in the middle."""
    assert two_groups([172, 129, 129, 172, 129]) == ([129, 129, 129], [172, 172])
    assert two_groups([10, 11, 100, 101, 102, 104]) == ([10, 11], [100, 101, 102, 104])
    assert two_groups([10, 11, 12, 14, 100, 101]) == ([10, 11, 12, 14], [100, 101])
    assert two_groups([10, 40, 70, 100, 130]) is None
    assert two_groups([5, 5, 5, 5]) is None


def test_gap_of_a_tenth_and_four_times_the_range_is_wide_enough() -> None:
    """2 of 20, and 4 beside 1; less isn't."""
    assert two_groups([19, 19, 21, 21]) == ([19, 19], [21, 21])
    assert two_groups([19.1, 19.1, 21, 21]) is None
    assert two_groups([0, 1, 5, 6]) == ([0, 1], [5, 6])
    assert two_groups([0, 1.1, 5, 6]) is None
    assert two_groups([1, 1, 5, math.inf]) is None
    assert two_groups([1, 5, 5]) is None

# SPDX-License-Identifier: GPL-3.0-or-later
"""Percentiles: when they are known, and where lost probes stand."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.percentiles import (
    of_any,
    percentile,
    percentile_or_lost,
    samples_beyond,
    samples_needed,
    trimmed_mean,
)


@pytest.mark.parametrize(("count", "percent"), [
    (1000, 99), (10_000, 99.9), (20, 50), (1000, 1),
])
def test_percentile_with_ten_samples_beyond_is_known(count: int, percent: float) -> None:
    """Ten samples beyond it make a percentile known."""
    assert percentile(range(count), percent) == pytest.approx((count - 1) * percent / 100)


@pytest.mark.parametrize(("count", "percent"), [
    (900, 99), (9_000, 99.9), (15, 50), (0, 50), (500, 1),
])
def test_percentile_with_too_few_samples_beyond_is_refused(count: int, percent: float) -> None:
    """The refusal says how many there are."""
    with pytest.raises(NotAvailable, match=f"of {count} samples .* 10 are needed"):
        percentile(range(count), percent)


def test_percentile_interpolates() -> None:
    """Between two samples, the value lies in between."""
    assert percentile(range(101), 50) == 50
    assert percentile(range(100), 50) == 49.5


def test_lost_probes_are_slower_than_all_others() -> None:
    """With 2 % lost, the 99th percentile is a lost probe and the median moves up."""
    samples = [*range(980), *[math.inf] * 20]
    assert percentile(samples, 50) == 499.5
    with pytest.raises(NotAvailable, match="2 % of the probes were lost"):
        percentile(samples, 99)
    assert math.isinf(percentile_or_lost(samples, 99))


def test_slowest_answer_is_the_percentile_where_it_stands_there_exactly() -> None:
    """The probe behind it is lost, and has no part in it."""
    assert percentile([*range(11), *[math.inf] * 10], 50) == 10
    assert of_any([1.0, 2.0, math.inf], 50) == 2
    assert math.isinf(of_any([1.0, 2.0, math.inf], 51))


@given(st.integers(1, 60), st.integers(0, 60), st.floats(0, 100))
def test_percentile_is_numpys_or_lost_and_never_no_number(
    answered: int, lost: int, percent: float
) -> None:
    """Whatever the number of probes, and of lost ones."""
    samples = [float(one) for one in range(answered)] + [math.inf] * lost
    value = of_any(samples, percent)
    place = (len(samples) - 1) * (percent / 100)
    if math.ceil(place) >= answered:
        assert math.isinf(value)
    else:
        assert value == pytest.approx(numpy.percentile(samples[:math.ceil(place) + 1], 100)
                                      - (math.ceil(place) - place))


@pytest.mark.parametrize("size", [1, 7, 19, 20, 41, 1000])
def test_trimmed_means_are_scipys(size: int) -> None:
    """One-sided as RPM has it, and the interquartile mean; shares that don't fit whole values."""
    from scipy import stats  # takes a second, which every worker would spend on collecting

    values = numpy.random.default_rng(1).exponential(20.0, size)
    assert trimmed_mean(values, highest=0.05) == pytest.approx(
        stats.trim1(values, 0.05, tail="right").mean())
    assert trimmed_mean(values, lowest=0.25, highest=0.25) == pytest.approx(
        stats.trim_mean(values, 0.25))


@pytest.mark.parametrize(("count", "percent", "beyond"), [
    (10_000, 99, 100), (10_000, 1, 100), (10_000, 99.9, 10), (10_000, 50, 5000),
    # Rounded: 9.99 and 9.49.
    (999, 99, 10), (949, 99, 9), (0, 99, 0)])
def test_samples_beyond_a_percentile_are_a_share_of_all(
        count: int, percent: float, beyond: int) -> None:
    assert samples_beyond(count, percent) == beyond


@pytest.mark.parametrize(("percent", "count"), [
    (99, 1000), (1, 1000), (99.9, 10_000), (50, 20), (90, 100), (95, 200), (75, 40), (30, 34)])
def test_samples_that_a_percentile_needs(percent: float, count: int) -> None:
    """Ten of them beyond it, rounded up."""
    assert samples_needed(percent) == count

# SPDX-License-Identifier: GPL-3.0-or-later
"""Means and percentiles as the makers of the tests compute them, without numpy.

The guest then needn't load numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt


def mean(values: Sequence[float]) -> float:
    """Return the mean. `values` has at least one value."""
    return sum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of the values, as of a whole population. `values` has at least
    one value."""
    middle = mean(values)
    return sqrt(sum((value - middle) ** 2 for value in values) / len(values))


def without(values: Sequence[float], lowest: float = 0.0, highest: float = 0.0) -> list[float]:
    """Return the values sorted, without the lowest and the highest ones. If nothing would be left,
    return the middle value alone, of two the higher one.

    Args:
        values: at least one value.
        lowest: share of the lowest values to leave out, 0 to 1. Their number is rounded down.
        highest: the same for the highest values.
    """
    ordered = sorted(values)
    first, last = int(len(ordered) * lowest), len(ordered) - int(len(ordered) * highest)
    return ordered[first:last] or [ordered[len(ordered) // 2]]


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile, linearly interpolated. Source: cloudflare/speedtest, numbers.ts.

    Args:
        values: at least one value, in any order.
        share: 0 for the least value, 1 for the greatest.
    """
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def mean_difference(values: Sequence[float]) -> float:
    """Return the mean absolute difference between successive values, which Cloudflare and others
    call jitter. 0 for fewer than two values."""
    steps = [abs(after - before) for before, after in pairwise(values)]
    return mean(steps) if steps else 0.0

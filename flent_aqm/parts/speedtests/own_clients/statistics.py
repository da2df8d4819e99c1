# SPDX-License-Identifier: GPL-3.0-or-later
"""Means and percentiles as the makers of the tests compute them. They don't use numpy, so that the
guest needn't load it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt


def mean(values: Sequence[float]) -> float:
    """Return the mean of one value or more."""
    return sum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of the values, as of a whole population."""
    middle = mean(values)
    return sqrt(sum((value - middle) ** 2 for value in values) / len(values))


def without(values: Sequence[float], lowest: float = 0.0, highest: float = 0.0) -> list[float]:
    """Return the values sorted, without the given shares of the lowest and the highest values. At
    least one value is left."""
    ordered = sorted(values)
    first, last = int(len(ordered) * lowest), len(ordered) - int(len(ordered) * highest)
    return ordered[first:last] or [ordered[len(ordered) // 2]]


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile, linearly interpolated. `share` is from 0 to 1. Source:
    cloudflare/speedtest, numbers.ts."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def mean_difference(values: Sequence[float]) -> float:
    """Return the mean absolute difference between successive values, which Cloudflare and others
    call jitter. 0 for a single value."""
    steps = [abs(after - before) for before, after in pairwise(values)]
    return mean(steps) if steps else 0.0

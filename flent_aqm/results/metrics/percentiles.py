# SPDX-License-Identifier: GPL-3.0-or-later
"""The one percentile of this package, and its rule for lost probes: each is slower than any
that came back.

So a percentile may be a lost probe, and then has no number; a distribution with losses ends
below 1. Where a formula of others leaves lost probes out, of_answered() says so by its name.
"""

from __future__ import annotations

import math

import numpy
from numpy.typing import ArrayLike

from flent_aqm.base.errors import LostProbe, NotAvailable
from flent_aqm.results.data_file import Numbers

# A percentile is given only with this many samples beyond it: with fewer, it is
# the accident of one or two packets.
SAMPLES_BEYOND = 10


def percentile(samples: ArrayLike, percent: float) -> float:
    """Return the percentile of samples, in their unit, by linear interpolation.

    percent: 0 to 100. An infinite sample is a lost probe, worse than any other. Raises
    NotAvailable when fewer than 10 samples lie beyond the percentile, on its nearer side,
    in round numbers; so p99 wants some 1000 samples. Raises LostProbe when it is one.
    """
    value = percentile_or_lost(samples, percent)
    if math.isinf(value):
        raise LostProbe(lost_reason(samples, percent))
    return value


def percentile_or_lost(samples: ArrayLike, percent: float) -> float:
    """As percentile(), but infinite when the percentile is a lost probe."""
    values = numpy.sort(numpy.asarray(samples, dtype=float))
    beyond = samples_beyond(values.size, percent)
    if beyond < SAMPLES_BEYOND:
        side = "above" if percent >= 50 else "below"
        raise NotAvailable(f"only {beyond} of {values.size} samples lie {side} p{percent:g}; "
                           f"{SAMPLES_BEYOND} are needed")
    return of_sorted(values, percent)


def samples_beyond(count: int, percent: float) -> int:
    """Return how many of count samples lie beyond a percentile, on its nearer side: rounded, as 10
    s of a probe every 10 ms give 999 samples as often as 1000."""
    return round(min(percent, 100 - percent) / 100 * count)


def of_sorted(ordered: Numbers, percent: float) -> float:
    """Return the percentile of one or more sorted samples, however few; infinite when it is
    lost."""
    # numpy.percentile() gives the same and takes ten times as long; most runs want it 30 times.
    # Of the sample behind it only where it lies between two: that one may be lost.
    place = (ordered.size - 1) * (percent / 100)
    lower = math.floor(place)
    low, high = float(ordered[lower]), float(ordered[math.ceil(place)])
    if math.isinf(high):
        return math.inf
    part = place - lower
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)


def of_any(samples: ArrayLike, percent: float) -> float:
    """Return the percentile of one or more samples, however few: what a picture draws; infinite
    when it is a lost probe."""
    return of_sorted(numpy.sort(numpy.asarray(samples, dtype=float)), percent)


def of_answered(answered: Numbers, percent: float) -> float:
    """Return the percentile of probes that came back, for formulas that know no others."""
    return of_any(answered, percent)


def lost_reason(samples: ArrayLike, percent: float) -> str:
    """Return why a percentile has no number: how many of the probes were lost."""
    lost = numpy.isinf(numpy.asarray(samples, dtype=float)).mean() * 100
    return f"{lost:.3g} % of the probes were lost, and the {percent:g}th percentile is one of them"

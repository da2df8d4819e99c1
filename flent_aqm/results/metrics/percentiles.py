# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes percentiles, in which a lost probe is slower than any other.

A percentile may therefore be a lost probe, which has no number, and a distribution with losses ends
below 1. For formulas of others that leave lost probes out, there is of_answered().
"""

from __future__ import annotations

import math

import numpy
from numpy.typing import ArrayLike

from flent_aqm.base.errors import LostProbe, NotAvailable
from flent_aqm.results.data_file import Numbers

# A percentile needs so many samples beyond it. With fewer, it would depend on one or two packets.
SAMPLES_BEYOND = 10


def percentile(samples: ArrayLike, percent: float) -> float:
    """Return a percentile of samples, in their unit, by linear interpolation.

    Args:
        samples: values, infinite for a lost probe, which is worse than any other.
        percent: 0 to 100.

    Raises NotAvailable if fewer than 10 samples lie beyond the percentile on its nearer side. p99,
    for example, needs about 1000 samples. Raises LostProbe if the percentile is a lost probe.
    """
    value = percentile_or_lost(samples, percent)
    if math.isinf(value):
        raise LostProbe(lost_reason(samples, percent))
    return value


def percentile_or_lost(samples: ArrayLike, percent: float) -> float:
    """Return percentile(), but infinity if the percentile is a lost probe. Raises NotAvailable with
    too few samples."""
    values = numpy.sort(numpy.asarray(samples, dtype=float))
    beyond = samples_beyond(values.size, percent)
    if beyond < SAMPLES_BEYOND:
        side = "above" if percent >= 50 else "below"
        raise NotAvailable(f"only {beyond} of {values.size} samples lie {side} p{percent:g}; "
                           f"{SAMPLES_BEYOND} are needed")
    return of_sorted(values, percent)


def samples_beyond(count: int, percent: float) -> int:
    """Return how many of `count` samples lie beyond a percentile on its nearer side. The number is
    rounded, because 10 s of probes every 10 ms give 999 samples as often as 1000."""
    return round(min(percent, 100 - percent) / 100 * count)


def of_sorted(ordered: Numbers, percent: float) -> float:
    """Return a percentile of sorted samples, however few, but at least one. Infinite if it is a
    lost probe."""
    # numpy.percentile() gives the same but takes ten times as long, and most runs need it 30 times.
    # The next sample, which may be lost, only counts if the percentile lies between two samples.
    place = (ordered.size - 1) * (percent / 100)
    lower = math.floor(place)
    low, high = float(ordered[lower]), float(ordered[math.ceil(place)])
    if math.isinf(high):
        return math.inf
    part = place - lower
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)


def of_any(samples: ArrayLike, percent: float) -> float:
    """Return a percentile of samples, however few, but at least one, for pictures. Infinite if it
    is a lost probe."""
    return of_sorted(numpy.sort(numpy.asarray(samples, dtype=float)), percent)


def of_answered(answered: Numbers, percent: float) -> float:
    """Return a percentile of answered probes, for formulas that don't count lost ones."""
    return of_any(answered, percent)


def lost_reason(samples: ArrayLike, percent: float) -> str:
    """Return the text on why a percentile has no number: the share of lost probes."""
    lost = numpy.isinf(numpy.asarray(samples, dtype=float)).mean() * 100
    return f"{lost:.3g} % of the probes were lost, and the {percent:g}th percentile is one of them"


def trimmed_mean(values: Numbers, lowest: float = 0.0, highest: float = 0.0) -> float:
    """Return the mean of values without given shares of the lowest and the highest, each 0 to below
    1/2.

    A share that is not a whole number of values is rounded down, as in SciPy's trim_mean and trim1.
    There must be at least one value. NumPy is used, because the import of SciPy's statistics takes
    a second, for which every score and plot would wait. The tests compare the two.
    """
    ordered = numpy.sort(values)
    return float(ordered[int(lowest * ordered.size):
                         ordered.size - int(highest * ordered.size)].mean())

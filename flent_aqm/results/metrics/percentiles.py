# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute percentiles, in which a lost probe is slower than any other.

A percentile may therefore be a lost probe, which has no number, and a distribution with losses ends
below 1. For formulas of others that leave lost probes out, there is of_answered().
"""

from __future__ import annotations

import math

import numpy
from numpy.typing import ArrayLike

from flent_aqm.base.errors import LostProbe, TooFewSamples
from flent_aqm.results.data_file import Numbers

# A percentile needs so many samples beyond it. With fewer, it would depend on one or two packets.
SAMPLES_BEYOND = 10


def percentile(samples: ArrayLike, percent: float) -> float:
    """Return a percentile of samples, in their unit, by linear interpolation.

    Args:
        samples: values, infinite for a lost probe, which is worse than any other.
        percent: above 0 and below 100.

    Raises TooFewSamples if fewer than 10 samples lie beyond the percentile on its nearer side. p99,
    for example, needs about 1000 samples. Raises LostProbe if the percentile is a lost probe, or
    lies between an answered and a lost one.
    """
    value = percentile_or_lost(samples, percent)
    if math.isinf(value):
        raise LostProbe(lost_reason(samples, percent))
    return value


def percentile_or_lost(samples: ArrayLike, percent: float) -> float:
    """Return a percentile as percentile() does, but infinity where that raises LostProbe. Lost
    probes are infinite in `samples`. Raises TooFewSamples if samples_beyond() is less than 10."""
    values = numpy.sort(numpy.asarray(samples, dtype=float))
    beyond = samples_beyond(values.size, percent)
    if beyond < SAMPLES_BEYOND:
        side = "above" if percent >= 50 else "below"
        lie = "lies" if beyond == 1 else "lie"
        raise TooFewSamples(f"only {beyond} of {values.size} samples {lie} {side} p{percent:g}; "
                            f"{SAMPLES_BEYOND} are needed, which takes about "
                            f"{samples_needed(percent):,} samples")
    return of_sorted(values, percent)


def samples_beyond(count: int, percent: float) -> int:
    """Return how many of `count` samples lie beyond a percentile on its nearer side. The number is
    rounded, because 10 s of probes every 10 ms give 999 samples as often as 1000."""
    return round(min(percent, 100 - percent) / 100 * count)


def samples_needed(percent: float) -> int:
    """Return how many samples are needed so that 10 of them lie beyond a percentile on its nearer
    side: 1000 for p99. samples_beyond() rounds, and therefore accepts somewhat fewer. percent:
    above 0 and below 100."""
    return math.ceil(round(SAMPLES_BEYOND / (min(percent, 100 - percent) / 100), 6))


def of_sorted(ordered: Numbers, percent: float) -> float:
    """Return a percentile of at least one sample, however few, by linear interpolation. Infinite if
    it is a lost probe, or lies between an answered and a lost one.

    Args:
        ordered: samples in ascending order, infinite for a lost probe.
        percent: 0 to 100.
    """
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
    """Return a percentile of at least one sample, however few, for pictures and medians over runs,
    by linear interpolation. Infinite if it is a lost probe, or lies between an answered and a lost
    one.

    Args:
        samples: values in any order, infinite for a lost probe.
        percent: 0 to 100.
    """
    return of_sorted(numpy.sort(numpy.asarray(samples, dtype=float)), percent)


def of_answered(answered: Numbers, percent: float) -> float:
    """Return a percentile (0 to 100) of answered probes, at least one, for formulas that don't
    count lost ones. The caller has left these out."""
    return of_any(answered, percent)


def lost_reason(samples: ArrayLike, percent: float) -> str:
    """Return the reason why a percentile that is a lost probe has no number, without a full stop:
    "12 % of the probes were lost, so p99 has no number".

    Args:
        samples: values, infinite for a lost probe.
        percent: the percentile.
    """
    lost = numpy.isinf(numpy.asarray(samples, dtype=float)).mean() * 100
    return f"{lost:.3g} % of the probes were lost, so p{percent:g} has no number"


def trimmed_mean(values: Numbers, lowest: float = 0.0, highest: float = 0.0) -> float:
    """Return the mean of at least one value, without given shares of the lowest and the highest.

    A share that is not a whole number of values is rounded down, as in SciPy's trim_mean and trim1.
    NumPy is used, because the import of SciPy's statistics takes a second, for which every score
    and plot would wait. The tests compare the two.

    Args:
        values: the values.
        lowest: share of the lowest values to leave out, 0 to below 1. Both shares together are
            below 1.
        highest: share of the highest values to leave out.
    """
    ordered = numpy.sort(values)
    return float(ordered[int(lowest * ordered.size):
                         ordered.size - int(highest * ordered.size)].mean())

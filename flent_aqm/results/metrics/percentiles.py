# SPDX-License-Identifier: GPL-3.0-or-later
"""Percentiles of raw samples, refused where there are too few samples to know them."""

from __future__ import annotations

import math

import numpy
from numpy.typing import ArrayLike

from flent_aqm.base.errors import NotAvailable

# A percentile is given only with this many samples beyond it: with fewer, it is
# the accident of one or two packets.
SAMPLES_BEYOND = 10


def percentile(samples: ArrayLike, percent: float) -> float:
    """The percentile of samples, in their unit, by linear interpolation.

    percent: 0 to 100. An infinite sample is a lost probe, worse than any other. Raises
    NotAvailable when fewer than 10 samples lie beyond the percentile, on its nearer side,
    in round numbers; so p99 wants some 1000 samples. Also when it is a lost probe.
    """
    value = percentile_or_lost(samples, percent)
    if math.isinf(value):
        lost = float(numpy.isinf(numpy.asarray(samples, dtype=float)).mean())
        raise NotAvailable(f"{lost:.3g} of the probes were lost, "
                           f"and the {percent:g}th percentile is one of them")
    return value


def percentile_or_lost(samples: ArrayLike, percent: float) -> float:
    """As percentile(), but infinite when the percentile is a lost probe."""
    values = numpy.sort(numpy.asarray(samples, dtype=float))
    # Rounded, as 10 s of a probe every 10 ms give 999 samples as often as 1000.
    beyond = round(min(percent, 100 - percent) / 100 * values.size)
    if beyond < SAMPLES_BEYOND:
        raise NotAvailable(f"of {values.size} samples {beyond} lie beyond the {percent:g}th "
                           f"percentile, and {SAMPLES_BEYOND} are needed to know it")
    if math.isinf(values[math.ceil((values.size - 1) * percent / 100)]):
        return math.inf
    # numpy.percentile() gives the same and takes ten times as long; most runs want it 30 times.
    place = (values.size - 1) * (percent / 100)
    lower = math.floor(place)
    low, high = float(values[lower]), float(values[min(lower + 1, values.size - 1)])
    part = place - lower
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Percentiles of raw samples, refused where there are too few samples to know them."""

from __future__ import annotations

import numpy
from numpy.typing import ArrayLike

# A percentile is given only with this many samples beyond it: with fewer, it is
# the accident of one or two packets.
SAMPLES_BEYOND = 10


def percentile(samples: ArrayLike, percent: float) -> float | None:
    """The percentile of samples, in their unit, by linear interpolation.

    percent: 0 to 100. None when there are fewer than 10 samples beyond it, on its nearer
    side; so the median wants 20 samples, and p99 wants 1000.
    """
    values = numpy.asarray(samples, dtype=float)
    beyond = min(percent, 100 - percent) / 100 * values.size
    if values.size == 0 or beyond < SAMPLES_BEYOND - 1e-9:
        return None
    return float(numpy.percentile(values, percent))

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

    percent: 0 to 100. None when fewer than 10 samples lie beyond it, on its nearer side,
    in round numbers; so p99 wants some 1000 samples.
    """
    values = numpy.asarray(samples, dtype=float)
    # Rounded, as 10 s of a probe every 10 ms give 999 samples as often as 1000.
    if round(min(percent, 100 - percent) / 100 * values.size) < SAMPLES_BEYOND:
        return None
    return float(numpy.percentile(values, percent))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Means without the ends of a distribution.

NumPy's, as loading SciPy's statistics takes a second, and every score and plot would wait
for it. The tests compare the two.
"""

from __future__ import annotations

import numpy

from flent_aqm.results.data_file import Numbers


def trimmed_mean(values: Numbers, lowest: float = 0.0, highest: float = 0.0) -> float:
    """Return the mean of one or more values without those shares, of 0 to below 1/2, of the lowest
    and the highest; part of a value stays whole, as in SciPy's trim_mean and trim1."""
    ordered = numpy.sort(values)
    return float(ordered[int(lowest * ordered.size):
                         ordered.size - int(highest * ordered.size)].mean())

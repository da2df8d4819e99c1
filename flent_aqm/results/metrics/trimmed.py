# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes means without the ends of a distribution.

NumPy is used, because the import of SciPy's statistics takes a second, for which every score and
plot would wait. The tests compare the two.
"""

from __future__ import annotations

import numpy

from flent_aqm.results.data_file import Numbers


def trimmed_mean(values: Numbers, lowest: float = 0.0, highest: float = 0.0) -> float:
    """Return the mean of values without given shares of the lowest and the highest, each 0 to below
    1/2.

    A share that is not a whole number of values is rounded down, as in SciPy's trim_mean and trim1.
    There must be at least one value.
    """
    ordered = numpy.sort(values)
    return float(ordered[int(lowest * ordered.size):
                         ordered.size - int(highest * ordered.size)].mean())

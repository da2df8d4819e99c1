# SPDX-License-Identifier: GPL-3.0-or-later
"""Curves without the points that no picture shows: of 200 runs there are half a million."""

from __future__ import annotations

import numpy

from flent_aqm.results.data_file import Numbers

# So many steps are told apart in each decade, and on a linear axis in all.
STEPS = 1000


def thinned(at: Numbers, share: Numbers, log_share: bool = False) -> tuple[Numbers, Numbers]:
    """Points of a distribution's curve, the first of those that would be drawn as one.

    at: above 0, ascending, on a logarithmic axis. share: 0 to 1. The last point stays.
    """
    if at.size <= STEPS:
        return at, share
    across = numpy.floor(numpy.log10(at) * STEPS)
    height = numpy.log10(numpy.maximum(share, 1e-9)) if log_share else share
    down = numpy.floor(height * STEPS)
    kept = numpy.concatenate(([True], (numpy.diff(across) != 0) | (numpy.diff(down) != 0)))
    kept[-1] = True
    return at[kept], share[kept]

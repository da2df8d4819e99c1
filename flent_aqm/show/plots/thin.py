# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes points of curves that can't be seen: 200 runs have half a million points."""

from __future__ import annotations

import numpy

from flent_aqm.results.data_file import Numbers

# Distinguishable steps in each decade of a logarithmic axis, and on the whole of a linear one.
STEPS = 1000


def thinned(at: Numbers, share: Numbers, log_share: bool = False) -> tuple[Numbers, Numbers]:
    """Return a distribution's curve without points that would be drawn at the same place as
    another. The last point stays.

    Args:
        at: values above 0, ascending, for a logarithmic axis.
        share: share of the samples for each value, 0 to 1.
        log_share: the axis of shares is logarithmic.
    """
    if at.size <= STEPS:
        return at, share
    across = numpy.floor(numpy.log10(at) * STEPS)
    height = numpy.log10(numpy.maximum(share, 1e-9)) if log_share else share
    down = numpy.floor(height * STEPS)
    kept = numpy.concatenate(([True], (numpy.diff(across) != 0) | (numpy.diff(down) != 0)))
    kept[-1] = True
    return at[kept], share[kept]

# SPDX-License-Identifier: GPL-3.0-or-later
"""LibreQoS' grade of buffer bloat.

Source: LibreQoE/bufferbloat_test, the test for a single user.
"""

from __future__ import annotations

import numpy

from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.steps import step

_CUTS, _GRADES = (5, 25, 50, 75, 100), ("A+", "A", "B", "C", "D", "F")


def rise_ms(run: Run) -> float:
    """Mean under load less the lower quartile of idle. Raises NotAvailable."""
    return float(run.loaded().answered_ms.mean()
                 - numpy.percentile(run.idle().answered_ms, 25))


def grade(rise: float) -> str:
    """Of a rise in ms: A+ below 5, A 25, B 50, C 75, D 100, else F."""
    return step(rise, _CUTS, _GRADES)

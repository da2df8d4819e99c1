# SPDX-License-Identifier: GPL-3.0-or-later
"""DSLReports' grade of buffer bloat.

Source: dslreports.com/faq/17930.
"""

from __future__ import annotations

from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.steps import step

_CUTS, _GRADES = (5, 30, 60, 200, 400), ("A+", "A", "B", "C", "D", "F")


def rise_ms(run: Run) -> float:
    """Return the mean latency under load less the mean idle latency, in ms. It is the mean of both
    directions. Raises NotAvailable."""
    idle_ms = float(run.idle().answered_ms.mean())
    ways = [float(run.loaded(way).answered_ms.mean()) for way in ("download", "upload")]
    return sum(ways) / 2 - idle_ms


def grade(rise: float) -> str:
    """Return the grade for a rise in ms: A+ below 5, A below 30, B below 60, C below 200, D below
    400, else F."""
    return step(rise, _CUTS, _GRADES)

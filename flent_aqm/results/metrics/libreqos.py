# SPDX-License-Identifier: GPL-3.0-or-later
"""LibreQoS' grade of buffer bloat, for a single user.

Source: LibreQoE/bufferbloat_test at commit 4bb15b5 (June 2025): client/results.js and
client/shared/gradeCalculations.js for the formulas. The limits of its grades are those of its
README, of the test's page "Bufferbloat & QoO Test" and of gradeCalculations.js. A settings file of
that commit still has the older limits of 25, 50, 75 and 100 ms.

Each phase of a test has a grade: download, upload, and both at once. All phases have the same
weight in the total, which can't be better than the grade of the idle link.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.percentiles import of_answered
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.shared_time import SHORTEST_S
from flent_aqm.results.metrics.steps import step

BOTH = "bidirectional"
PHASES = (*DIRECTIONS, BOTH)
_CUTS, _GRADES = (5, 30, 60, 200, 400), ("A+", "A", "B", "C", "D", "F")
_IDLE_CUTS = (75, 100, 125, 150, 175)
_POINTS = dict(zip(_GRADES, (6.0, 5.0, 4.0, 3.0, 2.0, 1.0), strict=True))
_POINT_CUTS = (1.5, 2.5, 3.5, 4.5, 5.5)


def phase_rise_ms(run: Run, phase: str) -> float:
    """Return the mean latency in a phase less the lower quartile of the idle latency, in ms. phase:
    one of PHASES. Raises NotAvailable, also if the test has no such phase."""
    rises_ms = _rises_ms(run)
    if phase not in rises_ms:
        raise NotAvailable("the test never loads both directions at once" if phase == BOTH
                           else f"the test never loads {phase} alone")
    return rises_ms[phase]


def rise_ms(run: Run) -> float:
    """Return the mean of the phases' rises in ms, with equal weights. Raises NotAvailable."""
    return fmean(_rises_ms(run).values())


def total_points(run: Run) -> float:
    """Return the total: the mean of the phases' grades as numbers, from 6 for A+ to 1 for F, but
    not more than the idle link's. Raises NotAvailable."""
    phases = fmean(_POINTS[grade(rise)] for rise in _rises_ms(run).values())
    return min(phases, _POINTS[step(_idle_ms(run), _IDLE_CUTS, _GRADES)])


def grade(rise: float) -> str:
    """Return the grade for a rise in ms: A+ below 5, A below 30, B below 60, C below 200, D below
    400, else F."""
    return step(rise, _CUTS, _GRADES)


def total_grade(points: float) -> str:
    """Return the grade for a total: A+ from 5.5 points, A from 4.5, B from 3.5, C from 2.5, D from
    1.5, else F."""
    return step(points, _POINT_CUTS, _GRADES[::-1])


def _idle_ms(run: Run) -> float:
    """Return the lower quartile of the idle RTTs in ms. Raises NotAvailable."""
    return of_answered(run.idle().answered_ms, 25)


def _rises_ms(run: Run) -> Mapping[str, float]:
    """Return phase -> rise in ms, for phases of at least 1 s with an answered probe. Raises
    NotAvailable if there is none."""
    probes = run.loaded()
    loading = {}
    for way in DIRECTIONS:
        spans = [(flow.start_s, flow.end_s) for flow in run.speed_test if flow.direction == way]
        loading[way] = numpy.zeros(probes.sent_s.size, dtype=bool)
        if spans:
            loading[way] |= ((probes.sent_s >= min(start for start, _ in spans))
                             & (probes.sent_s <= max(end for _, end in spans)))
    down, up = (loading[way] for way in DIRECTIONS)
    idle_ms = _idle_ms(run)
    rises_ms = {}
    for phase, inside in zip(PHASES, (down & ~up, up & ~down, down & up), strict=True):
        answered_ms = probes.rtt_ms[inside & numpy.isfinite(probes.rtt_ms)]
        if answered_ms.size and inside.sum() * probes.spacing_ms >= SHORTEST_S * 1000:
            rises_ms[phase] = float(answered_ms.mean()) - idle_ms
    if not rises_ms:
        raise NotAvailable("no phase of the load has probes that came back")
    return rises_ms

# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures whether flows lose throughput at the same time.

This is the effect of a queue that drops packets of many flows at once. Own definition. RFC 7567,
section 1, and Zhang and Clark (1990) describe the effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.flows import Flow
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.shared_time import carried_mbit, flow_window
from flent_aqm.results.metrics.window import ROUNDING_S

# Length of a step: longer than netperf's intervals, and shorter than the time in which TCP
# recovers.
STEP_S = 0.25
# At first the throughput of all flows grows from zero. Correlations of few steps would be chance.
START_UP_S = 2.0
FEWEST_STEPS = 20


def synchronisation(run: Run, direction: str) -> float:
    """Return the mean correlation (Pearson's) between the drops in throughput of any two flows in a
    direction, including cross traffic. It is 1 if all flows drop at the same time and by the same
    amount, and about 0 if they drop independently.

    A flow's drop is its loss of throughput from one step of STEP_S to the next, 0 if it gained.
    Steps are those in which all flows run, without the first START_UP_S. Raises NotAvailable.
    """
    flows = run.sharing(direction)
    if len(flows) < 2:
        raise NotAvailable(f"there is only one {direction} flow")
    return drop_correlation(rates_mbps(flows))


def rates_mbps(flows: Sequence[Flow]) -> NDArray[Any]:
    """Return the mean throughput in Mbit/s of each flow (rows) in the steps in which all run
    (columns). Raises NotAvailable with fewer than FEWEST_STEPS."""
    if any(flow.at_s.size < FEWEST_STEPS for flow in flows):
        raise NotAvailable("a flow's throughput over time is not known")
    spans = [flow_window(flow) for flow in flows]
    start_s = max(one.start_s for one in spans) + START_UP_S
    steps = int((min(one.end_s for one in spans) - start_s + ROUNDING_S) / STEP_S)
    if steps < FEWEST_STEPS:
        raise NotAvailable(f"all flows run together for less than {FEWEST_STEPS * STEP_S:g} s")
    edges = start_s + numpy.arange(steps + 1) * STEP_S
    return numpy.stack([numpy.diff(carried_mbit(flow, edges)) / STEP_S for flow in flows])


def drop_correlation(rates: NDArray[Any]) -> float:
    """Return the mean correlation between drops of all pairs of flows. Flows that don't drop are
    left out. Raises NotAvailable if fewer than two are left.

    rates: throughput of flows (rows) over time (columns).
    """
    drops = numpy.maximum(-numpy.diff(rates, axis=1), 0.0)
    # Rates differ by rounding where nothing happens.
    drops = drops[numpy.ptp(drops, axis=1) > 1e-9 * max(float(numpy.abs(rates).max()), 1e-300)]
    if len(drops) < 2:
        raise NotAvailable("fewer than two flows lose throughput at any time")
    above = numpy.triu_indices(len(drops), 1)
    mean = float(numpy.corrcoef(drops)[above].mean())
    if not numpy.isfinite(mean):
        raise NotAvailable("the flows' throughput has impossible values")
    return min(max(mean, -1.0), 1.0)

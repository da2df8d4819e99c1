# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether flows lose throughput together: what a queue that drops many of them at once does.

Own definition. RFC 7567, section 1, and Zhang and Clark (1990) describe the effect.
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

# Longer than netperf's intervals and shorter than what TCP needs to grow back.
STEP_S = 0.25
# Throughput grows from nothing at first, in all flows at once; and correlations of few steps
# are chance.
START_UP_S = 2.0
FEWEST_STEPS = 20


def synchronisation(run: Run, direction: str) -> float:
    """Return the mean correlation (Pearson's) of the throughput drops of any two flows in a
    direction, cross traffic too: 1 where all fall at the same time and alike, about 0 where each
    falls by itself.

    A flow's drop from one step of STEP_S to the next is what it lost, 0 where it gained.
    Steps are those in which all flows run, without the first START_UP_S. Raises
    NotAvailable.
    """
    flows = run.sharing(direction)
    if len(flows) < 2:
        raise NotAvailable(f"there is only one {direction} flow")
    return drop_correlation(rates_mbps(flows))


def rates_mbps(flows: Sequence[Flow]) -> NDArray[Any]:
    """Return the mean throughput of each flow (rows) in steps that all flows have (columns).
    Raises NotAvailable where there are fewer than FEWEST_STEPS."""
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
    """Of flows (rows) over time (columns): the mean over all pairs that both lose something
    at some time and differ over time. Raises NotAvailable without such a pair."""
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

# SPDX-License-Identifier: GPL-3.0-or-later
"""RTTs of the load's own packets, from the capture on the client.

They show the effect of a queue on the flow that fills it. Probes show the effect on other flows.
Source: measure/parsers/round_trips.py. A percentile is the mean of each connection's.
"""

from __future__ import annotations

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.percentiles import SAMPLES_BEYOND, samples_beyond
from flent_aqm.results.metrics.run import Run

# Name -> percentile.
STATISTICS = {"min": 0, "median": 50, "p90": 90, "p95": 95, "p99": 99, "max": 100}


def flow_rtt_ms(run: Run, direction: str, statistic: str) -> float:
    """Return a statistic of the RTTs in ms of all flows in a direction.

    statistic: a key of STATISTICS. Raises NotAvailable without a capture, or with too few samples.
    """
    trips = [flow.trips for flow in run.way(direction) if flow.trips is not None]
    if not trips:
        raise NotAvailable(f"no capture has round trips of the flows of {direction}; give the test "
                           "parameter round_trips=yes")
    percent = STATISTICS[statistic]
    samples = sum(one.samples for one in trips)
    if 0 < percent < 100 and samples_beyond(samples, percent) < SAMPLES_BEYOND:
        raise NotAvailable(f"{samples} round trips are too few for p{percent}")
    return float(numpy.average([one.percentiles_ms[percent] for one in trips],
                               weights=[one.connections for one in trips]))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the few values of a run that a sweep's table shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.queue import not_in_l
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.metrics.throughput import shares_line

Value = float | Unavailable
NOT_TOLD = Unavailable("nothing tells of the flows' own packets")
NOT_SHARED = Unavailable("the run has no cross traffic")
# Field of Scores -> metric.
NAMES = {"download_mbps": "throughput_download_mbps", "upload_mbps": "throughput_upload_mbps",
         "latency_median_ms": "latency_loaded_median_ms",
         "latency_p99_ms": "latency_loaded_p99_ms"}


@dataclass(frozen=True)
class Scores:
    """Values of a run for a sweep's table: throughput of the test, and of all flows if it shares
    the line, RTTs of probes under load and of the load's own packets, and warnings."""

    # Sum of the test's flows.
    download_mbps: Value
    upload_mbps: Value
    # RTTs of probes under load.
    latency_median_ms: Value
    latency_p99_ms: Value
    # Median RTT of the load's own packets, in the direction in which it is longer.
    flow_rtt_ms: Value = NOT_TOLD
    # Reasons why the run may not be as intended.
    warnings: Sequence[str] = ()
    # Throughput of all flows, if the test shares the line with cross traffic.
    total_download_mbps: Value = NOT_SHARED
    total_upload_mbps: Value = NOT_SHARED
    # Conditions on the router that hide the effect of the queue.
    router_warnings: Sequence[str] = ()


def scores(run: Run) -> Scores:
    """Return the scores of a run."""
    own = [METRICS[f"flow_rtt_{way}_median_ms"].of(run) for way in DIRECTIONS]
    longest = max((one for one in own if not isinstance(one, Unavailable)), default=own[0])
    totals = {f"total_{way}_mbps": METRICS[f"total_{way}_mbps"].of(run) for way in DIRECTIONS
              } if shares_line(run.settings) else {}
    return Scores(**{field: METRICS[name].of(run) for field, name in NAMES.items()}, **totals,
                  flow_rtt_ms=longest, warnings=tuple(not_in_l(run)), router_warnings=())

# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the few values of a run that a sweep's table shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.queue import empty_l_queue_warnings
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.metrics.throughput import shares_line

Value = float | Unavailable
NOT_TOLD = Unavailable("the file has no round trips of the flows' own packets")
NOT_SHARED = Unavailable("the run has no cross traffic")
# Field of Scores -> metric.
NAMES = {"download_mbps": "throughput_download_mbps", "upload_mbps": "throughput_upload_mbps",
         "latency_median_ms": "latency_loaded_median_ms",
         "latency_p99_ms": "latency_loaded_p99_ms"}


@dataclass(frozen=True)
class Scores:
    """Values of a run for a sweep's table, and warnings. Each value is a number, or Unavailable
    with the reason.

    Attributes:
        download_mbps: throughput of the test's downloads together, without cross traffic.
        upload_mbps: the same for the uploads.
        latency_median_ms: median RTT of probes under load.
        latency_p99_ms: 99th percentile of the RTT of probes under load.
        flow_rtt_ms: median RTT of the load's own packets, in the direction in which it is longer,
            or of which alone it is known.
        warnings: reasons why the run may not be as intended.
        total_download_mbps: throughput of all downloads together, with cross traffic. NOT_SHARED
            if the run has no cross traffic.
        total_upload_mbps: the same for the uploads.
        router_warnings: conditions on the router that hide the effect of the queue.
    """

    download_mbps: Value
    upload_mbps: Value
    latency_median_ms: Value
    latency_p99_ms: Value
    flow_rtt_ms: Value = NOT_TOLD
    warnings: Sequence[str] = ()
    total_download_mbps: Value = NOT_SHARED
    total_upload_mbps: Value = NOT_SHARED
    router_warnings: Sequence[str] = ()


def scores(run: Run) -> Scores:
    """Return the scores of a run. A value that the run doesn't have is Unavailable, with the
    reason. `router_warnings` is left empty for the caller to fill in."""
    flow_rtts_ms = [METRICS[f"flow_rtt_{way}_median_ms"].of(run) for way in DIRECTIONS]
    longest = max((rtt_ms for rtt_ms in flow_rtts_ms if not isinstance(rtt_ms, Unavailable)),
                  default=flow_rtts_ms[0])
    totals = {f"total_{way}_mbps": METRICS[f"total_{way}_mbps"].of(run) for way in DIRECTIONS
              } if shares_line(run.settings) else {}
    return Scores(**{field: METRICS[name].of(run) for field, name in NAMES.items()}, **totals,
                  flow_rtt_ms=longest, warnings=tuple(empty_l_queue_warnings(run)),
                  router_warnings=())

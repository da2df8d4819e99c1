# SPDX-License-Identifier: GPL-3.0-or-later
"""The few numbers of a run that a sweep's table shows."""

from __future__ import annotations

from dataclasses import dataclass

from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import METRICS, Unavailable

Value = float | Unavailable
# Field of Scores -> metric.
NAMES = {"download_mbps": "throughput_download_mbps", "upload_mbps": "throughput_upload_mbps",
         "latency_median_ms": "latency_loaded_median_ms",
         "latency_p99_ms": "latency_loaded_p99_ms"}


@dataclass(frozen=True)
class Scores:
    """By the names and rules of METRICS: throughput by direction, the sum of the test's flows,
    and the probes' round-trip times under load."""

    download_mbps: Value
    upload_mbps: Value
    latency_median_ms: Value
    latency_p99_ms: Value


def scores(run: Run) -> Scores:
    """Return the scores of a run."""
    return Scores(**{field: METRICS[name].of(run) for field, name in NAMES.items()})

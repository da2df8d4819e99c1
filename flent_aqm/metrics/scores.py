# SPDX-License-Identifier: GPL-3.0-or-later
"""The few numbers of a run that a sweep's table shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from flent_aqm.metrics.load import (
    load_window,
    loaded_latency_ms,
    probe_series,
    speed_test_series,
)
from flent_aqm.metrics.percentiles import percentile


@dataclass(frozen=True)
class Scores:
    """Throughput in Mbit/s as the speed test reports it (mean of its directions), and the
    probes' round-trip times in ms under load. None: the run doesn't tell."""

    throughput_mbps: float | None
    latency_median_ms: float | None
    latency_p99_ms: float | None


def scores(metadata: Mapping[str, Any], raw_values: Mapping[str, Any]) -> Scores:
    """The scores of a run, from the two objects of those names in its data file."""
    reported = [meta["MEAN_VALUE"] for meta in speed_test_series(metadata).values()
                if meta.get("MEAN_VALUE") is not None]
    window, probe = load_window(metadata), probe_series(metadata)
    latency = loaded_latency_ms(raw_values.get(probe, []), window) if window and probe else []
    return Scores(
        throughput_mbps=fmean(reported) if reported else None,
        latency_median_ms=percentile(latency, 50),
        latency_p99_ms=percentile(latency, 99),
    )

# SPDX-License-Identifier: GPL-3.0-or-later
"""The few numbers of a run that a sweep's table shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.latency import loaded_ms
from flent_aqm.results.metrics.run import Run


@dataclass(frozen=True)
class Scores:
    """Throughput in Mbit/s as the speed test reports it (mean of its directions), and the
    probes' round-trip times in ms under load. None: the run doesn't tell."""

    throughput_mbps: float | None
    latency_median_ms: float | None
    latency_p99_ms: float | None


def scores(run: Run) -> Scores:
    """The scores of a run."""
    reported = [flow.mean_mbps for flow in run.speed_test
                if flow.is_speed_test and flow.mean_mbps is not None]
    return Scores(
        throughput_mbps=fmean(reported) if reported else None,
        latency_median_ms=_or_none(lambda: loaded_ms(run, "median")),
        latency_p99_ms=_or_none(lambda: loaded_ms(run, "p99")),
    )


def _or_none(number: Callable[[], float]) -> float | None:
    try:
        return number()
    except NotAvailable:
        return None

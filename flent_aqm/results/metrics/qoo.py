# SPDX-License-Identifier: GPL-3.0-or-later
"""Quality of Outcome (QoO): how well the network serves an application, 0 to 100.

Source: draft-ietf-ippm-qoo. The score is the lowest of those for latency, loss and throughput. Each
application has its requirements. Here they are those of the draft's worked example.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flent_aqm.results.metrics.loss import loss_pct
from flent_aqm.results.metrics.percentiles import percentile_or_lost
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.throughput import throughput_mbps


@dataclass(frozen=True)
class Requirements:
    """Requirements of an application: latency by percentile and loss, each as (optimal, unusable),
    and the throughput that it needs in each direction."""

    # Percentile -> latency for optimal performance, and of an unusable network.
    latency_ms: Mapping[float, tuple[float, float]]
    # Loss for optimal performance, and of an unusable network.
    loss_pct: tuple[float, float]
    # Needed in each direction that the test loads.
    throughput_mbps: float


EXAMPLE = Requirements({99: (200, 500), 99.9: (300, 600)}, (1, 5), 4)
# Most runs are too short for p99.9.
EXAMPLE_P99 = Requirements({99: (200, 500)}, (1, 5), 4)


def qoo(run: Run, requirements: Requirements = EXAMPLE) -> float:
    """Return the QoO score of a run. Raises NotAvailable."""
    samples = run.loaded()
    latency_ms = {percent: percentile_or_lost(samples.rtt_ms, percent)
                  for percent in requirements.latency_ms}
    ways = sorted({flow.direction for flow in run.speed_test if flow.direction})
    return score(requirements, latency_ms, loss_pct(samples),
                 min((throughput_mbps(run, way) for way in ways), default=0.0))


def score(needs: Requirements, latency_ms: Mapping[float, float], loss: float,
          mbps: float) -> float:
    """Return the QoO score, 0 to 100, of measured values.

    Args:
        needs: requirements of the application.
        latency_ms: percentile -> latency.
        loss: lost packets in percent.
        mbps: throughput in the slower direction.
    """
    parts = [_share(latency_ms[percent], *needs.latency_ms[percent])
             for percent in needs.latency_ms]
    enough = 1.0 if mbps >= needs.throughput_mbps else 0.0
    return 100 * min([*parts, _share(loss, *needs.loss_pct), enough])


def _share(measured: float, optimal: float, unusable: float) -> float:
    """Return the position of a value between unusable (0) and optimal (1)."""
    return min(max(1 - (measured - optimal) / (unusable - optimal), 0.0), 1.0)

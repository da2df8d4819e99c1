# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics of raw latency probes, idle or under load.

Source: common practice. Percentiles count a lost probe as slower than any other. Mean, minimum and
maximum can't, and are those of the answered probes.
"""

from __future__ import annotations

from collections.abc import Callable

from flent_aqm.base.errors import LostProbe, NotAvailable
from flent_aqm.results.metrics.percentiles import percentile
from flent_aqm.results.metrics.run import Run, Samples

STATISTICS: dict[str, Callable[[Samples], float]] = {
    "min": lambda samples: float(samples.answered_ms.min()),
    "median": lambda samples: percentile(samples.rtt_ms, 50),
    "mean": lambda samples: float(samples.answered_ms.mean()),
    "p90": lambda samples: percentile(samples.rtt_ms, 90),
    "p95": lambda samples: percentile(samples.rtt_ms, 95),
    "p99": lambda samples: percentile(samples.rtt_ms, 99),
    "p99_9": lambda samples: percentile(samples.rtt_ms, 99.9),
    "max": lambda samples: float(samples.answered_ms.max()),
}


def idle_ms(run: Run, statistic: str) -> float:
    """Return a statistic of the RTTs before the load, in ms. statistic: a key of STATISTICS. Raises
    NotAvailable."""
    return STATISTICS[statistic](run.idle())


def loaded_ms(run: Run, statistic: str) -> float:
    """Return a statistic of the RTTs under load, in ms. statistic: a key of STATISTICS. Raises
    NotAvailable."""
    return STATISTICS[statistic](run.loaded())


def increase_ms(run: Run, statistic: str) -> float:
    """Return the increase of latency under load in ms: the statistic under load less the idle one.

    There is no standard, so the statistic is part of the metric's name. Raises NotAvailable, and
    LostProbe if the statistic under load is a lost probe.
    """
    try:
        before_ms = idle_ms(run, statistic)
    except LostProbe as lost:
        raise NotAvailable(f"before the load {lost}") from None
    return loaded_ms(run, statistic) - before_ms

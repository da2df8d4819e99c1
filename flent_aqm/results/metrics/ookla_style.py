# SPDX-License-Identifier: GPL-3.0-or-later
"""Loaded latency as Ookla's Speedtest shows it: per direction iqm, low, high and jitter.

Source: names of the fields in the JSON of Ookla's command-line client. Its probes are its
own, over TCP and at times of its choosing; here they are the run's, all of them.
"""

from __future__ import annotations

from flent_aqm.results.metrics.jitter import mean_difference_ms
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.trimmed import trimmed_mean


def iqm_ms(run: Run, direction: str) -> float:
    """Interquartile mean: without the lowest and the highest quarter. Raises NotAvailable."""
    return trimmed_mean(run.loaded(direction).answered_ms, lowest=0.25, highest=0.25)


def low_ms(run: Run, direction: str) -> float:
    """Shortest round trip. Raises NotAvailable."""
    return float(run.loaded(direction).answered_ms.min())


def high_ms(run: Run, direction: str) -> float:
    """Longest round trip. Raises NotAvailable."""
    return float(run.loaded(direction).answered_ms.max())


def jitter_ms(run: Run, direction: str) -> float:
    """Return the mean difference of neighbours. Raises NotAvailable."""
    return mean_difference_ms(run.loaded(direction))

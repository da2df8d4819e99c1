# SPDX-License-Identifier: GPL-3.0-or-later
"""Loaded latency as Ookla's Speedtest shows it: iqm, low, high and jitter for each direction.

Source: names of the fields in the JSON of Ookla's command-line client. It sends probes of its own,
over TCP and at times of its choice. Here all probes of the run count.
"""

from __future__ import annotations

from flent_aqm.results.metrics.jitter import mean_difference_ms
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.trimmed import trimmed_mean


def iqm_ms(run: Run, direction: str) -> float:
    """Return the interquartile mean of RTTs in ms: without the lowest and the highest quarter.
    Raises NotAvailable."""
    return trimmed_mean(run.loaded(direction).answered_ms, lowest=0.25, highest=0.25)


def low_ms(run: Run, direction: str) -> float:
    """Return the lowest RTT in ms. Raises NotAvailable."""
    return float(run.loaded(direction).answered_ms.min())


def high_ms(run: Run, direction: str) -> float:
    """Return the highest RTT in ms. Raises NotAvailable."""
    return float(run.loaded(direction).answered_ms.max())


def jitter_ms(run: Run, direction: str) -> float:
    """Return the mean difference between successive RTTs in ms. Raises NotAvailable."""
    return mean_difference_ms(run.loaded(direction))

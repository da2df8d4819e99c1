# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes that were too late for a game."""

from __future__ import annotations

from flent_aqm.results.metrics.run import Run

LATE_MS = 100.0


def late_pct(run: Run) -> float:
    """Share in % of the probes under load that took longer than 100 ms, lost ones too.

    Raises NotAvailable for tests without load or latency.
    """
    return 100 * float((run.loaded().rtt_ms > LATE_MS).mean())

# SPDX-License-Identifier: GPL-3.0-or-later
"""Throughput of each host, for runs whose flows name the hosts from which they start."""

from __future__ import annotations

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.shared_time import mean_mbps, shared_window
from flent_aqm.results.metrics.throughput import jain


def by_host_mbps(run: Run, direction: str) -> dict[str, float]:
    """Return the throughput of each host's flows together in Mbit/s, while all flows of that
    direction ran. Raises NotAvailable with fewer than two hosts."""
    flows = run.way(direction)
    if len({flow.host for flow in flows if flow.host}) < 2:
        raise NotAvailable(f"the flows of {direction} don't name two hosts or more")
    window = shared_window(flows)
    mbps: dict[str, float] = {}
    for flow in flows:
        if flow.host:
            mbps[flow.host] = mbps.get(flow.host, 0.0) + mean_mbps(flow, window)
    return mbps


def fairness(run: Run, direction: str) -> float:
    """Return Jain's index over hosts. Raises NotAvailable."""
    return jain(list(by_host_mbps(run, direction).values()))


def least_mbps(run: Run, direction: str) -> float:
    """Return the throughput of the host that got least, in Mbit/s. Raises NotAvailable."""
    return min(by_host_mbps(run, direction).values())


def most_mbps(run: Run, direction: str) -> float:
    """Return the throughput of the host that got most, in Mbit/s. Raises NotAvailable."""
    return max(by_host_mbps(run, direction).values())

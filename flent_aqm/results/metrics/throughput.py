# SPDX-License-Identifier: GPL-3.0-or-later
"""What the flows carried."""

from __future__ import annotations

from collections.abc import Sequence

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import a_number
from flent_aqm.results.metrics.flows import Flow
from flent_aqm.results.metrics.run import Run

# TCP payload of a full-sized IPv4 packet with time stamps, and what HTB counts for it.
PAYLOAD_SHARE = 1448 / 1514
_RATE = {"download": "rate_down_mbps", "upload": "rate_up_mbps"}


def throughput_mbps(run: Run, direction: str) -> float:
    """Sum over the test's flows in a direction of what their tool reports as the mean of
    the whole test. Raises NotAvailable."""
    return sum(_means_mbps(run.way(direction)))


def utilisation_pct(run: Run, direction: str) -> float:
    """Throughput of all flows in a direction, cross traffic too, of what the shaper's rate
    lets full-sized TCP packets carry: rate x 1448 / 1514.

    Source: arithmetic; 14 bytes Ethernet, 20 IPv4, 20 TCP and 12 time stamps. Raises
    NotAvailable.
    """
    run.way(direction)
    rate_mbps = a_number(run.settings.get(_RATE[direction]))
    if not rate_mbps or rate_mbps < 0:
        raise NotAvailable("the file doesn't tell the rate of the link")
    flows = [flow for flow in run.flows if flow.direction == direction]
    return sum(_means_mbps(flows)) / (rate_mbps * PAYLOAD_SHARE) * 100


def fairness(run: Run, direction: str) -> float:
    """Jain's index over the mean throughputs of all flows in a direction, cross traffic
    too: (sum x)^2 / (n sum x^2), 1 when all get the same, 1/n when one gets all.

    Source: R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984. Raises NotAvailable.
    """
    run.way(direction)
    rates = _means_mbps([flow for flow in run.flows if flow.direction == direction])
    if len(rates) < 2:
        raise NotAvailable(f"there is one flow of {direction} only")
    return jain(rates)


def jain(rates: Sequence[float]) -> float:
    """Jain's index of two or more rates. Raises NotAvailable when all are 0."""
    squares = sum(rate * rate for rate in rates)
    if not squares > 0:
        raise NotAvailable("no flow carried anything")
    return sum(rates) ** 2 / (len(rates) * squares)


def _means_mbps(flows: Sequence[Flow]) -> list[float]:
    means = [flow.mean_mbps for flow in flows if flow.mean_mbps is not None]
    if len(means) < len(flows):
        raise NotAvailable("a flow's throughput is not known")
    return means

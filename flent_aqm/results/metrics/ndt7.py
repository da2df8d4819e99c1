# SPDX-License-Identifier: GPL-3.0-or-later
"""Results that the NDT7 speed test shows its user.

Source: the ndt7 protocol, version 0.11, section on what clients should show. Throughput is 8 x
bytes / elapsed time at the receiver, latency is TCP's MinRTT, retransmission is BytesRetrans /
BytesSent. flent_aqm/measure/parsers/ndt7.py computes them from the client's messages.
"""

from __future__ import annotations

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import a_number
from flent_aqm.results.metrics.run import Run


def ndt7(run: Run, direction: str, field: str) -> float:
    """Return a result of NDT7 for a direction. field: "throughput_mbps", "latency_ms" or
    "retransmission_pct". Raises NotAvailable."""
    reports = [flow.ndt7 for flow in run.way(direction) if flow.ndt7]
    if not reports:
        raise NotAvailable("the test is not NDT7's")
    value = a_number(reports[0].get(field))
    if value is None:
        raise NotAvailable(f"NDT7's {direction} doesn't tell {field}")
    return value

# SPDX-License-Identifier: GPL-3.0-or-later
"""Named router models, and where each of their numbers comes from."""

from __future__ import annotations

from collections.abc import Mapping

from flent_aqm.asked.router_model import RouterModel

IDEAL = RouterModel()

OMNIA = RouterModel(
    timer_latency_us=20, line_mbps=1000, rx_ring_packets=512, tx_ring_packets=1024,
    rx_coalesce_us=100, rx_coalesce_packets=32, rx_packet_ns=9000, tx_packet_ns=2000,
)

KNOWN_ROUTERS: Mapping[str, RouterModel] = {"ideal": IDEAL, "omnia": OMNIA}

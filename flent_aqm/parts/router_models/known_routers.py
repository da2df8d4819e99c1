# SPDX-License-Identifier: GPL-3.0-or-later
"""Named router models, and where each of their numbers comes from.

What has no source is an assumption, and says so; docs/router-models.md has the same in a table.
For all: softirqs as in Linux (turns of 64 packets, NAPI_POLL_WEIGHT; 300 packets, netdev_budget;
2 ms, MAX_SOFTIRQ_TIME), no other work, and one core for both ports.
"""

from __future__ import annotations

from collections.abc import Mapping

from flent_aqm.parts.router_models.model import RouterModel

IDEAL = RouterModel()

# The study's router: Turris Omnia, Marvell Armada 385, two Cortex-A9 at 1.6 GHz.
OMNIA = RouterModel(
    # Fitted together with the cost of a packet to the study's text: below 700 of 800 Mbit/s
    # without burst shaping (598 here), close to 800 with it (762, where TCP can carry 765). Fitted
    # when hosts acknowledged up to 43 segments at once; the text fits with those of today, too.
    timer_latency_us=26,
    line_mbps=1000,
    # drivers/net/ethernet/marvell/mvneta.c: MVNETA_MAX_RXD, MVNETA_MAX_TXD, which are its
    # defaults; MVNETA_RX_COAL_USEC, MVNETA_RX_COAL_PKTS; it has byte queue limits.
    rx_ring_packets=512, tx_ring_packets=1024, rx_coalesce_us=100, rx_coalesce_packets=32,
    # 12 us in all: 66 full packets a ms at 800 Mbit/s, and the 17 acknowledgements of hosts that
    # interrupt every 50 us, just go; two directions don't. The split in 10 and 2 is assumed.
    rx_packet_ns=10_000, tx_packet_ns=2000,
)

# A small MIPS router: MediaTek MT7621, 880 MHz, as in D-Link's DIR-860L.
MT7621 = RouterModel(
    timer_latency_us=25,  # assumed: as omnia
    line_mbps=1000,
    # drivers/net/ethernet/mediatek/mtk_eth_soc.c, mt7621_data: dma_size 2K for both rings.
    rx_ring_packets=2048, tx_ring_packets=2048,
    # Its moderation is adaptive (net_dim); assumed: the middle profile of lib/dim/net_dim.c,
    # 64 us, in the driver's steps of 20 us, and the register's most packets, 127.
    rx_coalesce_us=80, rx_coalesce_packets=127,
    # forum.openwrt.org/t/3768: 600 to 700 Mbit/s with fq_codel and a shaper, the processor
    # being full. 650 Mbit/s are 56 full packets a ms, and the acknowledgements of hosts that
    # interrupt every 50 us: 13.9 us each give 650 in the lab. The split is assumed.
    rx_packet_ns=11_500, tx_packet_ns=2400,
)

# A fast ARM router: MediaTek MT7988A, four Cortex-A73 at 1.8 GHz, as on the Banana Pi BPI-R4.
MT7988 = RouterModel(
    timer_latency_us=5,  # assumed
    line_mbps=10_000,
    # The same driver, mt7988_data: 2K; moderation as above.
    rx_ring_packets=2048, tx_ring_packets=2048, rx_coalesce_us=80, rx_coalesce_packets=127,
    # blog.lemaker.org, "WireGuard throughput benchmarks: Filogic routers": 2.8 Gbit/s by one
    # flow without hardware's help, bound by the processor: 242 full packets a ms, and the
    # acknowledgements of hosts that interrupt every 50 us: 3.8 us each give 2.8 in the lab. The
    # split is assumed.
    rx_packet_ns=3250, tx_packet_ns=550,
)

KNOWN_ROUTERS: Mapping[str, RouterModel] = {
    "ideal": IDEAL, "omnia": OMNIA, "mt7621": MT7621, "mt7988": MT7988}

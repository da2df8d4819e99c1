# SPDX-License-Identifier: GPL-3.0-or-later
"""Named router models, and the source of each of their numbers.

Numbers without a source are marked as assumed. docs/router-models.md has the same in a table.
All models have softirqs as in Linux (64 packets per poll, NAPI_POLL_WEIGHT; 300 per softirq,
netdev_budget; 2 ms, MAX_SOFTIRQ_TIME), no other work, and one core for both ports.
"""

from __future__ import annotations

from collections.abc import Mapping

from flent_aqm.parts.router_models.model import RouterModel

IDEAL = RouterModel()

# The study's router: Turris Omnia, Marvell Armada 385, two Cortex-A9 at 1.6 GHz.
OMNIA = RouterModel(
    # Fitted together with the cost of a packet to the study's text: below 700 of 800 Mbit/s without
    # burst shaping (598 with this model), close to 800 with it (762, where TCP can carry 765). It
    # was fitted when the lab's hosts acknowledged up to 43 segments at once. The model agrees with
    # the text for the hosts of today, too.
    timer_latency_us=26,
    line_mbps=1000,
    # drivers/net/ethernet/marvell/mvneta.c: MVNETA_MAX_RXD and MVNETA_MAX_TXD, which are the
    # driver's defaults, MVNETA_RX_COAL_USEC, MVNETA_RX_COAL_PKTS. The driver has byte queue limits.
    rx_ring_packets=512, tx_ring_packets=1024, rx_coalesce_us=100, rx_coalesce_packets=32,
    # 12 us in total: the processor just forwards the 66 full packets per ms of 800 Mbit/s and the
    # 17 acknowledgements of hosts that interrupt every 50 us, but not this load in both directions.
    # The split into 10 and 2 is assumed.
    rx_packet_ns=10_000, tx_packet_ns=2000,
)

# A small MIPS router: MediaTek MT7621, 880 MHz, as in D-Link's DIR-860L.
MT7621 = RouterModel(
    timer_latency_us=25,  # assumed: as omnia
    line_mbps=1000,
    # drivers/net/ethernet/mediatek/mtk_eth_soc.c, mt7621_data: dma_size 2K for both rings.
    rx_ring_packets=2048, tx_ring_packets=2048,
    # Its interrupt moderation is adaptive (net_dim). Assumed: the middle profile of
    # lib/dim/net_dim.c, 64 us, in the driver's steps of 20 us, and the register's maximum of 127
    # packets.
    rx_coalesce_us=80, rx_coalesce_packets=127,
    # forum.openwrt.org/t/3768: 600 to 700 Mbit/s with fq_codel and a shaper, at full load of the
    # processor. 650 Mbit/s are 56 full packets per ms, and the acknowledgements of hosts that
    # interrupt every 50 us. A cost of 13.9 us per packet gives 650 Mbit/s in the lab. The split is
    # assumed.
    rx_packet_ns=11_500, tx_packet_ns=2400,
)

# A fast ARM router: MediaTek MT7988A, four Cortex-A73 at 1.8 GHz, as on the Banana Pi BPI-R4.
MT7988 = RouterModel(
    timer_latency_us=5,  # assumed
    line_mbps=10_000,
    # The same driver, mt7988_data: 2K. Interrupt moderation as above.
    rx_ring_packets=2048, tx_ring_packets=2048, rx_coalesce_us=80, rx_coalesce_packets=127,
    # blog.lemaker.org, "WireGuard throughput benchmarks: Filogic routers": 2.8 Gbit/s by one flow
    # without hardware offload, limited by the processor. These are 242 full packets per ms, and the
    # acknowledgements of hosts that interrupt every 50 us. A cost of 3.8 us per packet gives 2.8
    # Gbit/s in the lab. The split is assumed.
    rx_packet_ns=3250, tx_packet_ns=550,
)

KNOWN_ROUTERS: Mapping[str, RouterModel] = {
    "ideal": IDEAL, "omnia": OMNIA, "mt7621": MT7621, "mt7988": MT7988}

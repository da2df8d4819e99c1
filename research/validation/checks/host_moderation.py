# SPDX-License-Identifier: GPL-3.0-or-later
"""Segments per acknowledgement against the arithmetic of the hosts' interrupt throttle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from research.validation.check import Check, Outcome, close_to
from research.validation.moderation import measure, segments_per_acknowledgement

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATES_MBPS = (300, 900)
GAPS_US = (0, 20, 50, 125, 250)


def measure_all() -> Outcome:
    flows = {(rate_mbps, gap_us): measure(rate_mbps, gap_us, aqm="fq_codel", length_s=4)
             for rate_mbps in RATES_MBPS for gap_us in GAPS_US}
    findings = []
    for (rate_mbps, gap_us), flow in flows.items():
        theory = segments_per_acknowledgement(rate_mbps, gap_us)
        findings.append(close_to(f"segments per ACK at {rate_mbps} Mbit/s, {gap_us} µs", "",
                                 theory, flow.segments, percent=5))

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for rate_mbps, colour in zip(RATES_MBPS, ("#0072B2", "#D55E00"), strict=True):
            axis.plot(GAPS_US, [segments_per_acknowledgement(rate_mbps, gap_us)
                                for gap_us in GAPS_US], color=colour, linewidth=0.9,
                      label=f"{rate_mbps} Mbit/s, arithmetic")
            axis.plot(GAPS_US, [flows[rate_mbps, gap_us].segments for gap_us in GAPS_US], "o",
                      color=colour, label=f"{rate_mbps} Mbit/s, measured")
        axis.set_xlabel("least time between two interrupts (µs)")
        axis.set_ylabel("segments per acknowledgement")
        axis.legend(frameon=False)

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="host_moderation",
    title="The hosts' cards interrupt like cards with a throttle",
    theory="A frame interrupts at once if the last interrupt is longer ago than the throttle's gap "
           "`g`, else when the gap is over. Frames that come every `T = 1514 × 8 / rate` so come "
           "by `max(1, g / T)` at a time. TCP acknowledges what an interrupt brings at once, but "
           "at least two segments.",
    source="drivers/net/ethernet/intel/igc/igc_main.c (EITR); net/ipv4/tcp_input.c, "
           "__tcp_ack_snd_check",
    set_up="One flow of Cubic through `fq_codel` with 10 ms of added delay; the acknowledgements "
           "that arrive at the client's device, from 1 s on; `host_moderation_us` "
           f"{', '.join(map(str, GAPS_US))}.",
    tolerance="5 %: the receiver's program acknowledges, too, when it has read a segment with "
              "TCP's push flag, at other moments than the throttle's.",
    caption="Segments that a receiver acknowledges at once.",
    measure=measure_all,
)

# SPDX-License-Identifier: GPL-3.0-or-later
"""How fair a queue still is if packets are lost before it, in the receive ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from research.validation.captures import read_packets as read
from research.validation.captures import shares
from research.validation.check import Check, Finding, Outcome, close_to
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COST_US = 50
CAPACITY_PER_S = 1e6 / COST_US
FRAME_BITS = 114 * 8
# Source port -> load as a share of the capacity: 1.8 in total, 3 to 1.
OFFERED = {4001: 1.35, 4002: 0.45}
LENGTH_S = 6
# The bottleneck is the shaper, at half of the processor's capacity; or the processor, before a
# shaper that it can't fill.
SHAPED_MBPS = CAPACITY_PER_S * FRAME_BITS / 1e6 / 2
CASES = {
    "ideal router, fq_codel the bottleneck": ("ideal", SHAPED_MBPS, 50.0),
    "processor the bottleneck, fq_codel behind it": (
        f"ideal+rx_packet_ns={COST_US * 1000}+rx_ring_packets=256", 1000.0,
        100 * OFFERED[4001] / sum(OFFERED.values())),
}


def measure() -> Outcome:
    findings: list[Finding] = []
    bars = {}
    for label, (model, rate_mbps, expected) in CASES.items():
        script = f"""
            capture out.pcap up out udp
            poisson {OFFERED[4001] * CAPACITY_PER_S} {LENGTH_S} 1 4001 &
            poisson {OFFERED[4002] * CAPACITY_PER_S} {LENGTH_S} 2 4002
            wait $!
            sleep 1
            capture_end"""
        with experiment(script, aqm="fq_codel", rate_mbps=rate_mbps,
                        router_model=model) as folder:
            measured = 100 * shares(read(folder / "out.pcap"), "source_port", 1, LENGTH_S)[4001]
        findings.append(close_to(f"{label}: share of the flow that sends three times as much",
                                 "%", expected, measured, percent=2))
        bars[label] = (measured, expected)

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for place, (label, (measured, expected)) in enumerate(bars.items()):
            axis.barh(place, measured, color="#0072B2")
            axis.barh(place, 100 - measured, left=measured, color="#D55E00")
            axis.plot([expected, expected], [place - 0.4, place + 0.4], color="black")
            axis.text(1, place, label, va="center", color="white")
        axis.set_yticks([])
        axis.set_xlabel("share of the packets that got through (%)")
        axis.set_xlim(0, 100)

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="router_fairness",
    title="Fairness is lost in front of the queue",
    theory="Two flows send 3 : 1. Where `fq_codel` is the bottleneck each gets a half. Where the "
           "processor is, its receive ring drops whatever comes when it is full, so each flow "
           "gets what it sends: 75 % and 25 %; `fq_codel` behind it is empty.",
    source="RFC 8290 (fair queueing); a FIFO queue's loss is the same for all that Poisson "
           "processes bring",
    set_up="Two UDP flows of Poisson processes, 1.35 and 0.45 of what the processor forwards; "
           "shares of the packets that leave the router.",
    tolerance="2 %.",
    caption="Blue: the flow that sends three times as much. Lines: theory.",
    measure=measure,
)

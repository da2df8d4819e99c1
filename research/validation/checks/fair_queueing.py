# SPDX-License-Identifier: GPL-3.0-or-later
"""Shares of flows with different congestion controls, and one without, in SFQ and FQ-CoDel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flent_aqm.results.metrics.throughput import jain
from research.validation.captures import read_packets, shares
from research.validation.check import Check, Finding, Outcome, at_least, close_to
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOWS = ("cubic", "reno", "bbr", "vegas", "UDP")
QUEUES = ("sfq", "fq_codel", "no_aqm")
CHECKED = ("sfq", "fq_codel")
RATE_MBPS, DELAY_MS = 100, 5
FLOOD_MBPS = 60
FROM_S, TO_S = 5, 20


def measure() -> Outcome:
    findings: list[Finding] = []
    measured = {}
    servers = "; ".join(f"ip netns exec server iperf3 -s -D -p {5301 + i}"
                        for i in range(len(FLOWS) - 1))
    # The source port identifies a packet's flow.
    clients = "\n".join(
        f"iperf3 -c server -p {5301 + i} -C {name} --cport {40001 + i} -t {TO_S + 1} >/dev/null &"
        for i, name in enumerate(FLOWS[:-1]))
    script = f"""
        {servers}
        sleep 0.5
        capture out.pcap up out ip
        {clients}
        flood {FLOOD_MBPS} {TO_S + 1}
        capture_end"""
    for queue in QUEUES:
        with experiment(script, aqm=queue, rate_mbps=RATE_MBPS, base_delay_ms=DELAY_MS) as folder:
            packets = read_packets(folder / "out.pcap")
        by_port = shares(packets, "source_port", FROM_S, TO_S)
        udp = shares(packets, "protocol", FROM_S, TO_S)[17]
        measured[queue] = [100 * by_port[40001 + i] for i in range(len(FLOWS) - 1)] + [100 * udp]
        if queue in CHECKED:
            findings.append(at_least(f"Jain's index, {queue}", "", 0.99, jain(measured[queue])))
            findings += [close_to(f"share of {flow}, {queue}", "%", 100 / len(FLOWS), share,
                                  percent=15)
                         for flow, share in zip(FLOWS, measured[queue], strict=True)]

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for place, (queue, share) in enumerate(measured.items()):
            axis.bar([i + (place - 1) * 0.27 for i in range(len(FLOWS))], share, 0.25, label=queue,
                     color=("#CC79A7", "#0072B2", "#D55E00")[place])
        axis.axhline(100 / len(FLOWS), color="#444444", linewidth=0.8, linestyle=":")
        axis.set_xticks(range(len(FLOWS)), FLOWS)
        axis.set_ylabel("share of the link (%)")
        axis.legend(frameon=False)

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="fair_queueing",
    title="SFQ and FQ-CoDel share evenly",
    theory="`n` flows that always have something queued get `1/n` of the link each, whatever "
           "they do about losses. Jain's index, `(Σx)² / (n Σx²)`, is then 1.",
    source="McKenney, Stochastic Fairness Queueing, 1990; RFC 8290, section 4.2; Jain, Chiu and "
           "Hawe, DEC-TR-301, 1984",
    set_up=f"One flow each of {', '.join(FLOWS[:-1])}, and UDP at {FLOOD_MBPS} Mbit/s, through "
           f"{RATE_MBPS} Mbit/s with {DELAY_MS} ms of added delay; bytes that left the router "
           f"between {FROM_S} and {TO_S} s. `no_aqm` is there to compare. fq on the client "
           "spaces the packets.",
    tolerance="Jain's index 0.99, and each share within 15 % of a fifth: a flow that halves its "
              "window runs out of packets for a moment, and the others share what it leaves.",
    caption="Share of each flow, by queue; dotted: a fifth.",
    measure=measure,
)

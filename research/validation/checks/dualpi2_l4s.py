# SPDX-License-Identifier: GPL-3.0-or-later
"""DualPI2: a scalable flow's queue stays short while a classic flow gets its share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from research.validation.captures import passage
from research.validation.check import Check, Finding, Outcome, at_most
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE_MBPS, DELAY_MS = 40, 10
LENGTH_S, SKIP_S = 30, 10
DCTCP_PORT, CUBIC_PORT = 5301, 5201


def measure() -> Outcome:
    # Linux's dctcp sends ECT(0), L4S uses ECT(1): this router treats both as scalable.
    script = f"""
        ip netns exec router tc qdisc replace dev up parent 1:1 handle 10: dualpi2 any_ect
        # dctcp marks its SYN as well, which only a listener with dctcp takes for ECN.
        sysctl -qw net.ipv4.tcp_allowed_congestion_control='reno cubic dctcp'
        ip netns exec server sh -c '
            sysctl -qw net.ipv4.tcp_congestion_control=dctcp
            iperf3 -s -D -p {DCTCP_PORT}; sleep 0.5
            sysctl -qw net.ipv4.tcp_congestion_control=cubic'
        capture in.pcap down in tcp
        capture out.pcap up out tcp
        # iperf3 chooses its congestion control when the connection is there already.
        sysctl -qw net.ipv4.tcp_congestion_control=dctcp
        iperf3 -c server -p {DCTCP_PORT} -t {LENGTH_S} >/dev/null &
        sleep 0.5
        sysctl -qw net.ipv4.tcp_congestion_control=cubic
        iperf3 -c server -p {CUBIC_PORT} -C cubic -t {LENGTH_S} >/dev/null &
        sleep {LENGTH_S + 1}
        capture_end"""
    with experiment(script, aqm="dualpi2", rate_mbps=RATE_MBPS, base_delay_ms=DELAY_MS) as folder:
        way = passage(folder / "in.pcap", folder / "out.pcap")
    here = ~way.dropped & (way.entered_s > SKIP_S) & (way.entered_s < LENGTH_S)
    port = way.packets["destination_port"][here]
    wait_ms, length = way.sojourn_ms[here], way.packets["length"][here].astype(float)
    scalable, classic = port == DCTCP_PORT, port == CUBIC_PORT
    capable = float(((way.packets["tos"][here][scalable] & 3) > 0).mean())
    share = 100 * float(length[scalable].sum() / length[scalable | classic].sum())
    findings = [
        Finding("packets of dctcp that came with ECT", "%", 100 * capable, 99, 100),
        at_most("median wait in the L queue", "ms", 1, float(numpy.median(wait_ms[scalable]))),
        at_most("99th percentile of the wait in the L queue", "ms", 1 + 2 * 1514 * 8 / RATE_MBPS
                / 1e3, float(numpy.percentile(wait_ms[scalable], 99))),
        Finding("mean wait in the C queue", "ms", float(wait_ms[classic].mean()), 15 / 2, 15 * 1.5,
                15),
        Finding("share of dctcp", "%", share, 20, 80, 50),
    ]

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for which, name, colour in ((scalable, "L queue: dctcp", "#0072B2"),
                                    (classic, "C queue: cubic", "#D55E00")):
            values = numpy.sort(wait_ms[which])
            axis.step(values, numpy.arange(1, values.size + 1) / values.size, where="post",
                      color=colour, label=name)
        axis.axvline(1, color="#444444", linewidth=0.8, linestyle=":")
        axis.set_xlabel("wait in the router (ms)")
        axis.set_ylabel("share of packets")
        axis.set_xlim(left=0)
        axis.legend(frameon=False, loc="lower right")

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="dualpi2_l4s",
    title="DualPI2 keeps the L queue short and couples the two",
    theory="Packets of scalable flows go to the L queue, which marks from 1 ms on and is served "
           "first; the rest go to the C queue, steered to 15 ms. The coupled marking gives a "
           "scalable and a classic flow about the same rate.",
    source="RFC 9332, sections 2 and 4, appendix A",
    set_up=f"One flow of dctcp and one of cubic, without ECN, at {RATE_MBPS} Mbit/s with "
           f"{DELAY_MS} ms of added delay; time of each packet in the router. Linux's dctcp marks "
           "itself ECT(0), where L4S has ECT(1), so `any_ect` is set.",
    tolerance="The L queue's median within its threshold, its tail within two frames more, which "
              "may stand before a packet; the C queue's mean within a half of its target; neither "
              "flow with less than a quarter of the other's rate.",
    caption="Waits of the two flows' packets; dotted: the L queue's threshold.",
    measure=measure,
    discussion="The coupling assumes Reno's window for the classic flow. Linux's cubic gets 2.7 "
               "times as much as dctcp here, and at 120 and 400 Mbit/s alike (tried by hand), "
               "although its round trip is longer: the two share, but not evenly.",
)

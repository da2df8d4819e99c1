# SPDX-License-Identifier: GPL-3.0-or-later
"""Reno's window against the share of randomly lost packets."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy

from research.validation.check import Check, Finding, Outcome, close_to
from research.validation.experiment import experiment, iperf3_goodput_mbps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELAY_MS = 20
MSS_BITS = 1448 * 8
# Share of packets lost -> length in s, enough for a few hundred losses each.
RUNS = {0.0005: 160, 0.002: 80, 0.008: 40}
SKIP_S = 5
# Mathis et al.: sqrt(3/2) with an acknowledgement per packet, sqrt(3/4) with one per two.
EACH, EVERY_SECOND = math.sqrt(3 / 2), math.sqrt(3 / 4)


def measure() -> Outcome:
    lost, windows = [], []
    for share, length_s in RUNS.items():
        script = f"""
            ip netns exec router tc qdisc replace dev up parent 1:1 handle 11: \\
                netem loss {share * 100:g}% limit 100000
            iperf3 -c server -C reno -t {length_s} -i 0.5 -J --get-server-output >iperf3.json
            ip netns exec router tc -s -j qdisc show dev up >qdiscs.json"""
        with experiment(script, aqm="no_aqm", rate_mbps=1000, base_delay_ms=DELAY_MS) as folder:
            mbps = iperf3_goodput_mbps(folder / "iperf3.json", SKIP_S)
            counted = next(one for one in json.loads((folder / "qdiscs.json").read_text())
                           if one["kind"] == "netem")
        lost.append(counted["drops"] / (counted["drops"] + counted["packets"]))
        windows.append(mbps * 1e6 * DELAY_MS * 1e-3 / MSS_BITS)
    slope = float(numpy.polyfit(numpy.log(lost), numpy.log(windows), 1)[0])
    factors = [window * math.sqrt(share) for window, share in zip(windows, lost, strict=True)]
    findings = [close_to("exponent of p", "", -0.5, slope, absolute=0.05)]
    findings += [Finding(f"window × √p, p = {100 * share:.2g} % asked for", "", factor,
                         0.9 * EVERY_SECOND, 1.1 * EACH)
                 for share, factor in zip(RUNS, factors, strict=True)]

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        fine = numpy.geomspace(min(lost) / 2, max(lost) * 2, 50)
        axis.plot(fine, EACH / numpy.sqrt(fine), color="#444444", linewidth=0.9,
                  label="√(3/2) / √p: each packet acknowledged")
        axis.plot(fine, EVERY_SECOND / numpy.sqrt(fine), color="#444444", linewidth=0.9,
                  linestyle="--", label="√(3/4) / √p: every second packet")
        axis.plot(lost, windows, "o", color="#D55E00", label="measured")
        axis.set_xscale("log")
        axis.set_yscale("log")
        # Plain numbers, not powers of ten: the axis spans only two octaves.
        axis.set_yticks([10, 20, 40, 80], ["10", "20", "40", "80"])
        axis.yaxis.set_minor_formatter("")
        axis.set_xlabel("share of packets lost, p")
        axis.set_ylabel("mean window (packets)")
        axis.legend(frameon=False)

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="reno_response",
    title="Reno's window goes with 1/√p",
    theory="A flow that adds a packet per round trip and halves its window at a loss has a mean "
           "window of `C / √p` packets: `C = √(3/2)` when each packet is acknowledged, `√(3/4)` "
           "when every second one is and the window grows half as fast.",
    source="Mathis, Semke, Mahdavi and Ott, The Macroscopic Behavior of the TCP Congestion "
           "Avoidance Algorithm, 1997",
    set_up=f"One flow of Reno at 1 Gbit/s with {DELAY_MS} ms of added delay; `netem loss` below "
           "HTB on the router drops packets at random, in place of the queue. Window: goodput × "
           f"RTT / 1448 bytes, from {SKIP_S} s on; p: what netem dropped.",
    tolerance="The exponent within 0.05 and the factor between the two constants, with a tenth on "
              "either side: each run has some hundred losses, and Linux's acknowledgements lie "
              "between the two cases (it counts acknowledged packets, RFC 3465, and GRO joins "
              "them).",
    caption="Mean window of Reno against loss.",
    measure=measure,
)

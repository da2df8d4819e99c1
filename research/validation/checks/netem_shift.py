# SPDX-License-Identifier: GPL-3.0-or-later
"""Delay added at the server: latency rises by it, throughput stays the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy

from research.validation.check import Check, Finding, Outcome, close_to
from research.validation.experiment import experiment, iperf3_goodput_mbps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE_MBPS = 100
DELAYS_MS = (0, 10, 40)
QUEUES = ("fq_codel", "sfq")
LENGTH_S, SKIP_S = 20, 8


def measure() -> Outcome:
    findings: list[Finding] = []
    ecdfs: dict[str, list[float]] = {}
    for queue in QUEUES:
        base_ms = {}
        for delay_ms in DELAYS_MS:
            script = f"""
                iperf3 -c server -t {LENGTH_S} -i 0.2 -J --get-server-output >iperf3.json &
                sleep {SKIP_S}
                irtt client -i 10ms -d {LENGTH_S - SKIP_S - 1}s -o irtt.json -Q server >/dev/null
                wait"""
            with experiment(script, aqm=queue, rate_mbps=RATE_MBPS,
                            base_delay_ms=delay_ms) as folder:
                mbps = iperf3_goodput_mbps(folder / "iperf3.json", SKIP_S)
                trips = json.loads((folder / "irtt.json").read_text())["round_trips"]
            rtt_ms = sorted(trip["delay"]["rtt"] / 1e6 for trip in trips if not trip["lost"]
                            or trip["lost"] == "false")
            base_ms[delay_ms] = float(numpy.median(rtt_ms))
            name = f"{queue}, {delay_ms} ms added"
            ecdfs[name] = rtt_ms
            findings.append(close_to(f"goodput, {name}", "Mbit/s", RATE_MBPS * 1448 / 1514, mbps,
                                     percent=6 if queue == "fq_codel" and delay_ms > 20 else 1))
            if delay_ms:
                findings.append(close_to(f"shift of the median RTT, {name}", "ms", delay_ms,
                                         base_ms[delay_ms] - base_ms[0], absolute=0.13))

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for name, rtt_ms in ecdfs.items():
            axis.step(rtt_ms, numpy.arange(1, len(rtt_ms) + 1) / len(rtt_ms), where="post",
                      label=name)
        axis.set_xlabel("round-trip time of irtt's probes under load (ms)")
        axis.set_ylabel("share of probes")
        axis.legend(frameon=False, loc="center", fontsize="small")

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="netem_shift",
    title="Added delay shifts latency by a constant",
    theory="A delay on the path beyond the bottleneck is added to each round trip, and a flow "
           "whose window can grow fills the link as before.",
    source="the study of docs/results/study.md found so with netem at the server",
    set_up=f"One Cubic flow at {RATE_MBPS} Mbit/s and irtt every 10 ms, with "
           f"{', '.join(map(str, DELAYS_MS))} ms of `base_delay_ms` (half of it each way); "
           f"goodput and RTT from {SKIP_S} s on.",
    tolerance="1 % of the goodput, as Cubic takes many round trips to grow after a loss; one "
              "full frame (0.12 ms) of the shift, as a probe may wait for the one being sent.",
    caption="RTT under load by queue and added delay.",
    measure=measure,
    discussion="6 % are allowed for `fq_codel` with 40 ms: CoDel's 5 ms of queue are less than "
               "what Cubic gives up at a drop on that path (3/10 of its window, 12 ms), so the "
               "link runs empty for a while after each.",
)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Jain's index of equal flows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from flent_aqm.results.metrics.throughput import jain
from research.validation.check import Check, Finding, Outcome, at_least
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE_MBPS, DELAY_MS, LENGTH_S, SKIP_S = 50, 10, 15, 5
FLOWS = (2, 8, 32)
MANY_QUEUES = {
    "fq_codel": {"aqm_flows": "65536"},
    "sfq": {"aqm_divisor": "65536", "aqm_flows": "1024", "aqm_limit": "1000"},
}
QUEUES = {"fq_codel": 0.999, "sfq": 0.99, "codel": 0.9}


def measure() -> Outcome:
    findings: list[Finding] = []
    shares: dict[str, list[float]] = {}
    for queue, bound in QUEUES.items():
        for flows in FLOWS:
            script = (f"iperf3 -c server -P {flows} -t {LENGTH_S} -O {SKIP_S} -i 5 -J "
                      ">iperf3.json")
            # So many queues that two flows hardly ever share one.
            more = MANY_QUEUES.get(queue, {})
            with experiment(script, aqm=queue, rate_mbps=RATE_MBPS, base_delay_ms=DELAY_MS,
                            **more) as folder:
                streams = json.loads((folder / "iperf3.json").read_text())["end"]["streams"]
            received = [float(one["receiver"]["bytes"]) for one in streams]
            mean = sum(received) / len(received)
            shares[f"{queue}, {flows}"] = [one / mean for one in received]
            findings.append(at_least(f"Jain's index of {flows} flows, {queue}", "", bound,
                                     jain(received)))

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for place, values in enumerate(shares.values()):
            axis.plot([place] * len(values), values, "o", markersize=4, alpha=0.5, color="#0072B2")
        axis.axhline(1, color="#444444", linewidth=0.8, linestyle=":")
        axis.set_xticks(range(len(shares)), [name.replace(", ", "\n") for name in shares],
                        fontsize="small")
        axis.set_ylabel("bytes of a flow / mean of all")
        axis.set_ylim(0, 1.4)

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="equal_flows",
    title="Equal flows get equal shares",
    theory="`n` flows of the same congestion control and RTT share the link evenly in the long "
           "run. Jain's index, `(Σx)² / (n Σx²)`, is 1 for equal shares, and `1/n` when one has "
           "all.",
    source="Jain, Chiu and Hawe, DEC-TR-301, 1984",
    set_up=f"{', '.join(map(str, FLOWS))} flows of Cubic at {RATE_MBPS} Mbit/s with {DELAY_MS} ms "
           f"of added delay, bytes received in {LENGTH_S} s after the first {SKIP_S}.",
    tolerance="0.999 where each flow has a queue of its own (FQ-CoDel), 0.99 in SFQ, which gives "
              "whole packets in turn; 0.9 in CoDel's single queue, "
              "where drops hit by chance and the share evens out only over many of them.",
    caption="Each flow's bytes against the mean, by queue and number of flows.",
    measure=measure,
    discussion="The queues are as many as can be, 65,536. With FQ-CoDel's default of 1024, two of "
               "8 flows met in one in a run here, shared its part, and the index was 0.94.",
)

# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a sparse flow waits in FQ-CoDel beside greedy ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from research.validation.captures import passage
from research.validation.check import Check, Finding, Outcome, at_most
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# (rate in Mbit/s, greedy flows)
RUNS = ((10, 1), (10, 4), (100, 1), (100, 4), (100, 16), (1000, 4))


def measure() -> Outcome:
    findings: list[Finding] = []
    waits = {}
    for rate_mbps, flows in RUNS:
        script = f"""
            capture in.pcap down in udp port 2112
            capture out.pcap up out udp port 2112
            iperf3 -c server -t 8 -P {flows} >/dev/null &
            sleep 2
            irtt client -i 10ms -d 5s -q server >/dev/null
            capture_end"""
        with experiment(script, aqm="fq_codel", rate_mbps=rate_mbps) as folder:
            way = passage(folder / "in.pcap", folder / "out.pcap")
        frame_ms = 1514 * 8 / (rate_mbps * 1e3)
        name = f"{flows} greedy flow{'s' if flows > 1 else ''} at {rate_mbps:,} Mbit/s"
        lost = int(way.dropped.sum())
        wait_ms = way.sojourn_ms[~way.dropped]
        findings += [
            at_most(f"median wait, {name}", "ms", frame_ms, float(numpy.median(wait_ms))),
            at_most(f"longest wait, {name}", "ms", flows * frame_ms, float(wait_ms.max())),
            at_most(f"probes lost, {name}", "", 0, lost)]
        waits[name] = numpy.sort(wait_ms) / frame_ms

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for name, frames in waits.items():
            axis.step(frames, numpy.arange(1, frames.size + 1) / frames.size, where="post",
                      label=name)
        axis.axvline(1, color="#444444", linewidth=0.8, linestyle=":")
        axis.set_xlabel("wait of a probe in the queue, in times of a full frame")
        axis.set_ylabel("share of probes")
        axis.set_xlim(left=0)
        axis.legend(frameon=False, loc="lower right")

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="fq_codel_sparse",
    title="FQ-CoDel lets a sparse flow pass",
    theory="Flows with nothing queued are new, and are served before all others. So a sparse "
           "flow's packet waits for the rest of the frame that is being sent: at most `1514 × 8 / "
           "rate`. A greedy flow whose queue ran empty counts as new again for one quantum (1514 "
           "bytes), so with `n` of them the bound is `n × 1514 × 8 / rate`.",
    source="RFC 8290, sections 4.1.2 and 4.2",
    set_up="irtt's packets every 10 ms beside greedy flows of Cubic through `fq_codel`, with no "
           "added delay; the time each packet of irtt spent in the router, towards the server.",
    tolerance="The median within one frame, each packet within the bound, none lost.",
    caption="Waits of the sparse flow's packets, as multiples of the time that a full frame takes.",
    measure=measure,
    discussion="With 16 flows at 100 Mbit/s some packets wait longer than a frame: without added "
               "delay, CoDel holds each flow to a window of a few packets, so that queues run "
               "empty often.",
)

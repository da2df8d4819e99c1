# SPDX-License-Identifier: GPL-3.0-or-later
"""The standing queue of TCP with CoDel and PIE is near their targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from research.validation.captures import passage
from research.validation.check import Check, Finding, Outcome, at_least, at_most, close_to
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE_MBPS, DELAY_MS, FLOWS = 50, 40, 8
LENGTH_S, SKIP_S = 40, 15
INTERVAL_S = 0.1  # CoDel's: the time over which it finds the smallest sojourn time
TARGETS_MS = {"codel": 5.0, "pie": 15.0}


def measure() -> Outcome:
    findings: list[Finding] = []
    curves = {}
    for queue, target_ms in TARGETS_MS.items():
        script = f"""
            capture in.pcap down in tcp dst port 5201
            capture out.pcap up out tcp dst port 5201
            iperf3 -c server -P {FLOWS} -t {LENGTH_S} >/dev/null
            capture_end"""
        with experiment(script, aqm=queue, rate_mbps=RATE_MBPS,
                        base_delay_ms=DELAY_MS) as folder:
            way = passage(folder / "in.pcap", folder / "out.pcap")
        here = ~way.dropped & (way.entered_s > SKIP_S) & (way.entered_s < LENGTH_S)
        left_s, wait_ms = way.left_s[here], way.sojourn_ms[here]
        sent_bytes = float(way.packets["length"][here].sum())
        used = sent_bytes * 8e-6 / (left_s.max() - left_s.min()) / RATE_MBPS
        steps = ((left_s - left_s.min()) / INTERVAL_S).astype(int)
        lowest = numpy.array([wait_ms[steps == step].min() for step in numpy.unique(steps)])
        if queue == "codel":
            findings.append(at_most("codel: median of the smallest sojourn per 100 ms", "ms",
                                    target_ms, float(numpy.median(lowest))))
            findings.append(at_least("codel: median sojourn", "ms", target_ms / 4,
                                     float(numpy.median(wait_ms))))
        else:
            findings.append(close_to("pie: mean sojourn", "ms", target_ms, float(wait_ms.mean()),
                                     percent=20))
        findings.append(at_least(f"{queue}: share of the link in use", "%", 98, 100 * used))
        curves[queue] = (left_s, wait_ms)

    def draw(figure: Figure) -> None:
        for axis, (queue, (at_s, ms)) in zip(
                figure.subplots(1, len(curves), sharey=True), curves.items(), strict=True):
            axis.plot(at_s, ms, linewidth=0.5, color="#0072B2")
            axis.axhline(TARGETS_MS[queue], color="#D55E00", linewidth=0.9, linestyle="--")
            axis.set_title(queue, fontsize="medium")
            axis.set_xlabel("time (s)")
        figure.axes[0].set_ylabel("sojourn time (ms)")
        figure.axes[0].set_ylim(bottom=0)

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="standing_queue",
    title="CoDel and PIE hold the standing queue near their targets",
    theory="CoDel drops when the smallest sojourn time of an interval (100 ms) stays above its "
           "target, 5 ms, so that this minimum settles at or below the target while the link stays "
           "busy. PIE steers the mean delay to its own, 15 ms.",
    source="RFC 8289, sections 3.2 and 4.2; RFC 8033, section 4.2",
    set_up=f"{FLOWS} flows of Cubic at {RATE_MBPS} Mbit/s with {DELAY_MS} ms of added delay; time "
           f"of each packet in the router, from {SKIP_S} to {LENGTH_S} s.",
    tolerance="The minimum at most the target; a median of a quarter of the target at least, as a "
              "queue that is always empty is no control. PIE's mean within 20 %: it moves its drop "
              "probability every 15 ms in small steps and swings about the target.",
    caption="Sojourn time of packets; dashed: target.",
    measure=measure,
)

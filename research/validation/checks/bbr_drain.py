# SPDX-License-Identifier: GPL-3.0-or-later
"""BBR's ProbeRTT: every 10 s BBR drains the queue, and the RTT falls to that of the path."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy

from research.validation.captures import Seconds, passage
from research.validation.check import Check, Finding, Outcome, at_least, at_most, close_to
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE_MBPS, DELAY_MS = 50, 20
FRAME_MS = 1514 * 8 / (RATE_MBPS * 1e3)
LENGTH_S = 45
# Packets are counted per step of this many ms. A drain has steps with less than a fifth of the
# packets that fill the link.
STEP_MS = 20
FULL_STEP = STEP_MS / FRAME_MS


def drains_s(entered_s: Seconds) -> list[tuple[float, float]]:
    """Return start and end, in s as in `entered_s`, of each period of at least 100 ms, from 1 s on,
    whose steps of STEP_MS each have less than a fifth of the packets that fill the link.

    Args:
        entered_s: time at which each packet arrived, since the first one, in order. It must go on
            for more than 1 s.
    """
    counts, edges = numpy.histogram(
        entered_s, numpy.arange(1, entered_s[-1], STEP_MS / 1e3))
    few = numpy.concatenate([[False], counts < FULL_STEP / 5, [False]]).astype(int)
    starts, ends = numpy.flatnonzero(numpy.diff(few) == 1), numpy.flatnonzero(numpy.diff(few) == -1)
    return [(float(edges[start]), float(edges[end]))
            for start, end in zip(starts, ends, strict=True) if (end - start) * STEP_MS >= 100]


def measure() -> Outcome:
    script = f"""
        capture in.pcap down in tcp dst port 5201
        capture out.pcap up out tcp dst port 5201
        iperf3 -c server -C bbr -t {LENGTH_S} >/dev/null
        capture_end"""
    with experiment(script, aqm="no_aqm", rate_mbps=RATE_MBPS, base_delay_ms=DELAY_MS) as folder:
        way = passage(folder / "in.pcap", folder / "out.pcap")
    here = ~way.dropped
    entered_s, wait_ms = way.entered_s[here], way.sojourn_ms[here]
    drains = drains_s(entered_s)
    findings: list[Finding] = [at_least("drains", "", 4, len(drains))]
    for i, (start, end) in enumerate(drains):
        # After the first round trip, when the pipe is empty.
        inside = (entered_s > start + DELAY_MS / 1e3) & (entered_s < end)
        findings.append(close_to(f"lowest delay of drain {i + 1}, path included", "ms", DELAY_MS,
                                 DELAY_MS + float(wait_ms[inside].min()), percent=1))
        findings.append(at_most(f"packets in a round trip, drain {i + 1}", "", 4.4,
                                float(inside.sum()) / ((end - start) * 1e3 / DELAY_MS - 1)))
    for i, (one, following) in enumerate(itertools.pairwise(drains)):
        findings.append(Finding(f"from drain {i + 1} to drain {i + 2}", "s",
                                following[0] - one[0], 10, 10.5, 10.2))

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        axis.plot(entered_s, DELAY_MS + wait_ms, color="#0072B2", linewidth=0.6)
        for start, end in drains:
            axis.axvspan(start, end, color="#D55E00", alpha=0.3)
        axis.axhline(DELAY_MS, color="#444444", linewidth=0.8, linestyle=":")
        axis.set_ylim(DELAY_MS - 2, DELAY_MS + 14)
        axis.set_xlabel("time (s); shaded: drains")
        axis.set_ylabel("path's delay + wait (ms)")

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="bbr_drain",
    title="BBR drains the queue",
    theory="When its smallest RTT is 10 s old, BBR sends with 4 packets in flight for 200 ms and "
           "one round trip. The queue empties, and the RTT is the path's own.",
    source="BBR version 1, as Linux has it: net/ipv4/tcp_bbr.c; "
           "draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.5",
    set_up=f"One flow of BBR for {LENGTH_S} s through `no_aqm` at {RATE_MBPS} Mbit/s with "
           f"{DELAY_MS} ms of added delay. A drain is where less than a fifth of what fills the "
           "link comes for 100 ms; delay is the path's and the time in the router.",
    tolerance="The lowest delay within 1 % of the path's. Drains 10 to 10.5 s apart: 10 s, the "
              "drain itself, and a round trip to notice. 4 packets and a tenth of that, as a "
              f"drain's ends are known to {STEP_MS} ms, which is a round trip of ten.",
    caption="Delay of each packet; between drains BBR looks for bandwidth every 8 round trips.",
    measure=measure,
    discussion="A drain is a little longer or shorter than its whole steps, so that the count per "
               "round trip may be one packet less than 4.",
)

# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a packet waits in a full pfifo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from research.validation.captures import passage
from research.validation.check import Check, Finding, Outcome, close_to
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# (rate in Mbit/s, limit in packets); the flood sends 1.5 times the link's rate.
RUNS = ((1, 100), (10, 1000), (100, 100), (100, 1000), (1000, 1000))
FRAME_BITS = 1514 * 8
OVERLOAD = 1.5
# How many times the flood would fill the queue.
FILLINGS = 3


def measure() -> Outcome:
    findings: list[Finding] = []
    curves = {}
    for rate_mbps, limit in RUNS:
        full_s = limit * FRAME_BITS / (rate_mbps * 1e6)
        filling_s = full_s / (OVERLOAD - 1)
        script = f"""
            ip netns exec router tc qdisc change dev up parent 1:1 handle 10: pfifo limit {limit}
            capture in.pcap down in udp
            capture out.pcap up out udp
            flood {rate_mbps * OVERLOAD} {filling_s * FILLINGS:.3f}
            sleep {full_s + 1:.3f}
            capture_end"""
        with experiment(script, aqm="no_aqm", rate_mbps=rate_mbps) as folder:
            way = passage(folder / "in.pcap", folder / "out.pcap")
        # From the first packet that was dropped at the full queue.
        first_drop_s = way.entered_s[way.dropped].min()
        full = (way.entered_s >= first_drop_s) & ~way.dropped
        delay_ms = float(numpy.median(way.sojourn_ms[full]))
        findings.append(close_to(f"median delay, full queue of {limit} packets at "
                                 f"{rate_mbps:,} Mbit/s", "ms", full_s * 1e3, delay_ms, percent=1))
        curves[f"{limit} packets at {rate_mbps:,} Mbit/s"] = (
            way.entered_s[~way.dropped] / filling_s,
            way.sojourn_ms[~way.dropped] / (full_s * 1e3))

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for width, (label, (entered, delay)) in zip(numpy.linspace(5, 1, len(curves)),
                                                    curves.items(), strict=True):
            axis.plot(entered, delay, label=label, linewidth=width)
        axis.axhline(1, color="#444444", linewidth=0.8, linestyle=":")
        axis.set_xlabel("time, in times that filling the queue should take")
        axis.set_ylabel("delay / theory")
        axis.set_ylim(0, 1.1)
        axis.legend(frameon=False)

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="pfifo_delay",
    title="Delay of a full drop-tail queue",
    theory="`delay = limit × 1514 × 8 / rate`: a packet that gets the last place waits for all "
           "before it and is sent itself.",
    source="arithmetic",
    set_up=f"UDP in frames of 1514 bytes at {OVERLOAD:g} × the rate through `no_aqm`; the time "
           "from a packet's arrival at the router to its departure, of all packets that came "
           "after the first one was dropped.",
    tolerance="1 %: a packet comes while another one is being sent, so up to one packet's time "
              "of 100 is missing.",
    caption="Delay in the queue while it fills and after; both axes as multiples of theory, so "
            "all lines should be one.",
    measure=measure,
)

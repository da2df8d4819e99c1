# SPDX-License-Identifier: GPL-3.0-or-later
"""RED's drop probability against its average queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from research.validation.captures import passage
from research.validation.check import Check, Finding, Outcome, at_least, close_to
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE_MBPS = 100
BYTES_PER_MS = RATE_MBPS * 1e3 / 8
FRAME_BYTES = 1514
LOWEST_BYTES, HIGHEST_BYTES = 100 * FRAME_BYTES, 300 * FRAME_BYTES
PROBABILITY = 0.1
OVERLOADS = (1.02, 1.05, 1.1, 1.15, 1.5)
SETTLED_S, LENGTH_S = 2, 8


def average_bytes(overload: float) -> float:
    """Return the average queue in bytes at which RED drops the packets that the link can't carry,
    at most HIGHEST_BYTES.

    Without byte mode, drops are 1 to 1/p packets apart, each distance with the same probability: on
    average 2p/(1 + p) of all packets (Floyd and Jacobson 1993, section 7). Solved for p, which is
    linear between the thresholds.

    Args:
        overload: rate of the traffic relative to that of the link, above 1.
    """
    excess = 1 - 1 / overload
    p = excess / (2 - excess)
    return min(HIGHEST_BYTES,
               LOWEST_BYTES + p / PROBABILITY * (HIGHEST_BYTES - LOWEST_BYTES))


def measure() -> Outcome:
    findings: list[Finding] = []
    measured_bytes = []
    for overload in OVERLOADS:
        script = f"""
            ip netns exec router tc qdisc replace dev up parent 1:1 handle 11: red \\
                limit {HIGHEST_BYTES * 4} min {LOWEST_BYTES} max {HIGHEST_BYTES} \\
                avpkt {FRAME_BYTES} burst 150 probability {PROBABILITY} \\
                bandwidth {RATE_MBPS}mbit
            capture in.pcap down in udp
            capture out.pcap up out udp
            flood {RATE_MBPS * overload} {LENGTH_S}
            capture_end"""
        with experiment(script, aqm="no_aqm", rate_mbps=RATE_MBPS) as folder:
            way = passage(folder / "in.pcap", folder / "out.pcap")
        settled = (way.entered_s > SETTLED_S) & ~way.dropped
        measured_bytes.append(float(way.sojourn_ms[settled].mean()) * BYTES_PER_MS)
        findings.append(close_to(f"mean queue at {overload:g} × the rate", "bytes",
                                 average_bytes(overload), measured_bytes[-1], percent=1))
        if overload == OVERLOADS[0]:
            before = int(numpy.argmax(way.dropped)) - 1
            findings.append(at_least("queue at the first drop", "bytes", LOWEST_BYTES,
                                     float(way.sojourn_ms[before]) * BYTES_PER_MS))

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        loads = numpy.linspace(1.001, max(OVERLOADS), 500)
        axis.plot([average_bytes(load) / 1e3 for load in loads], 100 * (1 - 1 / loads),
                  color="#444444", linewidth=1, label="theory")
        axis.plot([one / 1e3 for one in measured_bytes],
                  [100 * (1 - 1 / load) for load in OVERLOADS], "o", color="#0072B2",
                  label="measured")
        for threshold in (LOWEST_BYTES, HIGHEST_BYTES):
            axis.axvline(threshold / 1e3, color="#444444", linewidth=0.8, linestyle=":")
        axis.set_xlabel("mean queue (kB); dotted: the thresholds")
        axis.set_ylabel("packets dropped (%)")
        axis.legend(frameon=False)

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="red_thresholds",
    title="RED between its thresholds",
    theory="No drops below an average queue of `min`; from there to `max`, `p` rises to "
           "`probability`; above, all is dropped. Drops are 1 to `1/p` packets apart, each "
           "distance as likely: `2p / (1 + p)` of all packets. An overload needs `1 - 1/overload` "
           "dropped, which gives `p` and the average queue, `max` where no `p` is enough.",
    source="Floyd and Jacobson, Random Early Detection Gateways, 1993, sections 4 and 7; "
           "Linux's include/net/red.h",
    set_up=f"UDP at {', '.join(f'{load:g}' for load in OVERLOADS)} × 100 Mbit/s through `red` "
           f"under HTB with `min` {LOWEST_BYTES:,}, `max` {HIGHEST_BYTES:,} bytes and "
           f"`probability` {PROBABILITY:g}; the mean time in the router × the rate, from "
           f"{SETTLED_S} s on.",
    tolerance="1 %: the queue's average over 6 s of a random process with a memory of some 100 "
              "packets. The average follows the queue, so the first drop comes when the queue "
              "itself is longer than `min`.",
    caption="Share of packets that has to be dropped, and the mean queue that goes with it.",
    measure=measure,
)

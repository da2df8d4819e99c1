# SPDX-License-Identifier: GPL-3.0-or-later
"""Utilisation of a router's processor, and loss and delay by a full receive ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from flent_aqm.measure.parsers.lab_cards import CardSample, parse_cards
from research.validation.captures import passage
from research.validation.check import Check, Finding, Outcome, at_most, close_to
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A processor that forwards 25,000 packets per second, and a ring with 256 places.
RX_NS, TX_NS, RING = 30_000, 10_000, 256
CAPACITY_PER_S = 1e9 / (RX_NS + TX_NS)
MODEL = f"ideal+rx_packet_ns={RX_NS}+tx_packet_ns={TX_NS}+rx_ring_packets={RING}"
OFFERED = (0.25, 0.5, 0.9, 1.25, 2.0)  # shares of the capacity
FRAME_BITS = 1514 * 8
LENGTH_S = 4


def measure() -> Outcome:
    findings: list[Finding] = []
    busy: list[float] = []
    lost: list[float] = []
    delays = {}
    for offered in OFFERED:
        mbps = offered * CAPACITY_PER_S * FRAME_BITS / 1e6
        # The load is steady between these two times.
        script = f"""
            capture_client in.pcap eth0 out udp
            capture out.pcap up out udp
            (sleep 1; cards first; sleep 2; cards second) &
            flood {mbps} {LENGTH_S}
            wait $!
            capture_end"""
        with experiment(script, aqm="no_aqm", rate_mbps=10_000, router_model=MODEL) as folder:
            (first_ns, first), (second_ns, second) = (
                parse_cards((folder / name).read_text()) for name in ("first", "second"))
            way = passage(folder / "in.pcap", folder / "out.pcap")
        passed_ns = second_ns - first_ns
        busy.append((second["down"].busy_ns - first["down"].busy_ns) / passed_ns)
        findings.append(close_to(f"processor busy at {offered:g} × its capacity", "%",
                                 100 * min(offered, 1), 100 * busy[-1], percent=1))
        lost.append(_lost_share(first["down"], second["down"], passed_ns))
        steady = (way.entered_s > 1) & (way.entered_s < LENGTH_S - 0.5)
        loss = float(way.dropped[steady].mean())
        if offered > 1:
            findings.append(close_to(f"packets lost at {offered:g} × its capacity", "%",
                                     100 * (1 - 1 / offered), 100 * loss, percent=1))
            waits_ms = way.sojourn_ms[steady & ~way.dropped]
            findings.append(close_to(f"median delay of a full ring at {offered:g} ×", "ms",
                                     RING * (RX_NS + TX_NS) / 1e6, float(numpy.median(waits_ms)),
                                     percent=1))
        else:
            findings.append(at_most(f"packets lost at {offered:g} × its capacity", "%", 0,
                                    100 * loss))
        kept = ~way.dropped
        delays[f"{offered:g} ×"] = (way.entered_s[kept][::20], way.sojourn_ms[kept][::20])

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        fine = numpy.linspace(0, OFFERED[-1], 200)
        left.plot(fine, 100 * numpy.minimum(fine, 1), color="#0072B2", linewidth=0.9)
        left.plot(OFFERED, [100 * one for one in busy], "o", color="#0072B2", label="busy")
        left.plot(fine, 100 * numpy.maximum(0, 1 - 1 / numpy.maximum(fine, 1e-9)),
                  color="#D55E00", linewidth=0.9)
        left.plot(OFFERED, [100 * one for one in lost], "s", color="#D55E00", label="lost")
        left.set_xlabel("offered load / capacity")
        left.set_ylabel("%")
        left.legend(frameon=False)
        for label, (at_s, ms) in delays.items():
            right.plot(at_s, ms, label=label)
        right.axhline(RING * (RX_NS + TX_NS) / 1e6, color="#444444", linewidth=0.8, linestyle=":")
        right.set_xlabel("time (s)")
        right.set_ylabel("delay in the router (ms)")
        right.set_ylim(bottom=0)
        right.legend(frameon=False)

    return Outcome(tuple(findings), draw)


def _lost_share(first: CardSample, second: CardSample, passed_ns: int) -> float:
    """Return the share of packets that found the ring full between two samples of the router's
    card, 0 to 1. Raises ZeroDivisionError if no packet came in this time.

    Args:
        first: counters at the begin.
        second: counters at the end.
        passed_ns: time between them. The share is 0 if that is 0.
    """
    served = (second.busy_ns - first.busy_ns) / (RX_NS + TX_NS)
    dropped = second.dropped - first.dropped
    return dropped / (served + dropped) if passed_ns else 0.0


CHECK = Check(
    name="router_saturated",
    title="A router's processor: how busy it is, and what its receive ring loses",
    theory="A packet costs `c`, so packets at a rate `λ` keep the processor busy for `λ·c` of the "
           "time. From `λ·c = 1` on the ring of `R` packets is full: `1 - 1/(λ·c)` of the packets "
           "are lost, and one that gets in waits for `R·c`.",
    source="arithmetic",
    set_up=f"UDP in frames of 1514 bytes, evenly spaced, through a router with {RX_NS // 1000} µs "
           f"a packet for receiving and {TX_NS // 1000} µs for sending and a ring of {RING} "
           "packets; HTB at 10 Gbit/s is never the bottleneck. Delay from the client's device to "
           "the router's.",
    tolerance="1 %; the packet that is being served when one comes adds up to `c` of 256.",
    caption="Left, dots: measured; lines: theory. Right: delay over time; dotted: theory.",
    measure=measure,
)

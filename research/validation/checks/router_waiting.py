# SPDX-License-Identifier: GPL-3.0-or-later
"""How long packets of a Poisson process wait for a router's processor: M/D/1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from research.validation.captures import Seconds, passage
from research.validation.check import Check, Finding, Outcome, close_to
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COST_US = 200
MODEL = f"ideal+rx_packet_ns={COST_US * 1000}+rx_ring_packets=65536"
LOADS = (0.3, 0.5, 0.7)
PACKETS = 150_000
SEED = 1


def expected_wait_us(load: float) -> float:
    """Return the mean wait in us before a service of fixed length COST_US, for packets of a Poisson
    process, by Pollaczek and Khinchine.

    Args:
        load: share of the time for which the service is busy, 0 or more and below 1.
    """
    return load * COST_US / (2 * (1 - load))


def lindley_us(arrivals_s: Seconds) -> Seconds:
    """Return each packet's wait in us before a service of COST_US, from the arrival times in their
    order: Lindley's recursion W' = max(0, W + COST - gap), as a running minimum."""
    slack = numpy.concatenate([[0.0], numpy.cumsum(COST_US - numpy.diff(arrivals_s) * 1e6)])
    result: Seconds = slack - numpy.minimum.accumulate(slack)
    return result


def measure() -> Outcome:
    findings: list[Finding] = []
    curves = {}
    for load in LOADS:
        per_s = load * 1e6 / COST_US
        script = f"""
            capture_client in.pcap eth0 out udp
            capture out.pcap up out udp
            poisson {per_s} {PACKETS / per_s} {SEED}
            sleep 0.5
            capture_end"""
        with experiment(script, aqm="no_aqm", rate_mbps=10_000, router_model=MODEL) as folder:
            way = passage(folder / "in.pcap", folder / "out.pcap")
        waits_us = way.sojourn_ms * 1e3 - COST_US
        findings.append(close_to(f"mean wait at {load:g} of the capacity", "µs",
                                 expected_wait_us(load), float(waits_us.mean()), percent=2))
        findings.append(close_to(f"the same, from the very times at which packets came, {load:g}",
                                 "µs", float(lindley_us(way.entered_s).mean()),
                                 float(waits_us.mean()), percent=0.5, absolute=0.3))
        ordered = numpy.sort(waits_us)
        curves[load] = (ordered[::50], 1 - numpy.arange(ordered.size)[::50] / ordered.size,
                        float(waits_us.mean()))

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        fine = numpy.linspace(0, 0.8, 100)
        left.plot(fine, [expected_wait_us(one) for one in fine], color="#444444", linewidth=0.9)
        for (load, (waits, above, mean)), colour in zip(
                curves.items(), ("#0072B2", "#D55E00", "#009E73"), strict=True):
            left.plot([load], [mean], "o", color=colour)
            right.plot(waits, above, color=colour, label=f"{load:g}")
        left.set_xlabel("load / capacity")
        left.set_ylabel("mean wait (µs)")
        right.set_yscale("log")
        right.set_xlabel("wait (µs)")
        right.set_ylabel("share that waits longer")
        right.legend(frameon=False, title="load")

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="router_waiting",
    title="Waiting for a router's processor: M/D/1",
    theory="Packets that come as a Poisson process to a service of fixed length `c`, at a load "
           "`r`, wait `r·c / (2·(1 - r))` in the mean.",
    source="Pollaczek and Khinchine's formula; each wait by Lindley's recursion",
    set_up=f"{PACKETS:,} UDP packets with exponentially distributed gaps through a router with "
           f"{COST_US} µs a packet; time from the client's device to the router's, less the "
           "service.",
    tolerance="2 %, the chance of a sample of this size; 0.5 % from the times of arrival "
              "themselves, as the kernel's clock has steps of 256 ns.",
    caption="Left, dots: measured; line: theory. Right: distribution of the waits.",
    measure=measure,
)

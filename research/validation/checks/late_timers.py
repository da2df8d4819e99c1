# SPDX-License-Identifier: GPL-3.0-or-later
"""Goodput through router models whose timers fire late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flent_aqm.parts.router_models.calibrate import BenchSetting
from flent_aqm.parts.router_models.calibrate import measure as measure_model
from flent_aqm.parts.router_models.model import with_latency
from research.validation.check import Check, Finding, Outcome, close_to
from research.validation.token_bucket import default_burst_us, goodput_mbps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATES_MBPS = (500.0, 800.0, 1000.0)
LATENCIES_US = (0, 10, 20, 40)


def theory_mbps(rate_mbps: float, latency_us: float) -> float:
    return goodput_mbps(rate_mbps, latency_us, default_burst_us(rate_mbps))


def measure() -> Outcome:
    findings: list[Finding] = []
    measured: dict[float, list[float]] = {rate: [] for rate in RATES_MBPS}
    for latency_us in LATENCIES_US:
        settings = [BenchSetting(rate, burst_shaping=False) for rate in RATES_MBPS]
        model = with_latency(latency_us * 1000)
        for rate, one in zip(RATES_MBPS, measure_model(model, settings, latency=False),
                             strict=True):
            mbps = one.goodput_mbps
            measured[rate].append(mbps)
            findings.append(close_to(f"goodput at {rate:,.0f} Mbit/s, timers {latency_us} µs late",
                                     "Mbit/s", theory_mbps(rate, latency_us), mbps, percent=4))

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for rate, colour in zip(RATES_MBPS, ("#0072B2", "#D55E00", "#009E73"), strict=True):
            fine = [tenth / 10 for tenth in range(10 * LATENCIES_US[-1] + 1)]
            axis.plot(fine, [theory_mbps(rate, one) for one in fine], color=colour, linewidth=0.9)
            axis.plot(LATENCIES_US, measured[rate], "o", color=colour, label=f"{rate:g} Mbit/s")
        axis.set_xlabel("timers fire late by (µs)")
        axis.set_ylabel("goodput (Mbit/s)")
        axis.set_ylim(bottom=0)
        axis.legend(frameon=False)

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="late_timers",
    title="Late timers limit HTB as its token bucket says",
    theory="With a bucket of depth `b`, packets of `T` and a timer that fires `L > b` late, "
           "`⌊b/T⌋ + 1` packets go per `(⌊b/T⌋ + 1)·T + L - b`; with `L ≤ b` nothing is lost. "
           "See [router models](../router-models.md).",
    source="net/sched/sch_htb.c; iproute2 tc/q_htb.c (whole microseconds)",
    set_up="One iperf3 flow through HTB without burst shaping and `no_aqm`, the receiver's mean of "
           "3 s after the first.",
    tolerance="4 %. A packet that arrives makes HTB look at its tokens as well, so that it need "
              "not always wait for the timer. With the latest timers that gives 2.8 % more: an "
              "acknowledgement, and so a burst of packets, comes every 50 µs.",
    caption="Dots: measured; lines: theory.",
    measure=measure,
)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Goodput of TCP at rates from 1 to 10,000 Mbit/s."""

from __future__ import annotations

from typing import TYPE_CHECKING

from research.validation.check import Check, Outcome, close_to
from research.validation.experiment import experiment, iperf3_goodput_mbps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Rate in Mbit/s -> (length of the transfer in s, of which so many at the start are left out).
# One packet is at most 0.01 % of what is counted.
RUNS = {1: (160, 20), 10: (25, 5), 100: (10, 2), 1000: (4, 1), 2500: (4, 1), 10000: (3, 1)}
PAYLOAD_SHARE = 1448 / 1514


def measure() -> Outcome:
    measured = {}
    for rate_mbps, (length_s, skip_s) in RUNS.items():
        script = f"iperf3 -c server -P 4 -t {length_s} -J --get-server-output >iperf3.json"
        with experiment(script, aqm="fq_codel", rate_mbps=rate_mbps) as folder:
            measured[rate_mbps] = iperf3_goodput_mbps(folder / "iperf3.json", skip_s)
    findings = tuple(
        close_to(f"goodput at {rate_mbps:,} Mbit/s", "Mbit/s", rate_mbps * PAYLOAD_SHARE, value,
                 percent=0.1)
        for rate_mbps, value in measured.items())

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        rates = list(measured)
        deviations = [100 * (measured[rate] / (rate * PAYLOAD_SHARE) - 1) for rate in rates]
        axis.axhspan(-0.1, 0.1, color="#009E73", alpha=0.15, label="allowed")
        axis.axhline(0, color="#444444", linewidth=0.8)
        axis.plot(rates, deviations, "o-", color="#0072B2", label="measured")
        axis.set_xscale("log")
        axis.set_xticks(rates, [f"{rate:,}" for rate in rates])
        axis.set_xticks([], minor=True)
        axis.set_xlabel("rate of the link (Mbit/s)")
        axis.set_ylabel("deviation from theory (%)")
        axis.legend(frameon=False)

    return Outcome(findings, draw)


CHECK = Check(
    name="goodput",
    title="Goodput of TCP",
    theory="`goodput = rate × 1448 / 1514`. A full frame has 1514 bytes as HTB counts them: 14 of "
           "Ethernet, 20 of IPv4, 20 of TCP, 12 of TCP's time stamps, and 1448 of payload.",
    source="RFC 791, RFC 9293, RFC 7323; HTB counts a packet's length with its Ethernet header",
    set_up="Four flows of iperf3 (Cubic), so that the queue never runs empty at a drop, through "
           "`fq_codel`; the receiver's count of bytes per 0.2 s, without the start and the last "
           "interval.",
    tolerance="0.1 %. What is counted is at least 10,000 packets, so a packet more or less at an "
              "end of the interval is within.",
    caption="Measured goodput, as its deviation from theory.",
    measure=measure,
)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure waits that Linux counts in ticks: TCP's timers, a socket's timeout, ping's interval."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from flent_aqm.setup.kernel.config_check import parse_config
from flent_aqm.setup.kernel.recipe import FRAGMENT
from research.validation.check import Check, Finding, Outcome
from research.validation.experiment import HERE, experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TICK_MS = 1000 / int(parse_config(FRAGMENT.read_text(encoding="utf-8"))["HZ"])
DELAY_MS = 40.0
PING_GAP_MS = 10.0
# Of include/net/tcp.h, in ms: TCP_RTO_MIN is HZ / 5, TCP_ATO_MIN HZ / 25.
RTO_MIN_MS, ATO_MIN_MS = 200.0, 40.0
# A packet as `tcpdump -tt` prints it: time in s, what sent it, payload in bytes.
_PACKET = re.compile(r"^(\d+\.\d+) IP 192\.0\.2\.2\.\d+ > .* length (\d+)$"
                     r"|^(\d+\.\d+) IP .* > 192\.0\.2\.2\.\d+: .* length (\d+)$")


def granule_ms(wait_ms: float) -> float:
    """Return the granule in ms to which kernel/time/timer.c rounds up a timer of `wait_ms`: a tick
    below 63 ticks, eight ticks from there to below 504, and so on by factors of eight."""
    ticks, granule = wait_ms / TICK_MS, 1
    while ticks >= 63 * granule:
        granule *= 8
    return granule * TICK_MS


def latest_ms(wait_ms: float) -> float:
    """Return the longest wait in ms of a timer of `wait_ms`: it is set within a tick, and rounded
    up to a tick and a granule."""
    return wait_ms + 2 * TICK_MS + granule_ms(wait_ms)


def measure() -> Outcome:
    script = f"""
        tcpdump -Z root -i eth0 -n -tt --time-stamp-precision=nano -l tcp port 7000 \\
            >packets.txt 2>/dev/null &
        capture=$!
        sleep 0.5
        "$PYTHON" {HERE / "wait_in_lab.py"} >waits.json
        ping -q -c 200 -i {PING_GAP_MS / 1000} server >ping.txt
        kill $capture"""
    with experiment(script, aqm="no_aqm", rate_mbps=100, base_delay_ms=DELAY_MS) as folder:
        marks = json.loads((folder / "waits.json").read_text())
        packets = _read_packets(folder / "packets.txt")
        ping_ms = float(re.search(r"time (\d+)ms",
                                  (folder / "ping.txt").read_text())[1])  # type: ignore[index]
    waits = {
        "retransmission": _retransmissions_ms(packets, marks["lost_at_s"]),
        "delayed acknowledgement": _acknowledgements_ms(packets, marks["lost_at_s"][0]),
        "timeout of a socket (SO_RCVTIMEO) of 1 ms": marks["timeouts_ms"],
        "ping's interval of 10 ms, mean": [(ping_ms - DELAY_MS) / 199],
    }
    asked_ms = dict(zip(waits, (DELAY_MS + RTO_MIN_MS, ATO_MIN_MS, 1.0, PING_GAP_MS), strict=True))
    findings = [
        Finding(f"{name}: {which}", "ms", value, wait_ms, latest_ms(wait_ms), wait_ms)
        for name, values in waits.items() for wait_ms in (asked_ms[name],)
        for which, value in (("shortest", min(values)), ("longest", max(values)))]

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for row, (name, values) in enumerate(waits.items()):
            late = [value - asked_ms[name] for value in values]
            axis.barh(row, latest_ms(asked_ms[name]) - asked_ms[name], color="#009E73", alpha=0.15)
            axis.plot(late, [row] * len(late), "o", color="#0072B2")
        axis.set_yticks(range(len(waits)), [f"{name}: {asked_ms[name]:g} ms" for name in waits])
        axis.invert_yaxis()
        axis.set_xlabel("later than by its formula (ms); green: ticks and granules")

    return Outcome(tuple(findings), draw)


def _read_packets(path: Path) -> list[tuple[float, bool, int]]:
    """Return the time in epoch seconds, whether the client sent it, and the payload in bytes, of
    each packet to or from the client in tcpdump's text. Other lines are left out."""
    found = (_PACKET.match(line) for line in path.read_text().splitlines())
    return [(float(one[1] or one[3]), bool(one[1]), int(one[2] or one[4] or 0))
            for one in found if one]


def _retransmissions_ms(packets: list[tuple[float, bool, int]],
                        lost_at_s: list[float]) -> list[float]:
    """Return the time in ms from each lost segment to the next segment with payload that the client
    sent, which is its retransmission. Raises IndexError if the client sent none after it.

    Args:
        packets: time in epoch seconds, whether the client sent it, and payload in bytes, of each
            packet, as _read_packets() returns them.
        lost_at_s: time at which each lost segment was sent, in epoch seconds.
    """
    waits = []
    for at_s in lost_at_s:
        sent = [time_s for time_s, ours, payload in packets
                if ours and payload and time_s >= at_s - 1e-3]
        waits.append((sent[1] - sent[0]) * 1e3)
    return waits


def _acknowledgements_ms(packets: list[tuple[float, bool, int]], before_s: float) -> list[float]:
    """Return the time in ms from the last segment with payload that the client received to its next
    packet without payload, for each such packet: how long it delayed acknowledgements. Those that
    it sent within 1 ms are left out.

    Args:
        packets: time in epoch seconds, whether the client sent it, and payload in bytes, of each
            packet, as _read_packets() returns them.
        before_s: end of the period that counts, in epoch seconds.
    """
    waits, came_s = [], 0.0
    for time_s, ours, payload in packets:
        if time_s >= before_s - 1e-3:
            break
        if not ours and payload:
            came_s = time_s
        elif ours and not payload and came_s:
            waits.append((time_s - came_s) * 1e3)
            came_s = 0.0
    return [wait for wait in waits if wait > 1]


CHECK = Check(
    name="waits",
    title="Waits that the kernel counts in ticks",
    theory="A lost segment is sent again after `SRTT + 200 ms`, an acknowledgement is delayed by "
           "40 ms, a socket's timeout is as long as its program says. Linux counts these in ticks, "
           f"of {TICK_MS:g} ms in the lab: a wait is rounded up to a tick, and from 63 ticks on to "
           "eight.",
    source="RFC 6298; Linux's include/net/tcp.h (TCP_RTO_MIN, TCP_ATO_MIN), kernel/time/timer.c",
    set_up=f"A program on the client of a line with {DELAY_MS:g} ms of added delay, and its "
           "packets; `ping -c 200 -i 0.01`.",
    tolerance="From the formula's value to two ticks and one granule more.",
    caption="How much longer than its formula each wait is.",
    measure=measure,
)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Latency probes of a run: when each was sent, what it saw, and which were lost.

Four tools write such series, each with its own way of telling losses:

- irtt says it of each probe. The time of a lost one is that of sending, of others that
  of the reply.
- ping and fping leave a lost one out: its number is missing. The time is the reply's.
- netperf UDP_RR keeps one probe on the way and gives a mean per interval `dur` that ends
  at the sample's time. When a packet is lost it waits, and its series has a gap, or ends.

A series that ends before the run does lost the rest: the run's end is that of the last
sample of any probe or flow, so a series is only called stalled on the word of another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import Numbers, a_number, numbers

# No real series comes near: what says otherwise is damaged, or made to fill our memory.
MAX_PROBES = 5_000_000
# Probes that only a gap tells of, in all series of a file: a day of ping without an answer.
MAX_LOST = 500_000
# A series that ends this long before the run, and this many probes, has stalled.
STALL_S = 1.0
STALL_PROBES = 5


class Tool(Enum):
    """What made a latency series, the best for percentiles first."""

    IRTT = "irtt"
    UDP_RR = "netperf UDP_RR"
    PING = "ping"


_RUNNERS = {
    "AqmIrttRunner": Tool.IRTT, "IrttRunner": Tool.IRTT,
    "UdpRttRunner": Tool.UDP_RR, "NetperfDemoRunner": Tool.UDP_RR,
    "AqmPingRunner": Tool.PING, "PingRunner": Tool.PING,
}


@dataclass(frozen=True, eq=False)
class Probe:
    """One latency series.

    sent_s: when each probe was sent, in epoch seconds, ascending, the lost ones too.
    rtt_ms: round-trip times; infinite where the probe was lost, as no time would do.
    """

    name: str
    tool: Tool
    sent_s: Numbers
    rtt_ms: Numbers

    @property
    def lost(self) -> NDArray[numpy.bool_]:
        """Which of the probes were lost."""
        return numpy.isinf(self.rtt_ms)

    @cached_property
    def spacing_ms(self) -> float:
        """Median time between two probes; infinite with fewer than two."""
        gaps_s = numpy.diff(self.sent_s)
        return float(numpy.median(gaps_s)) * 1000 if gaps_s.size else numpy.inf


def tool_of(name: str, meta: Mapping[str, Any],
            samples: Sequence[Mapping[str, Any]]) -> Tool | None:
    """Return what made a series, or None where it is no latency series."""
    if meta.get("UNITS") != "ms" or not samples:
        return None
    if "RUNNER" in meta:
        return _RUNNERS.get(str(meta["RUNNER"]))
    # Files older than version 3 don't say.
    if not name.startswith("Ping"):
        return None
    return Tool.UDP_RR if "dur" in samples[0] else Tool.PING


def read_probe(name: str, tool: Tool, samples: Sequence[Mapping[str, Any]],
               version: int) -> Probe | None:
    """Return the series without losses at its end; None where no probe came back.

    version: of the file's format. Raises BadResult.
    """
    answered = [one for one in samples if one.get("val") is not None]
    if not answered:
        return None
    at_s = numbers([one.get("t") for one in answered], f"time in {name!r}")
    rtt_ms = numbers([one["val"] for one in answered], f"latency in {name!r}")
    if tool is Tool.UDP_RR and version < 4 and (rtt_ms > 0).all():
        rtt_ms = 1000 / rtt_ms  # those files have transactions per second
    if (rtt_ms < 0).any():
        raise BadResult(f"{name!r} has latencies below 0")
    if tool is Tool.UDP_RR:
        lasted_s = numbers([a_number(one.get("dur")) or 0.0 for one in answered],
                           f"interval in {name!r}")
        lost_s = _gaps(at_s - lasted_s, at_s)
        at_s = at_s - lasted_s
    else:
        at_s = at_s - rtt_ms / 1000
        if tool is Tool.IRTT:
            lost_s = numbers([one.get("t") for one in samples if one.get("val") is None],
                             f"time in {name!r}")
        else:
            at_s, rtt_ms, lost_s = _numbered(name, answered, at_s, rtt_ms)
    return _merged(name, tool, at_s, rtt_ms, lost_s)


def until(probe: Probe, end_s: float) -> Probe:
    """Return the probe with what it lost between its last sample and the run's end, in epoch s."""
    spacing_s = probe.spacing_ms / 1000
    missing_s = end_s - float(probe.sent_s[-1])
    # irtt tells its losses itself, to the last.
    if probe.tool is Tool.IRTT or not missing_s > max(STALL_S, STALL_PROBES * spacing_s):
        return probe
    lost_s = _every(spacing_s, float(probe.sent_s[-1]) + spacing_s, end_s)
    return _merged(probe.name, probe.tool, probe.sent_s, probe.rtt_ms, lost_s)


def _merged(name: str, tool: Tool, at_s: Numbers, rtt_ms: Numbers, lost_s: Numbers) -> Probe:
    sent_s = numpy.concatenate((at_s, lost_s))
    order = numpy.argsort(sent_s, kind="stable")
    whole = numpy.concatenate((rtt_ms, numpy.full(lost_s.size, numpy.inf)))
    return Probe(name, tool, sent_s[order], whole[order])


def _numbered(name: str, answered: Sequence[Mapping[str, Any]], sent_s: Numbers,
              rtt_ms: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Sending times and latencies without duplicates, and when lost probes were sent."""
    nothing = numpy.empty(0)
    if any(one.get("seq") is None for one in answered):
        return sent_s, rtt_ms, nothing  # this ping doesn't number its lines
    # The number in an ICMP packet has 16 bits, and ping's starts again.
    number = numpy.unwrap(numbers([one["seq"] for one in answered], f"number in {name!r}"),
                          period=65536)
    number, first = numpy.unique(numpy.round(number), return_index=True)
    if number[-1] - number[0] > min(MAX_PROBES, number.size + MAX_LOST):
        raise BadResult(f"{name!r} has probe numbers up to {number[-1]:.0f}")
    sent_s, rtt_ms = sent_s[first], rtt_ms[first]
    missing = numpy.setdiff1d(numpy.arange(number[0], number[-1]), number, assume_unique=True)
    return sent_s, rtt_ms, numpy.interp(missing, number, sent_s)


def _gaps(starts_s: Numbers, ends_s: Numbers) -> Numbers:
    """Return when probes would have been sent between intervals of UDP_RR that don't meet."""
    spacing_s = float(numpy.median(numpy.diff(ends_s))) if ends_s.size > 1 else 0.0
    if spacing_s <= 0:
        return numpy.empty(0)
    gaps_s = starts_s[1:] - ends_s[:-1]
    wide = numpy.flatnonzero(gaps_s > 2 * spacing_s)
    _refuse_gap(float(gaps_s[wide].sum()), spacing_s)
    return numpy.concatenate([numpy.empty(0), *(
        _every(spacing_s, float(ends_s[place]), float(starts_s[place + 1])) for place in wide)])


def _every(spacing_s: float, start_s: float, end_s: float) -> Numbers:
    _refuse_gap(end_s - start_s, spacing_s)
    return numpy.arange(start_s, end_s, spacing_s)


def _refuse_gap(gap_s: float, spacing_s: float) -> None:
    if not spacing_s > 0 or gap_s / spacing_s > MAX_LOST:
        raise BadResult(f"a gap of {gap_s:.0f} s in probes {spacing_s * 1000:g} ms apart")

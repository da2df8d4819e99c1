# SPDX-License-Identifier: GPL-3.0-or-later
"""Chooses the latency series whose probe is explained, and finds its packets in a capture.

A probe's number is its index in the series, lost probes included. irtt's packets carry that number.
ICMP packets carry one that begins anywhere. Several series of a run have the same numbers at about
the same time, so the flow of each series is found by the times of its probes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.base.words import plain
from flent_aqm.parts.why.ledger import ICMP, ICMPV6, UDP, Column, FlowKey, Ledger
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.reading.series import ProbeTool

_PROTOCOLS: Mapping[ProbeTool, Sequence[int]] = {
    ProbeTool.IRTT: (UDP,), ProbeTool.PING: (ICMP, ICMPV6)}
# Longest time between sending a probe and its arrival at the first router, and likewise of a reply.
# ping and fping round their times to 1 ms.
_NEAR_NS = 50_000_000
_FEWEST_SHARE = 0.5
# ping rounds 139.6 ms to 140, and probes at different moments differ a little. Neither is a reason
# to explain a series of few probes.
_SLOWER = 1.1


@dataclass(frozen=True)
class Answer:
    """A probe that came back, from the data file.

    Attributes:
        sent_ns: when it was sent, in ns since the epoch.
        back_ns: when its reply came, likewise.
        rtt_ms: its RTT in ms.
    """

    sent_ns: int
    back_ns: int
    rtt_ms: float


def explainable(run: Run) -> Sequence[Probe]:
    """Return the latency series of irtt or ping whose packets carry numbers and whose raw samples
    tell losses, in the order of `run.probes`. May be empty."""
    return [probe for probe in run.probes
            if probe.tool in _PROTOCOLS and not probe.of_steps and not probe.loss_unknown
            and probe.sent_s.size]


def with_series(run: Run, name: str = "") -> Run:
    """Return a run whose first latency series is the one with a name, so that all metrics are of
    it.

    Args:
        run: the run.
        name: name of the series, "" for the first that can be explained, which in a run as read is
            the best of these for metrics.

    Raises BadResult if none of the series that can be explained has that name, or there are none.
    """
    series = explainable(run)
    if not series:
        raise BadResult(f"{run.path}: no probe can be explained, because {_why_none(run)}; "
                        "expected raw samples of irtt or ping with their numbers")
    chosen = next((probe for probe in series if name in ("", probe.name)), None)
    if chosen is None:
        known = ", ".join(f"{plain(probe.name)!r}" for probe in series)
        raise BadResult(f"--series: {run.path} has no series {plain(name)[:60]!r} whose probes can "
                        f"be explained; expected {'one of ' if len(series) > 1 else ''}{known}")
    return replace(run, probes=(chosen, *(probe for probe in run.probes if probe is not chosen)))


def _why_none(run: Run) -> str:
    """Return the reason why none of a run's latency series can be explained, if explainable() is
    empty: a clause such as "the run has no latency series"."""
    if not run.probes:
        return run.why_no_probe
    best = run.probes[0]
    if best.tool not in _PROTOCOLS:
        return f"{best.tool.value} tells means of many packets"
    return best.loss_unknown


def with_worst_series(run: Run) -> Run:
    """Return a run whose first latency series is the best for metrics that can be explained, or, if
    another one's slowest answered probe under load took more than 1.1 times as long (_SLOWER), the
    one with the slowest. A series without an answered probe under load gives way to any that has
    one. Raises BadResult if no series can be explained."""
    best = with_series(run)
    slowest_ms = {}
    for probe in explainable(run):
        with suppress(NotAvailable):
            slowest_ms[probe.name] = float(run.loaded(None, probe).answered_ms.max())
    if not slowest_ms:
        return best
    worst = max(slowest_ms, key=lambda name: slowest_ms[name])
    if slowest_ms[worst] <= _SLOWER * slowest_ms.get(best.probe.name, -math.inf):
        return best
    return with_series(run, worst)


def answers(probe: Probe) -> Mapping[int, Answer]:
    """Return number -> answered probe of a series. A probe's number is its index in the series,
    from 0, lost ones included. Empty if no probe was answered."""
    found = {}
    for number in numpy.flatnonzero(~probe.lost).tolist():
        sent_ns, rtt_ms = round(float(probe.sent_s[number]) * 1e9), float(probe.rtt_ms[number])
        found[number] = Answer(sent_ns, sent_ns + round(rtt_ms * 1e6), rtt_ms)
    return found


@dataclass(frozen=True)
class ProbeFlow:
    """The packets of a series.

    Attributes:
        key: the flow of the probes, from the client.
        first: the number that the packet of the series' first probe carries, 0 for irtt.
    """

    key: FlowKey
    first: int

    def rows(self, ledger: Ledger, direction: str) -> Mapping[int, int]:
        """Return probe -> row of its packet in the passage of a router. A probe is given by its
        index in the series, from 0, lost ones included. Packets of probes before the series' first,
        which ping does not know as lost, have keys below 0, those of probes behind its last one
        keys beyond it. Of several packets with the same number the first counts. Empty if no packet
        of the flow passed.

        Args:
            ledger: packets of the router.
            direction: "up" for the probes, "down" for their replies.
        """
        key = self.key if direction == "up" else self.key.reverse
        flow = next((index for index, one in enumerate(ledger.flows) if one == key), None)
        if flow is None:
            return {}
        numbers, rows = _numbered(ledger, direction, flow)
        # irtt's last packet, which ends the measurement, has the number 0 again: the first counts.
        return dict(zip((numbers[::-1] - self.first).tolist(), rows[::-1].tolist(), strict=True))


def flow_of(run: Run, probe: Probe, ledger: Ledger) -> ProbeFlow:
    """Return the flow of a series' packets in a capture, with the number that its first probe's
    packet carries.

    Args:
        run: the run, whose other series may have flows like this one.
        probe: the series, one of explainable().
        ledger: packets of the router that is the nearest to the client.

    Raises BadResult if no flow in the capture is like the series, see _likeness(), or each that is
    belongs to another series, to which it is nearer.
    """
    likely = []
    for series in explainable(run):
        for flow, key in enumerate(ledger.flows):
            if key.protocol in _PROTOCOLS[series.tool]:
                likely += _likeness(ledger, flow, key, series)
    taken: dict[str, ProbeFlow] = {}
    for _, name, found in sorted(likely, key=lambda one: one[0]):
        if name not in taken and found.key not in (one.key for one in taken.values()):
            taken[name] = found
    if probe.name not in taken:
        others = [f"{plain(one.name)!r}" for one in explainable(run) if one.name != probe.name]
        another = f"; --series names another: {', '.join(others)}" if others else ""
        raise BadResult(f"no packets of the series {plain(probe.name)!r} were recognised at the "
                        "router; expected numbered ones within "
                        f"{_NEAR_NS // 1_000_000} ms of the times of its probes{another}")
    return taken[probe.name]


def _likeness(ledger: Ledger, flow: int, key: FlowKey, probe: Probe
              ) -> list[tuple[float, str, ProbeFlow]]:
    """Return how far a flow's packets are from the times of a series, as a list with one entry:
    (mean square distance in ns², name of the series, the flow). The times are those at which the
    answered probes were sent, compared with the arrival of their packets, and came back, compared
    with the departure of their replies' packets. Distances of 50 ms (_NEAR_NS) or more are left
    out.

    Empty if there are distances for fewer than half of the times.

    Args:
        ledger: packets of a router.
        flow: index of the flow in Ledger.flows.
        key: the same flow.
        probe: the series.
    """
    numbers, rows = _numbered(ledger, "up", flow)
    sent_ns = numpy.round(probe.sent_s * 1e9).astype(numpy.int64)
    if not rows.size or not sent_ns.size:
        return []
    arrived_ns = ledger.up.arrived_ns[rows]
    at = numpy.clip(numpy.searchsorted(arrived_ns, sent_ns), 0, rows.size - 1)
    before = numpy.maximum(at - 1, 0)
    at = numpy.where(abs(arrived_ns[before] - sent_ns) < abs(arrived_ns[at] - sent_ns), before, at)
    # irtt counts from 0. A Wi-Fi channel delays probes by more than the time between two of them,
    # so the packet that came next is mostly that of an earlier probe.
    first = (0 if probe.tool is ProbeTool.IRTT
             else int(numpy.median(numbers[at] - numpy.arange(sent_ns.size))))
    found = ProbeFlow(key, first)
    came, went = found.rows(ledger, "up"), found.rows(ledger, "down")
    gaps = []
    answered = answers(probe)
    for number, answer in answered.items():
        if number in came:
            gaps.append(int(ledger.up.arrived_ns[came[number]]) - answer.sent_ns)
        if number in went and ledger.down.left_ns[went[number]] >= 0:
            gaps.append(answer.back_ns - int(ledger.down.left_ns[went[number]]))
    near = numpy.array([gap for gap in gaps if abs(gap) < _NEAR_NS], float)
    if not near.size or near.size < _FEWEST_SHARE * 2 * len(answered):
        return []
    return [(float((near ** 2).mean()), probe.name, found)]


def _numbered(ledger: Ledger, direction: str, flow: int) -> tuple[Column, Column]:
    """Return two arrays: the numbers in the probes of a flow, and the rows of their packets, in the
    order of arrival. Numbers of ICMP, which have 16 bits, go on counting beyond them.

    Args:
        ledger: packets of a router.
        direction: "up" or "down".
        flow: index in Ledger.flows.
    """
    passage = ledger.passage(direction)
    rows: Column = numpy.flatnonzero((passage.flow == flow) & (passage.probe >= 0))
    numbers: Column = passage.probe[rows]
    if ledger.flows[flow].protocol != UDP:
        numbers = numpy.unwrap(numbers, period=65536).astype(numpy.int64)
    return numbers, rows

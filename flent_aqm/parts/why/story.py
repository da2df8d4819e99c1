# SPDX-License-Identifier: GPL-3.0-or-later
"""Explains one probe by the packets of a run: where its time went, behind whom it waited, since
when and why the queue stood, and what the queue did. words.py makes sentences of the records.

Every number is read from the packets, from the probe's own time stamps, or from the run's settings.
Where they don't show a cause, the cause is CANT_TELL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import plain
from flent_aqm.parts.why.flow_names import DIRECTION, cross_ports_of, flow_name, reverse_flow
from flent_aqm.parts.why.ledger import ACK, RST, TCP, Column, Fate, Ledger, Passage
from flent_aqm.parts.why.probe_series import Answer, answers
from flent_aqm.parts.why.watched import MODEM, WatchedRun
from flent_aqm.results.metrics.delay_parts import PARTS, PROBES
from flent_aqm.results.reading.series import ProbeTool
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.scenario import Scenario

# A queue stands while packets wait longer than this: CoDel's default target (RFC 8289, 4.2).
STANDING_MS = 5.0
STANDING_NS = 5_000_000
# A queue that was empty for a shorter time did not end: between two bursts of a window.
_PAUSE_NS = 20_000_000
# A sender that was silent for so long had nothing to send, or waited for a retransmission timeout,
# whose least value in Linux is 200 ms.
_SILENCE_NS = 190_000_000
# A timeout sends one packet, and those that its answer allows.
_FEW_PACKETS = 4
# Slow start doubles a window in each round trip, congestion avoidance adds to it much less.
_DOUBLES = 1.5
# BBR probes for bandwidth at 1.25 times its rate for a round trip (draft-ietf-ccwg-bbr, 4.3.3), and
# then drains what it added. At its start it more than doubles its rate.
_PROBE_ROUNDS, _LEAST_PROBE, _MOST_PROBE = 3, 1.05, 1.5
_BBR = "bbr"
# Hosts' cards explain a wait if it is this share of the round trip. Each card holds a packet for up
# to its moderation, with time for the interrupt; less than that time is no moderation.
_CARDS_SHARE, _INTERRUPT_MS = 0.1, 0.02
# The line is in a dip if it sends less than this share of its usual rate.
_DIP = 0.7
# The line stood still if this share of a wait passed without a departure.
_STOP = 0.5
# Packets that leave at one moment are an aggregate, if there are so many on average.
_AGGREGATE, _MOMENT_NS = 3.0, 100_000
# Frame of a full packet.
_FRAME_BYTES = 1514
# PIE lets a burst of this length pass (RFC 8033, 4.4).
_PIE_BURST_NS = 150_000_000
# CoDel's interval and target where the kernel doesn't report them (RFC 8289, 4.3, 4.2). The kernel
# reports a target of 5 ms as 4999 us.
_INTERVAL_US, _TARGET_US = 100_000, 5_000
# PIE drops nothing below half of its target, 15 ms (RFC 8033, 4.1).
_PIE_TARGET_US = 15_000
_LEAST_TARGET_NS = 4_999_000
_LINK_LOSS = "the link's random loss"
# Queues that drop a packet when it is its turn to leave, not when it comes; they mark then, too.
_DROP_AT_HEAD = ("codel", "fq_codel", "cake", "cake_mq", "fq_codel_fast")
_FLOW_QUEUES = ("fq_codel", "fq_pie", "sfq", "cake", "cake_mq", "fq", "drr", "fq_codel_fast")
_DROP_TAIL = ("pfifo", "bfifo", "pfifo_fast", "pfifo_head_drop")


class Cause(StrEnum):
    """Why a probe took long: what a flow or the line did (FILLS, BUNCH, SLOW_START,
    BANDWIDTH_PROBE, TIMEOUT, BURST, NOT_TCP, DIP, STOP, SENDING), TURN or SHARED_BUCKET of fair
    queueing, the router's PROCESSOR, interrupt moderation of the hosts' cards (CARD), a WIFI
    channel, NO_QUEUE (none held it for 1 ms), or CANT_TELL. FILLS: the window of the flows is
    larger than the path holds; BUNCH: what they have in flight fits, but came at once. DROPPED: the
    queue dropped the probe. LOST: a link in the modem's place lost it at random. DROPPED_OR_LOST:
    either, at a link that did both in the run. INSIDE: the probe was still in the queue when the
    capture ended."""

    FILLS = "fills"
    BUNCH = "bunch"
    SLOW_START = "slow start"
    BANDWIDTH_PROBE = "BBR's bandwidth probe"
    TIMEOUT = "retransmission timeout"
    BURST = "burst after silence"
    NOT_TCP = "not TCP"
    DIP = "dip of the rate"
    STOP = "stop of the line"
    SENDING = "sending a packet"
    TURN = "turn"
    SHARED_BUCKET = "shared bucket"
    PROCESSOR = "processor"
    CARD = "interrupt moderation"
    WIFI = "wifi"
    DROPPED = "dropped"
    LOST = "lost by the link"
    DROPPED_OR_LOST = "dropped or lost by the link"
    INSIDE = "still inside"
    NO_QUEUE = "no queue"
    CANT_TELL = "can't tell"


class Idle(StrEnum):
    """Why a queue neither dropped nor marked: NEVER_FULL (drop-tail), BURST_ALLOWANCE (PIE),
    INTERVAL (CoDel), BELOW_TARGET (no packet waited longer than CoDel's target, or half of PIE's)
    or CANT_TELL. ACTED: it did drop or mark."""

    ACTED = ""
    NEVER_FULL = "never full"
    BURST_ALLOWANCE = "burst allowance"
    INTERVAL = "interval"
    BELOW_TARGET = "below target"
    CANT_TELL = "can't tell"


# Place of a part of ping's round trips, which ping tells in ms or less precisely.
ROUNDED = "client side and ping's rounding"
# Place of the delay that a link adds to packets without any queue, in both directions.
OWN_DELAY = "link's own delay"
# Place of the time that the router's model adds outside of the queue, in both directions.
CARDS_AND_PROCESSOR = "the router's cards and processor"
# Direction of a sample of the series PARTS -> that of a Passage.
_WAYS = {"upload": "up", "download": "down"}


@dataclass(frozen=True)
class TimePart:
    """A part of a round trip.

    Attributes:
        place: "up" or "down" for the queue of the router called "router", the only one without a
            `topology`, "up (NAME)" or "down (NAME)" for that of another router or the modem,
            otherwise "base delay", "link's own delay" (OWN_DELAY), "the router's cards and
            processor" (CARDS_AND_PROCESSOR), "server side", "client side" (for ping "client side
            and ping's rounding", ROUNDED) or "between routers".
        ms: how long the probe or its reply was there. It may be negative outside of queues.
    """

    place: str
    ms: float


@dataclass(frozen=True)
class Share:
    """Packets of flows with one name that were ahead of the probe.

    Attributes:
        name: name of the flows, of flow_name().
        packets: number of packets.
        kb: size of the packets' frames in kB, of 1000 bytes.
    """

    name: str
    packets: int
    kb: float


@dataclass(frozen=True)
class DropOrMark:
    """A packet that the queue dropped or marked.

    Attributes:
        at_s: when the queue did that, in s since the first answered probe: when the packet came,
            or for CoDel and its like (_DROP_AT_HEAD), if a later packet shows it, when it was its
            turn to leave.
        name: name of its flow.
        marked: True: marked. False: dropped.
    """

    at_s: float
    name: str
    marked: bool


@dataclass(frozen=True)
class StandingQueue:
    """Since when a queue stood, and why.

    Attributes:
        cause: the cause.
        since_s: time since which packets waited longer than 5 ms (STANDING_MS), in s since the
            first answered probe. If none did, the time at which the probe came.
        until_s: time at which the probe left, or came if it never left, likewise.
        flow: name of the flow that had most bytes ahead of the probe, or for SENDING of the packet
            before. "" if there was none.
        flows: number of flows with that name whose packets rate_mbps counts. They count together
            in flight_kb, too. 1 if there was none.
        rate_mbps: rate at which their packets came until the probe did, from the first that came in
            the round trip before since_s or later.
        line_mbps: rate of the line, 0 if it isn't known.
        flight_kb: their bytes in flight, in kB, when the queue began to stand, and when the probe
            came. If the queue didn't stand before, both are of when the probe came. None if they
            are not TCP, or there was no flow.
        path_kb: bytes that the path holds without a queue, in kB: the line's rate times the round
            trip. 0 if either is not known, or nothing was ahead of the probe.
        silence_ms: length of the silence before a burst or a retransmission, or of the line's stop.
            For SENDING the time that the packet before takes at the line's rate. Otherwise 0.
        first_flow: name of the flow with the most bytes in the queue until the first packet of
            those with the name `flow` came, if that was after since_s, so that they did not begin
            it. "" if they were there at since_s.
        joined_s: when that packet came, in s since the first answered probe. 0 without first_flow.
    """

    cause: Cause
    since_s: float
    until_s: float
    flow: str = ""
    flows: int = 1
    rate_mbps: float = 0.0
    line_mbps: float = 0.0
    flight_kb: tuple[float, float] | None = None
    silence_ms: float = 0.0
    path_kb: float = 0.0
    first_flow: str = ""
    joined_s: float = 0.0


@dataclass(frozen=True)
class Decisions:
    """What a queue did from 10 ms before it began to stand, or before the probe came if it didn't
    stand, until the probe left, or came if it never left.

    Attributes:
        aqm: name of the queue, such as "codel". For a modem "drop-tail", or, if it lost packets at
            which a link's random loss may be the cause, a name with that loss.
        losses: packets that it dropped or marked, in the order of time.
        first_after_ms: time from the beginning of the standing queue to its first drop or mark, 0
            if that came before, None without any, or if the queue didn't stand.
        idle: why it neither dropped nor marked.
        most_packets: most packets that were in the queue when one came, counted with that one and
            without those that it dropped, from when the queue began to stand, or when the probe
            came if that was earlier.
        limit_packets: its limit in packets, None if it isn't known.
    """

    aqm: str
    losses: Sequence[DropOrMark] = ()
    first_after_ms: float | None = None
    idle: Idle = Idle.ACTED
    most_packets: int = 0
    limit_packets: int | None = None


@dataclass(frozen=True)
class Story:
    """The explanation of one probe.

    Attributes:
        series: name of the latency series.
        number: the probe's number in the series, counted from 0.
        sent_s: when it was sent, in s since the series' first answered probe. For a lost probe,
            when it came to the first router.
        rtt_ms: its RTT, None if the probe or its reply was lost.
        parts: parts of the round trip. Of a lost probe, the waits in queues only.
        place: the place with the longest wait, or that a lost probe never left, such as "up" or
            "down (modem)".
        waited_ms: the wait there, 0 if it never left.
        behind: packets that were ahead of it there, by the name of their flow, most bytes first.
        flow_queueing: whether the place has a queue for each flow.
        standing: since when the queue there stood, and why.
        decisions: what that queue did.
        where: router and direction ("up" or "down") of the place, and row in that Passage of the
            probe, or of its reply if the direction is "down", for the figure.
    """

    series: str
    number: int
    sent_s: float
    rtt_ms: float | None
    parts: Sequence[TimePart]
    place: str
    waited_ms: float
    behind: Sequence[Share]
    flow_queueing: bool
    standing: StandingQueue
    decisions: Decisions
    where: tuple[str, str, int] = field(default=("router", "up", -1))

    @property
    def bottleneck(self) -> str:
        """The place, "" for a probe that a link lost at random: no queue is the cause."""
        return "" if self.standing.cause is Cause.LOST else self.place


def start_ns(run: WatchedRun) -> int:
    """Return when the first answered probe of the explained series was sent, in ns since the epoch.
    Seconds of the explanation are counted from it. Raises BadResult if no probe was answered."""
    sent_ns = [one.sent_ns for one in answers(run.run.probe).values()]
    if not sent_ns:
        raise BadResult(f"no probe of the series {plain(run.run.probe.name)!r} was answered in the "
                        "repeated run, so there is no round trip to explain; name another series "
                        "with --series, or explain another run")
    return min(sent_ns)


@dataclass(frozen=True)
class _Stop:
    """A probe or its reply at a router.

    Attributes:
        router: name of the router, or MODEM.
        direction: "up" for the probe, "down" for its reply.
        ledger: the router's packets.
        passage: those of the direction.
        row: index of the packet in `passage`.
    """

    router: str
    direction: str
    ledger: Ledger
    passage: Passage
    row: int

    @property
    def wait_ns(self) -> int:
        """Time of the packet in the queue in ns, -1 if it never left."""
        return int(self.passage.sojourn_ns[self.row])

    @property
    def fate(self) -> Fate:
        """What became of the packet."""
        return Fate(int(self.passage.fate[self.row]))


def explain(run: WatchedRun, number: int) -> Story:
    """Return the explanation of a probe of the run's first latency series. Raises BadResult if no
    router saw the probe, the capture doesn't have the series, or no probe of it was answered.

    Args:
        run: the run.
        number: index of the probe in the series, from 0, lost ones included.
    """
    stops = _stops(run, number)
    if not stops:
        raise BadResult(f"the probe with the number {number} came to no router, so nothing is "
                        "known of its way; name another one with --probe")
    begin_ns = start_ns(run)
    answer = answers(run.run.probe).get(number)
    sent_ns = answer.sent_ns if answer else int(stops[0].passage.arrived_ns[stops[0].row])
    scenario = run.cell.scenario
    parts = _parts(stops, answer, scenario, _by_router(run, number))
    if run.run.probe.tool is ProbeTool.PING:
        parts = [replace(part, place=ROUNDED) if part.place == "client side" else part
                 for part in parts]
    last = stops[-1]
    never_left = answer is None and last.fate is not Fate.LEFT
    stop = last if never_left else max(stops, key=lambda one: one.wait_ns)
    standing, decisions, ahead = _queue_story(run, stop, begin_ns)
    cause: Cause | None
    if never_left:
        by = _drops_by(run, last)
        gone = (Cause.LOST if by == _LINK_LOSS else Cause.DROPPED_OR_LOST if _LINK_LOSS in by
                else Cause.DROPPED)
        cause = gone if last.fate is Fate.DROPPED else Cause.INSIDE
    else:
        cause = _other_cause(run, number, parts, stop) or (
            Cause.NO_QUEUE if stop.wait_ns < 1_000_000 else None)
    if cause:
        # The packet before is only SENDING's: nothing was ahead of the probe.
        standing = replace(standing, cause=cause, silence_ms=0.0,
                           flow=standing.flow if ahead.size else "")
    return Story(
        run.run.probe.name, number, (sent_ns - begin_ns) / 1e9,
        answer.rtt_ms if answer else None, parts, _place(stop),
        0.0 if never_left else stop.wait_ns / 1e6, _shares(run, stop, ahead),
        _kind(scenario, stop) in _FLOW_QUEUES, standing, decisions,
        (stop.router, stop.direction, stop.row))


def _stops(run: WatchedRun, number: int) -> list[_Stop]:
    """Return where a probe arrived, router by router and at the modem, in the order in which it
    came there, and then the same for its reply. Empty if the capture has neither. Raises BadResult
    if the capture doesn't have the series.

    Args:
        run: the run.
        number: index of the probe in the explained series, from 0, lost ones included.
    """
    names = list(run.ledgers)
    packets = run.packets
    stops = []
    for direction, order in (("up", names), ("down", names[::-1])):
        for name in order:
            ledger = run.ledgers[name]
            passage = ledger.passage(direction)
            row = packets[name, direction].get(number)
            if row is not None:
                stops.append(_Stop(name, direction, ledger, passage, row))
    return stops


def _place(stop: _Stop) -> str:
    """Return the name of a place: "up" or "down" at the router called "router", which each topology
    has, "up (NAME)" or "down (NAME)" at another router or the modem."""
    return stop.direction if stop.router == "router" else f"{stop.direction} ({stop.router})"


def _by_router(run: WatchedRun, number: int) -> Mapping[str, tuple[float, float]]:
    """Return direction, "up" or "down", -> ms that the router's model says that a probe, or its
    reply, spent before the queue (link, receive ring, processor) and behind it (card). Empty for
    series of which the model tells nothing, and without a model.

    Args:
        run: the run.
        number: number of the probe.
    """
    spent: dict[str, tuple[float, float]] = {}
    for one in _told_by_router(run, number):
        before, behind = spent.get(_WAYS.get(str(one["way"]), ""), (0.0, 0.0))
        spent[_WAYS.get(str(one["way"]), "")] = (
            before + (float(one["link"]) + float(one["ring"]) + float(one["processor"])) / 1000,
            behind + float(one["card"]) / 1000)
    return spent


def _told_by_router(run: WatchedRun, number: int) -> Sequence[Mapping[str, Any]]:
    """Return the samples in which the router's model tells where a probe and its reply were. Empty
    for other series than the one of which it tells. number: number of the probe."""
    if run.run.probe.name != PROBES:
        return []
    return [one for one in run.data["raw_values"].get(PARTS, ()) if int(one["seq"]) == number]


def _parts(stops: Sequence[_Stop], answer: Answer | None, scenario: Scenario,
           by_router: Mapping[str, tuple[float, float]]) -> Sequence[TimePart]:
    """Return the parts of a round trip, which add up to the RTT: base delay, the own delay of a
    link (if it isn't 0), each queue, the router's cards and processor (if a model tells of them),
    the rest at server and client, and, if it isn't 0, between routers. Of a lost probe, the waits
    in the queues that it left only.

    Args:
        stops: the queues to which the probe and then its reply came, in that order.
        answer: the probe, None if it was lost.
        scenario: the run's settings.
        by_router: ms in the router before and behind the queue, of _by_router().
    """
    if answer is None:
        return [TimePart(_place(stop), stop.wait_ns / 1e6) for stop in stops if stop.wait_ns >= 0]
    client_ns = between_ns = beyond_ns = own_ns = 0
    at_ns, waits = answer.sent_ns, []
    for before, stop in zip([None, *stops], stops, strict=False):
        gap_ns = int(stop.passage.arrived_ns[stop.row]) - at_ns
        if before is None:
            client_ns += gap_ns
        elif before.direction != stop.direction:
            beyond_ns += gap_ns
        else:
            between_ns += gap_ns
        waits.append(TimePart(_place(stop), stop.wait_ns / 1e6))
        delay_ns = int(stop.passage.own_delay_ns[stop.row])
        own_ns += delay_ns
        at_ns = int(stop.passage.left_ns[stop.row]) + delay_ns
    client_ns += answer.back_ns - at_ns
    base_ms = scenario.path.base_delay_ms
    # The capture is between the processor and the queue, so the hosts' sides have the rest.
    before_up, behind_up = by_router.get("up", (0.0, 0.0))
    before_down, behind_down = by_router.get("down", (0.0, 0.0))
    inside_ms = before_up + behind_up + before_down + behind_down
    return [TimePart("base delay", base_ms),
            *([TimePart(OWN_DELAY, own_ns / 1e6)] if own_ns else []), *waits,
            *([TimePart(CARDS_AND_PROCESSOR, inside_ms)] if inside_ms else []),
            TimePart("server side", beyond_ns / 1e6 - base_ms - behind_up - before_down),
            TimePart("client side", client_ns / 1e6 - before_up - behind_down),
            *([TimePart("between routers", between_ns / 1e6)] if between_ns else [])]


def _other_cause(run: WatchedRun, number: int, parts: Sequence[TimePart], stop: _Stop
                 ) -> Cause | None:
    """Return the cause if the probe waited longer elsewhere than in a queue: the first of these
    that is true, or else None.

    - PROCESSOR: it waited for the routers' processors longer than 1 ms and than in their queues,
      both ways together, as the routers' model tells it.
    - CARD: the moderation of the hosts' cards explains its round trip (_held_by_cards()).
    - WIFI: it was at the client longer than 1 ms and than at `stop`, and the run has a Wi-Fi
      channel.
    - CANT_TELL: it was so long at another place outside the routers.

    Args:
        run: the run.
        number: number of the probe.
        parts: parts of its round trip.
        stop: the place with its longest wait.
    """
    by_place = {part.place: part.ms for part in parts}
    wait_ms = stop.wait_ns / 1e6
    processor_ms = queue_ms = 0.0
    for one in _told_by_router(run, number):
        processor_ms += (float(one["ring"]) + float(one["processor"])) / 1000
        queue_ms += float(one["queue"]) / 1000
    if processor_ms > max(queue_ms, 1.0):
        return Cause.PROCESSOR
    if _held_by_cards(run, by_place, sum(part.ms for part in parts)):
        return Cause.CARD
    client_ms = _client_ms(by_place)
    wifi = "wifi" in run.data["metadata"].get("AQM", {})
    if wifi and client_ms > wait_ms and client_ms > 1:
        return Cause.WIFI
    outside_ms = max(by_place.get("server side", 0.0), client_ms,
                     by_place.get("between routers", 0.0))
    return Cause.CANT_TELL if outside_ms > max(wait_ms, 1.0) else None


def _client_ms(by_place: Mapping[str, float]) -> float:
    """Return the time at the client in ms, of ping with its rounding. 0 without such a part, as of
    a lost probe.

    by_place: place of a part of the round trip -> ms.
    """
    return by_place.get("client side", by_place.get(ROUNDED, 0.0))


def _held_by_cards(run: WatchedRun, by_place: Mapping[str, float], rtt_ms: float) -> bool:
    """Return whether the interrupt moderation of the hosts' cards explains a probe's RTT: the probe
    spent more time at the hosts than in all queues, more than a tenth of the RTT (_CARDS_SHARE),
    more than 0.02 ms at each for the interrupt, and no more than that and the moderation of both
    cards make possible. False if the cards have no moderation.

    Args:
        run: the run.
        by_place: place of a part of its round trip -> ms.
        rtt_ms: its RTT.
    """
    each_ms = run.cell.scenario.hosts.host_moderation_us / 1000
    hosts_ms = by_place.get("server side", 0.0) + _client_ms(by_place)
    queues_ms = sum(ms for place, ms in by_place.items() if place.split(" (")[0] in ("up", "down"))
    return (each_ms > 0
            and max(queues_ms, _CARDS_SHARE * rtt_ms, 2 * _INTERRUPT_MS) < hosts_ms
            <= 2 * (each_ms + _INTERRUPT_MS))


def _kind(scenario: Scenario, stop: _Stop) -> str:
    """Return the kind of the qdisc at a place, such as "fq_codel". "bfifo" for a modem, whose queue
    is drop-tail."""
    if stop.router == MODEM:
        return "bfifo"
    return queue_of(scenario.router.queue(stop.direction)[0]).kind


def _shares(run: WatchedRun, stop: _Stop, ahead: Column) -> Sequence[Share]:
    """Return the packets ahead of a probe, one Share for each name of their flows, most bytes
    first.

    Args:
        run: the run.
        stop: the place.
        ahead: rows of the packets in the passage of `stop`.
    """
    cross = cross_ports_of(run.data["metadata"])
    counted: dict[str, tuple[int, int]] = {}
    flows = stop.passage.flow[ahead]
    for flow in numpy.unique(flows).tolist():
        name = flow_name(stop.ledger, stop.direction, flow, cross)
        mine = ahead[flows == flow]
        packets, size = counted.get(name, (0, 0))
        counted[name] = (packets + mine.size,
                         size + int(stop.passage.frame_bytes[mine].sum()))
    return [Share(name, packets, size / 1000) for name, (packets, size) in
            sorted(counted.items(), key=lambda pair: -pair[1][1])]


def _queue_story(run: WatchedRun, stop: _Stop, begin_ns: int
                 ) -> tuple[StandingQueue, Decisions, Column]:
    """Return since when and why the queue of a place stood, what it did, and the rows of the
    packets ahead of the probe.

    Args:
        run: the run.
        stop: the place.
        begin_ns: start_ns() of the run.
    """
    passage, row = stop.passage, stop.row
    ahead = passage.ahead_of(row)
    scenario = run.cell.scenario
    arrived_ns = int(passage.arrived_ns[row])
    until_ns = max(int(passage.left_ns[row]), arrived_ns)
    main = _main_flow(passage, ahead)
    fair = _kind(scenario, stop) in _FLOW_QUEUES
    since_ns = _standing_since(passage, row, main if fair else None)
    standing = _why(run, stop, ahead, main, (since_ns, arrived_ns, until_ns), begin_ns)
    return standing, _decisions(run, stop, (since_ns, arrived_ns, until_ns), begin_ns), ahead


def _main_flow(passage: Passage, ahead: Column) -> int | None:
    """Return the index in Ledger.flows of the flow with the most bytes among packets, None if there
    are none.

    Args:
        passage: packets at a place.
        ahead: indices of its packets that were ahead of the probe.
    """
    if not ahead.size:
        return None
    return int(numpy.bincount(passage.flow[ahead],
                              weights=passage.frame_bytes[ahead]).argmax())


def _standing_since(passage: Passage, row: int, flow: int | None) -> int:
    """Return since when the queue stood until the packet `row` left, or arrived if it never left,
    in ns since the epoch: when the first of the packets left that had waited longer than 5 ms
    (STANDING_NS), without a pause of more than 20 ms (_PAUSE_NS) between them. A longer pause
    doesn't count if the packet that left at its end had come before it, or in its first 20 ms.
    Return the packet's own arrival if none that left in the last 20 ms had waited so long.

    Args:
        passage: the packets.
        row: index of the packet.
        flow: index in Ledger.flows of the flow whose packets count besides that packet, None for
            all flows.
    """
    order = passage.by_departure
    until = passage.left_ns[row] if passage.departure_no[row] >= 0 else passage.arrived_ns[row]
    order = order[passage.left_ns[order] <= until]
    if flow is not None:
        order = order[(passage.flow[order] == flow) | (order == row)]
    waits = passage.sojourn_ns[order]
    standing = numpy.flatnonzero(waits > STANDING_NS)
    if not standing.size or until - passage.left_ns[order[standing[-1]]] > _PAUSE_NS:
        return int(passage.arrived_ns[row])
    left_ns = passage.left_ns[order[standing]]
    breaks = numpy.flatnonzero(numpy.diff(left_ns) > _PAUSE_NS)
    # A line in a dip sends nothing for longer: its packets waited all the time.
    while breaks.size:
        first = standing[breaks[-1] + 1]
        if passage.arrived_ns[order[first]] <= left_ns[breaks[-1]] + _PAUSE_NS:
            breaks = breaks[:-1]
        else:
            break
    begin = standing[breaks[-1] + 1] if breaks.size else standing[0]
    return int(passage.left_ns[order[begin]])


def _line_mbps(run: WatchedRun, stop: _Stop) -> float:
    """Return the usual rate of a place in Mbit/s: the rate to which the router shapes, or the
    modem's rate. For a router without shaper, and for a link that plays a trace in the modem's
    place: the rate at which it sent packets that had waited more than 1 ms, each from the departure
    of the packet before it, as median over the intervals of 0.1 s that have such packets. 0 if
    there are none, or if they left at one moment."""
    scenario = run.cell.scenario
    if stop.router != MODEM and scenario.router.shaper != "none":
        return float(scenario.router.rate_mbps(stop.direction))
    modem_mbps = scenario.path.modem_mbps(stop.direction)
    if stop.router == MODEM and modem_mbps is not None:
        return modem_mbps
    passage = stop.passage
    before, order = passage.by_departure[:-1], passage.by_departure[1:]
    came_ns, left_ns = passage.arrived_ns[order], passage.left_ns[order]
    busy = (left_ns - came_ns > 1_000_000) & (came_ns <= passage.left_ns[before])
    if not busy.any():
        return 0.0
    index = (left_ns[busy] - left_ns[busy][0]) // 100_000_000
    sent_bytes = numpy.bincount(index, passage.frame_bytes[order][busy])
    took_ns = numpy.bincount(index, (left_ns - passage.left_ns[before])[busy])
    timed = took_ns > 0
    return (float(numpy.median(sent_bytes[timed] * 8000 / took_ns[timed])) if timed.any() else 0.0)


def _why(run: WatchedRun, stop: _Stop, ahead: Column, main: int | None,
         times: tuple[int, int, int], begin_ns: int) -> StandingQueue:
    """Return since when a queue stood, and its cause. If nothing was ahead, that is SENDING or
    CANT_TELL.

    Args:
        run: the run.
        stop: the queue's place.
        ahead: rows of the packets ahead of the probe.
        main: index of the flow with the most bytes ahead, None if nothing was ahead.
        times: in ns, since when the queue stood, when the probe came and when it left (came, if it
            never left). They are counted since the epoch.
        begin_ns: start_ns() of the run.
    """
    since_ns, arrived_ns, until_ns = times
    line_mbps = _line_mbps(run, stop)
    since_s, until_s = (since_ns - begin_ns) / 1e9, (until_ns - begin_ns) / 1e9
    passage = stop.passage
    cross = cross_ports_of(run.data["metadata"])
    if main is None:
        alone = StandingQueue(Cause.CANT_TELL, since_s, until_s, line_mbps=line_mbps)
        return _sending(stop, alone, until_ns, cross)
    key = stop.ledger.flows[main]
    name = flow_name(stop.ledger, stop.direction, main, cross)
    same = [flow for flow, one in enumerate(stop.ledger.flows) if one.protocol == key.protocol
            and flow_name(stop.ledger, stop.direction, flow, cross) == name]
    alike = numpy.flatnonzero(numpy.isin(passage.flow, same))
    mine = numpy.flatnonzero(passage.flow == main)
    # From a round trip before the queue stood, as that is when the packets came.
    round_ns = run.base_rtt_ns + 10_000_000
    came = alike[(passage.arrived_ns[alike] >= since_ns - round_ns)
                 & (passage.arrived_ns[alike] <= arrived_ns)]
    span_ns = max(arrived_ns - int(passage.arrived_ns[came].min()), 1) if came.size else 1
    rate_mbps = float(passage.frame_bytes[came].sum()) * 8 / span_ns * 1000
    sending = [main, *(flow for flow in numpy.unique(passage.flow[came]).tolist() if flow != main)]
    flights = None
    if key.protocol == TCP:
        before_kb, then_kb = (sum(_flight_kb(stop, flow, at_ns) for flow in sending)
                              for at_ns in (min(since_ns, arrived_ns), arrived_ns))
        flights = before_kb, then_kb
    path_kb = line_mbps * run.base_rtt_ns / 8e6
    # A second server has a round trip of its own.
    fits = (flights is not None and 0 < flights[1] <= path_kb
            and run.cell.scenario.path.dest2_delay_ms is None)
    joined_ns = _first_data_ns(passage, alike)
    first = None if joined_ns <= since_ns else _main_flow(passage, numpy.flatnonzero(
        (passage.departure_no >= 0) & (passage.left_ns >= since_ns)
        & (passage.left_ns < joined_ns)))
    cause, silence_ms = _cause(run, stop, ahead, main, mine, times, line_mbps, round_ns, fits)
    return StandingQueue(
        cause, since_s, until_s, name, len(sending), rate_mbps, line_mbps, flights, silence_ms,
        path_kb, "" if first is None else flow_name(stop.ledger, stop.direction, first, cross),
        0.0 if first is None else (joined_ns - begin_ns) / 1e9)


def _first_data_ns(passage: Passage, rows: Column) -> int:
    """Return when the first of a place's packets `rows` with payload came, or the first of all if
    none has any, in ns since the epoch. rows: at least one, in the order of arrival."""
    data = rows[passage.payload_bytes[rows] > 0]
    return int(passage.arrived_ns[data[0] if data.size else rows[0]])


def _sending(stop: _Stop, alone: StandingQueue, until_ns: int, cross: frozenset[int]
             ) -> StandingQueue:
    """Return the StandingQueue of a probe with nothing ahead: with the cause SENDING if it left
    when the packet that had left before it came was sent, to within a tenth of the time that this
    takes at the line's rate. Unchanged otherwise, and if the rate isn't known.

    Args:
        stop: the queue's place.
        alone: the StandingQueue without a cause.
        until_ns: when the probe left, in ns since the epoch.
        cross: ports of the cross traffic's servers.
    """
    passage = stop.passage
    order = passage.by_departure
    gone = int(numpy.searchsorted(passage.departure_no[order], passage.arrival_no[stop.row]))
    if not gone or not alone.line_mbps:
        return alone
    before = int(order[gone - 1])
    takes_ns = float(passage.frame_bytes[before]) * 8000 / alone.line_mbps
    if abs(until_ns - int(passage.left_ns[before]) - takes_ns) > takes_ns / 10:
        return alone
    name = flow_name(stop.ledger, stop.direction, int(passage.flow[before]), cross)
    return replace(alone, cause=Cause.SENDING, flow=name, silence_ms=takes_ns / 1e6)


def _cause(run: WatchedRun, stop: _Stop, ahead: Column, main: int, mine: Column,
           times: tuple[int, int, int], line_mbps: float, round_ns: int, fits: bool
           ) -> tuple[Cause, float]:
    """Return the cause of a standing queue, and the length of a sender's silence before it, or of
    the line's stop, in ms. The length is 0 for other causes. For a place with a queue for each
    flow, only STOP, DIP, WIFI, SHARED_BUCKET, TURN and CANT_TELL are possible.

    Args:
        run: the run.
        stop: the queue's place.
        ahead: rows of the packets ahead of the probe.
        main: index in Ledger.flows of the flow with the most bytes ahead.
        mine: rows of all packets of that flow.
        times: in ns since the epoch, since when the queue stood, when the probe came and when it
            left (came, if it never left).
        line_mbps: usual rate of the place, 0 if it isn't known.
        round_ns: about a round trip without queues.
        fits: what the flows of the main one's name have in flight is known to fit into the path.
    """
    since_ns, arrived_ns, until_ns = times
    passage = stop.passage
    kind = _kind(run.cell.scenario, stop)
    main_ahead = ahead[passage.flow[ahead] == main]
    main_bytes = int(passage.frame_bytes[main_ahead].sum())
    wait_ns = until_ns - arrived_ns
    # With the packet that the line was still sending when the probe came.
    sent_bytes = int(passage.frame_bytes[ahead].sum()) + _FRAME_BYTES
    if wait_ns > STANDING_NS:
        stood_ns = _longest_stop(passage, ahead, arrived_ns, until_ns)
        frame_ns = _FRAME_BYTES * 8000 / line_mbps if line_mbps else 0.0
        if stood_ns > max(_STOP * wait_ns, STANDING_NS, 2 * frame_ns):
            return Cause.STOP, stood_ns / 1e6
        if sent_bytes * 8000 / wait_ns < _DIP * line_mbps:
            return Cause.DIP, 0.0
    if _in_aggregates(run, stop, ahead):
        return Cause.WIFI, 0.0
    if kind in _FLOW_QUEUES:
        if main == passage.flow[stop.row]:
            return Cause.CANT_TELL, 0.0
        # Only packets of the same bucket have to leave in the order in which they came.
        in_order = bool((passage.arrival_no[main_ahead] < passage.arrival_no[stop.row]).all())
        if main_bytes > _turn_bytes(_parameters(run, stop)) and in_order:
            return Cause.SHARED_BUCKET, 0.0
        is_turn = wait_ns * line_mbps <= sent_bytes * 8000
        return (Cause.TURN if is_turn else Cause.CANT_TELL), 0.0
    key = stop.ledger.flows[main]
    if key.protocol != TCP:
        return Cause.NOT_TCP, 0.0
    # What a flow does to a queue that stood before it came begins with its first data.
    since_ns = max(since_ns, _first_data_ns(passage, mine))
    times_ns = passage.arrived_ns[mine]
    # The flow's last silence before the queue stood, if the flow began or began again then.
    recent = numpy.flatnonzero((times_ns >= since_ns - 10 * round_ns) & (times_ns <= since_ns))
    gaps = numpy.diff(times_ns)
    silent = [index for index in recent.tolist()
              if index > 0 and gaps[index - 1] >= _SILENCE_NS
              and passage.payload_bytes[mine[index]] > 0]
    if silent:
        return _after_silence(passage, mine, gaps, silent[-1])
    if (_is_bbr(run, stop, main) and arrived_ns - since_ns < _PROBE_ROUNDS * round_ns
            and _LEAST_PROBE < (_flight_kb(stop, main, arrived_ns)
                                / max(_flight_kb(stop, main, since_ns - round_ns), 1.0))
            < _MOST_PROBE):
        return Cause.BANDWIDTH_PROBE, 0.0
    began = _flight_kb(stop, main, since_ns - round_ns)
    then = _flight_kb(stop, main, since_ns)
    # A sender notices a drop a round trip later.
    lost_ns = _acted_ns(passage, mine[passage.fate[mine] == Fate.DROPPED], kind)
    lost_before = (lost_ns > since_ns - round_ns) & (lost_ns < arrived_ns - 2 * round_ns)
    grows = then >= _DOUBLES * began
    if grows and not lost_before.any() and arrived_ns - since_ns < 20 * round_ns:
        return Cause.SLOW_START, 0.0
    return (Cause.BUNCH if fits else Cause.FILLS), 0.0


def _turn_bytes(parameters: Mapping[str, int]) -> int:
    """Return the most bytes of frames of one flow that fair queueing may send between the arrival
    of another flow's packet and its turn: two quanta, or for FQ the quantum of a new flow if that
    is larger, and a frame. A queue that reports no quantum is taken to have that of a frame.

    parameters: parameters of the queue as the kernel reported them, see _parameters().
    """
    quantum = parameters.get("quantum_bytes", _FRAME_BYTES)
    return max(2 * quantum, parameters.get("initial_quantum_bytes", 0)) + _FRAME_BYTES


def _is_bbr(run: WatchedRun, stop: _Stop, flow: int) -> bool:
    """Return whether a flow carries data of the test and its sender uses a version of BBR: the run
    has flows of iperf3, and all of them reported it as their sender's congestion control. False for
    a flow of acknowledgements, and for other tools' tests.

    Args:
        run: the run.
        stop: a place, in whose direction the flow sends.
        flow: index in the flows of the place's ledger.
    """
    name = flow_name(stop.ledger, stop.direction, flow, cross_ports_of(run.data["metadata"]))
    about = run.data["metadata"].get("SERIES_META", {}).values()
    reported = {str(one["IPERF3"].get("sender_congestion_control")) for one in about
                if isinstance(one.get("IPERF3"), dict)}
    return name.startswith("the test's ") and bool(reported) and all(
        one.startswith(_BBR) for one in reported)


def _after_silence(passage: Passage, mine: Column, gaps: Column, first: int) -> tuple[Cause, float]:
    """Return TIMEOUT if a TCP flow repeated bytes after a silence, otherwise BURST, and the length
    of the silence in ms.

    Timeouts grow: several silences with few packets between them are one.

    Args:
        passage: the packets.
        mine: rows of the flow.
        gaps: times between its packets in ns.
        first: index in `mine` of the first packet after the silence.
    """
    ends = _ends(passage, mine)
    begin, is_again = first, False
    while True:
        # An acknowledgement ends where the bytes before it did, and repeats none.
        is_again |= bool(passage.payload_bytes[mine[begin]] > 0
                         and ends[:begin].max() >= ends[begin])
        earlier = [index for index in range(max(begin - _FEW_PACKETS, 1), begin)
                   if gaps[index - 1] >= _SILENCE_NS]
        if not earlier:
            break
        begin = earlier[-1]
    silence_ns = int(passage.arrived_ns[mine[first]] - passage.arrived_ns[mine[begin - 1]])
    return (Cause.TIMEOUT if is_again else Cause.BURST), silence_ns / 1e6


def _longest_stop(passage: Passage, ahead: Column, arrived_ns: int, until_ns: int) -> int:
    """Return the longest time without a departure while a packet waited, in ns.

    Args:
        passage: the packets.
        ahead: rows of the packets that left before it, in the order of departure.
        arrived_ns: when it arrived.
        until_ns: when it left.
    """
    left_ns = numpy.concatenate(([arrived_ns], passage.left_ns[ahead], [until_ns]))
    return int(numpy.diff(left_ns).max())


def _in_aggregates(run: WatchedRun, stop: _Stop, ahead: Column) -> bool:
    """Return whether the queue sends to a Wi-Fi channel, as only the download's does, and the
    packets ahead left in aggregates: on average 3 (_AGGREGATE) or more within each 0.1 ms in which
    any left."""
    if "wifi" not in run.data["metadata"].get("AQM", {}) or stop.direction != "down":
        return False
    moments = numpy.unique(stop.passage.left_ns[ahead] // _MOMENT_NS).size
    return bool(moments) and ahead.size >= _AGGREGATE * moments


def _ends(passage: Passage, mine: Column) -> Column:
    """Return for each packet of a TCP flow the sequence number that follows its payload, counted
    from the number of the flow's first packet, also beyond 4 GiB.

    Args:
        passage: the packets of a place.
        mine: rows of the flow's packets, at least one.
    """
    return (_unwrapped(passage.seq[mine], int(passage.seq[mine[0]]))
            + passage.payload_bytes[mine])


def flight_kb(ledger: Ledger, direction: str, flow: int, times_ns: Column) -> Column:
    """Return the kB that a TCP flow had sent to a router, dropped ones included, and whose
    acknowledgement the router had not seen, at each of the times. 0 for a flow without data or
    without packets in the other direction, and once either end has reset the connection.

    Args:
        ledger: packets of the router.
        direction: "up" or "down", in which the flow sends.
        flow: index in Ledger.flows.
        times_ns: the times, in ns since the epoch.
    """
    passage = ledger.passage(direction)
    back = ledger.passage("down" if direction == "up" else "up")
    reverse = reverse_flow(ledger, flow)
    sent = numpy.flatnonzero((passage.flow == flow) & (passage.payload_bytes > 0))
    if reverse is None or not sent.size:
        return numpy.zeros(times_ns.size)
    # TCP's numbers wrap around, so they are counted from the first byte, and unwrapped.
    first = int(passage.seq[sent[0]])
    ends = numpy.maximum.accumulate(
        _unwrapped(passage.seq[sent], first) + passage.payload_bytes[sent])
    acks = numpy.flatnonzero((back.flow == reverse) & ((back.flags & ACK) != 0))
    acked = numpy.maximum.accumulate(_unwrapped(back.ack[acks], first)) if acks.size \
        else numpy.empty(0, numpy.int64)
    before = numpy.concatenate(([0], ends))
    confirmed = numpy.concatenate(([0], acked))
    now: Column = (before[numpy.searchsorted(passage.arrived_ns[sent], times_ns, side="right")]
           - confirmed[numpy.searchsorted(back.arrived_ns[acks], times_ns, side="right")])
    # What a reset connection had sent is never acknowledged.
    reset_ns = min((int(one.arrived_ns[gone[0]]) for one, its in ((passage, flow), (back, reverse))
                    if (gone := numpy.flatnonzero((one.flow == its) & ((one.flags & RST) != 0)))
                    .size), default=None)
    in_flight: Column = numpy.maximum(now, 0) / 1000
    return in_flight if reset_ns is None else numpy.where(times_ns < reset_ns, in_flight, 0.0)


def _unwrapped(numbers: Column, first: int) -> Column:
    """Return TCP's numbers of successive packets counted from `first`, also beyond 4 GiB."""
    steps: Column = numpy.diff(numbers.astype(numpy.int64), prepend=first)
    counted: Column = numpy.cumsum((steps + 2**31) % 2**32 - 2**31)
    return counted


def _flight_kb(stop: _Stop, flow: int, time_ns: int) -> float:
    """Return the kB that a flow has in flight at one time, as flight_kb() does for many times.

    Args:
        stop: the probe or reply at a router, whose ledger and direction are taken.
        flow: index in Ledger.flows.
        time_ns: the time, in ns since the epoch.
    """
    return float(flight_kb(stop.ledger, stop.direction, flow, numpy.array([time_ns]))[0])


def _decisions(run: WatchedRun, stop: _Stop, times: tuple[int, int, int], begin_ns: int
               ) -> Decisions:
    """Return what a place's queue did from the time at which it began to stand until the probe
    left. Packets count if it dropped or marked them from 10 ms (2 * STANDING_NS) before that time
    on.

    Args:
        run: the run.
        stop: the place.
        times: in ns since the epoch, since when the queue stood (when the probe came, if it didn't
            stand), when the probe came and when it left (came, if it never left).
        begin_ns: start_ns() of the run, from which the times of losses are counted.
    """
    since_ns, arrived_ns, until_ns = times
    stood = since_ns != arrived_ns
    scenario, passage = run.cell.scenario, stop.passage
    kind = _kind(scenario, stop)
    name = "drop-tail" if stop.router == MODEM else scenario.router.queue(stop.direction)[0]
    order = passage.by_departure
    cross = cross_ports_of(run.data["metadata"])
    gone = numpy.flatnonzero((passage.fate == Fate.DROPPED) | passage.marked)
    gone_ns = _acted_ns(passage, gone, kind)
    counts = (gone_ns >= since_ns - 2 * STANDING_NS) & (gone_ns <= until_ns)
    gone, gone_ns = gone[counts], gone_ns[counts]
    losses = [DropOrMark((int(gone_ns[one]) - begin_ns) / 1e9,
                   flow_name(stop.ledger, stop.direction, int(passage.flow[gone[one]]), cross),
                   bool(passage.marked[gone[one]]))
              for one in numpy.argsort(gone_ns, kind="stable").tolist()]
    came_ns = passage.arrived_ns[(passage.arrived_ns >= min(since_ns, arrived_ns))
                                 & (passage.arrived_ns <= until_ns)]
    came = numpy.searchsorted(passage.arrived_ns[passage.departure_no >= 0], came_ns, "right")
    went = numpy.searchsorted(passage.left_ns[order], came_ns, "right")
    most = int((came - went).max(initial=0))
    parameters = _parameters(run, stop)
    limit = parameters.get("limit_packets")
    if losses:
        first_ms = max(0.0, float(gone_ns.min() - since_ns) / 1e6) if stood else None
        if stop.router == MODEM:
            name = _drops_by(run, stop)
        return Decisions(name, losses, first_ms, Idle.ACTED, most, limit)
    idle = Idle.CANT_TELL
    # Fair queueing may hold other flows for longer than the one behind which the probe waited.
    then = ((passage.departure_no >= 0) & (passage.left_ns >= since_ns - 2 * STANDING_NS)
            & (passage.left_ns <= until_ns))
    others_waited = not stood and bool((passage.sojourn_ns[then] > STANDING_NS).any())
    if kind in _DROP_TAIL:
        idle = Idle.NEVER_FULL
    elif others_waited and kind in _FLOW_QUEUES:
        idle = Idle.CANT_TELL
    elif (kind in ("pie", "fq_pie") and not stood
          and parameters.get("target_us", _PIE_TARGET_US) >= 2 * STANDING_NS / 1000):
        idle = Idle.BELOW_TARGET
    elif kind in ("pie", "fq_pie") and until_ns - since_ns <= _PIE_BURST_NS + STANDING_NS:
        idle = Idle.BURST_ALLOWANCE
    elif kind in ("codel", "fq_codel"):
        if not stood and parameters.get("target_us", _TARGET_US) * 1000 >= _LEAST_TARGET_NS:
            idle = Idle.BELOW_TARGET
        elif (until_ns - _above_target_since(passage, times, kind)
              < parameters.get("interval_us", _INTERVAL_US) * 1000):
            idle = Idle.INTERVAL
    return Decisions(name, (), None, idle, most, limit)


def _above_target_since(passage: Passage, times: tuple[int, int, int], kind: str) -> int:
    """Return since when each packet that left CoDel's queue had waited longer than 5 ms
    (STANDING_NS), in ns since the epoch: not before the queue began to stand, and for a qdisc with
    a queue for each flow (_FLOW_QUEUES) that time. A single packet that waited less begins CoDel's
    interval anew (RFC 8289, 5.6), and ends no standing queue.

    Args:
        passage: the packets of the place.
        times: in ns since the epoch, since when the queue stood, when the probe came and when it
            left (came, if it never left).
        kind: kind of the qdisc.
    """
    since_ns, _, until_ns = times
    if kind in _FLOW_QUEUES:
        return since_ns
    left_ns = passage.left_ns
    short = ((passage.departure_no >= 0) & (left_ns >= since_ns) & (left_ns <= until_ns)
             & (passage.sojourn_ns <= STANDING_NS))
    return int(left_ns[short].max(initial=since_ns))


def _acted_ns(passage: Passage, rows: Column, kind: str) -> Column:
    """Return when a queue dropped or marked packets, in ns since the epoch: when they came.

    CoDel and its like (_DROP_AT_HEAD) decide later: a packet is marked when it leaves, and dropped
    when the first packet leaves that came after it, from the same flow where each flow has a queue
    of its own. A dropped packet after which no such packet left counts when it came.

    Args:
        passage: the packets of a place.
        rows: the rows of the packets.
        kind: kind of the qdisc.
    """
    if kind not in _DROP_AT_HEAD:
        return passage.arrived_ns[rows]
    shared = kind not in _FLOW_QUEUES
    acted_ns: Column = numpy.where(passage.marked[rows], passage.left_ns[rows],
                                   passage.arrived_ns[rows])
    left = numpy.flatnonzero(passage.departure_no >= 0)
    for flow in [None] if shared else numpy.unique(passage.flow[rows]).tolist():
        queue = left if flow is None else left[passage.flow[left] == flow]
        queue = queue[numpy.argsort(passage.arrival_no[queue], kind="stable")]
        mine = ~passage.marked[rows]
        if flow is not None:
            mine &= passage.flow[rows] == flow
        at = numpy.searchsorted(passage.arrival_no[queue], passage.arrival_no[rows[mine]])
        known = at < queue.size
        acted_ns[numpy.flatnonzero(mine)[known]] = passage.left_ns[queue[at[known]]]
    return acted_ns


def _drops_by(run: WatchedRun, stop: _Stop) -> str:
    """Return what dropped packets at a modem: its queue ("drop-tail"), the random loss of a link in
    its place (_LINK_LOSS), or a text that names both, by the link's counters of the whole run.
    "drop-tail" at a router."""
    links = run.data["metadata"].get("AQM", {}).get("links", {}) if stop.router == MODEM else {}
    counted = links.get(stop.direction, {}).get("counters", {})
    if not counted.get("lost_packets"):
        return "drop-tail"
    return f"drop-tail or {_LINK_LOSS}" if counted.get("dropped_packets") else _LINK_LOSS


def _parameters(run: WatchedRun, stop: _Stop) -> dict[str, int]:
    """Return the whole-number parameters of a place's queue as the kernel reported them, such as
    limit_packets and interval_us. Empty for a modem, and if the data file has no report."""
    if stop.router == MODEM:
        return {}
    parameters = run.run.applied(DIRECTION[stop.direction]).get("qdisc_parameters", {})
    return {name: value for name, value in parameters.items() if type(value) is int}

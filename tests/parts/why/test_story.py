# SPDX-License-Identifier: GPL-3.0-or-later
"""When a queue dropped a packet, and where a probe was, without a lab."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from flent_aqm.parts.why.flow_names import flow_name
from flent_aqm.parts.why.ledger import RST, Ledger, Passage, read_ledger
from flent_aqm.parts.why.probe_series import Answer
from flent_aqm.parts.why.story import (
    CARDS_AND_PROCESSOR,
    Cause,
    Idle,
    StandingQueue,
    _acted_ns,
    _after_silence,
    _decisions,
    _held_by_cards,
    _line_mbps,
    _parts,
    _queue_story,
    _Stop,
    explain,
    flight_kb,
)
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.reading.series import ProbeTool
from flent_aqm.spec.scenario import Scenario
from tests.parts.why.frames import CLIENT, DEVICES, SERVER, Seen, irtt, packet, through, write

MS = 1_000_000


def _passage(tmp_path: Path) -> Passage:
    """Two flows, 40000 and 40001, of which each loses a packet, and whose next one then leaves
    after 100 ms and after 140 ms. A third packet is marked and leaves after 60 ms."""
    def one(number: int, port: int = 40000, ecn: int = 0) -> tuple[bytes, int]:
        return packet(ip_id=number, seq=number, ports=(port, 5201), ecn=ecn)

    seen = [through(one(1, ecn=2), 0, 60 * MS, changed=one(1, ecn=3)),
            through(one(2), 10 * MS, None), through(one(3, 40001), 20 * MS, None),
            through(one(4), 30 * MS, 100 * MS), through(one(5, 40001), 40 * MS, 140 * MS)]
    events = sorted((event for events in seen for event in events), key=lambda one: one.time_ns)
    return read_ledger(write(tmp_path / "a", events), DEVICES).up


@pytest.mark.parametrize(("kind", "acted_ms"), [
    # The next packet of the one queue leaves after 100 ms, that of the second flow after 140 ms.
    ("codel", [60, 100, 100]), ("fq_codel", [60, 100, 140]), ("pie", [0, 10, 20]),
    ("bfifo", [0, 10, 20])])
def test_codel_drops_when_it_is_the_packets_turn_and_others_when_it_comes(
        tmp_path: Path, kind: str, acted_ms: list[int]) -> None:
    rows = numpy.array([0, 1, 2])
    assert (_acted_ns(_passage(tmp_path), rows, kind) / MS).tolist() == acted_ms


def test_what_codel_drops_after_the_probe_left_is_not_told_of_it(tmp_path: Path) -> None:
    """The first drop is 100 ms after the queue began to stand, though the packet came after 10."""
    ledger = read_ledger(tmp_path / "a", DEVICES) if _passage(tmp_path) else None
    assert ledger is not None
    run: Any = SimpleNamespace(
        cell=SimpleNamespace(scenario=Scenario.from_settings({"aqm": "codel"})),
        data={"metadata": {}}, run=SimpleNamespace(applied=lambda way: {}))
    stop = _Stop("router", "up", ledger, ledger.up, 3)
    told = _decisions(run, stop, (0, 30 * MS, 100 * MS), 0)
    assert ([one.marked for one in told.losses], told.first_after_ms) == ([True, False, False], 60)
    told = _decisions(run, stop, (0, 30 * MS, 99 * MS), 0)
    assert [one.marked for one in told.losses] == [True]
    told = _decisions(run, stop, (0, 30 * MS, 59 * MS), 0)
    assert (list(told.losses), told.idle) == ([], Idle.INTERVAL)
    # Nothing waited before the probe came.
    assert _decisions(run, stop, (30 * MS, 30 * MS, 40 * MS), 0).idle is Idle.BELOW_TARGET
    assert _decisions(run, stop, (30 * MS, 30 * MS, 99 * MS), 0).first_after_ms is None


@pytest.mark.parametrize(("aqm", "left_ms", "idle"), [
    ("fq_codel", 4, Idle.BELOW_TARGET), ("fq_codel", 20, Idle.CANT_TELL),
    ("fq_pie", 4, Idle.BELOW_TARGET), ("fq_pie", 20, Idle.CANT_TELL)])
def test_fair_queue_that_held_another_flow_is_not_told_to_be_below_its_target(
        tmp_path: Path, aqm: str, left_ms: int, idle: Idle) -> None:
    """The probe itself waited 2 ms, 1 ms behind a packet of that flow, which had come at 0."""
    seen = [*through(packet(), 0, left_ms * MS),
            *through(irtt(0), (left_ms + 1) * MS, (left_ms + 3) * MS)]
    ledger = read_ledger(write(tmp_path / "fair", seen), DEVICES)
    run: Any = SimpleNamespace(
        cell=SimpleNamespace(scenario=Scenario.from_settings({"aqm": aqm})),
        data={"metadata": {}}, run=SimpleNamespace(applied=lambda way: {}))
    came_ns = (left_ms + 1) * MS
    assert _decisions(run, _Stop("router", "up", ledger, ledger.up, 1),
                      (came_ns, came_ns, came_ns + 2 * MS), 0).idle is idle


def test_time_in_the_routers_model_is_not_the_hosts(tmp_path: Path) -> None:
    """Before the capture and behind it, in both directions."""
    seen = [*through(irtt(0), 30 * MS, 31 * MS),
            *through(irtt(0, reply=True), 41 * MS, 42 * MS, direction="down")]
    ledger = read_ledger(write(tmp_path / "a", seen), DEVICES)
    stops = [_Stop("router", "up", ledger, ledger.up, 0),
             _Stop("router", "down", ledger, ledger.down, 0)]
    answer, scenario = Answer(0, 43 * MS, 43.0), Scenario.from_settings({"base_delay_ms": 6})
    told = {part.place: round(part.ms, 6) for part in _parts(
        stops, answer, scenario, {"up": (29.0, 0.5), "down": (2.5, 0.25)})}
    assert told == {"base delay": 6, "up": 1, "down": 1, CARDS_AND_PROCESSOR: 32.25,
                    "server side": 1, "client side": 1.75}
    assert CARDS_AND_PROCESSOR not in {part.place for part in _parts(stops, answer, scenario, {})}


@pytest.mark.parametrize(("hosts_ms", "is_held"), [(0.008, False), (0.09, True), (0.2, False)])
def test_cards_hold_for_longer_than_an_interrupt_takes(hosts_ms: float, is_held: bool) -> None:
    """And not longer than both cards' moderation of 50 us, and their interrupts."""
    run: Any = SimpleNamespace(cell=SimpleNamespace(
        scenario=Scenario.from_settings({"host_moderation_us": 50})))
    assert _held_by_cards(run, {"server side": hosts_ms, "up": 0.0}, hosts_ms) is is_held


# Time in ms that 10 Mbit/s take for a frame of 1514 bytes.
_FRAME_MS = 1514 * 8 / 10_000
_RTT_MS = 100


def _bursts(tmp_path: Path, window: int, resets: bool = False) -> Ledger:
    """An upload on a line of 10 Mbit/s and 100 ms that sends a window of so many packets in each of
    four round trips, and has its acknowledgements a round trip later; a probe comes behind the
    fourth, whose acknowledgements nobody waits for if the server resets the connection."""
    seen: list[Seen] = []
    for burst in range(4):
        for number in range(window):
            came_ms, seq = burst * _RTT_MS + number * 0.01, (burst * window + number) * 1448
            left_ms = burst * _RTT_MS + (number + 1) * _FRAME_MS
            seen += through(packet(ip_id=burst * window + number, seq=seq), round(came_ms * MS),
                            round(left_ms * MS))
            if burst < 3:
                seen += through(packet(ports=(5201, 40000), ends=(SERVER, CLIENT), payload_bytes=0,
                                       ip_id=burst * window + number, ack=seq + 1448),
                                round((came_ms + _RTT_MS - 0.001) * MS),
                                round((came_ms + _RTT_MS) * MS), direction="down")
    seen += through(irtt(0), round((3 * _RTT_MS + 1) * MS),
                    round((3 * _RTT_MS + window * _FRAME_MS + 0.1) * MS))
    if resets:
        seen += through(packet(ports=(5201, 40000), ends=(SERVER, CLIENT), payload_bytes=0,
                               ip_id=9999, flags=RST), 500 * MS, 501 * MS, direction="down")
    return read_ledger(write(tmp_path / "bursts", sorted(seen, key=lambda one: one.time_ns)),
                       DEVICES)


def _standing(ledger: Ledger, base_delay_ms: float, aqm: str = "no_aqm", rate_mbps: float = 10,
              cross_traffic: int = 0, **parameters: int) -> tuple[StandingQueue, int]:
    """Why the queue stood when the probe came, and the most packets that were in it. The kernel
    reports the parameters. cross_traffic: 1 if what has its port is cross traffic's."""
    scenario = Scenario.from_settings({"rate_mbps": rate_mbps, "base_delay_ms": base_delay_ms,
                                       "aqm": aqm})
    run: Any = SimpleNamespace(
        cell=SimpleNamespace(scenario=scenario),
        data={"metadata": {"TEST_PARAMETERS": {"cross_traffic": "1"} if cross_traffic else {}}},
        base_rtt_ns=round(base_delay_ms * MS),
        run=SimpleNamespace(applied=lambda way: {"qdisc_parameters": parameters}))
    row = int(numpy.flatnonzero(ledger.up.probe >= 0)[0])
    standing, decisions, _ = _queue_story(run, _Stop("router", "up", ledger, ledger.up, row), 0)
    return standing, decisions.most_packets


@pytest.mark.parametrize(("base_delay_ms", "cause"), [(100, Cause.BUNCH), (20, Cause.FILLS)])
def test_flow_fills_a_queue_only_with_more_than_the_path_holds(
        tmp_path: Path, base_delay_ms: float, cause: Cause) -> None:
    """30 packets are 43 kB; the path holds 125 kB, or 25."""
    standing, most = _standing(_bursts(tmp_path, 30), base_delay_ms)
    assert standing.cause is cause
    assert standing.path_kb == pytest.approx(10 * base_delay_ms / 8)
    assert standing.flight_kb == pytest.approx((30 * 1.448, 30 * 1.448))
    # The queue began to stand while the probe waited; the packets before it had come all the same.
    assert most == 31


@pytest.mark.parametrize(("joins_ms", "cause", "first", "joined_s"), [
    # The queue began to stand a second before the probe.
    (-100, Cause.FILLS, "", 0.0), (960, Cause.SLOW_START, "the cross traffic's upload", 0.96)])
def test_flow_that_came_to_a_standing_queue_is_not_why_it_began(
        tmp_path: Path, joins_ms: float, cause: Cause, first: str, joined_s: float) -> None:
    """Cross traffic keeps 60 ms of a line of 10 Mbit/s filled; the test has most bytes ahead of the
    probe. It is in slow start only if it has just begun."""
    sent = [(float(at_ms), 5202) for at_ms in range(-60, 1000, 4)]
    sent += [(joins_ms, 5201), *((999 + number / 100, 5201) for number in range(120))]
    seen: list[Seen] = []
    left_ms = 0.0
    for number, (came_ms, port) in enumerate(sorted(sent)):
        left_ms = max(left_ms + _FRAME_MS, came_ms + 60)
        seen += through(packet(ip_id=number, ports=(40000, port), seq=1448 * number),
                        round((came_ms + 200) * MS), round((left_ms + 200) * MS))
    seen += through(irtt(0), 1201 * MS, round((left_ms + 200.1) * MS))
    ledger = read_ledger(write(tmp_path / "late", sorted(seen, key=lambda one: one.time_ns)),
                         DEVICES)
    standing, _ = _standing(ledger, 20, cross_traffic=1)
    assert (standing.flow, standing.cause) == ("the test's upload", cause)
    assert standing.first_flow == first
    assert standing.joined_s == pytest.approx(joined_s + 0.2 if first else 0.0)


def test_reset_connection_has_nothing_in_flight(tmp_path: Path) -> None:
    ledger = _bursts(tmp_path, 30, resets=True)
    flow = next(at for at, one in enumerate(ledger.flows) if one.source_port == 40000)
    times_ns = numpy.array([350, 499, 500, 600]) * MS
    assert flight_kb(ledger, "up", flow, times_ns).tolist() == pytest.approx(
        [43.44, 43.44, 0.0, 0.0])
    without = _bursts(tmp_path, 30)
    assert flight_kb(without, "up", flow, times_ns).tolist() == pytest.approx([43.44] * 4)


@pytest.mark.parametrize(("packets", "name"), [
    (5, "the test's small flows"), (6, "the test's upload")])
def test_short_flow_with_data_is_no_control_connection(
        tmp_path: Path, packets: int, name: str) -> None:
    """8192 bytes are 5.7 packets."""
    seen = [one for number in range(packets) for one in through(
        packet(ip_id=number, seq=1448 * number), number * MS, (number + 1) * MS)]
    ledger = read_ledger(write(tmp_path / "short", sorted(seen, key=lambda one: one.time_ns)),
                         DEVICES)
    assert flow_name(ledger, "up", 0, frozenset()) == name


@pytest.mark.parametrize(("left_ms", "cause"), [
    (1.21, Cause.SENDING), (1.1, Cause.SENDING), (1.05, Cause.CANT_TELL), (2.0, Cause.CANT_TELL)])
def test_probe_waits_while_the_line_sends_the_packet_before_it(
        tmp_path: Path, left_ms: float, cause: Cause) -> None:
    """A frame of 1514 bytes takes 1.2112 ms at 10 Mbit/s; the probe comes 0.1 ms after it left."""
    seen = [*through(packet(), 0, 10), *through(irtt(0), MS // 10, round(left_ms * MS))]
    ledger = read_ledger(write(tmp_path / "sending", sorted(seen, key=lambda one: one.time_ns)),
                         DEVICES)
    standing, _ = _standing(ledger, 20)
    assert standing.cause is cause
    assert (standing.flow, standing.silence_ms) == (
        ("the test's small flows", pytest.approx(1.2112)) if cause is Cause.SENDING
        else ("", 0.0))


def test_wait_below_a_millisecond_names_no_packet_before(tmp_path: Path) -> None:
    """At 100 Mbit/s, a frame of 1514 bytes takes 0.12 ms. The packet is only told with SENDING."""
    seen = [*through(packet(), 0, 10), *through(irtt(0), MS // 10, 121_130)]
    ledger = read_ledger(write(tmp_path / "sending", sorted(seen, key=lambda one: one.time_ns)),
                         DEVICES)
    assert _standing(ledger, 20, rate_mbps=100)[0].cause is Cause.SENDING
    scenario = Scenario.from_settings({"rate_mbps": 100, "base_delay_ms": 0})
    probe = Probe("x", ProbeTool.IRTT, numpy.array([1e-4]), numpy.array([0.03]))
    run: Any = SimpleNamespace(
        cell=SimpleNamespace(scenario=scenario), data={"metadata": {}}, base_rtt_ns=0,
        run=SimpleNamespace(applied=lambda way: {}, probe=probe), ledgers={"router": ledger},
        packets={("router", "up"): {0: 1}, ("router", "down"): {}})
    standing = explain(run, 0).standing
    assert (standing.cause, standing.flow, standing.silence_ms) == (Cause.NO_QUEUE, "", 0.0)


def test_nothing_waits_for_a_packet_that_never_came(tmp_path: Path) -> None:
    ledger = read_ledger(write(tmp_path / "alone", through(irtt(0), 0, 2 * MS)), DEVICES)
    assert _standing(ledger, 20)[0].cause is Cause.CANT_TELL


@pytest.mark.parametrize(("rate_mbps", "left_ms", "cause"), [
    # A frame takes 12 ms at 1 Mbit/s, and 24 ms at 0.5: nothing stands still, and nothing dips.
    (1, 24, Cause.TURN), (0.5, 48, Cause.TURN), (1, 40, Cause.DIP), (1, 60, Cause.STOP)])
def test_slow_line_neither_stands_still_nor_is_slower_while_it_sends(
        tmp_path: Path, rate_mbps: float, left_ms: int, cause: Cause) -> None:
    """A packet had just left when the probe came, and fair queueing sends another one first."""
    seen = [*through(packet(ip_id=1), 0, MS), *through(packet(ip_id=2, seq=1448), 0,
                                                       left_ms * MS // 2 + MS),
            *through(irtt(0), MS + 1, left_ms * MS + MS)]
    ledger = read_ledger(write(tmp_path / "slow", sorted(seen, key=lambda one: one.time_ns)),
                         DEVICES)
    standing, _ = _standing(ledger, 20, rate_mbps=rate_mbps, aqm="fq_codel")
    assert standing.cause is cause


@pytest.mark.parametrize(("quanta", "packets", "cause"), [
    ({}, 3, Cause.TURN), ({}, 4, Cause.SHARED_BUCKET),
    ({"quantum_bytes": 3028, "initial_quantum_bytes": 15140}, 10, Cause.TURN),
    ({"quantum_bytes": 3028, "initial_quantum_bytes": 15140}, 12, Cause.SHARED_BUCKET)])
def test_a_flow_in_its_turn_is_in_no_bucket_with_the_probe(
        tmp_path: Path, quanta: dict[str, int], packets: int, cause: Cause) -> None:
    """FQ lets a new flow send ten packets at once."""
    seen = [one for number in range(packets) for one in through(
        packet(ip_id=number, seq=1448 * number), number, round((number + 1) * _FRAME_MS * MS))]
    seen += through(irtt(0), 1000, round((packets + 0.5) * _FRAME_MS * MS))
    ledger = read_ledger(write(tmp_path / "turn", sorted(seen, key=lambda one: one.time_ns)),
                         DEVICES)
    assert _standing(ledger, 20, aqm="fq", **quanta)[0].cause is cause


def test_sfb_has_one_queue_for_all_flows(tmp_path: Path) -> None:
    """It drops by flow, and queues in the order of arrival."""
    assert _standing(_bursts(tmp_path, 30), 20, aqm="sfb")[0].cause is Cause.FILLS
    assert _standing(_bursts(tmp_path, 30), 20, aqm="sfq")[0].cause is Cause.SHARED_BUCKET


@pytest.mark.parametrize(("stops", "rate_mbps"), [(0, 10.0), (1, 10.0)])
def test_usual_rate_of_a_line_is_that_at_which_it_sends_what_waits(
        tmp_path: Path, stops: int, rate_mbps: float) -> None:
    """Not that of sparse packets: 20 come at once each second, and 10 Mbit/s carry them; in one
    second a stop of 300 ms comes first."""
    seen = [one for second in range(3) for number in range(20) for one in through(
        packet(ip_id=20 * second + number, seq=1448 * (20 * second + number)),
        second * 1000 * MS + number,
        round((second * 1000 + (number + 1) * _FRAME_MS + 300 * (second < stops)) * MS))]
    ledger = read_ledger(write(tmp_path / "sparse", sorted(seen, key=lambda one: one.time_ns)),
                         DEVICES)
    run: Any = SimpleNamespace(cell=SimpleNamespace(scenario=Scenario.from_settings({
        "shaper": "none"})))
    assert _line_mbps(run, _Stop("router", "up", ledger, ledger.up, 0)) == pytest.approx(rate_mbps)


@pytest.mark.parametrize(("aqm", "target_us", "idle"), [
    ("pie", 15_000, Idle.BELOW_TARGET), ("fq_pie", 15_000, Idle.BELOW_TARGET),
    ("pie", 6_000, Idle.BURST_ALLOWANCE)])
def test_pie_drops_nothing_below_half_of_its_target(
        tmp_path: Path, aqm: str, target_us: int, idle: Idle) -> None:
    """A probe that waited 2 ms behind nothing that waited longer."""
    ledger = read_ledger(write(tmp_path / "alone", through(irtt(0), 0, 2 * MS)), DEVICES)
    run: Any = SimpleNamespace(
        cell=SimpleNamespace(scenario=Scenario.from_settings({"aqm": aqm})), data={"metadata": {}},
        run=SimpleNamespace(applied=lambda way: {"qdisc_parameters": {"target_us": target_us}}))
    stop = _Stop("router", "up", ledger, ledger.up, 0)
    assert _decisions(run, stop, (0, 0, 2 * MS), 0).idle is idle


@pytest.mark.parametrize(("payloads", "numbers", "cause"), [
    # A request, the acknowledgement of a late response, and an upload that begins later.
    ((100, 0, 1448), (0, 100, 100), Cause.BURST),
    # The same bytes once more.
    ((100, 1448, 1448), (0, 100, 100), Cause.TIMEOUT)])
def test_acknowledgement_after_a_silence_repeats_no_bytes(
        payloads: tuple[int, ...], numbers: tuple[int, ...], cause: Cause) -> None:
    arrived_ns = numpy.array([0, 200_000_000, 400_000_000])
    passage = SimpleNamespace(payload_bytes=numpy.array(payloads), arrived_ns=arrived_ns,
                              seq=numpy.array(numbers))
    found = _after_silence(passage, numpy.arange(3),  # type: ignore[arg-type]
                                 numpy.diff(arrived_ns), 2)
    assert found == (cause, 400.0)

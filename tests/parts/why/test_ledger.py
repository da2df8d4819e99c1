# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets of a capture: arrival, departure, flow, mark, fate."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from flent_aqm.base.errors import BadResult, ParseError
from flent_aqm.parts.why.ledger import Fate, parse_devices, read_ledger
from tests.parts.why.frames import (
    CLIENT,
    DEVICES,
    IFB,
    SERVER,
    UP,
    Seen,
    irtt,
    packet,
    through,
    write,
)

MS = 1_000_000
S = 10**9


def test_sojourn_is_the_time_between_both_devices(tmp_path: Path) -> None:
    """To the nanosecond. The router has lowered the TTL."""
    one, gone = packet(ip_id=7, seq=1), packet(ip_id=7, seq=1, ttl=63)
    ledger = read_ledger(write(tmp_path / "a", through(one, 5 * S, 5 * S + 1234567, changed=gone)),
                         DEVICES)
    assert ledger.up.sojourn_ns.tolist() == [1234567]
    assert ledger.up.fate.tolist() == [Fate.LEFT]
    assert ledger.up.frame_bytes.tolist() == [14 + 20 + 32 + 1448]
    assert ledger.up.payload_bytes.tolist() == [1448]
    key = ledger.flows[0]
    assert (key.source, key.target, key.ports) == (CLIENT, SERVER, (5201, 40000))
    assert not ledger.down.size


def test_what_never_leaves_was_dropped_unless_the_capture_ended(tmp_path: Path) -> None:
    seen = [*through(packet(ip_id=1, seq=1), 0, 3 * MS), *through(packet(ip_id=2, seq=2), MS, None),
            *through(packet(ip_id=3, seq=3), 20 * MS, 21 * MS),
            *through(packet(ip_id=4, seq=4), 22 * MS, None)]
    ledger = read_ledger(write(tmp_path / "a", seen), DEVICES)
    assert ledger.up.fate.tolist() == [Fate.LEFT, Fate.DROPPED, Fate.LEFT, Fate.INSIDE]
    assert ledger.up.sojourn_ns.tolist() == [3 * MS, -1, MS, -1]


def test_mark_is_what_the_router_set(tmp_path: Path) -> None:
    """Not one that the packet came with."""
    seen = [*through(packet(ip_id=1, ecn=2), 0, 1, changed=packet(ip_id=1, ecn=3)),
            *through(packet(ip_id=2, ecn=3), 2, 3), *through(packet(ip_id=3, ecn=2), 4, 5)]
    ledger = read_ledger(write(tmp_path / "a", seen), DEVICES)
    assert ledger.up.marked.tolist() == [True, False, False]


def test_equal_packets_are_matched_in_their_order(tmp_path: Path) -> None:
    """As acknowledgements over IPv6, which have no identification."""
    ends = ("2001:db8:1::2", "2001:db8:2::2")
    one = packet(ends=ends, payload_bytes=0)
    seen = [Seen(0, 2, outgoing=False, packet=one[0]), Seen(1, 2, outgoing=False, packet=one[0]),
            Seen(10, 3, outgoing=True, packet=one[0]), Seen(12, 3, outgoing=True, packet=one[0])]
    ledger = read_ledger(write(tmp_path / "a", seen), DEVICES)
    assert ledger.up.sojourn_ns.tolist() == [10, 11]
    assert ledger.flows[0].source == ends[0]


def test_ahead_are_those_that_left_in_between(tmp_path: Path) -> None:
    """Also of the same nanosecond, in the capture's order; under flow queueing a later packet too,
    and an earlier one that leaves later not."""
    first, slow, mine, later, behind = (packet(ip_id=number, seq=number) for number in range(5))
    seen = [through(first, 0, 10)[0], through(slow, 0, 99)[0], through(mine, 0, 20)[0],
            through(first, 0, 10)[1], through(later, 12, 15)[0], through(behind, 12, 30)[0],
            through(later, 12, 15)[1], through(mine, 0, 20)[1], through(behind, 12, 30)[1],
            through(slow, 0, 99)[1]]
    ledger = read_ledger(write(tmp_path / "a", seen), DEVICES)
    assert ledger.up.seq[ledger.up.ahead_of(2)].tolist() == [0, 3]
    assert ledger.up.backlog_bytes(ledger.up.arrived_ns[3:4]).tolist() == [4 * 1514]


def test_packets_behind_the_queue_are_not_ahead_in_it(tmp_path: Path) -> None:
    """A link holds each packet for 5 ms after its queue. The first has left the queue when the last
    comes, though not the link; the second has not. A dropped packet stays dropped."""
    first, second, lost, last = (packet(ip_id=number, seq=number) for number in range(4))
    seen = [through(first, 0, 7 * MS)[0], through(second, MS, 9 * MS)[0],
            through(lost, 2 * MS, None)[0], through(last, 3 * MS, 11 * MS)[0],
            through(first, 0, 7 * MS)[1], through(second, MS, 9 * MS)[1],
            through(last, 3 * MS, 11 * MS)[1],
            *through(packet(ip_id=9), 30 * MS, 31 * MS)]
    captured = read_ledger(write(tmp_path / "a", seen), DEVICES).up
    queue = captured.without_own_delay(numpy.array([5, 5, 5, 5, 0]) * MS)
    assert captured.seq[captured.ahead_of(3)].tolist() == [0, 1]
    assert queue.seq[queue.ahead_of(3)].tolist() == [1]
    assert queue.sojourn_ns.tolist() == [2 * MS, 3 * MS, -1, 3 * MS, MS]
    assert queue.own_delay_ns.tolist() == [5 * MS, 5 * MS, 0, 5 * MS, 0]
    assert not captured.own_delay_ns.any()


def test_probe_has_the_number_of_irtt(tmp_path: Path) -> None:
    seen = [*through(irtt(70000), 0, 1),
            *through(irtt(70000, reply=True), 2, 3, direction="down"),
            *through(packet(), 4, 5)]
    ledger = read_ledger(write(tmp_path / "a", seen), DEVICES)
    assert ledger.up.probe.tolist() == [70000, -1]
    assert ledger.down.probe.tolist() == [70000]


def test_download_leaves_at_the_ifb_that_shapes_it(tmp_path: Path) -> None:
    one = packet(ends=(SERVER, CLIENT))
    seen = [Seen(0, UP, outgoing=False, packet=one[0]), Seen(50, IFB, outgoing=True, packet=one[0]),
            Seen(51, 2, outgoing=True, packet=one[0])]
    ledger = read_ledger(write(tmp_path / "a", seen), {**DEVICES, IFB: "ifb-flent"})
    assert ledger.down.sojourn_ns.tolist() == [50]


def test_what_goes_to_all_hosts_is_left_out(tmp_path: Path) -> None:
    one = packet()
    seen = [*through(one, 0, 1), Seen(2, 2, outgoing=False, packet=packet(ip_id=9)[0], kind=2)]
    assert read_ledger(write(tmp_path / "a", seen), DEVICES).up.size == 1


def test_blocks_are_read_in_turn(tmp_path: Path) -> None:
    """The last bytes of a block hold no frame."""
    seen = [one for number in range(4000) for one in through(
        packet(ip_id=number, seq=number), number * 1000, number * 1000 + 500)]
    ledger = read_ledger(write(tmp_path / "a", seen, 2), DEVICES)
    assert ledger.up.size == 4000
    assert set(ledger.up.sojourn_ns.tolist()) == {500}


@pytest.mark.parametrize(("change", "message"), [
    (lambda data: data[:-5], "cut short"), (lambda data: b"", "no IP packet was captured"),
    (lambda data: bytes(len(data)), "no IP packet was captured"),
    (lambda data: data[:14] + b"\x09\x00" + data[16:],
     "a captured frame has its packet at byte 9; expected byte 80"),
])
def test_damaged_capture_is_refused_in_one_line(tmp_path: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    path = write(tmp_path / "why.ring", through(packet(), 0, 1))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(BadResult, match=message) as fault:
        read_ledger(path, DEVICES)
    assert "\n" not in str(fault.value)


def test_devices_are_those_that_the_guest_names(tmp_path: Path) -> None:
    assert parse_devices("1 lo\n2 down\n3 up\ndropped 0\n") == {1: "lo", 2: "down", 3: "up"}
    with pytest.raises(ParseError, match="no line with a number and a name"):
        parse_devices("Cannot open network namespace\n")
    with pytest.raises(BadResult, match=r"^a: no device down and no up .*; it has lo$"):
        read_ledger(write(tmp_path / "a", through(packet(), 0, 1)), {1: "lo"})

# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters out of the kernel's list of qdiscs: out of this machine's own, and out of messages
made after include/uapi/linux (rtnetlink.h, gen_stats.h, pkt_sched.h), as a machine whose queues
drop and mark isn't at hand without a lab."""

from __future__ import annotations

import socket
import struct

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.router.tc.dump import QueueSample, is_complete, parse_dump, request

ROOT, BELOW = 0xFFFFFFFF, 0x10001
QDISC, ERROR, DONE = 36, 2, 3
NESTED = 0x8000
# In tc_codel_xstats six numbers stand before ecn_mark; ce_mark is the second one behind it.
CODEL_MARKS_AT = 24


def attribute(kind: int, data: bytes) -> bytes:
    """With its padding."""
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(kind: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 2, 1, 0) + body


def qdisc(name: bytes, device: int, parent: int, *, app: bytes = b"",
          counters: bool = True) -> bytes:
    """Of each counter another number. app: what the kind of queue has of its own."""
    stats = attribute(4, app)
    if counters:
        stats = (attribute(1, struct.pack("=QI", 123_456, 99))
                 + attribute(3, struct.pack("=IIIII", 5, 7000, 11, 13, 17)) + stats)
    head = struct.pack("=B3xiIII", 0, device, 0, parent, 0)
    return message(QDISC, head + attribute(1, name + b"\0") + attribute(7 | NESTED, stats))


def cake(*marks: int) -> bytes:
    """CAKE's own statistics with as many tins."""
    tins = b"".join(attribute(number | NESTED, attribute(7, bytes(4))
                              + attribute(8, struct.pack("=I", each)))
                    for number, each in enumerate(marks))
    return attribute(3, bytes(4)) + attribute(10 | NESTED, tins)


def test_counters_are_the_roots_and_marks_those_of_all_below() -> None:
    """Backlog, drops, overlimits and bytes are counted at the root; CoDel below it marks."""
    app = struct.pack("=9I", 1, 1, 1, 1, 1, 1, 40, 1, 2)
    answer = (qdisc(b"htb", 3, ROOT) + qdisc(b"codel", 3, BELOW, app=app)
              + qdisc(b"codel", 4, ROOT, app=app) + qdisc(b"noqueue", 1, ROOT, counters=False)
              + message(DONE, bytes(4)))
    sample = QueueSample(backlog_packets=5, backlog_bytes=7000, drops=11, overlimits=17, marks=42,
                         sent_bytes=123_456)
    assert parse_dump(answer) == {3: sample, 4: sample}


def test_marks_of_cake_are_those_of_all_tins() -> None:
    """Also where several CAKEs are on one device."""
    answer = (qdisc(b"cake", 3, ROOT, app=cake(1, 20, 300))
              + qdisc(b"cake", 3, BELOW, app=cake(4000)))
    assert parse_dump(answer)[3].marks == 4321


@pytest.mark.parametrize(("name", "app"), [
    (b"codel", bytes(CODEL_MARKS_AT) + b"\1\0\0"), (b"codel", b""), (b"unheard_of", b"\1" * 80),
    (b"cake", b"")], ids=["a byte short", "nothing", "unknown kind", "CAKE without tins"])
def test_queue_that_counts_no_marks_has_none(name: bytes, app: bytes) -> None:
    """As older kernels' shorter statistics."""
    assert parse_dump(qdisc(name, 3, ROOT, app=app))[3].marks == 0


def test_marks_that_end_the_statistics_are_counted() -> None:
    """The last four bytes that there are."""
    app = bytes(CODEL_MARKS_AT) + struct.pack("=I", 9)
    assert parse_dump(qdisc(b"codel", 3, ROOT, app=app))[3].marks == 9


def test_answer_is_complete_with_its_end() -> None:
    """Until then more is to be received."""
    begun = qdisc(b"pfifo_fast", 3, ROOT)
    assert not is_complete(b"")
    assert not is_complete(begun)
    assert is_complete(begun + message(DONE, bytes(4)))


@pytest.mark.parametrize(("answer", "output"), [
    (message(ERROR, struct.pack("=i", -1)), r"with an error: Operation not permitted$"),
    (qdisc(b"htb", 3, ROOT)[:-1], r"message has \d+ bytes, of which \d+ were received"),
    (qdisc(b"htb", 3, ROOT) + struct.pack("=IHHII", 15, QDISC, 2, 1, 0),
     "is damaged: the header of a netlink message has a length of 15 bytes; expected 16 or more"),
    (message(QDISC, bytes(8)), "cut off or damaged"),
    (message(QDISC, bytes(20)), "cut off or damaged"),
    (message(QDISC, bytes(20) + struct.pack("=HH", 3, 1)), "attribute has 3 bytes; expected 4"),
], ids=["refused", "cut off", "too short a length", "half a head", "no kind", "no length"])
def test_answer_that_is_damaged_is_refused(answer: bytes, output: str) -> None:
    """With what is wrong, and for ever no loop."""
    with pytest.raises(ParseError, match=output):
        parse_dump(answer)


def test_acknowledgement_is_no_error() -> None:
    """An error with the number 0, behind which the kernel may repeat the request's header."""
    for repeated in (b"", request(7)[:16]):
        answer = message(ERROR, bytes(4) + repeated) + qdisc(b"htb", 3, ROOT)
        assert parse_dump(answer).keys() == {3}


def test_request_asks_the_kernel_for_a_dump_of_all_qdiscs() -> None:
    """A header of netlink (RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, to the kernel, which is port
    0), then an empty tcmsg."""
    sent = request(7)
    assert struct.unpack("=IHHII", sent[:16]) == (len(sent), 38, 0x301, 7, 0)
    assert sent[16:] == bytes(20)
    assert request() == request(1)


def test_message_without_a_body_is_passed_over() -> None:
    """As NLMSG_NOOP, which is a header alone."""
    assert parse_dump(message(1, b"") + qdisc(b"htb", 3, ROOT)).keys() == {3}


def test_request_is_answered_by_this_machines_kernel() -> None:
    """The real one: an answer that ends, with no device that there isn't."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.settimeout(10)
        kernel.send(request(7))
        answer = kernel.recv(1 << 16)
        assert struct.unpack_from("=IHHI", answer)[3] == 7
        while not is_complete(answer):
            answer += kernel.recv(1 << 16)
    assert parse_dump(answer).keys() <= {number for number, _name in socket.if_nameindex()}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads counters of qdiscs from the kernel's answers to RTM_GETQDISC.

They are read from the kernel's own messages, without tc: a run asks ten times a second, and a
process each time would cost more than the whole measurement. Layouts are those of Linux's
include/uapi/linux: rtnetlink.h, gen_stats.h and pkt_sched.h.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError, cause_of
from flent_aqm.spec.queues.table import OF_KIND

RTM_NEWQDISC, RTM_GETQDISC = 36, 38
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_DUMP = 0x1, 0x300
TC_H_ROOT = 0xFFFFFFFF

_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_TCMSG = struct.Struct("=B3xiIII")  # family, interface, handle, parent, info
_ATTRIBUTE = struct.Struct("=HH")  # length with this header, type
_BASIC = struct.Struct("=Q")  # bytes; packets follow
_QUEUE = struct.Struct("=IIIII")  # packets, bytes, drops, requeues, overlimits
_U32 = struct.Struct("=I")
_TYPE_MASK = 0x3FFF  # the upper bits are flags

_TCA_KIND, _TCA_STATS2 = 1, 7
_STATS_BASIC, _STATS_QUEUE, _STATS_APP = 1, 3, 4
_CAKE_TINS, _CAKE_TIN_MARKED = 10, 8


@dataclass(frozen=True)
class QueueSample:
    """Backlog of a device's queues at one moment, and their counters since they were created.

    Attributes:
        drops: number of dropped packets.
        overlimits: number of times that a packet had to wait for the shaper's rate. Without a
            shaper at the root, some AQMs there count drops and marks instead.
        marks: number of packets that were marked with ECN, also of those above `ce_threshold` or
            DualPI2's step threshold. Qdiscs that report no marks, or are of an unknown kind, count
            as 0.
        sent_bytes: bytes of the packets that left the queues.
    """

    backlog_packets: int
    backlog_bytes: int
    drops: int
    overlimits: int
    marks: int
    sent_bytes: int


def request(sequence: int = 1) -> bytes:
    """Return the netlink message that requests all qdiscs of a network namespace.

    sequence: sequence number, which the kernel repeats in its answer.
    """
    length = _HEADER.size + _TCMSG.size
    return (_HEADER.pack(length, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, sequence, 0)
            + _TCMSG.pack(0, 0, 0, 0, 0))


def is_complete(answer: bytes) -> bool:
    """Return whether an answer to request() has its end, so that nothing is left to be received.

    answer: all that was received so far.

    Raises ParseError if the kernel answered with an error, or if a message is cut off behind its
    header.
    """
    return any(kind == NLMSG_DONE for kind, _ in _split_messages(answer))


def parse_dump(answer: bytes) -> dict[int, QueueSample]:
    """Return interface number -> the sum of the interface's queues. Interfaces without a root qdisc
    that counts are left out.

    Backlog, drops, overlimits and bytes are the root qdisc's, because Linux adds there what any
    qdisc below holds or drops. Marks are added over all qdiscs, because only the qdisc that marks
    counts them.

    answer: all that is_complete() accepted. A missing end isn't noticed here.

    Raises ParseError if a message or a qdisc in it is cut off or damaged, or if the kernel reports
    an error.
    """
    roots: dict[int, tuple[int, ...]] = {}
    marks: dict[int, int] = {}
    try:
        for kind, body in _split_messages(answer):
            if kind != RTM_NEWQDISC:
                continue
            _, device, _, parent, _ = _TCMSG.unpack_from(body)
            top = dict(_split_attributes(body[_TCMSG.size:]))
            stats = dict(_split_attributes(top.get(_TCA_STATS2, b"")))
            name = top[_TCA_KIND].rstrip(b"\0").decode("ascii", "replace")
            marks[device] = marks.get(device, 0) + _count_marks(name, stats.get(_STATS_APP, b""))
            if parent == TC_H_ROOT and _STATS_QUEUE in stats:
                roots[device] = (*_QUEUE.unpack_from(stats[_STATS_QUEUE]),
                                 *_BASIC.unpack_from(stats[_STATS_BASIC]))
    except KeyError:
        raise ParseError("the kernel's list of qdiscs is cut off or damaged: the name or the "
                         "counters of a qdisc are missing") from None
    except struct.error as fault:
        raise ParseError("the kernel's list of qdiscs is cut off or damaged: "
                         f"{cause_of(fault)}") from None
    return {device: QueueSample(packets, size, drops, overlimits, marks[device], sent)
            for device, (packets, size, drops, _, overlimits, sent) in roots.items()}


def _count_marks(kind: str, app: bytes) -> int:
    """Return the number of packets that a qdisc marked with ECN. 0 if the qdisc doesn't mark, its
    kind is unknown, or the kernel doesn't report the marks. Raises ParseError if an attribute is
    shorter than its header, and struct.error if a counter of CAKE is cut off.

    Args:
        kind: name of the qdisc.
        app: the qdisc's own statistics (TCA_STATS_APP), empty if it has none.
    """
    if kind == "cake":
        tins = dict(_split_attributes(app)).get(_CAKE_TINS, b"")
        return sum(_U32.unpack_from(dict(_split_attributes(tin)).get(_CAKE_TIN_MARKED, bytes(4)))[0]
                   for _, tin in _split_attributes(tins))
    offsets = OF_KIND[kind].marks_at if kind in OF_KIND else ()
    # A kernel with a shorter layout counts no marks of that sort.
    return sum(_U32.unpack_from(app, offset)[0] for offset in offsets
               if offset + _U32.size <= len(app))


def _split_messages(answer: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type and body of each netlink message. A cut-off header at the end is ignored. Raises
    ParseError if a message is shorter than its header says or than a header, or if the kernel
    reports an error."""
    offset = 0
    while offset + _HEADER.size <= len(answer):
        length, kind, _, _, _ = _HEADER.unpack_from(answer, offset)
        body = answer[offset + _HEADER.size:offset + length]
        if length < _HEADER.size:
            raise ParseError("the kernel's list of qdiscs is damaged: the header of a netlink "
                             f"message has a length of {length} bytes; expected {_HEADER.size} or "
                             "more")
        if offset + length > len(answer):
            raise ParseError("the kernel's list of qdiscs is cut off or damaged: a netlink message "
                             f"has {length} bytes, of which {len(answer) - offset} were received")
        if kind == NLMSG_ERROR and body[:4] != bytes(4):
            code = -struct.unpack_from("=i", body)[0]
            raise ParseError("the kernel answered the request for its qdiscs with an error: "
                             f"{os.strerror(code)}")
        yield kind, body
        offset += (length + 3) & ~3


def _split_attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type, without its flags, and content of each netlink attribute. The content of the last
    one is cut off if `data` are. Raises ParseError if an attribute's length is smaller than its
    header."""
    offset = 0
    while offset + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < _ATTRIBUTE.size:
            raise ParseError("the kernel's list of qdiscs is damaged: a netlink attribute has "
                             f"{length} bytes; expected {_ATTRIBUTE.size} or more")
        yield kind & _TYPE_MASK, data[offset + _ATTRIBUTE.size:offset + length]
        offset += (length + 3) & ~3

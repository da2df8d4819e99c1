# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a capture of a router's devices: for each packet when it arrived, when it left, and its
fate.

A packet socket sees a packet that arrives before the router's queue, and a packet that leaves
behind it. So a packet's sojourn is the time between both, and a packet that never left was dropped.
One socket captures all devices (guest/ring.py), because then the order of its records is the order
in which the kernel saw the packets, also of those with the same time.

The file consists of the blocks of the kernel's ring (linux/if_packet.h, TPACKET_V2): frames of one
size, each a struct tpacket2_hdr, a struct sockaddr_ll, and the beginning of the IP packet.

A packet is recognised by the fields that a router doesn't change: addresses, IP identification,
length, and the first 40 bytes above IP. Copies that are equal in all of these are matched in their
order.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base import environment
from flent_aqm.base.errors import BadResult, ParseError

Column = NDArray[Any]

# Size of the ring's blocks and frames, as in guest/ring.py. Of each packet, a frame has an IPv6
# header and 40 bytes above it.
BLOCK_BYTES, FRAME_BYTES = 1 << 20, 160
FRAMES_A_BLOCK = BLOCK_BYTES // FRAME_BYTES
_ABOVE_IP_BYTES = 40
# A frame. The IP packet begins at `net`, which for a socket of type SOCK_DGRAM is always 80.
_NET_AT = 80
FRAME = numpy.dtype([
    ("status", "=u4"), ("length", "=u4"), ("captured", "=u4"), ("mac", "=u2"), ("net", "=u2"),
    ("seconds", "=u4"), ("ns", "=u4"), ("vlan", "V8"),
    ("family", "=u2"), ("ether_type", ">u2"), ("device", "=i4"), ("hardware", "=u2"),
    ("type", "u1"), ("rest", f"V{_NET_AT - 43}"), ("packet", "u1", FRAME_BYTES - _NET_AT)])
# Blocks that are parsed at a time.
_BLOCKS_TOGETHER = 8
_OUTGOING, _TO_ALL = 4, (1, 2)  # types of a packet, from linux/if_packet.h
TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
_CE = 3  # codepoint of ECN for "congestion experienced"
RST, ACK = 0x04, 0x10  # TCP's flags
# First bytes of irtt's packets, and where its number is, in bytes after the UDP header.
_IRTT_MAGIC, _IRTT_SEQ_AT = (0x14, 0xA7, 0x5B), 12
_PRIME = numpy.uint64(0x9E3779B97F4A7C15)


class Fate(IntEnum):
    """What became of a packet: it left (LEFT), was dropped (DROPPED), or may still have been inside
    when the capture ended (INSIDE). A packet that never left counts as INSIDE if the capture ended
    within the longest sojourn of a packet after its arrival, even if it was dropped in that time,
    otherwise as DROPPED."""

    LEFT = 0
    DROPPED = 1
    INSIDE = 2


@dataclass(frozen=True)
class FlowKey:
    """IP's protocol number, addresses and ports of a flow in one direction. For pings, both ports
    are the identifier of ICMP. For other packets without a TCP or UDP header they are 0."""

    protocol: int
    source: str
    target: str
    source_port: int
    target_port: int

    @property
    def reverse(self) -> FlowKey:
        """The flow between the same ends in the other direction."""
        return FlowKey(self.protocol, self.target, self.source, self.target_port, self.source_port)

    @property
    def ports(self) -> tuple[int, int]:
        """Both ports, the smaller one first, which mostly is the server's."""
        low, high = sorted((self.source_port, self.target_port))
        return low, high


@dataclass(frozen=True, eq=False)
class Passage:
    """The packets that arrived at a router to go in one direction, in the order of their arrival.
    Each array has a value for each packet.

    Attributes:
        arrived_ns: time of arrival, in ns since the epoch.
        left_ns: time of departure from the queue, in ns since the epoch. -1 for packets that never
            left.
        arrival_no: number of the arrival's record in the capture, which orders events of the same
            time.
        departure_no: number of the departure's record. -1 for packets that never left.
        flow: index of the flow in Ledger.flows.
        frame_bytes: bytes of the Ethernet frame without its checksum.
        marked: True if the packet left with ECN's mark "congestion experienced" and arrived without
            it.
        fate: a value of Fate.
        ip_id: IP identification, 0 over IPv6.
        payload_bytes: bytes above the TCP or UDP header, 0 for packets without one.
        seq: TCP's sequence number, 0 for other protocols.
        ack: TCP's acknowledgement number, 0 for other protocols.
        flags: TCP's flags, 0 for other protocols.
        probe: number that a probe of irtt or ping, or its reply, carries. -1 for other packets.
        own_delay_ns: delay between the departure from the queue and that from the device, which a
            link adds to each packet. 0 at routers, and for packets that never left.
    """

    arrived_ns: Column
    left_ns: Column
    arrival_no: Column
    departure_no: Column
    flow: Column
    frame_bytes: Column
    marked: Column
    fate: Column
    ip_id: Column
    payload_bytes: Column
    seq: Column
    ack: Column
    flags: Column
    probe: Column
    own_delay_ns: Column

    def without_own_delay(self, own_delay_ns: Column) -> Passage:
        """Return the same packets, each of which leaves its queue earlier, by a delay that isn't
        the queue's. Arrivals and departures are numbered anew in the order of their times.

        own_delay_ns: the delay of each packet. It has no effect on packets that never left.
        """
        stayed = self.departure_no >= 0
        own_delay_ns = numpy.where(stayed, own_delay_ns, 0)
        left_ns = self.left_ns - own_delay_ns
        order = numpy.lexsort((
            numpy.concatenate((self.arrival_no, self.departure_no[stayed])),
            numpy.concatenate((self.arrived_ns, left_ns[stayed]))))
        numbers = numpy.empty(order.size, numpy.int64)
        numbers[order] = numpy.arange(order.size)
        departure_no = numpy.full(self.size, -1, numpy.int64)
        departure_no[stayed] = numbers[self.size:]
        return replace(self, left_ns=left_ns, arrival_no=numbers[:self.size],
                       departure_no=departure_no, own_delay_ns=own_delay_ns)

    @property
    def size(self) -> int:
        """Number of packets."""
        return int(self.arrived_ns.size)

    @cached_property
    def by_departure(self) -> Column:
        """Indices of the packets that left, in the order in which they left."""
        left = numpy.flatnonzero(self.departure_no >= 0)
        order: Column = left[numpy.argsort(self.departure_no[left], kind="stable")]
        return order

    @property
    def sojourn_ns(self) -> Column:
        """Time of each packet in the queue in ns, -1 if it never left."""
        return numpy.where(self.departure_no >= 0, self.left_ns - self.arrived_ns, -1)

    def ahead_of(self, index: int) -> Column:
        """Return the indices of the packets that left between the arrival and the departure of the
        packet `index`, in the order of their departure. For a packet that never left: those that
        were in the router when it arrived, and left later."""
        order = self.by_departure
        numbers = self.departure_no[order]
        begin = int(numpy.searchsorted(numbers, self.arrival_no[index], side="right"))
        if self.departure_no[index] >= 0:
            end = int(numpy.searchsorted(numbers, self.departure_no[index], side="left"))
            return order[begin:end]
        waiting: Column = order[begin:]
        inside: Column = waiting[self.arrival_no[waiting] < self.arrival_no[index]]
        return inside

    def backlog_bytes(self, times_ns: Column, flows: Sequence[int] | None = None) -> Column:
        """Return the bytes of the packets' frames, without checksums, that were in the router at
        each of the times. Packets that never left, also those that were still in it when the
        capture ended, are left out, because nothing shows when they were dropped.

        Args:
            times_ns: the times, in ns since the epoch.
            flows: indices of the flows that are counted, None for all.
        """
        stayed = self.departure_no >= 0
        left = self.by_departure
        if flows is not None:
            stayed &= numpy.isin(self.flow, flows)
            left = left[numpy.isin(self.flow[left], flows)]
        came = numpy.concatenate(([0], numpy.cumsum(self.frame_bytes[stayed], dtype=numpy.int64)))
        went = numpy.concatenate(([0], numpy.cumsum(self.frame_bytes[left], dtype=numpy.int64)))
        inside: Column = (
            came[numpy.searchsorted(self.arrived_ns[stayed], times_ns, side="right")]
            - went[numpy.searchsorted(self.left_ns[left], times_ns, side="right")])
        return inside


@dataclass(frozen=True, eq=False)
class Ledger:
    """The IP packets that came to a router: IPv4 without options and IPv6, without broadcast and
    multicast.

    Attributes:
        up: packets that go away from the client.
        down: packets that go towards the client.
        flows: the flows, in the order of their first packets.
        end_ns: time of the last such packet at any device, in ns since the epoch.
    """

    up: Passage
    down: Passage
    flows: Sequence[FlowKey]
    end_ns: int

    def passage(self, direction: str) -> Passage:
        """Return the packets of a direction, "up" or "down"."""
        return self.up if direction == "up" else self.down

    @cached_property
    def sizes(self) -> Mapping[tuple[str, int], tuple[int, int]]:
        """Direction ("up" or "down") and index in `flows` -> number of the flow's packets, and
        bytes of their payload. A flow without packets in a direction has no entry for it."""
        sizes = {}
        for direction in ("up", "down"):
            passage = self.passage(direction)
            packets = numpy.bincount(passage.flow, minlength=len(self.flows))
            payload = numpy.bincount(passage.flow, passage.payload_bytes, len(self.flows))
            for flow in numpy.flatnonzero(packets).tolist():
                sizes[direction, flow] = int(packets[flow]), int(payload[flow])
        return sizes


def parse_devices(text: str) -> Mapping[int, str]:
    """Return index -> name of each device from the lines "INDEX NAME" that guest/ring.py writes.
    Other lines are ignored. Raises ParseError if no line has a device."""
    devices = {int(number): name for number, name in
               re.findall(r"(?m)^(\d{1,9}) (\S{1,15})$", text)}
    if not devices:
        raise ParseError("the capture's list of devices has no line with a number and a name; it "
                         f"begins with {text.strip()[:60]!r}: explain the run again")
    return devices


def read_ledger(path: Path, devices: Mapping[int, str], near: str = "down", far: str = "up"
                ) -> Ledger:
    """Return the packets of a capture of all devices of a router.

    Args:
        path: the capture, made by guest/ring.py.
        devices: index -> name of the router's devices.
        near, far: names of the devices towards the client and away from it. If the router has a
            device whose name begins with "ifb", which shapes the download, packets of the download
            have left when they leave that one.

    Raises:
        BadResult: if the file is cut short, not such a capture, or has no IP packet, or if the
            router has no device `near` or `far`.
    """
    rows, named = _rows(path)
    index_of = {name: index for index, name in devices.items()}
    if missing := [name for name in (near, far) if name not in index_of]:
        raise BadResult(f"{path.name}: no device {' and no '.join(missing)} at the place of the "
                        f"capture; it has {', '.join(index_of)}")
    shapes_down = next((index for name, index in index_of.items() if name.startswith("ifb")),
                       index_of[near])
    flow_of, flows = _flows(rows, named)
    end_ns = int(rows["time_ns"][-1])
    up = _passage(rows, flow_of, index_of[near], index_of[far], end_ns)
    down = _passage(rows, flow_of, index_of[far], shapes_down, end_ns)
    return Ledger(up, down, flows, end_ns)


# ---- records of the file --------------------------------------------------------------------

# Fields of a row: name -> type.
_FIELDS = {"time_ns": numpy.int64, "number": numpy.int64, "device": numpy.int32,
           "outgoing": numpy.bool_, "frame_bytes": numpy.int32, "ecn": numpy.uint8,
           "ip_id": numpy.uint16, "protocol": numpy.uint8, "ends": numpy.uint64,
           "source_port": numpy.uint16, "target_port": numpy.uint16,
           "payload_bytes": numpy.int32, "seq": numpy.uint32, "ack": numpy.uint32,
           "flags": numpy.uint8, "probe": numpy.int64, "identity": numpy.uint64}


def _rows(path: Path) -> tuple[dict[str, Column], dict[int, bytes]]:
    """Return the fields in _FIELDS of the IP packets of a capture (IPv4 without options, or IPv6),
    an array each, in the order of capture: a packet that a router forwards is in it at each device.
    Received broadcast and multicast packets are left out. Return also for each value of the field
    `ends`, which stands for the two addresses, the first 40 bytes of its first packet. Raises
    BadResult if the file is cut short, not of guest/ring.py, or has no such packet."""
    size = path.stat().st_size
    if size % BLOCK_BYTES:
        raise BadResult(f"{path.name}: the capture is cut short: {size:,} bytes; expected a "
                        f"multiple of {BLOCK_BYTES:,}: is the folder for temporary files (TMPDIR) "
                        "full?")
    chunks: list[dict[str, Column]] = []
    named: dict[int, bytes] = {}
    first_no = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES * _BLOCKS_TOGETHER):
            count = len(block) // BLOCK_BYTES
            frames = numpy.frombuffer(block, numpy.uint8).reshape(count, BLOCK_BYTES)[
                :, :FRAMES_A_BLOCK * FRAME_BYTES].reshape(-1).view(FRAME)
            frames = frames[frames["status"] != 0]  # the kernel has not filled the rest
            if frames.size and (frames["net"] != _NET_AT).any():
                raise BadResult(f"{path.name}: a captured frame has its packet at byte "
                                f"{int(frames['net'][frames['net'] != _NET_AT][0])}; expected byte "
                                f"{_NET_AT}: the run's kernel writes captures in another form, or "
                                "the capture is damaged; measure the run with the kernel of set-up "
                                f"(without the key kernel and the variable {environment.KERNEL}), "
                                "and explain that data file")
            chunk = _chunk(frames, first_no)
            headers = chunk.pop("headers")
            for ends, row in zip(*numpy.unique(chunk["ends"], return_index=True), strict=True):
                named.setdefault(int(ends), headers[row].tobytes())
            chunks.append(chunk)
            first_no += frames.size
    # Each field's pieces are removed when they are joined, as a capture may have millions of rows.
    rows = {name: numpy.concatenate([chunk.pop(name) for chunk in chunks]) if chunks
            else numpy.empty(0, kind) for name, kind in _FIELDS.items()}
    if not rows["time_ns"].size:
        raise BadResult(f"{path.name}: no IP packet was captured; expected those of the test: "
                        "explain the run again, or another one")
    return rows, named


def _chunk(frames: Column, first_no: int) -> dict[str, Column]:
    """Return the fields of the frames with IP packets, IPv4 without options or IPv6, except
    received broadcast and multicast ones: those in _FIELDS, and `headers`, the first 40 bytes of
    each packet. Each is an array with a value for each of these packets.

    Args:
        frames: frames of the capture.
        first_no: number of the first frame. The capture's first has the number 0.
    """
    kind = frames["ether_type"]
    is_4 = (kind == 0x0800) & (frames["packet"][:, 0] == 0x45)  # without IP options
    is_6 = kind == 0x86DD
    kept = (is_4 | is_6) & ~numpy.isin(frames["type"], _TO_ALL)
    numbers = numpy.arange(first_no, first_no + kept.size)[kept]
    frames, is_4 = frames[kept], is_4[kept]
    # What is behind the captured bytes is of an earlier use of the frame.
    packet = numpy.where(numpy.arange(FRAME_BYTES - _NET_AT)[None, :] < frames["captured"][:, None],
                         frames["packet"], numpy.uint8(0))

    def either(four: Any, six: Any) -> Column:
        """Return an array with a value for each packet: that of `four` over IPv4, that of `six`
        over IPv6. Each of both is such an array, or one value for all packets."""
        chosen: Column = numpy.where(is_4, four, six)
        return chosen

    protocol = either(packet[:, 9], packet[:, 6])
    ip_bytes = either(numpy.int64(20), numpy.int64(40))
    whole = either(_number(packet, 2, 2), _number(packet, 4, 2) + 40)
    ip_id = either(_number(packet, 4, 2), numpy.uint64(0))
    above = numpy.where(is_4[:, None], packet[:, 20:20 + _ABOVE_IP_BYTES],
                        packet[:, 40:40 + _ABOVE_IP_BYTES])
    ends_6 = _mixed(packet[:, 8:40])
    ends = either(_number(packet, 12, 8), ends_6)
    is_tcp, is_udp = protocol == TCP, protocol == UDP
    # A fragment behind the first has no ports.
    first = ~is_4 | (_number(packet, 6, 2) & numpy.uint64(0x1FFF) == 0)
    has_ports = (is_tcp | is_udp) & first
    transport_bytes = numpy.where(is_tcp, (above[:, 12] >> 4).astype(numpy.int64) * 4, 8)
    is_irtt = is_udp & numpy.all(above[:, 8:11] == _IRTT_MAGIC, axis=1)
    irtt_at = 8 + _IRTT_SEQ_AT
    irtt_no = numpy.ascontiguousarray(above[:, irtt_at:irtt_at + 4]).view("<u4")[:, 0]
    is_ping = (((protocol == ICMP) & numpy.isin(above[:, 0], (0, 8)))
               | ((protocol == ICMPV6) & numpy.isin(above[:, 0], (128, 129))))
    probe = numpy.where(is_irtt, irtt_no.astype(numpy.int64),
                        numpy.where(is_ping, _number(above, 6, 2).astype(numpy.int64), -1))
    echo_id = numpy.where(is_ping, _number(above, 4, 2), 0)
    misc = (ip_id << numpy.uint64(32)) | (whole.astype(numpy.uint64) << numpy.uint64(8)) | protocol
    words = [misc, ends, *numpy.ascontiguousarray(above).view("=u8").T]
    return {
        "time_ns": frames["seconds"].astype(numpy.int64) * 10**9 + frames["ns"],
        "number": numbers, "device": frames["device"],
        "outgoing": frames["type"] == _OUTGOING,
        "frame_bytes": (whole.astype(numpy.int64) + 14).astype(numpy.int32),
        "ecn": either(packet[:, 1], packet[:, 1] >> 4) & numpy.uint8(3),
        "ip_id": ip_id.astype(numpy.uint16), "protocol": protocol, "ends": ends,
        "headers": packet[:, :40],
        "source_port": numpy.where(has_ports, _number(above, 0, 2), echo_id).astype(numpy.uint16),
        "target_port": numpy.where(has_ports, _number(above, 2, 2), echo_id).astype(numpy.uint16),
        "payload_bytes": numpy.where(
            has_ports, whole.astype(numpy.int64) - ip_bytes - transport_bytes, 0
        ).astype(numpy.int32),
        "seq": numpy.where(is_tcp, _number(above, 4, 4), 0).astype(numpy.uint32),
        "ack": numpy.where(is_tcp, _number(above, 8, 4), 0).astype(numpy.uint32),
        "flags": numpy.where(is_tcp, above[:, 13], 0).astype(numpy.uint8),
        "probe": probe, "identity": _mixed_words(words),
    }


def _number(packet: Column, at: int, count: int) -> Column:
    """Return the big-endian numbers of `count` bytes at an offset of each packet."""
    number = numpy.zeros(packet.shape[0], numpy.uint64)
    for index in range(at, at + count):
        number = (number << numpy.uint64(8)) | packet[:, index]
    return number


def _mixed(packet: Column) -> Column:
    """Return for each row of bytes a hash of 64 bits. The number of bytes in a row is a multiple of
    8."""
    return _mixed_words(list(numpy.ascontiguousarray(packet).view("=u8").T))


def _mixed_words(words: Sequence[Column]) -> Column:
    """Return one hash of 64 bits for each row of several numbers, in which their order counts.

    words: an array of 64-bit numbers, with a value for each row, for each of the numbers.
    """
    mixed = numpy.zeros(words[0].shape[0], numpy.uint64)
    for word in words:
        mixed = (mixed ^ word) * _PRIME
        mixed ^= mixed >> numpy.uint64(29)
    return mixed


# ---- flows and passages ---------------------------------------------------------------------


def _flows(rows: Mapping[str, Column], named: Mapping[int, bytes]
           ) -> tuple[Column, Sequence[FlowKey]]:
    """Return the index of each packet's flow, and the flows in the order of their first packets.

    Args:
        rows: fields of the capture's packets, an array each.
        named: value of the field `ends`, which stands for a packet's two addresses -> IP header of
            a packet with them.
    """
    both_ports = ((rows["source_port"].astype(numpy.uint64) << numpy.uint64(16))
                  | rows["target_port"])
    key = _mixed_words([rows["ends"], both_ports, rows["protocol"].astype(numpy.uint64)])
    _, first, index = numpy.unique(key, return_index=True, return_inverse=True)
    order = numpy.argsort(first, kind="stable")
    place = numpy.empty_like(order)
    place[order] = numpy.arange(order.size)
    return place[index].astype(numpy.int32), [
        _flow_key(rows, int(row), named) for row in first[order]]


def _flow_key(rows: Mapping[str, Column], row: int, named: Mapping[int, bytes]) -> FlowKey:
    """Return the flow of a row, with the addresses as text.

    Args:
        rows: fields of the capture's packets.
        row: index of the row.
        named: value of the field `ends`, which stands for the packet's two addresses -> IP header
            of a packet between them.
    """
    data = named[int(rows["ends"][row])]
    length, begin = (4, 12) if data[0] >> 4 == 4 else (16, 8)
    source, target = (str(ipaddress.ip_address(bytes(data[one:one + length])))
                      for one in (begin, begin + length))
    return FlowKey(int(rows["protocol"][row]), source, target,
                   int(rows["source_port"][row]), int(rows["target_port"][row]))


def _passage(rows: Mapping[str, Column], flow_of: Column, arrives_at: int, leaves_at: int,
             end_ns: int) -> Passage:
    """Return the packets that arrived at one device, each with the departure of the same packet
    from another device, if it left. A packet that didn't leave was still inside if the capture
    ended within the longest sojourn after its arrival, otherwise it was dropped.

    Args:
        rows: fields of the capture's packets.
        flow_of: index of each row's flow.
        arrives_at, leaves_at: indices of the two devices.
        end_ns: time of the capture's last record.
    """
    came = numpy.flatnonzero((rows["device"] == arrives_at) & ~rows["outgoing"])
    went = numpy.flatnonzero((rows["device"] == leaves_at) & rows["outgoing"])
    partner = _matched(_occurrences(rows["identity"][came]), _occurrences(rows["identity"][went]))
    left = partner >= 0
    row = went[partner[left]] if went.size else numpy.empty(0, numpy.int64)
    # A departure before the arrival belongs to another copy of the packet.
    wrong = rows["number"][row] < rows["number"][came[left]]
    left[numpy.flatnonzero(left)[wrong]] = False
    row = row[~wrong]
    left_ns = numpy.full(came.size, -1, numpy.int64)
    departure_no = numpy.full(came.size, -1, numpy.int64)
    marked = numpy.zeros(came.size, numpy.bool_)
    left_ns[left], departure_no[left] = rows["time_ns"][row], rows["number"][row]
    marked[left] = (rows["ecn"][row] == _CE) & (rows["ecn"][came[left]] != _CE)
    arrived_ns = rows["time_ns"][came]
    longest_ns = int((left_ns - arrived_ns)[left].max(initial=0))
    fate = numpy.where(left, Fate.LEFT, numpy.where(
        arrived_ns + longest_ns >= end_ns, Fate.INSIDE, Fate.DROPPED)).astype(numpy.int8)
    fields = ("ip_id", "payload_bytes", "seq", "ack", "flags", "probe")
    return Passage(arrived_ns, left_ns, rows["number"][came], departure_no, flow_of[came],
                   rows["frame_bytes"][came], marked, fate,
                   own_delay_ns=numpy.zeros(came.size, numpy.int64),
                   **{name: rows[name][came] for name in fields})


def _occurrences(identity: Column) -> Column:
    """Return a number of 64 bits for each packet, mixed from its identity and from how many packets
    with the same identity came before it. So copies of a packet have different numbers."""
    order = numpy.argsort(identity, kind="stable")
    ordered = identity[order]
    starts = numpy.flatnonzero(numpy.concatenate(([True], ordered[1:] != ordered[:-1]))) \
        if ordered.size else numpy.empty(0, numpy.int64)
    lengths = numpy.diff(numpy.append(starts, ordered.size))
    before = numpy.empty(identity.size, numpy.uint64)
    before[order] = numpy.arange(ordered.size) - numpy.repeat(starts, lengths)
    return _mixed_words([identity, before]) if identity.size else identity


def _matched(came: Column, went: Column) -> Column:
    """Return for each number in `came` the index of the same number in `went`, -1 if it isn't
    there."""
    if not went.size:
        return numpy.full(came.size, -1)
    order = numpy.argsort(went, kind="stable")
    place = numpy.minimum(numpy.searchsorted(went[order], came), went.size - 1)
    return numpy.where(went[order][place] == came, order[place], -1)


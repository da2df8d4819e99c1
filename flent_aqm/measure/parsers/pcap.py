# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses a capture of packet headers: bytes per time step, and start and end of each connection.

The capture is read in pieces, so that little memory is used, and without numpy, whose import takes
longer than reading a capture. Packets that were all cut to one length make records of one size.
`Counter` counts these through `Struct.iter_unpack`, so no Python code runs per packet. A piece with
records of several sizes is parsed record by record, which is about three times slower.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from flent_aqm.base.errors import ParseError
from flent_aqm.measure.parsers.pcap_records import (
    FILE_HEADER_BYTES,
    PIECE_BYTES,
    RECORD_HEADER_BYTES,
    read_file_header,
    whole_records,
)
from flent_aqm.measure.parsers.round_trips import STAMPED_TCP_BYTES, Layout, Trips, round_trips
from flent_aqm.measure.parsers.transfers import Connection, Transfer, Transfers, least_payload

# IP version -> (length of its header in bytes, offset of the length field, offset of the protocol
# number, offset of the last 32 bits of the sender's address, bytes of the header that the length
# field doesn't count).
_IP = {4: (20, 2, 9, 12, 0), 6: (40, 4, 6, 20, 40)}
_UDP, _UDP_HEADER_BYTES = 17, 8
# Bytes from the end of the ports to the end of the byte with the TCP header's length.
_BEHIND_PORTS_BYTES = 9

# The fields of a packet that are counted: captured length and length on the wire (8 bytes of the
# record's header), first byte of the IP header, IP length field, protocol, sender, both ports, the
# byte with the TCP header's length. They are few and large, because most of the time goes into
# creating these numbers.
_Key = tuple[int, int, int, int, int, int, int]

# First bytes of IP headers without options.
_NO_IP_OPTIONS = {0x45, *range(0x60, 0x70)}


@dataclass(frozen=True)
class FlowClasses:
    """Assigns flows to classes by their server port.

    Attributes:
        by_server_port: name of the class of the flows, by port of the server.
        segment_bytes: TCP's MSS, the largest payload of a segment without options. Options reduce
            the payload by their length. A capture shows segments that the kernel has merged. The
            number of segments on the wire, and so of headers, is computed from this size.
        servers: last 32 bits of the servers' addresses, for servers that connect to the client,
            which then has the server's port. If empty, the port alone tells which end is the
            server.
        others: class of the flows of all other ports of the servers, None if these don't count.
            Without `servers`, all their packets count as upload.
    """

    by_server_port: Mapping[int, str]
    segment_bytes: int = 1460
    servers: frozenset[int] = frozenset()
    others: str | None = None


@dataclass(frozen=True)
class Amount:
    """Amount of traffic in bytes: TCP or UDP payload, and whole frames without their check sum."""

    payload_bytes: int = 0
    wire_bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.payload_bytes + other.payload_bytes,
                      self.wire_bytes + other.wire_bytes)


# Traffic in one time step: (class, "upload" or "download") -> amount.
Step = Mapping[tuple[str, str], Amount]


@dataclass(frozen=True)
class Capture:
    """Traffic by time step, and connections, of a capture. steps[i] begins at start_s + i * step_s,
    in epoch seconds.

    Attributes:
        start_s: start of the first step in epoch seconds, 0 without steps.
        step_s: length of a step in s.
        steps: traffic of each step up to the last with a readable packet: (class of FlowClasses,
            "upload" or "download") -> amount, without those of which the step has no packet. Empty
            if no packet is readable.
        transfers: data of each connection and direction that carried at least LEAST_BYTES.
        packets: number of complete records in the file.
        external: number of records that belong to no class, have IP options, or are too short.
        cut: True if the file ends within a record.
    """

    start_s: float
    step_s: float
    steps: tuple[Step, ...]
    transfers: tuple[Transfer, ...]
    packets: int
    external: int
    cut: bool


def snap_length(ip_version: int, *, stamps: bool = False) -> int:
    """Return the number of bytes of an Ethernet frame up to the end of its TCP header without
    options.

    Args:
        ip_version: 4 or 6.
        stamps: include TCP's time stamps.
    """
    return 14 + _IP[ip_version][0] + (STAMPED_TCP_BYTES if stamps else 20)


def read_capture(
    file: BinaryIO, ip_version: int, classes: FlowClasses, step_s: float = 0.1
) -> Capture:
    """Parse a capture, in steps of step_s seconds that begin at a multiple of step_s.

    Args:
        file: the pcap file, at its start. It has to be seekable.
        ip_version: IP version of all packets, 4 or 6.
        classes: classes of flows.
        step_s: length of a step in s.

    Returns:
        Traffic and connections. There are no steps if no packet is readable. Connections have round
        trips if the capture has TCP's time stamps and `classes.others` is None.

    Raises:
        ParseError: if the file isn't a pcap file of a known link type.
    """
    ticks_per_s, link_bytes, snap_bytes = read_file_header(file.read(FILE_HEADER_BYTES))
    records = _Records(file, _key_layout(ip_version, link_bytes), round(step_s * ticks_per_s),
                       ticks_per_s)
    counts: dict[int, Counter[_Key]] = defaultdict(Counter)
    for index, counted in records.per_step():
        counts[index].update(counted)
    tally = _Tally(ip_version, link_bytes, classes)
    first, last = min(counts, default=0), max(counts, default=-1)
    steps = tuple(tally.add_step(i, counts.get(i, {})) for i in range(first, last + 1))
    for at_s, key in records.of_steps(tally.transfers.edges()):
        tally.add_time(key, at_s)
    ip_bytes, _, _, sender_at, _ = _IP[ip_version]
    layout = Layout(link_bytes + sender_at, link_bytes + ip_bytes, ticks_per_s)
    trips: Trips = {}
    # Otherwise no packet has its time stamps in the capture, and reading each packet would take
    # longer than all the rest. They are told by the servers' ports.
    if snap_bytes >= layout.stamps_end and classes.others is None:
        file.seek(FILE_HEADER_BYTES)
        trips = round_trips(file, layout, classes.by_server_port, classes.servers)
    return Capture(first * step_s, step_s, steps, tuple(tally.transfers.by_connection(trips)),
                   records.packets, tally.external + records.unreadable, records.cut)


def _key_layout(ip_version: int, link_bytes: int) -> str:
    """Return the format for `struct` of a _Key at the start of a record. The record begins with its
    own header of 16 bytes."""
    ip_bytes, length_at, protocol_at, sender_at, _ = _IP[ip_version]
    return (f">8xQ{link_bytes}xB{length_at - 1}xH{protocol_at - length_at - 2}xB"
            f"{sender_at - protocol_at - 1}xI{ip_bytes - sender_at - 4}xI8xB")


class _Records:
    """Reads the records of a capture and counts them by key and time step.

    Args:
        file: the capture, after its header.
        layout: format of a key, by _key_layout().
        step_ticks: length of a step in ticks.
        ticks_per_s: ticks of time stamps per second.

    Attributes:
        packets: number of records read.
        unreadable: number of records that are too short.
        cut: True if the file ends within a record.
        places: pairs of offsets in the file between which the records of a step are, by index of
            the step.
    """

    def __init__(self, file: BinaryIO, layout: str, step_ticks: int, ticks_per_s: int) -> None:
        self.file = file
        self.layout = layout
        self.needed_bytes = struct.calcsize(layout)
        self.step_ticks = step_ticks
        self.ticks_per_s = ticks_per_s
        self.packets = 0
        self.unreadable = 0
        self.cut = False
        self.places: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._piece_at = 0

    def of_steps(self, steps: Iterable[int]) -> Iterator[tuple[float, _Key]]:
        """Yield the time in epoch seconds and the key (fields of the packet, _Key) of each record
        in these steps, in the order of the file, without records that are too short. Call it after
        per_step().

        Args:
            steps: indexes of steps.
        """
        fields = struct.Struct(self.layout)
        for begin, end in sorted(place for step in steps for place in self.places[step]):
            self.file.seek(begin)
            # The last record may be a short one.
            data = self.file.read(end - begin)
            padded = data + bytes(self.needed_bytes)
            for at, _ in whole_records(data):
                seconds, ticks = struct.unpack_from("=II", data, at)
                yield seconds + ticks / self.ticks_per_s, fields.unpack_from(padded, at)

    def per_step(self) -> Iterator[tuple[int, Mapping[_Key, int]]]:
        """Read all records of the file, once. Yield pairs of the index of a time step, and a
        mapping from each key (fields of a packet, _Key) to its number of records. An index may
        occur repeatedly, with further records. `packets`, `unreadable`, `cut` and `places` are
        complete at the end."""
        rest = b""
        self._piece_at = self.file.tell()
        while piece := self.file.read(PIECE_BYTES):
            data = rest + piece
            counted, used = self._count_same_size(data) or self._count_any_size(data)
            self._piece_at += used
            rest = data[used:]
            yield from counted.items()
        # Data shorter than the first record may still be a complete record.
        counted, used = self._count_any_size(rest)
        yield from counted.items()
        self.cut = used < len(rest)

    def _step_at(self, data: bytes, at: int) -> int:
        """Return the index of the time step of the record that begins at offset `at` of `data`."""
        seconds, ticks = struct.unpack_from("=II", data, at)
        index: int = (seconds * self.ticks_per_s + ticks) // self.step_ticks
        return index

    def _count_same_size(self, data: bytes) -> tuple[dict[int, Counter[_Key]], int] | None:
        """Count the records of `data` by time step and key (fields of a packet, _Key), and add them
        to `packets` and `places`, if all have the size of the first. Their times have to ascend.
        Return the number of records of each key, by step, and the number of bytes used. A rest
        shorter than the first record isn't used.

        Return None, and change nothing, if a record before the rest has another size, if the first
        is too short for a key, or if it isn't complete: _count_any_size() can read them.
        """
        if len(data) < RECORD_HEADER_BYTES:
            return None
        captured = struct.unpack_from("=8xI", data)[0]
        size = RECORD_HEADER_BYTES + captured
        complete = len(data) // size
        if size < self.needed_bytes or not complete:
            return None
        fields = struct.Struct(f"{self.layout}{size - self.needed_bytes}x")
        view = memoryview(data)
        counted: dict[int, Counter[_Key]] = defaultdict(Counter)
        places = []
        start = 0
        while start < complete:
            step = self._step_at(data, start * size)
            end = bisect_right(range(complete), step, lo=start + 1,
                               key=lambda i: self._step_at(data, i * size))
            counted[step].update(fields.iter_unpack(view[start * size:end * size]))
            places.append((step, self._piece_at + start * size, self._piece_at + end * size))
            start = end
        # Each record's place was right only if the record before it has this size.
        if any(_lengths(key)[0] != captured for keys in counted.values() for key in keys):
            return None
        for step, begin, until in places:
            self.places[step].append((begin, until))
        self.packets += complete
        return counted, complete * size

    def _count_any_size(self, data: bytes) -> tuple[dict[int, Counter[_Key]], int]:
        """Count all complete records of `data`, whatever their sizes, by time step and key (fields
        of a packet, _Key), and add them to `packets` and `places`. Records that are too short for a
        key are added to `packets` and `unreadable` only, except packets of UDP with both ports,
        which need no more. Return the number of records of each key, by step, and the number of
        bytes used."""
        counted: dict[int, Counter[_Key]] = defaultdict(Counter)
        fields = struct.Struct(self.layout)
        end = 0
        for at, end in whole_records(data):
            size = end - at
            self.packets += 1
            # A UDP packet may end before the byte with a TCP header's length: iperf3's first has 4
            # bytes of payload.
            key = fields.unpack(data[at:at + min(size, self.needed_bytes)].ljust(
                self.needed_bytes, b"\0"))
            if size < self.needed_bytes - _BEHIND_PORTS_BYTES or (
                    size < self.needed_bytes and key[3] != _UDP):
                self.unreadable += 1
            else:
                step = self._step_at(data, at)
                counted[step][key] += 1
                self._note_place(step, self._piece_at + at, self._piece_at + end)
        return counted, end

    def _note_place(self, step: int, begin: int, end: int) -> None:
        """Record that records of a time step are between these offsets of the file, in `places`. A
        place that begins where the step's last one ends extends it."""
        places = self.places[step]
        if places and places[-1][1] == begin:
            begin = places.pop()[0]
        places.append((begin, end))


class _Tally:
    """Converts counted keys (fields of packets, _Key) to amounts of payload and wire bytes per
    class and direction, and to transfers. Call add_step() for each time step.

    Args:
        ip_version: IP version of all packets, 4 or 6.
        link_bytes: length of the link's header.
        classes: classes of flows.

    Attributes:
        external: number of packets that belong to no class, or that have IP options. They are in no
            amount.
        transfers: the connections' data.
    """

    def __init__(self, ip_version: int, link_bytes: int, classes: FlowClasses) -> None:
        self.ip_bytes, _, _, _, self.left_out_bytes = _IP[ip_version]
        self.link_bytes = link_bytes
        self.classes = classes
        self.external = 0
        self.transfers = Transfers()
        self.least_payload = least_payload(classes.segment_bytes)

    def add_step(self, index: int, counted: Mapping[_Key, int]) -> Step:
        """Add the data of one time step to the transfers, and the packets without a class or with
        IP options to `external`. Data are packets with at least `least_payload` bytes of payload.
        Return the traffic of the step: (class, "upload" or "download") -> amount.

        Args:
            index: index of the step.
            counted: number of packets by key (fields of a packet, _Key).
        """
        amounts: dict[tuple[str, str], Amount] = {}
        for key, times in counted.items():
            connection = self._connection(key)
            if connection is None:
                self.external += times
                continue
            one = self._amount(key)
            flow = (self.classes.by_server_port.get(connection[1], self.classes.others or ""),
                    connection[3])
            amounts[flow] = amounts.get(flow, Amount()) + Amount(
                one.payload_bytes * times, one.wire_bytes * times)
            if one.payload_bytes >= self.least_payload:
                self.transfers.add(connection, index, one.payload_bytes * times)
        return amounts

    def add_time(self, key: _Key, at_s: float) -> None:
        """Add the time of a packet, in epoch seconds, to its transfer if it has data. Call it after
        add_step() of its time step. `key` has the packet's fields."""
        connection = self._connection(key)
        if connection and self._amount(key).payload_bytes >= self.least_payload:
            self.transfers.packet(connection, at_s)

    def _connection(self, key: _Key) -> Connection | None:
        """Return the connection and direction of a packet: number of the protocol, port of the
        server, port of the client, "upload" or "download". The direction is told by the sender's
        address if `classes.servers` isn't empty, otherwise by the ports. None if the IP header has
        options, or if none of its ports has a class and `classes.others` is None. `key` has the
        packet's fields."""
        _, first_byte, _, protocol, sender, both_ports, _ = key
        if first_byte not in _NO_IP_OPTIONS:
            return None
        source, destination = divmod(both_ports, 1 << 16)
        ports = self.classes.by_server_port
        to_server = destination in ports
        if not to_server and source not in ports:
            if self.classes.others is None:
                return None
            to_server = sender not in self.classes.servers
        server, client = (destination, source) if to_server else (source, destination)
        if self.classes.servers:
            to_server = sender not in self.classes.servers
        return protocol, server, client, "upload" if to_server else "download"

    def _amount(self, key: _Key) -> Amount:
        """Return the payload and wire bytes of a packet of TCP or UDP. A TCP packet with more
        payload than a segment counts as several on the wire, each with headers, because the kernel
        has merged them. `key` has the packet's fields."""
        _, _, ip_length, protocol, _, _, offset = key
        on_wire = _lengths(key)[1]
        if protocol == _UDP:
            headers = self.link_bytes + self.ip_bytes + _UDP_HEADER_BYTES
            return Amount(max(0, on_wire - headers), on_wire)
        tcp_bytes = (offset >> 4) * 4
        headers = self.link_bytes + self.ip_bytes + tcp_bytes
        # The length field is 0 in merged packets of more than 64 KiB.
        whole = ip_length + self.left_out_bytes + self.link_bytes if ip_length else on_wire
        payload = max(0, whole - headers)
        segment = self.classes.segment_bytes - (tcp_bytes - 20)
        if payload > segment:
            return Amount(payload, payload + -(-payload // segment) * headers)
        return Amount(payload, on_wire)


def _lengths(key: _Key) -> tuple[int, int]:
    """Return the captured length and the length on the wire of a packet, in bytes. They are the
    first number of the key (the packet's fields, _Key), but have the machine's byte order."""
    captured, on_wire = struct.unpack("=II", key[0].to_bytes(8, "big"))
    return captured, on_wire


@dataclass(frozen=True)
class TcpdumpCounts:
    """Numbers of packets that tcpdump captured, and that the kernel dropped because tcpdump was too
    slow."""

    captured: int
    dropped: int


def parse_tcpdump_counts(text: str) -> TcpdumpCounts:
    """Return the counts at the end of what tcpdump printed on standard error. Raises ParseError if
    one of them is missing."""
    counts = {what: int(number) for number, what in
              re.findall(r"(?m)^(\d+) packets? (captured|dropped by kernel)$", text)}
    if len(counts) < 2:
        last = text.strip().rpartition("\n")[2]
        said = f"its last line: {last[:200]!r}" if last else "it printed nothing"
        raise ParseError("tcpdump did not print how many packets it captured and the kernel "
                         "dropped: it did not start to capture, was stopped by force, its words "
                         f"could not be stored, or it is another version; {said}; repeat the run, "
                         "and install Debian's tcpdump if it happens again")
    return TcpdumpCounts(counts["captured"], counts["dropped by kernel"])

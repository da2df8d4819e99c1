# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells flows apart in a capture on the client: what each carried when, by addresses and ports.

A flow is one direction of the packets between a port of the client and a port of a server, over TCP
or UDP. Unlike pcap.py, which counts the traffic of known servers, this parser reads each packet in
Python: about two microseconds a packet.

Retransmitted are TCP bytes of a packet that comes after later data. For an upload, these are the
packets that the client sent again. They are not counted as payload a second time. For a download,
these are packets that the server sent again, or that were overtaken. They count as payload, too,
because the client had not received them before. Payload of UDP is all that the client sent or
received.

An upload over TCP has a mean of what was acknowledged: what the client sent at its end still stands
in a queue, and nothing shows yet at which rate the line carries it.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import BinaryIO

from flent_aqm.measure.parsers.pcap_records import (
    FILE_HEADER_BYTES,
    RECORD_HEADER_BYTES,
    read_file_header,
    walk,
)
from flent_aqm.measure.parsers.transfers import LEAST_BYTES

# A direction with less than this share of the other direction's payload answers it: requests and
# acknowledgements, such as those of QUIC.
LEAST_SHARE = 0.05
# Most flows that are kept, those with most payload.
MOST_FLOWS = 64

_TCP, _UDP = 6, 17
_SYN, _ACK = 2, 16


@dataclass
class CapturedFlow:
    """One direction of a flow. Times are in epoch seconds.

    Attributes:
        protocol: "TCP" or "UDP".
        server: address of the server.
        direction: "upload" or "download".
        steps: index of the time step, counted from the epoch -> payload in bytes.
        payload_bytes: payload in all. An upload's retransmissions count neither here nor in
            `steps`.
        packets: number of packets with payload.
        first_s, last_s: times of the first and the last packet with payload.
        retransmitted_packets, retransmitted_bytes: number of TCP packets with bytes that come
            before data seen earlier, and number of these bytes. Packets with a single byte don't
            count.
        highest: TCP's sequence number after the last byte of all data that was seen, modulo 2^32.
            None before the first packet, and for UDP.
        acknowledged: the highest acknowledgement number of an upload's data that was seen, modulo
            2^32. Before the first: the sequence number of the flow's first packet. None for UDP,
            and for downloads.
        acknowledged_bytes: bytes of an upload's data that were acknowledged.
        acknowledged_s: time of the last acknowledgement of further data, 0 if there was none.
    """

    protocol: str
    server: str
    server_port: int
    client_port: int
    direction: str
    steps: dict[int, int] = field(default_factory=dict)
    payload_bytes: int = 0
    packets: int = 0
    first_s: float = 0.0
    last_s: float = 0.0
    retransmitted_packets: int = 0
    retransmitted_bytes: int = 0
    highest: int | None = None
    acknowledged: int | None = None
    acknowledged_bytes: int = 0
    acknowledged_s: float = 0.0

    @property
    def mean_mbps(self) -> float:
        """Mean throughput in Mbit/s from the first packet with payload on. Of an upload over TCP:
        of the acknowledged payload, until the last acknowledgement of further data. Of other flows,
        and of an upload of which no acknowledgement was captured: of all payload, until its last
        packet. 0 if that time is 0."""
        payload, end_s = ((self.acknowledged_bytes, self.acknowledged_s) if self.acknowledged_bytes
                          else (self.payload_bytes, self.last_s))
        took_s = end_s - self.first_s
        return payload * 8e-6 / took_s if took_s > 0 else 0.0

    def acknowledge(self, at_s: float, number: int) -> None:
        """Count an acknowledgement of an upload's data. One of data that was acknowledged before,
        or that was not seen, such as that of a FIN, doesn't count.

        Args:
            at_s: time of its packet in epoch seconds.
            number: TCP's acknowledgement number.
        """
        if self.acknowledged is None or self.highest is None:
            return
        further = _distance(self.acknowledged, number)
        further = min(further, _distance(self.acknowledged, self.highest))
        if further > 0:
            self.acknowledged = (self.acknowledged + further) & 0xFFFFFFFF
            self.acknowledged_bytes += further
            self.acknowledged_s = at_s

    def add(self, at_s: float, step: int, payload: int) -> None:
        """Count a packet with payload.

        Args:
            at_s: time of the packet in epoch seconds.
            step: index of its time step.
            payload: bytes that count as payload, without those that an upload sends again.
        """
        if not self.packets:
            self.first_s = at_s
        self.last_s = at_s
        self.packets += 1
        self.payload_bytes += payload
        self.steps[step] = self.steps.get(step, 0) + payload


def read_flows(file: BinaryIO, servers: Collection[str], left_out: Collection[int],
               step_s: float = 0.1) -> list[CapturedFlow]:
    """Return the flows between the client and the servers that loaded the line, in the order of
    their first packets with payload. Empty if there are none.

    Args:
        file: the pcap file, at its begin.
        servers: IP addresses of the servers.
        left_out: ports of servers whose flows don't count: probes, cross traffic.
        step_s: length of a step in s.

    Flows with less than LEAST_BYTES of payload are left out, and a direction with less than
    LEAST_SHARE of the payload of the other one. Of more than MOST_FLOWS those with most payload are
    returned. A last record that is cut off is left out. Raises ParseError if the file isn't a pcap
    file of a known link type in this machine's byte order, ValueError if a server isn't an IP
    address.
    """
    flows: dict[tuple[int, bytes, int, int, str], CapturedFlow] = {}
    packed = {ip_address(one).packed: one for one in servers}
    ticks_per_s, link_bytes, _ = read_file_header(file.read(FILE_HEADER_BYTES))
    for ticks, on_wire, data in _packets(file, ticks_per_s):
        packet = _parse(data[link_bytes:], on_wire - link_bytes)
        if packet is None:
            continue
        sender, receiver, protocol, source, target, payload, sequence, confirmed = packet
        if sender in packed:
            server, server_port, client_port, direction = sender, source, target, "download"
        elif receiver in packed:
            server, server_port, client_port, direction = receiver, target, source, "upload"
        else:
            continue
        if server_port in left_out:
            continue
        key = protocol, server, server_port, client_port, direction
        flow = flows.get(key)
        if flow is None:
            flow = flows[key] = CapturedFlow("TCP" if protocol == _TCP else "UDP", packed[server],
                                             server_port, client_port, direction)
        new = payload if sequence is None else _count_once(flow, sequence, payload)
        if payload:
            flow.add(ticks / ticks_per_s, int(ticks // (step_s * ticks_per_s)), new)
        if confirmed is not None and direction == "download":
            upload = flows.get((protocol, server, server_port, client_port, "upload"))
            if upload is not None:
                upload.acknowledge(ticks / ticks_per_s, confirmed)
    return _loads(list(flows.values()))


def _packets(file: BinaryIO, ticks_per_s: int) -> Iterator[tuple[int, int, memoryview]]:
    """Yield for each complete record its time in ticks since the epoch, the packet's length on the
    wire in bytes, and the captured bytes, both with the link's header.

    Args:
        file: the capture, after its header.
        ticks_per_s: ticks of the capture's time stamps per second.
    """
    for piece, begin, end in walk(file):
        seconds, ticks, on_wire = struct.unpack_from("=II4xI", piece, begin)
        yield (seconds * ticks_per_s + ticks, on_wire,
               memoryview(piece)[begin + RECORD_HEADER_BYTES:end])


def _parse(data: memoryview, on_wire: int
           ) -> tuple[bytes, bytes, int, int, int, int, int | None, int | None] | None:
    """Return a packet's addresses of sender and receiver as bytes, number of the protocol,
    ports of sender and receiver, payload in bytes, TCP's sequence number of the first byte of
    data (None for UDP), and TCP's acknowledgement number (None for UDP, and without the flag
    ACK). The first fragment of a UDP packet has the payload of the whole packet. Return None
    for packets of other protocols or with extension headers of IPv6, later fragments, and
    packets of which too little was captured.

    Args:
        data: the captured bytes from the IP header on.
        on_wire: length of the packet from the IP header on, in bytes.
    """
    if len(data) < 28:
        return None
    if data[0] >> 4 == 4:
        begin, protocol = (data[0] & 15) * 4, data[9]
        length = struct.unpack_from(">H", data, 2)[0] or on_wire
        if struct.unpack_from(">H", data, 6)[0] & 0x1FFF:
            return None  # a later fragment, which has no ports
        sender, receiver = bytes(data[12:16]), bytes(data[16:20])
    else:
        begin, protocol = 40, data[6]
        length = struct.unpack_from(">H", data, 4)[0]
        length = length + 40 if length else on_wire
        sender, receiver = bytes(data[8:24]), bytes(data[24:40])
    if len(data) < begin + 8 or protocol not in (_TCP, _UDP):
        return None
    source, target = struct.unpack_from(">HH", data, begin)
    if protocol == _UDP:
        # A fragmented packet's own header tells its whole length.
        whole = struct.unpack_from(">H", data, begin + 4)[0]
        return sender, receiver, protocol, source, target, max(0, (whole or length) - 8), None, None
    if len(data) < begin + 14:
        return None
    payload = max(0, length - begin - (data[begin + 12] >> 4) * 4)
    sequence, number = struct.unpack_from(">II", data, begin + 4)
    flags = data[begin + 13]
    if flags & _SYN:
        sequence += 1
    return (sender, receiver, protocol, source, target, payload, sequence,
            number if flags & _ACK else None)


def _count_once(flow: CapturedFlow, sequence: int, payload: int) -> int:
    """Return how many bytes of a TCP packet count as payload, and count bytes below the highest
    sequence number as retransmitted.

    For an upload, retransmitted bytes were counted before and are left out. For a download, all
    bytes count, because the client had not received them before. A single byte below the highest
    sequence number is a keep-alive probe and counts as neither.

    Args:
        flow: the flow, which is changed.
        sequence: sequence number of the first byte, modulo 2^32.
        payload: bytes of payload in the packet.
    """
    end = (sequence + payload) & 0xFFFFFFFF
    if flow.highest is None:
        flow.highest = end
        if flow.direction == "upload":
            flow.acknowledged = sequence & 0xFFFFFFFF
        return payload
    ahead = _distance(flow.highest, end)
    if ahead > 0:
        flow.highest = end
    if payload <= 1 or ahead >= payload:  # a byte below the highest asks whether the peer lives
        return payload if ahead > 0 else 0
    again = payload - max(ahead, 0)
    flow.retransmitted_packets += 1
    flow.retransmitted_bytes += again
    # At the client, what comes again was lost before.
    return payload if flow.direction == "download" else payload - again


def _distance(begin: int, end: int) -> int:
    """Return the bytes from one of TCP's numbers to another, both modulo 2^32. Negative if `end` is
    before `begin`."""
    return ((end - begin + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def _loads(flows: list[CapturedFlow]) -> list[CapturedFlow]:
    """Return the flows with at least LEAST_BYTES of payload, and at least LEAST_SHARE of the
    payload of the opposite direction: at most MOST_FLOWS, those with most payload, in the order of
    their first packets."""
    payload = {(one.protocol, one.server, one.server_port, one.client_port, one.direction):
               one.payload_bytes for one in flows}

    def other(one: CapturedFlow) -> int:
        way = "upload" if one.direction == "download" else "download"
        return payload.get((one.protocol, one.server, one.server_port, one.client_port, way), 0)

    loads = [one for one in flows if one.payload_bytes >= LEAST_BYTES
             and one.payload_bytes >= LEAST_SHARE * other(one)]
    kept = sorted(loads, key=lambda one: one.payload_bytes, reverse=True)[:MOST_FLOWS]
    return sorted(kept, key=lambda one: (one.first_s, one.client_port, one.direction))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes round trips of TCP's own packets from a capture on the client.

A round trip lasts from a packet of the client to the packet that acknowledges it.

Each side returns the other's time stamp (RFC 7323). The first packet of the server with a stamp
belongs to the first packet of the client that had it. For an upload, that is from data to its
acknowledgement. For a download, it is from an acknowledgement to the data that it releases. Stamps
have steps of 1 ms, so there is at most one round trip per connection and ms. Retransmissions, and
acknowledgements of packets after a gap, give no round trip.

Source: K. Nichols, Listening to Networks, 2018 (pping).
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from socket import htonl, htons
from typing import BinaryIO

from flent_aqm.measure.parsers.pcap_records import walk

# The beginning of TCP's options in Linux: two no-operations, then the stamps.
_STAMPS = htonl(0x0101080A)
# Length of the TCP header with stamps.
STAMPED_TCP_BYTES = 32
# Least number of round trips of a connection for which percentiles are computed.
FEWEST = 20
_PERCENTS = 101

# Port of the server and of the client -> round trips in ms.
Trips = Mapping[tuple[int, int], Sequence[float]]


@dataclass(frozen=True)
class Layout:
    """Offsets in the packets of a capture, from the start of the link's header, and its clock.

    Attributes:
        sender_at: number of bytes before the last 32 bits of the sender's address.
        tcp_at: number of bytes before the TCP header.
        ticks_per_s: ticks of the capture's time stamps per second.
    """

    sender_at: int
    tcp_at: int
    ticks_per_s: int

    @property
    def stamps_end(self) -> int:
        """Number of bytes of a packet that have to be captured for its TCP time stamps."""
        return self.tcp_at + STAMPED_TCP_BYTES


def round_trips(file: BinaryIO, layout: Layout, server_ports: Collection[int],
                servers: Collection[int] = ()) -> Trips:
    """Return the round trips in ms of each connection, in the order of the file: (server's port,
    client's port) -> round trips. Connections without one are left out.

    Each TCP time stamp of the client gives at most one round trip: from the client's first packet
    with this stamp to the server's first packet that returns it.

    Args:
        file: the capture, after its header.
        layout: offsets in the packets.
        server_ports: ports of the servers. Connections without such a port are left out.
        servers: last 32 bits of the servers' addresses, which tell the direction of a packet. If
            empty, the port alone tells it.
    """
    # The machine's byte order throughout: addresses, ports and stamps are only compared.
    record = struct.Struct(f"=II8x{layout.sender_at}xI"
                           f"{layout.tcp_at - layout.sender_at - 4}xHH16xIII")
    port_of = {htons(port): port for port in server_ports}
    addresses = set(map(htonl, servers))
    sent: dict[tuple[int, int, int], float] = {}
    trips_ms: dict[tuple[int, int], list[float]] = {}
    for data, begin, end in walk(file):
        if end - begin < record.size:
            continue
        seconds, ticks, sender, source, target, kind, stamp, echo = record.unpack_from(data, begin)
        if kind != _STAMPS:
            continue
        to_server = sender not in addresses if addresses else target in port_of
        if to_server:
            sent.setdefault((source, target, stamp), seconds + ticks / layout.ticks_per_s)
            continue
        then_s = sent.get((target, source, echo), 0.0)
        if then_s:
            sent[target, source, echo] = 0.0  # later ones acknowledge other packets
            at_s = seconds + ticks / layout.ticks_per_s
            server, client = (source, target) if source in port_of else (target, source)
            if server not in port_of:
                continue
            trips_ms.setdefault((port_of[server], htons(client)), []).append(
                (at_s - then_s) * 1000)
    return trips_ms


def percentiles(ms: Sequence[float]) -> list[float]:
    """Return the 0th, 1st, … and 100th percentile of round trips, in ms, rounded to 4 decimals:
    each is the value of the round trip that is nearest in rank. Empty if there are fewer than
    FEWEST round trips."""
    if len(ms) < FEWEST:
        return []
    ordered, last = sorted(ms), len(ms) - 1
    return [round(ordered[round(last * place / (_PERCENTS - 1))], 4)
            for place in range(_PERCENTS)]


def together(parts: Sequence[tuple[int, Sequence[float]]]) -> dict[str, object]:
    """Return the round trips of some connections as an object for a data file: connections (their
    number), samples (number of round trips), and percentiles_ms (0th to 100th, each the mean over
    the connections, with equal weights). Empty if no connection has percentiles.

    Args:
        parts: number of round trips, and percentiles in ms, of each connection. Connections without
            percentiles are left out, also of the numbers.
    """
    present = [(count, values) for count, values in parts if values]
    if not present:
        return {}
    return {"connections": len(present), "samples": sum(count for count, _ in present),
            "percentiles_ms": [round(sum(same) / len(present), 4) for same in zip(
                *(values for _, values in present), strict=True)]}

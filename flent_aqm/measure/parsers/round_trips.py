# SPDX-License-Identifier: GPL-3.0-or-later
"""Round trips of TCP's own packets, out of a capture on the client: from a packet of the client
to what acknowledges it.

Each side sends back the time stamp of the other (RFC 7323): the first packet of the server with a
stamp belongs to the first one of the client that had it. For an upload that is from data to its
acknowledgement, for a download from an acknowledgement to the data that it let go. Stamps have
steps of 1 ms, so that there is one round trip a connection and ms at most; packets that were sent
again, and acknowledgements of those behind a gap, count none.

Source: K. Nichols, Listening to Networks, 2018 (pping).
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from socket import htonl, htons
from typing import BinaryIO

# No-operation twice, then the stamps: how Linux begins TCP's options.
_STAMPS = htonl(0x0101080A)
# TCP's header with them.
STAMPED_TCP_BYTES = 32
_RECORD_BYTES = 16
_PIECE_BYTES = 4 << 20
# Of a connection with fewer, no percentile says anything.
FEWEST = 20
_PERCENTS = 101

# Port of the server and of the client -> ms.
Trips = Mapping[tuple[int, int], Sequence[float]]


@dataclass(frozen=True)
class Layout:
    """Where things are in a capture: bytes before the sender's last 32 bits and before TCP's
    header, and ticks of its time stamps per second."""

    sender_at: int
    tcp_at: int
    ticks_per_s: int

    @property
    def stamps_end(self) -> int:
        """Bytes of a packet that have to be there for its stamps."""
        return self.tcp_at + STAMPED_TCP_BYTES


def round_trips(file: BinaryIO, layout: Layout, server_ports: Collection[int],
                servers: Collection[int] = ()) -> Trips:
    """Return round trips by connection. file: stands behind its own header; servers: last 32 bits
    of their addresses; without them, the port alone tells which side is one."""
    # The machine's byte order throughout: addresses, ports and stamps are only compared.
    record = struct.Struct(f"=III4x{layout.sender_at}xI"
                           f"{layout.tcp_at - layout.sender_at - 4}xHH16xIII")
    port_of = {htons(port): port for port in server_ports}
    addresses = set(map(htonl, servers))
    sent: dict[tuple[int, int, int], float] = {}
    trips_ms: dict[tuple[int, int], list[float]] = {}
    rest = b""
    while piece := file.read(_PIECE_BYTES):
        data = rest + piece
        at = 0
        while at + record.size <= len(data):
            seconds, ticks, captured, sender, source, target, kind, stamp, echo = (
                record.unpack_from(data, at))
            end = at + _RECORD_BYTES + captured
            if end > len(data):
                break
            whole, at = end - at >= record.size, end
            if kind != _STAMPS or not whole:
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
                trips_ms.setdefault((port_of[server], htons(client)), []).append(
                    (at_s - then_s) * 1000)
        rest = data[at:]
    return trips_ms


def percentiles(ms: Sequence[float]) -> list[float]:
    """Return those from the 0th to the 100th; none of too few round trips."""
    if len(ms) < FEWEST:
        return []
    ordered, last = sorted(ms), len(ms) - 1
    return [round(ordered[round(last * place / (_PERCENTS - 1))], 4)
            for place in range(_PERCENTS)]


def together(parts: Sequence[tuple[int, Sequence[float]]]) -> dict[str, object]:
    """Return what a data file has of some connections' round trips: how many connections and
    samples, and the mean over connections, each of which counts alike, of each percentile. parts:
    number and percentiles of each; empty of none that has any."""
    present = [(count, values) for count, values in parts if values]
    if not present:
        return {}
    return {"connections": len(present), "samples": sum(count for count, _ in present),
            "percentiles_ms": [round(sum(same) / len(present), 4) for same in zip(
                *(values for _, values in present), strict=True)]}

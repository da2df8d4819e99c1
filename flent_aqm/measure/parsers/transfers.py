# SPDX-License-Identifier: GPL-3.0-or-later
"""Determines from a capture when the data of each connection began and ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flent_aqm.measure.parsers.round_trips import Trips, percentiles

# Packets with less payload are requests, responses and messages, such as the parameters that iperf3
# exchanges. Packets of QUIC and WebRTC with data have 1200 bytes.
DATA_BYTES = 1000
# Room for TCP's time stamps and a few bytes of other options.
_OPTIONS_BYTES = 40
# A connection with less data is no load: handshakes of TLS and QUIC, small responses.
LEAST_BYTES = 8192

# Protocol number, port of the server, port of the client, "upload" or "download".
Connection = tuple[int, int, int, str]


@dataclass(frozen=True)
class Transfer:
    """Data that a connection carried in one direction."""

    # Number of the IP protocol.
    protocol: int
    server_port: int
    client_port: int
    direction: str
    byte_count: int
    # Times of its first and its last packet, in epoch seconds.
    first_s: float
    last_s: float
    # Number of the connection's round trips that are known, and their percentiles in ms, empty if
    # there are too few.
    round_trips: int = 0
    round_trips_ms: Sequence[float] = ()


def least_payload(segment_bytes: int) -> int:
    """Return the least payload in bytes of a packet that counts as data. segment_bytes: size of
    TCP's largest segment."""
    return min(DATA_BYTES, segment_bytes - _OPTIONS_BYTES)


@dataclass
class _Seen:
    """Data of one connection, while it is collected."""

    first_step: int
    last_step: int
    byte_count: int = 0
    first_s: float = float("inf")
    last_s: float = 0.0


class Transfers:
    """Collects the data of connections in two passes. The first adds all data by time steps, the
    second the exact times of packets in the steps that edges() returns."""

    def __init__(self) -> None:
        self._seen: dict[Connection, _Seen] = {}

    def add(self, connection: Connection, step: int, byte_count: int) -> None:
        """First pass: add the data of a connection in one step."""
        seen = self._seen.setdefault(connection, _Seen(step, step))
        seen.first_step, seen.last_step = min(seen.first_step, step), max(seen.last_step, step)
        seen.byte_count += byte_count

    def edges(self) -> set[int]:
        """Return the steps in which the data of a connection begins or ends."""
        return {step for seen in self._seen.values() if seen.byte_count >= LEAST_BYTES
                for step in (seen.first_step, seen.last_step)}

    def packet(self, connection: Connection, at_s: float) -> None:
        """Second pass: add the time of a packet with data, in epoch seconds."""
        seen = self._seen[connection]
        seen.first_s, seen.last_s = min(seen.first_s, at_s), max(seen.last_s, at_s)

    def by_connection(self, trips: Trips) -> Iterator[Transfer]:
        """Yield the data of each connection, after both passes. trips: round trips of each
        connection."""
        for connection, seen in self._seen.items():
            if seen.byte_count >= LEAST_BYTES:
                ms = trips.get(connection[1:3], ())
                yield Transfer(*connection, seen.byte_count, seen.first_s, seen.last_s, len(ms),
                               percentiles(ms))

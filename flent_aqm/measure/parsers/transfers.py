# SPDX-License-Identifier: GPL-3.0-or-later
"""When the data of each connection began and ended, out of a capture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flent_aqm.measure.parsers.round_trips import Trips, percentiles

# Packets with less payload are requests, answers and messages, such as the parameters that iperf3
# exchanges. QUIC's and WebRTC's data come in packets of 1200 bytes.
DATA_BYTES = 1000
# TCP's time stamps, and a few bytes of other options.
_OPTIONS_BYTES = 40
# A connection with less data loads nothing: handshakes of TLS and QUIC, small answers.
LEAST_BYTES = 8192

# Number of the protocol, port of the server, port of the client, "upload" or "download".
Connection = tuple[int, int, int, str]


@dataclass(frozen=True)
class Transfer:
    """Data that a connection carried in one direction; times in epoch seconds, of its first and
    its last packet. round_trips: of its connection, how many are known; round_trips_ms: their
    percentiles, none of too few."""

    protocol: int
    server_port: int
    client_port: int
    direction: str
    byte_count: int
    first_s: float
    last_s: float
    round_trips: int = 0
    round_trips_ms: Sequence[float] = ()


def least_payload(segment_bytes: int) -> int:
    """Return what a packet of data has at least, where TCP's segments have this size at most."""
    return min(DATA_BYTES, segment_bytes - _OPTIONS_BYTES)


@dataclass
class _Seen:
    first_step: int
    last_step: int
    byte_count: int = 0
    first_s: float = float("inf")
    last_s: float = 0.0


class Transfers:
    """Collects data first by steps of time, all of them; then by the exact times of packets, in
    the steps that edges() asks for."""

    def __init__(self) -> None:
        self._seen: dict[Connection, _Seen] = {}

    def add(self, connection: Connection, step: int, byte_count: int) -> None:
        """Count data of a step."""
        seen = self._seen.setdefault(connection, _Seen(step, step))
        seen.first_step, seen.last_step = min(seen.first_step, step), max(seen.last_step, step)
        seen.byte_count += byte_count

    def edges(self) -> set[int]:
        """Return the steps in which a connection's data begins or ends."""
        return {step for seen in self._seen.values() if seen.byte_count >= LEAST_BYTES
                for step in (seen.first_step, seen.last_step)}

    def packet(self, connection: Connection, at_s: float) -> None:
        """Tell of a packet with data in one of these."""
        seen = self._seen[connection]
        seen.first_s, seen.last_s = min(seen.first_s, at_s), max(seen.last_s, at_s)

    def by_connection(self, trips: Trips) -> Iterator[Transfer]:
        """Give each connection's data, when both have been told."""
        for connection, seen in self._seen.items():
            if seen.byte_count >= LEAST_BYTES:
                ms = trips.get(connection[1:3], ())
                yield Transfer(*connection, seen.byte_count, seen.first_s, seen.last_s, len(ms),
                               percentiles(ms))

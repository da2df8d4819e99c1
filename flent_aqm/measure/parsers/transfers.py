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
    """Data that a connection carried in one direction.

    Attributes:
        protocol: number of the IP protocol.
        direction: "upload" or "download".
        byte_count: payload bytes of the packets that count as data.
        first_s: time of the first of these packets, in epoch seconds.
        last_s: time of the last of these packets, in epoch seconds.
        round_trips: number of the connection's round trips that are known.
        round_trips_ms: 0th to 100th percentile of these round trips in ms, empty if there are too
            few.
    """

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
    """Return the least payload in bytes of a packet that counts as data: DATA_BYTES, or for small
    segments the segment's size less 40 bytes for TCP's options, if that is less.

    Args:
        segment_bytes: size of TCP's largest segment without its header.
    """
    return min(DATA_BYTES, segment_bytes - _OPTIONS_BYTES)


@dataclass
class _PartialTransfer:
    """Data of one connection in one direction, while it is collected. first_step and last_step are
    indexes of time steps. first_s and last_s are epoch seconds, infinity and 0 until the second
    pass of Transfers."""

    first_step: int
    last_step: int
    byte_count: int = 0
    first_s: float = float("inf")
    last_s: float = 0.0


class Transfers:
    """Collects the data of connections in two passes. The first adds all data by time steps, the
    second the exact times of packets in the steps that edges() returns. The two directions of a
    connection count separately. Those with less than LEAST_BYTES are left out."""

    def __init__(self) -> None:
        self._partial: dict[Connection, _PartialTransfer] = {}

    def add(self, connection: Connection, step: int, byte_count: int) -> None:
        """First pass: add the data of a connection in one step.

        Args:
            connection: number of the protocol, port of the server, port of the client, direction.
            step: index of the time step.
            byte_count: payload bytes.
        """
        partial = self._partial.setdefault(connection, _PartialTransfer(step, step))
        partial.first_step = min(partial.first_step, step)
        partial.last_step = max(partial.last_step, step)
        partial.byte_count += byte_count

    def edges(self) -> set[int]:
        """Return the indexes of the steps in which the data of a connection with at least
        LEAST_BYTES begins or ends."""
        return {step for partial in self._partial.values() if partial.byte_count >= LEAST_BYTES
                for step in (partial.first_step, partial.last_step)}

    def packet(self, connection: Connection, at_s: float) -> None:
        """Second pass: add the time of a packet with data to its connection.

        Args:
            connection: a connection that the first pass has added.
            at_s: time in epoch seconds.
        """
        partial = self._partial[connection]
        partial.first_s, partial.last_s = min(partial.first_s, at_s), max(partial.last_s, at_s)

    def by_connection(self, trips: Trips) -> Iterator[Transfer]:
        """Yield a Transfer for each direction of each connection in which at least LEAST_BYTES were
        carried. Call it after both passes.

        Args:
            trips: (server's port, client's port) -> round trips in ms, which both directions get.
                Connections without an entry get none.
        """
        for connection, partial in self._partial.items():
            if partial.byte_count >= LEAST_BYTES:
                ms = trips.get(connection[1:3], ())
                yield Transfer(*connection, partial.byte_count, partial.first_s, partial.last_s,
                               len(ms), percentiles(ms))

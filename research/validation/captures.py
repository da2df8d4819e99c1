# SPDX-License-Identifier: GPL-3.0-or-later
"""Read packets of a capture into arrays, and compute how long each one was in the router.

Reads only captures made by guest.sh, whose records all have 54 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import ParseError

HEAD_BYTES = 54
_FILE_HEADER_BYTES = 24
_RECORD = numpy.dtype([
    ("s", "=u4"), ("ns", "=u4"), ("captured", "=u4"), ("length", "=u4"),
    ("macs", "V12"), ("ethertype", ">u2"),
    ("ip_version", "u1"), ("tos", "u1"), ("ip_length", ">u2"), ("ip_id", ">u2"),
    ("fragment", ">u2"), ("ttl", "u1"), ("protocol", "u1"), ("ip_check", ">u2"),
    ("source", ">u4"), ("destination", ">u4"), ("source_port", ">u2"),
    ("destination_port", ">u2"), ("sequence", ">u4"), ("acknowledged", ">u4"),
    ("offset", "u1"), ("flags", "u1"), ("window", ">u2"), ("check", ">u2"), ("urgent", ">u2"),
])

Packets = NDArray[Any]  # of the fields above, with `time_ns`
Seconds = NDArray[numpy.float64]


@dataclass(frozen=True)
class Passage:
    """Packets that arrived at the router, also those that it dropped, in the order of arrival. Each
    array has an element per packet.

    Attributes:
        packets: the packets, with the fields of _RECORD.
        entered_s: time of arrival since the first packet arrived.
        left_s: time of departure since the first packet arrived, NaN for dropped packets.
    """

    packets: Packets
    entered_s: Seconds
    left_s: Seconds

    @property
    def sojourn_ms(self) -> Seconds:
        """Time of each packet in the router in ms, NaN for dropped packets."""
        result: Seconds = (self.left_s - self.entered_s) * 1e3
        return result

    @property
    def dropped(self) -> NDArray[numpy.bool_]:
        result: NDArray[numpy.bool_] = numpy.isnan(self.left_s)
        return result

    def drop_times_s(self) -> Seconds:
        """Return the times in s since the first packet arrived at which a queue that drops at its
        head, such as CoDel's, dropped each packet: when the next remaining packet left. Packets
        dropped after the last one left are omitted."""
        next_left = self.left_s.copy()
        for i in range(next_left.size - 2, -1, -1):
            if numpy.isnan(next_left[i]):
                next_left[i] = next_left[i + 1]
        times: Seconds = next_left[self.dropped]
        return times[~numpy.isnan(times)]


def read_packets(path: Path) -> Packets:
    """Return all packets of a capture as a structured array, with fields such as "source",
    "destination_port", "sequence", "tos" and "length" (bytes of the frame). Raises ParseError if
    guest.sh didn't make it, or it ends within its header or a packet, OSError if it can't be read.
    That whole packets are missing at its end isn't noticed."""
    data = path.read_bytes()
    beyond_header = len(data) - _FILE_HEADER_BYTES
    if int.from_bytes(data[:4], "little") != 0xA1B23C4D or beyond_header % _RECORD.itemsize:
        raise ParseError(f"{path} is cut off, or not a capture by guest.sh; expected pcap "
                         f"with nanoseconds and {HEAD_BYTES} bytes of each packet")
    records = numpy.frombuffer(memoryview(data)[_FILE_HEADER_BYTES:], _RECORD)
    if records.size and (records["captured"] != HEAD_BYTES).any():
        odd = records["captured"][records["captured"] != HEAD_BYTES][0]
        raise ParseError(f"{path} has {odd} bytes of a packet; expected {HEAD_BYTES} of each, "
                         "as of a capture by guest.sh")
    return records


def times_ns(packets: Packets) -> NDArray[numpy.int64]:
    """Return the time at which each packet was captured, in ns since the epoch."""
    result: NDArray[numpy.int64] = (packets["s"].astype(numpy.int64) * 10**9 + packets["ns"])
    return result


def passage(entering: Path, leaving: Path) -> Passage:
    """Match the packets of two captures: those that arrived, and those that left. The captures must
    be shorter than 18 minutes (2^40 ns). Packets after that may count as dropped. Packets that left
    but didn't arrive are ignored.

    A packet is identified by addresses, ports, IP identification and the 8 bytes after the ports:
    TCP's sequence numbers, or the number from flood.py. If these repeat, the latest packet that
    arrived before the departure is taken. An earlier one that was still in the router counts as
    dropped.

    Args:
        entering: capture before the router.
        leaving: capture behind the router.

    Raises ParseError if guest.sh didn't make a capture, it ends within a packet, or no packet
    arrived, OSError if a capture can't be read.
    """
    came, left = read_packets(entering), read_packets(leaving)
    if not came.size:
        raise ParseError(f"{entering}: the capture has no packet; expected those of the test")
    start = times_ns(came)[0]
    came_ns, left_ns = times_ns(came) - start, times_ns(left) - start
    _, numbered = numpy.unique(numpy.concatenate([_packet_keys(came), _packet_keys(left)]),
                               return_inverse=True)
    # Number of the key above, time below: 2^40 ns are 18 minutes.
    composite = (numbered.astype(numpy.int64) << 40) + numpy.concatenate([came_ns, left_ns])
    came_key, left_key = composite[:came.size], composite[came.size:]
    order = numpy.argsort(came_key, kind="stable")
    place = numpy.searchsorted(came_key[order], left_key, side="right") - 1
    matched = order[place]
    good = (place >= 0) & (numbered[:came.size][matched] == numbered[came.size:])
    left_s = numpy.full(came.size, numpy.nan)
    left_s[matched[good]] = left_ns[good] / 1e9
    return Passage(came, came_ns / 1e9, left_s)


def _packet_keys(packets: Packets) -> NDArray[numpy.uint64]:
    """Return a 64-bit number for each packet, computed from addresses, ports, IP identification and
    TCP's sequence numbers (or the 8 bytes in their place). It is the same before and behind the
    router."""
    number = packets["ip_id"].astype(numpy.uint64)
    for field in ("source", "destination", "source_port", "destination_port", "sequence",
                  "acknowledged"):
        number = number * numpy.uint64(0x9E3779B97F4A7C15) + packets[field].astype(numpy.uint64)
    return number


def shares(packets: Packets, field: str, from_s: float, to_s: float) -> dict[int, float]:
    """Return a dict with each value of a field -> its share (0 to 1) of the bytes of all packets
    between two times. Empty if no packet is between them. Raises IndexError if `packets` is empty.

    Args:
        packets: the packets.
        field: name of the field, such as "source_port".
        from_s: begin, in s since the first packet.
        to_s: end, in s since the first packet. A packet at this moment doesn't count.
    """
    seen_s = (times_ns(packets) - times_ns(packets)[0]) / 1e9
    inside = packets[(seen_s >= from_s) & (seen_s < to_s)]
    values, numbered = numpy.unique(inside[field], return_inverse=True)
    counted = numpy.bincount(numbered, weights=inside["length"])
    return {int(value): float(one) for value, one in zip(values, counted / counted.sum(),
                                                         strict=True)}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes captures as the kernel's ring has them, for tests of the ledger."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DOWN, UP, IFB = 2, 3, 4
DEVICES = {1: "lo", DOWN: "down", UP: "up"}
CLIENT, SERVER = "192.0.2.2", "198.51.100.2"
_BLOCK_BYTES, _FRAME_BYTES, _NET_AT = 1 << 20, 160, 80


@dataclass(frozen=True)
class Seen:
    """A packet as one device saw it."""

    time_ns: int
    device: int
    outgoing: bool
    packet: bytes
    # Length of the whole packet, 0 for that of `packet`.
    length: int = 0
    kind: int = 0


def packet(*, protocol: int = 6, ports: tuple[int, int] = (40000, 5201), ip_id: int = 0,
           seq: int = 0, ack: int = 0, payload_bytes: int = 1448, ecn: int = 0, ttl: int = 64,
           ends: tuple[str, str] = (CLIENT, SERVER), body: bytes = b"", flags: int = 0x10,
           ) -> tuple[bytes, int]:
    """Return the beginning of an IP packet, and its whole length."""
    if protocol == 6:
        above = struct.pack(">HHIIBBHHH", *ports, seq, ack, 8 << 4, flags, 500, 0xBEEF, 0)
        above += b"\x01\x01\x08\x0a" + struct.pack(">II", 7, 8)
    elif protocol == 17:
        above = struct.pack(">HHHH", *ports, 8 + payload_bytes, 0xBEEF) + body
    else:
        above = body
    source, target = map(ipaddress.ip_address, ends)
    length = len(above) - len(body) + payload_bytes
    if source.version == 4:
        length += 20
        head = struct.pack(">BBHHHBBH", 0x45, ecn, length, ip_id, 0x4000, ttl, protocol,
                           ttl * 257 + ecn) + source.packed + target.packed
    else:
        head = struct.pack(">IHBB", 0x60000000 | ecn << 20, length, protocol,
                           ttl) + source.packed + target.packed
        length += 40
    return head + above, length


def irtt(number: int, *, reply: bool = False, ip_id: int = 0, port: int = 50000
         ) -> tuple[bytes, int]:
    """Return a probe of irtt, sent from a port, or its reply."""
    body = b"\x14\xa7\x5b\x08" + bytes(8) + struct.pack("<I", number)
    ports, ends = (port, 2112), (CLIENT, SERVER)
    if reply:
        ports, ends = ports[::-1], ends[::-1]
    return packet(protocol=17, ports=ports, ends=ends, body=body, payload_bytes=60, ip_id=ip_id)


def ping(number: int, identifier: int, *, reply: bool = False) -> tuple[bytes, int]:
    """Return an ICMP echo request or reply."""
    ends = (SERVER, CLIENT) if reply else (CLIENT, SERVER)
    return packet(protocol=1, ends=ends, payload_bytes=64,
                  body=struct.pack(">BBHHH", 0 if reply else 8, 0, 0, identifier, number))


def through(one: tuple[bytes, int], came_ns: int, left_ns: int | None, *,
            direction: str = "up", changed: tuple[bytes, int] | None = None) -> list[Seen]:
    """Return a packet's arrival at the router and, unless left_ns is None, its departure."""
    near, far = (DOWN, UP) if direction == "up" else (UP, DOWN)
    seen = [Seen(came_ns, near, outgoing=False, packet=one[0], length=one[1])]
    if left_ns is not None:
        gone = changed or one
        seen.append(Seen(left_ns, far, outgoing=True, packet=gone[0], length=gone[1]))
    return seen


def write(path: Path, seen: Sequence[Seen], blocks: int = 1) -> Path:
    """Write a capture in the order of the packets."""
    data = bytearray(_BLOCK_BYTES * blocks)
    a_block = _BLOCK_BYTES // _FRAME_BYTES
    for number, one in enumerate(seen):
        block, place = divmod(number, a_block)
        at = block * _BLOCK_BYTES + place * _FRAME_BYTES
        kept = one.packet[:_FRAME_BYTES - _NET_AT]
        seconds, ns = divmod(one.time_ns, 10**9)
        ether = 0x86DD if one.packet[0] >> 4 == 6 else 0x0800
        struct.pack_into("=IIIHHII", data, at, 1, one.length or len(one.packet), len(kept),
                         _NET_AT, _NET_AT, seconds, ns)
        struct.pack_into("=H", data, at + 32, 17)
        struct.pack_into(">H", data, at + 34, ether)
        struct.pack_into("=iHB", data, at + 36, one.device, 1,
                         4 if one.outgoing else one.kind)
        data[at + _NET_AT:at + _NET_AT + len(kept)] = kept
    path.write_bytes(data)
    return path

# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the kernel's state of a TCP connection, under the specification's names."""

from __future__ import annotations

import socket
import struct

# linux/tcp.h, struct tcp_info: name in the specification, offset, format. The kernel only appends
# to this struct, so that of an older kernel is shorter and lacks the last fields.
_TCP_INFO_FIELDS = (
    ("RTT", 68, "I"),
    ("RTTVar", 72, "I"),
    ("BytesAcked", 120, "Q"),
    ("BytesReceived", 128, "Q"),
    ("MinRTT", 148, "I"),
    ("BusyTime", 168, "Q"),
    ("RWndLimited", 176, "Q"),
    ("SndBufLimited", 184, "Q"),
    ("BytesSent", 200, "Q"),
    ("BytesRetrans", 208, "Q"),
)
_TCP_INFO_BYTES = 256
_NO_MIN_RTT_YET = 0xFFFFFFFF

# linux/inet_diag.h, struct tcp_bbr_info, with M-Lab's names. The specification had them up to
# version 0.7, and allows more fields than it lists.
_TCP_CC_INFO = 26
_BBR_INFO = struct.Struct("=QIII")
_BBR_NAMES = ("BW", "MinRTT", "PacingGain", "CwndGain")

_SO_COOKIE = 57
_CC_NAME_BYTES = 16


def parse_tcp_info(raw: bytes) -> dict[str, int]:
    """Return the specification's TCPInfo fields from the kernel's struct tcp_info.

    Times are in µs, counters in bytes. Fields that the kernel doesn't have (`raw` is then shorter)
    or doesn't know yet are left out.
    """
    values = {
        name: struct.unpack_from("=" + kind, raw, offset)[0]
        for name, offset, kind in _TCP_INFO_FIELDS
        if offset + struct.calcsize("=" + kind) <= len(raw)
    }
    if values.get("MinRTT") == _NO_MIN_RTT_YET:
        del values["MinRTT"]
    return values


def parse_bbr_info(raw: bytes) -> dict[str, int]:
    """Return BBR's state: BW in bytes/s, MinRTT in µs, gains as multiples of 1/256.

    Empty if `raw` is too short to be BBR's struct.
    """
    if len(raw) < _BBR_INFO.size:
        return {}
    return dict(zip(_BBR_NAMES, _BBR_INFO.unpack_from(raw), strict=True))


def read_tcp_info(sock: socket.socket) -> dict[str, int]:
    """Return the current TCPInfo of this connection."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    return parse_tcp_info(raw)


def read_bbr_info(sock: socket.socket) -> dict[str, int]:
    """Return the current BBRInfo of this connection, empty if the kernel reports none."""
    try:
        raw = sock.getsockopt(socket.IPPROTO_TCP, _TCP_CC_INFO, _BBR_INFO.size)
    except OSError:
        return {}
    return parse_bbr_info(raw)


def use_congestion_control(sock: socket.socket, name: str) -> str:
    """Request a congestion control. Return the name of the congestion control in use.

    A kernel that lacks the requested one, or doesn't permit it, keeps its default.
    """
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    except OSError:
        pass
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _CC_NAME_BYTES)
    return raw.split(b"\0")[0].decode("ascii", "replace")


def socket_cookie(sock: socket.socket) -> int:
    """Return a number of this socket that the kernel gives to no other until the next boot."""
    raw = sock.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8)
    return int.from_bytes(raw, "little")

# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the state of TCP sockets under the names of ndt7's specification, and sets options."""

from __future__ import annotations

import mmap
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

    RTT, RTTVar, MinRTT, BusyTime, RWndLimited and SndBufLimited are in µs, BytesAcked,
    BytesReceived, BytesSent and BytesRetrans in bytes. Fields that the kernel doesn't have (`raw`
    is then shorter) or doesn't know yet are left out.
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
    """Return BBR's state from the kernel's struct tcp_bbr_info: BW in bytes/s, MinRTT in µs,
    PacingGain and CwndGain as multiples of 1/256.

    Empty if `raw` is too short to be BBR's struct.
    """
    if len(raw) < _BBR_INFO.size:
        return {}
    return dict(zip(_BBR_NAMES, _BBR_INFO.unpack_from(raw), strict=True))


def read_tcp_info(sock: socket.socket) -> dict[str, int]:
    """Return the current TCPInfo of this connection, by the specification's names, such as RTT:
    times in µs, counters in bytes. Fields that the kernel doesn't know are left out."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    return parse_tcp_info(raw)


def read_bbr_info(sock: socket.socket) -> dict[str, int]:
    """Return the current BBRInfo of this connection: BW in bytes/s, MinRTT in µs, PacingGain and
    CwndGain as multiples of 1/256. Empty if the kernel reports none."""
    try:
        raw = sock.getsockopt(socket.IPPROTO_TCP, _TCP_CC_INFO, _BBR_INFO.size)
    except OSError:
        return {}
    return parse_bbr_info(raw)


def use_congestion_control(sock: socket.socket, name: str) -> str:
    """Request a congestion control for a socket. Return the name of the congestion control that the
    socket then uses.

    If the kernel lacks the requested one, or doesn't permit it, the socket keeps the one it has.
    """
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    except OSError:
        pass
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _CC_NAME_BYTES)
    return raw.split(b"\0")[0].decode("ascii", "replace")


def socket_cookie(sock: socket.socket) -> int:
    """Return the kernel's number of this socket, which no other socket has until the next boot."""
    raw = sock.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8)
    return int.from_bytes(raw, "little")


# Size of the receive buffer: twice the largest low-water mark, because the kernel may deliver
# almost two of them at once.
RECEIVE_BYTES = 1 << 20
_MAX_MARK_BYTES = RECEIVE_BYTES // 2

# Seconds between wake-ups while data flows. Rare enough that a gigabit per second costs little, and
# short compared with the interval of measurements, which are taken at these wake-ups.
_WAKE_INTERVAL_S = 0.002

# About an eighth of Linux's first receive buffer (128 KiB).
_FIRST_MARK_BYTES = 1 << 14

# The low-water mark is at most this fraction of the receive buffer. A mark near the receive window
# would stop the sender between two reads. The kernel offers about half of the buffer as a window. A
# quarter of that leaves room.
_BUFFER_PARTS = 8


def receive_buffer() -> memoryview:
    """Return a new memory buffer of RECEIVE_BYTES (1 MiB). It takes memory only where it has been
    written to, so a client that sends little costs little."""
    return memoryview(mmap.mmap(-1, RECEIVE_BYTES))


class LowWaterMark:
    """SO_RCVLOWAT of a socket that receives a load, adapted to the rate of arrival. Creating the
    object sets it to 16 KiB, and follow() adapts it.

    The socket needs SO_RCVTIMEO as well: with a mark alone, a receiver would wait for bytes that
    never arrive. Linux doesn't delay acknowledgements because of the mark.

    Args:
        sock: the connected TCP socket.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._set(_FIRST_MARK_BYTES)

    def follow(self, received_bytes: int, interval_s: float) -> None:
        """Set the socket's low-water mark to the number of bytes that arrive in 2 ms at the rate of
        the last interval, at least 1, and at most an eighth of the socket's receive buffer or 512
        KiB, whichever is less. For an interval of 0 s or less, that is 1. If it is between 75 % and
        133 % of the present mark, the mark stays.

        Args:
            received_bytes: bytes received during the last interval.
            interval_s: length of the last interval.
        """
        wanted = int(received_bytes / interval_s * _WAKE_INTERVAL_S) if interval_s > 0 else 0
        buffer_bytes = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        mark = max(1, min(wanted, buffer_bytes // _BUFFER_PARTS, _MAX_MARK_BYTES))
        # Small changes are not worth a system call.
        if not 0.75 < mark / self._mark_bytes < 1.33:
            self._set(mark)

    def clear(self) -> None:
        """Set the socket's low-water mark to 1 byte, so that every byte wakes the receiver again.
        """
        self._set(1)

    def _set(self, mark_bytes: int) -> None:
        """Set the socket's low-water mark to this number of bytes, and record it as the present
        mark."""
        self._mark_bytes = mark_bytes
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, mark_bytes)


def set_receive_timeout(sock: socket.socket, timeout_s: float) -> None:
    """Make each later blocking receive on a socket end with BlockingIOError if no data arrives
    within timeout_s seconds. 0 removes the timeout.

    Python's own settimeout() would make the socket non-blocking and poll before each call.
    """
    microseconds = int(timeout_s * 1_000_000)
    timeval = struct.pack("@ll", microseconds // 1_000_000, microseconds % 1_000_000)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)

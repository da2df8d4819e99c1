# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive buffer, and the number of bytes to wait for before a receiver wakes up."""

from __future__ import annotations

import mmap
import socket
import struct

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
    """Return a buffer of RECEIVE_BYTES that takes memory only where it has been written to, so a
    client that sends little costs little."""
    return memoryview(mmap.mmap(-1, RECEIVE_BYTES))


class LowWaterMark:
    """SO_RCVLOWAT of a socket that receives a load, adapted to the rate of arrival.

    The socket needs SO_RCVTIMEO as well: with a mark alone, a receiver would wait for bytes that
    never arrive. Linux doesn't delay acknowledgements because of the mark.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._set(_FIRST_MARK_BYTES)

    def follow(self, received_bytes: int, interval_s: float) -> None:
        """Adapt the mark to the bytes received during the last interval."""
        wanted = int(received_bytes / interval_s * _WAKE_INTERVAL_S) if interval_s > 0 else 0
        buffer_bytes = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        mark = max(1, min(wanted, buffer_bytes // _BUFFER_PARTS, _MAX_MARK_BYTES))
        # Small changes are not worth a system call.
        if not 0.75 < mark / self._mark_bytes < 1.33:
            self._set(mark)

    def clear(self) -> None:
        """Wake up for every byte again."""
        self._set(1)

    def _set(self, mark_bytes: int) -> None:
        """Set the mark of the socket."""
        self._mark_bytes = mark_bytes
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, mark_bytes)


def set_receive_timeout(sock: socket.socket, timeout_s: float) -> None:
    """Make a blocking receive end after timeout_s seconds even without data.

    Python's own settimeout() would make the socket non-blocking and poll before each call.
    """
    microseconds = int(timeout_s * 1_000_000)
    timeval = struct.pack("@ll", microseconds // 1_000_000, microseconds % 1_000_000)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)

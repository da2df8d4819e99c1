# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the kernel wake a receiver of bulk data only when enough data has arrived.

On a fast link a packet or two arrive at a time, and each wake-up costs more than their processing.
So a receiver sets SO_RCVLOWAT to the number of bytes that it needs before it can do anything. It
never waits for more: the first and the last byte of a response are seen as early as before.
"""

from __future__ import annotations

import asyncio
import socket

# Most bytes to wait for: below half of the smallest receive buffer, so that the kernel doesn't
# enlarge the buffer.
MOST_BYTES = 32_768


class WakeAt:
    """Sets the wake-up threshold of one connection. It does nothing on a connection with TLS, which
    hides how many bytes are needed."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._sock: socket.socket | None = (
            None if transport.get_extra_info("sslcontext") else
            transport.get_extra_info("socket"))
        self._bytes = 1

    def __call__(self, size: int) -> None:
        """Wake the receiver from now on when `size` bytes have arrived, at most MOST_BYTES."""
        size = max(1, min(size, MOST_BYTES))
        if size != self._bytes and self._sock is not None and self._sock.fileno() >= 0:
            self._bytes = size
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)

# SPDX-License-Identifier: GPL-3.0-or-later
"""When the kernel wakes a receiver of bulk: once there is as much as something can be done with.

A fast link brings a packet or two at a time, and each wake-up costs more than they do. What a
receiver still has to wait for before anything can happen, it asks for at once (SO_RCVLOWAT), and
never for more: the first byte of an answer and the last one are seen when they come, as before.
"""

from __future__ import annotations

import asyncio
import socket

# Below half of the smallest receive buffer, so that the kernel changes nothing else for it.
MOST_BYTES = 32_768


class WakeAt:
    """Of one connection. Without effect where TLS hides what comes."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._sock: socket.socket | None = (
            None if transport.get_extra_info("sslcontext") else
            transport.get_extra_info("socket"))
        self._bytes = 1

    def __call__(self, size: int) -> None:
        """From now on, wake once so many bytes are there, or MOST_BYTES."""
        size = max(1, min(size, MOST_BYTES))
        if size != self._bytes and self._sock is not None and self._sock.fileno() >= 0:
            self._bytes = size
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)

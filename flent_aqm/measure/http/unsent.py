# SPDX-License-Identifier: GPL-3.0-or-later
"""How many bytes a sender leaves in its own kernel before they go out.

Without a limit Linux lets a connection fill a send buffer that grows to megabytes and never
shrinks. A small answer on the same connection then waits behind them: at 3 Mbit/s one of 1 MB
is 2.7 s. draft-ietf-ippm-responsiveness-09 wants 5 ms at the connection's rate at most
("Client-Side Influence"), set by TCP_NOTSENT_LOWAT, as here.
"""

from __future__ import annotations

import asyncio
import socket
import time

# No limit of one's own; the draft's; or a number of bytes.
KERNEL, DRAFT = "kernel", "draft"
LIMIT_S = 0.005
# No less than a packet, so that there is always one to send.
LEAST_BYTES = 1448
# The rate is that of so long, and set anew when it has changed by so much.
_WINDOW_S, _CHANGE = 0.1, 0.2


def stop_at_once(transport: asyncio.Transport) -> None:
    """What the kernel doesn't take at once stays with us, and we stop there. Not 0, at which
    asyncio's TLS waits for nothing and never goes on."""
    transport.set_write_buffer_limits(high=1)


class UnsentLimit:
    """Of one connection. begin() before what it shall hold for, sent() at each write."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._on = False
        self._follows = False  # the limit follows the rate
        self._since_s = 0.0
        self._bytes = 0
        self.limit_bytes = 0  # 0: none

    def begin(self, requested: str) -> None:
        """From now on there is the limit asked for: KERNEL, DRAFT or a number of bytes. The
        draft's is a packet until the rate is known."""
        if requested == KERNEL or self._on:
            return
        self._on = True
        self._follows = requested == DRAFT
        self._since_s = time.monotonic()
        self._set(LEAST_BYTES if self._follows else max(LEAST_BYTES, int(requested)))

    def sent(self, size: int) -> None:
        """Count what is written, and move the limit as the rate does."""
        if not self._follows:
            return
        self._bytes += size
        now_s = time.monotonic()
        passed_s = now_s - self._since_s
        if passed_s < _WINDOW_S:
            return
        wanted = max(LEAST_BYTES, round(self._bytes / passed_s * LIMIT_S))
        self._since_s, self._bytes = now_s, 0
        if abs(wanted - self.limit_bytes) > _CHANGE * self.limit_bytes:
            self._set(wanted)

    def frame_bytes(self, most: int) -> int:
        """Return the most to hand over at once: what a write holds can't be overtaken either."""
        return min(most, max(LEAST_BYTES, self.limit_bytes)) if self._on else most

    def _set(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, limit_bytes)

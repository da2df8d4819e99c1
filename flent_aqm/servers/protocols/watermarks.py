# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets how much unsent data a TCP sender leaves in its kernel, and how much data wakes a receiver.

Without a limit on unsent data, Linux lets a connection fill a send buffer that grows to megabytes
and never shrinks. A small response on the same connection waits behind these bytes: 1 MB takes 2.7
s at 3 Mbit/s. draft-ietf-ippm-responsiveness-09 wants at most 5 ms at the connection's rate
("Client-Side Influence"), set by TCP_NOTSENT_LOWAT, as here.

On a fast link a packet or two arrive at a time, and each wake-up costs more than their processing.
So a receiver sets SO_RCVLOWAT to the number of bytes that it needs before it can do anything. It
never waits for more: the first and the last byte of a response are seen as early as before.
"""

from __future__ import annotations

import asyncio
import socket
import time

# Values of the setting: no limit beside the kernel's, or the draft's limit. Any other value is a
# number of bytes.
KERNEL, DRAFT = "kernel", "draft"
# The draft's limit, in seconds at the connection's rate.
LIMIT_S = 0.005
# Smallest limit: a packet, so that there is always one to send.
LEAST_BYTES = 1448
# Seconds over which the rate is measured, and the relative change at which the limit is set anew.
_WINDOW_S, _CHANGE = 0.1, 0.2


def stop_at_once(transport: asyncio.Transport) -> None:
    """Make asyncio pause writing as soon as the kernel doesn't take all data. The limit isn't 0
    bytes, because asyncio's TLS would then never resume."""
    transport.set_write_buffer_limits(high=1)


class UnsentLimit:
    """The limit on unsent data of one connection (TCP_NOTSENT_LOWAT). Call begin() before the data
    that the limit is for, and sent() at each write.

    Args:
        sock: the connected TCP socket.

    Attributes:
        limit_bytes: the limit in bytes, 0 for none.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._on = False
        self._follows = False  # the limit follows the rate
        self._since_s = 0.0  # when the measurement of the rate began, on the monotonic clock
        self._bytes = 0  # bytes written since then
        self.limit_bytes = 0  # 0: no limit

    def begin(self, requested: str) -> None:
        """Set the requested limit: "draft" (5 ms at the connection's rate, at least one packet, and
        one packet until the rate is known), or a number of bytes as text, of which the limit is at
        least 1448. "kernel" sets none. Once a limit is set, further calls do nothing. Before that,
        raises ValueError for another text."""
        if requested == KERNEL or self._on:
            return
        limit_bytes = LEAST_BYTES if requested == DRAFT else max(LEAST_BYTES, int(requested))
        self._on = True
        self._follows = requested == DRAFT
        self._since_s = time.monotonic()
        self._set(limit_bytes)

    def sent(self, size: int) -> None:
        """Count `size` written bytes. If the limit is the draft's, measure the rate over at least
        100 ms each, and set the limit anew if it would change by more than 20 %. Any other limit
        stays."""
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
        """Return the number of bytes to write at once: at most `most`, and if a limit is set, at
        most the limit, because a single write can't be overtaken either."""
        return min(most, max(LEAST_BYTES, self.limit_bytes)) if self._on else most

    def _set(self, limit_bytes: int) -> None:
        """Set the socket's limit on unsent data to this number of bytes, and record it as
        limit_bytes."""
        self.limit_bytes = limit_bytes
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, limit_bytes)


# Most bytes to wait for: below half of the smallest receive buffer, so that the kernel doesn't
# enlarge the buffer.
MOST_BYTES = 32_768


class WakeAt:
    """Sets the number of received bytes at which one connection wakes this process (SO_RCVLOWAT).
    Call the object with that number. It does nothing on a connection with TLS, which hides how many
    bytes are needed.

    Args:
        transport: asyncio's transport of the connection.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._sock: socket.socket | None = (
            None if transport.get_extra_info("sslcontext") else
            transport.get_extra_info("socket"))
        self._bytes = 1

    def __call__(self, size: int) -> None:
        """Wake the receiver from now on when `size` bytes have arrived, at least 1 and at most
        32,768. Do nothing on a connection with TLS."""
        size = max(1, min(size, MOST_BYTES))
        if size != self._bytes and self._sock is not None and self._sock.fileno() >= 0:
            self._bytes = size
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)

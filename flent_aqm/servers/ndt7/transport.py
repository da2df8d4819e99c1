# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends and receives the bytes of one connection, in cleartext or through TLS.

Both kinds use few and large system calls on a blocking socket.
"""

from __future__ import annotations

import socket
from typing import Protocol


class Transport(Protocol):
    """Interface of one connection, used by one thread. close() is the last call.

    All methods but close() raise OSError (of which ssl.SSLError is a subclass) if the connection is
    broken.

    Attributes:
        sock: the connection's blocking socket.
        is_tls: True if the bytes go through TLS.
    """

    sock: socket.socket
    is_tls: bool

    def send(self, data: bytes) -> None:
        """Send all of `data`. Block until the kernel has it."""

    def recv_into(self, buffer: memoryview, flags: int = 0) -> int | None:
        """Receive into `buffer`. Return the number of bytes, 0 at the end of the connection.

        Return None if no bytes (with TLS: no complete record) arrived within SO_RCVTIMEO, or at all
        with socket.MSG_DONTWAIT in `flags`.
        """

    def close(self) -> None:
        """Close the connection. With TLS, send close_notify first."""


class PlainTransport:
    """A Transport in cleartext.

    Args:
        sock: the connected, blocking socket.
    """

    is_tls = False

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.send = sock.sendall

    def recv_into(self, buffer: memoryview, flags: int = 0) -> int | None:
        """Receive into `buffer`. Return the number of bytes, 0 at the end of the connection. None
        if no bytes arrived within SO_RCVTIMEO, or at all with socket.MSG_DONTWAIT in `flags`.
        Raises OSError if the connection is broken."""
        try:
            return self.sock.recv_into(buffer, 0, flags)
        except BlockingIOError:
            return None

    def close(self) -> None:
        """Close the connection's socket."""
        self.sock.close()

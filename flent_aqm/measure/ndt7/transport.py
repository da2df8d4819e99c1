# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes in and out of one connection, in cleartext or through TLS.

Both kinds do few and large system calls on a blocking socket.
"""

from __future__ import annotations

import socket
from typing import Protocol


class Transport(Protocol):
    """One connection. One thread uses it; close() comes last.

    All methods raise OSError (ssl.SSLError is one) when the connection is broken.
    """

    sock: socket.socket

    def send(self, data: bytes) -> None:
        """Send all of data; block until the kernel has it."""

    def recv_into(self, buffer: memoryview, flags: int = 0) -> int | None:
        """Receive into buffer. How many bytes; 0 at the end; None when none came.

        None is for SO_RCVTIMEO, and for socket.MSG_DONTWAIT in flags.
        """

    def close(self) -> None:
        """Close it, and say so to the peer where TLS has a word for it."""


class PlainTransport:
    """Cleartext."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.send = sock.sendall

    def recv_into(self, buffer: memoryview, flags: int = 0) -> int | None:
        try:
            return self.sock.recv_into(buffer, 0, flags)
        except BlockingIOError:
            return None

    def close(self) -> None:
        self.sock.close()

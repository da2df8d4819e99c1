# SPDX-License-Identifier: GPL-3.0-or-later
"""The download test: sends binary messages to the client until the test's end."""

from __future__ import annotations

import os
import socket
from functools import cache

from flent_aqm.measure.ndt7.frames import binary_frame
from flent_aqm.measure.ndt7.session import Session
from flent_aqm.measure.ndt7.spec import (
    INITIAL_MESSAGE_BYTES,
    MAX_SENT_MESSAGE_BYTES,
    SCALING_FRACTION,
)

# Size of the receive buffer. A client sends little during a download.
_RECEIVE_BYTES = 1 << 16


@cache
def _message(size: int) -> bytes:
    """Return a binary message with `size` random bytes.

    All downloads share it, because a buffer for each would take a megabyte. A link could compress
    only data within one connection.
    """
    return binary_frame(os.urandom(size))


class Download:
    """Sends the load of a download.

    enough_bytes: the test ends at the first measurement at which the client has acknowledged so
    many bytes. None if the client requested no such limit.
    """

    def __init__(self, session: Session, enough_bytes: int | None = None) -> None:
        self._session = session
        self._enough_bytes = float("inf") if enough_bytes is None else enough_bytes
        self._buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self.bytes = 0  # payload sent so far

    def run(self) -> None:
        """Run the test with the closing handshake. Raises as Session.receive() does."""
        session = self._session
        duration_s = session.settings.duration_s
        size = INITIAL_MESSAGE_BYTES
        message = _message(size)
        while True:
            elapsed_s = session.elapsed_s()
            if elapsed_s >= min(session.next_report_s, duration_s):
                self._listen()
                session.report(elapsed_s, self.bytes)
                if elapsed_s >= duration_s or session.acked_bytes >= self._enough_bytes:
                    break
            session.transport.send(message)
            self.bytes += size
            if size < MAX_SENT_MESSAGE_BYTES and size * SCALING_FRACTION <= self.bytes:
                size *= 2
                message = _message(size)
        session.finish(elapsed_s, self._buffer)

    def _listen(self) -> None:
        """Process the messages that the client has sent since the last call, without waiting for
        more.

        At most one buffer is read, so a client can't keep the server from sending.
        """
        self._session.receive(self._buffer, socket.MSG_DONTWAIT)
        self._session.forbid_binary()

# SPDX-License-Identifier: GPL-3.0-or-later
"""The download test: binary messages to the client for as long as it lasts."""

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

# A client has little to say during a download.
_RECEIVE_BYTES = 1 << 16


@cache
def _message(size: int) -> bytes:
    """Return a binary message with this much random payload.

    All downloads share it: what would be compressed on the way is one connection's data, and
    a buffer for each would be a megabyte for each.
    """
    return binary_frame(os.urandom(size))


class Download:
    """Sends a load; bytes counts its payload.

    enough_bytes: what the client wants of it. Once that much is acknowledged, at the next
    measurement, the test ends. None: the test lasts its time.
    """

    def __init__(self, session: Session, enough_bytes: int | None = None) -> None:
        self._session = session
        self._enough_bytes = float("inf") if enough_bytes is None else enough_bytes
        self._buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self.bytes = 0

    def run(self) -> None:
        """The whole test with its end; raises as Session.receive does."""
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
        """Take in what the client sent since last time, without waiting for more.

        At most one buffer full: a client can't keep us from sending.
        """
        self._session.receive(self._buffer, socket.MSG_DONTWAIT)
        self._session.forbid_binary()

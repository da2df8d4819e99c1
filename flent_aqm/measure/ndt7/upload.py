# SPDX-License-Identifier: GPL-3.0-or-later
"""The upload test: receives binary messages from the client and measures them."""

from __future__ import annotations

from flent_aqm.measure.ndt7.buffers import LowWaterMark, receive_buffer, set_receive_timeout
from flent_aqm.measure.ndt7.session import Session
from flent_aqm.measure.ndt7.spec import MEASUREMENT_INTERVAL_S


class Upload:
    """Receives the load of an upload."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._measured_bytes: int | None = None

    @property
    def bytes(self) -> int:
        """Payload bytes received so far, or during the test if it has ended."""
        if self._measured_bytes is None:
            return self._session.reader.binary_bytes
        return self._measured_bytes

    def run(self) -> None:
        """Run the test with the closing handshake. Raises as Session.receive() does."""
        session, reader = self._session, self._session.reader
        duration_s = session.settings.duration_s
        sock = session.transport.sock
        # With a timeout, measurements are sent even if the client sends less than the mark.
        set_receive_timeout(sock, MEASUREMENT_INTERVAL_S)
        mark = LowWaterMark(sock)
        buffer = receive_buffer()
        reported_s, reported_bytes = 0.0, 0
        while True:
            session.receive(buffer)
            elapsed_s = session.elapsed_s()
            if elapsed_s < min(session.next_report_s, duration_s):
                continue
            session.report(elapsed_s, reader.binary_bytes)
            if elapsed_s >= duration_s:
                break
            mark.follow(reader.binary_bytes - reported_bytes, elapsed_s - reported_s)
            reported_s, reported_bytes = elapsed_s, reader.binary_bytes
        self._measured_bytes = reader.binary_bytes
        mark.clear()
        session.finish(elapsed_s, buffer)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared code of download and upload: clock, measurements, messages, closing handshake."""

from __future__ import annotations

import socket
import time

from websockets.frames import CloseCode, Opcode

from flent_aqm.base.json_text import json_text
from flent_aqm.measure.ndt7.client_texts import ClientTexts
from flent_aqm.measure.ndt7.frames import (
    FrameReader,
    Message,
    Violation,
    close_frame,
    pong_frame,
    text_frame,
)
from flent_aqm.measure.ndt7.spec import MEASUREMENT_INTERVAL_S, Settings
from flent_aqm.measure.ndt7.tcp_info import read_bbr_info, read_tcp_info
from flent_aqm.measure.ndt7.transport import Transport


class ClientClosed(Exception):
    """The client sent its close frame first."""


class ClientGone(Exception):
    """The connection ended without a close frame from the client."""


class Session:
    """One test on one connection. Times are seconds since the WebSocket handshake was complete."""

    def __init__(
        self, transport: Transport, test: str, connection_info: dict[str, str], settings: Settings
    ) -> None:
        self.transport = transport
        self.test = test
        self.settings = settings
        self.reader = FrameReader()
        self.client_texts = ClientTexts()
        self.next_report_s = MEASUREMENT_INTERVAL_S
        self._interval = 1  # number of the interval that ends at next_report_s
        self.measured_s: float | None = None  # length of a test that ran to its end
        self.acked_bytes = 0  # bytes acknowledged by the client at the newest measurement
        self._connection_info = connection_info
        self._started_s = time.monotonic()

    def elapsed_s(self) -> float:
        """Return seconds since the test began."""
        return time.monotonic() - self._started_s

    def report(self, elapsed_s: float, app_bytes: int) -> None:
        """Send a measurement to the client, and set the time of the next measurement.

        Args:
            elapsed_s: current time of the test.
            app_bytes: payload transferred so far.
        """
        elapsed_us = int(elapsed_s * 1_000_000)
        sock = self.transport.sock
        tcp_info = read_tcp_info(sock)
        self.acked_bytes = tcp_info.get("BytesAcked", 0)
        measurement: dict[str, object] = {
            "AppInfo": {"ElapsedTime": elapsed_us, "NumBytes": app_bytes},
            "ConnectionInfo": self._connection_info,
            "Origin": "server",
            "Test": self.test,
            "TCPInfo": {**tcp_info, "ElapsedTime": elapsed_us},
        }
        bbr_info = read_bbr_info(sock)
        if bbr_info:
            measurement["BBRInfo"] = {**bbr_info, "ElapsedTime": elapsed_us}
        self.transport.send(text_frame(json_text(measurement, compact=True)))
        # The times are on a fixed grid, so missed measurements aren't sent in a burst. max() is
        # needed because the quotient may be rounded to just below the current interval.
        self._interval = max(self._interval, int(elapsed_s / MEASUREMENT_INTERVAL_S)) + 1
        self.next_report_s = self._interval * MEASUREMENT_INTERVAL_S

    def receive(self, buffer: memoryview, flags: int = 0) -> bool:
        """Receive bytes from the client and process them. Return False if none arrived (see
        Transport).

        Raises ClientClosed, ClientGone, Violation or OSError.
        """
        count = self.transport.recv_into(buffer, flags)
        if count is None:
            return False
        if not count:
            raise ClientGone("end of stream")
        self.take(buffer[:count])
        return True

    def take(self, data: memoryview) -> None:
        """Process bytes that the client sent. Raises ClientClosed, Violation or OSError."""
        for message in self.reader.feed(data):
            self._act(message)

    def forbid_binary(self) -> None:
        """Raise Violation if the client has sent binary messages, which only loads may."""
        if self.reader.binary_bytes or self.reader.binary_messages:
            raise Violation(CloseCode.UNSUPPORTED_DATA, "binary message during a download")

    def finish(self, measured_s: float, buffer: memoryview) -> None:
        """Begin the closing handshake, and end it with the client's close frame or the end of the
        connection.

        Messages that the client sends meanwhile are not part of the test. measured_s: length of the
        test.
        """
        self.measured_s = measured_s
        try:
            self.transport.send(close_frame(CloseCode.NORMAL_CLOSURE, "end of test"))
            while True:
                self.receive(buffer)
        except (ClientClosed, ClientGone, Violation, OSError):
            pass  # the measurement is complete; abrupt ends are usual here

    def _act(self, message: Message) -> None:
        """Process a message of the client. Raises ClientClosed for a close frame."""
        if message.opcode is Opcode.TEXT:
            self.client_texts.take(message.data, self.elapsed_s())
        elif message.opcode is Opcode.PING:
            self.transport.send(pong_frame(message.data))
        elif message.opcode is Opcode.CLOSE:
            raise ClientClosed


def set_no_delay(sock: socket.socket) -> None:
    """Set TCP_NODELAY, so that measurements are sent at once, not after earlier data is
    acknowledged."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

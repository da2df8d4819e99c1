# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one NDT7 test on one connection: load, measurements, messages, closing handshake.

Parsing JSON blocks all other tests of this process, and some hundred bytes of JSON can become a
hundred times as much in memory. So no more of a client's messages are parsed than the specification
lets it send.
"""

from __future__ import annotations

import json
import os
import socket
import time
from functools import cache
from typing import Any

from websockets.frames import CloseCode, Opcode

from flent_aqm.base.json_text import json_text
from flent_aqm.servers.ndt7.spec import (
    INITIAL_MESSAGE_BYTES,
    MAX_SENT_MESSAGE_BYTES,
    MEASUREMENT_INTERVAL_S,
    SCALING_FRACTION,
    Settings,
)
from flent_aqm.servers.ndt7.tcp import (
    LowWaterMark,
    read_bbr_info,
    read_tcp_info,
    receive_buffer,
    set_receive_timeout,
)
from flent_aqm.servers.ndt7.transport import Transport
from flent_aqm.servers.ndt7.websocket import (
    FrameReader,
    Message,
    Violation,
    binary_frame,
    close_frame,
    pong_frame,
    text_frame,
)

# Messages that a client may send ahead of the allowed rate: one second's.
_BURST = 10


class ClientTexts:
    """Counts the text messages of one client.

    Attributes:
        measurements: number of valid measurements.
        unreadable: number of parsed messages that aren't valid measurements.
        ignored: number of messages that weren't parsed, because ten more than ten per second allow
            had been parsed before.
        last: the newest measurement, None if there is none.
    """

    def __init__(self) -> None:
        self.measurements = self.unreadable = self.ignored = 0
        self.last: dict[str, Any] | None = None

    def take(self, text: bytes, elapsed_s: float) -> None:
        """Parse and count a text message that arrived elapsed_s seconds after the start of the
        test. If it is a valid measurement, keep it as `last`. If already ten more messages were
        parsed than ten per second allow, only count it as ignored."""
        read = self.measurements + self.unreadable
        if read >= _BURST + elapsed_s / MEASUREMENT_INTERVAL_S:
            self.ignored += 1
            return
        try:
            self.last = parse_measurement(text)
            self.measurements += 1
        except ValueError:
            self.unreadable += 1


def parse_measurement(text: bytes) -> dict[str, Any]:
    """Parse a measurement message: a JSON object of plain values, and of objects of plain values.

    Raises ValueError for anything else, also for values that other programs may refuse: numbers
    that aren't finite (NaN, Infinity, 1e999), unpaired surrogates, and whole numbers of more than
    4300 digits.
    """
    try:
        message = json.loads(text)
        json.dumps(message, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("the measurement is nested too deeply") from None
    if not isinstance(message, dict):
        raise ValueError(f"the measurement is {text[:40]!r}; expected a JSON object")
    for name, value in message.items():
        inner = value.values() if isinstance(value, dict) else (value,)
        if any(isinstance(one, dict | list) for one in inner):
            raise ValueError(f"the measurement's {name[:40]!r} has lists or objects in it; "
                             "expected a plain value, or an object of plain values")
    return message


class ClientClosed(Exception):
    """Raised if a close frame of the client has arrived."""


class ClientGone(Exception):
    """Raised if the connection has ended without a close frame from the client."""


class Session:
    """One test on one connection. Create it when the WebSocket handshake is complete: times are
    seconds since then.

    Args:
        transport: the client's connection.
        test: "download" or "upload".
        connection_info: the specification's ConnectionInfo, part of each measurement.
        settings: the server's settings.

    Attributes:
        reader: parses the client's frames.
        client_texts: counts the client's text messages.
        next_report_s: time of the next measurement.
        measured_s: length of a test that ran to its end, None before its end.
        acked_bytes: number of bytes of the connection that the client had acknowledged at the
            newest measurement. 0 before the first.
    """

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
        self.measured_s: float | None = None
        self.acked_bytes = 0
        self._connection_info = connection_info
        self._started_s = time.monotonic()

    def elapsed_s(self) -> float:
        """Return the seconds since the test began."""
        return time.monotonic() - self._started_s

    def report(self, elapsed_s: float, app_bytes: int) -> None:
        """Send a measurement to the client. Set acked_bytes, and next_report_s to a multiple of
        MEASUREMENT_INTERVAL_S that is later than elapsed_s. Raises OSError if the connection is
        broken.

        Args:
            elapsed_s: current time of the test.
            app_bytes: payload bytes transferred so far.
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
        """Receive bytes from the client and process them. Return True, or False if no bytes arrived
        in time (Transport.recv_into() returns None).

        Args:
            buffer: memory for the bytes, which also limits their number.
            flags: flags of recv(2), see Transport.recv_into().

        Raises ClientClosed if a close frame of the client arrived, ClientGone if the connection
        ended without one, Violation if the client broke a rule, OSError if the connection is
        broken.
        """
        count = self.transport.recv_into(buffer, flags)
        if count is None:
            return False
        if not count:
            raise ClientGone("the client closed it without a close frame")
        self.take(buffer[:count])
        return True

    def take(self, data: memoryview) -> None:
        """Process bytes that the client sent. Raises ClientClosed if a close frame is among them,
        Violation if they break a rule, OSError if the connection is broken."""
        for message in self.reader.feed(data):
            self._process_message(message)

    def forbid_binary(self) -> None:
        """Raise Violation if the client has sent binary messages, which it may send only in an
        upload."""
        if self.reader.binary_bytes or self.reader.binary_messages:
            raise Violation(CloseCode.UNSUPPORTED_DATA, "binary message during a download")

    def finish(self, measured_s: float, buffer: memoryview) -> None:
        """Begin the closing handshake, and wait for the client's close frame or the end of the
        connection. This has no time limit: the main thread ends the connection at the client's
        deadline. An error of the connection or a violation ends the wait and isn't raised, because
        the measurement is complete.

        Text messages that the client sends meanwhile are still counted. Binary messages are not
        part of the test any more.

        Args:
            measured_s: length of the test, which is kept as self.measured_s.
            buffer: memory for received bytes.
        """
        self.measured_s = measured_s
        try:
            self.transport.send(close_frame(CloseCode.NORMAL_CLOSURE, "end of test"))
            while True:
                self.receive(buffer)
        except (ClientClosed, ClientGone, Violation, OSError):
            pass  # the measurement is complete; abrupt ends are usual here

    def _process_message(self, message: Message) -> None:
        """Process a message of the client: count a text, answer a ping, ignore a pong. Raises
        ClientClosed for a close frame, OSError if the connection is broken."""
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


# Size of the receive buffer. A client sends little during a download.
_RECEIVE_BYTES = 1 << 16


@cache
def _filler_message(size: int) -> bytes:
    """Return a binary message with `size` random bytes, as bytes to send, always the same for a
    size in this process.

    All downloads share it, because a buffer for each would take a megabyte. A link could compress
    only data within one connection.
    """
    return binary_frame(os.urandom(size))


class DownloadSender:
    """Sends the load of a download. run() does it, once.

    Args:
        session: the test's session.
        enough_bytes: the test ends at the first measurement at which the client has acknowledged so
            many bytes of the connection. None if the client requested no such limit.

    Attributes:
        bytes: payload bytes sent so far, without measurements.
    """

    def __init__(self, session: Session, enough_bytes: int | None = None) -> None:
        self._session = session
        self._enough_bytes = float("inf") if enough_bytes is None else enough_bytes
        self._buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self.bytes = 0

    def run(self) -> None:
        """Send the load, and a measurement about every MEASUREMENT_INTERVAL_S, until the test has
        taken settings.duration_s or the client has acknowledged enough_bytes. Then do the closing
        handshake (Session.finish()), which raises no errors of the connection. What the client
        sends is only processed at measurements.

        Before the test's end, raises ClientClosed if the client sends a close frame, ClientGone if
        the connection ends without one, Violation if the client sends binary messages or breaks
        another rule, OSError if the connection is broken.
        """
        session = self._session
        duration_s = session.settings.duration_s
        size = INITIAL_MESSAGE_BYTES
        message = _filler_message(size)
        while True:
            elapsed_s = session.elapsed_s()
            if elapsed_s >= min(session.next_report_s, duration_s):
                self._process_pending()
                session.report(elapsed_s, self.bytes)
                if elapsed_s >= duration_s or session.acked_bytes >= self._enough_bytes:
                    break
            session.transport.send(message)
            self.bytes += size
            if size < MAX_SENT_MESSAGE_BYTES and size * SCALING_FRACTION <= self.bytes:
                size *= 2
                message = _filler_message(size)
        session.finish(elapsed_s, self._buffer)

    def _process_pending(self) -> None:
        """Receive what the client has sent, without waiting for more, and process its messages:
        count measurements, answer pings. At most one buffer is read, so a client can't keep the
        server from sending. The rest stays for the next call.

        Raises ClientClosed if a close frame of the client was read, ClientGone if the connection
        ended without one, Violation for a binary message or another broken rule, OSError if the
        connection is broken.
        """
        self._session.receive(self._buffer, socket.MSG_DONTWAIT)
        self._session.forbid_binary()


class Upload:
    """Receives the load of an upload. run() does it, once.

    Args:
        session: the test's session.
    """

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
        """Receive the load, and send a measurement about every MEASUREMENT_INTERVAL_S, until the
        test's duration is over. Then do the closing handshake (Session.finish()), which raises no
        errors of the connection. The socket keeps a receive timeout.

        Before the test's end, raises ClientClosed if the client sends a close frame, ClientGone if
        the connection ends without one, Violation if the client breaks a rule, OSError if the
        connection is broken.
        """
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

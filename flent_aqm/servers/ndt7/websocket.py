# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers WebSocket requests for a test, makes server frames, and parses client frames.

Frames and handshake: RFC 6455.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import parse_qsl

from websockets.frames import Close, CloseCode, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol
from websockets.utils import apply_mask

from flent_aqm.servers.ndt7.spec import (
    EARLY_EXIT,
    EARLY_EXIT_MB,
    MAX_QUERY_BYTES,
    MAX_RECEIVED_MESSAGE_BYTES,
    SUBPROTOCOL,
    TEST_OF_PATH,
)
from flent_aqm.servers.ndt7.transport import Transport

_END_OF_HEAD = b"\r\n\r\n"
_MAX_HEAD_BYTES = 1 << 16
_TLS_HANDSHAKE_RECORD = b"\x16"
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Refused(Exception):
    """Raised if the request for a test was refused. The answer has been sent, and the connection is
    still open.

    Attributes:
        status: HTTP status of the answer.
        reason: why it was refused, as text for the log.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Upgrade(NamedTuple):
    """A test that was granted to a client.

    Attributes:
        test: "download" or "upload".
        client_metadata: parameters of the request's query, by name.
        early: bytes that arrived directly after the request.
    """

    test: str
    client_metadata: dict[str, str]
    early: bytes

    @property
    def enough_bytes(self) -> int | None:
        """Number of acknowledged bytes after which the client wants the download to end. None if it
        wants the full duration."""
        requested = self.client_metadata.get(EARLY_EXIT)
        return None if requested is None else int(requested) * 1_000_000


def upgrade(transport: Transport) -> Upgrade:
    """Read the request for a test and answer it. Return the granted test.

    Raises Refused after an answer with an error status, ConnectionError if the client left, or sent
    nothing for SO_RCVTIMEO, before its request was complete, OSError if the connection is broken.
    """
    head, early = _read_head(transport)
    protocol = ServerProtocol(subprotocols=[Subprotocol(SUBPROTOCOL)])
    protocol.receive_data(head)
    events = protocol.events_received()
    if not events or not isinstance(events[0], Request):
        # Newer versions of websockets prepare an answer for some of these errors.
        answer = b"".join(protocol.data_to_send())
        raise _refuse(transport, protocol, 400, str(protocol.handshake_exc), answer)
    path, _, query = events[0].path.partition("?")
    if path not in TEST_OF_PATH:
        paths = " and ".join(TEST_OF_PATH)
        raise _refuse(transport, protocol, 404, f"unknown path {path[:200]!r}; known: {paths}")
    try:
        metadata = parse_query(query)
    except ValueError as fault:
        raise _refuse(transport, protocol, 400, str(fault)) from None
    response = protocol.accept(events[0])
    if response.status_code != 101:
        raise _refuse_with(transport, response, str(protocol.handshake_exc))
    protocol.send_response(response)
    transport.send(b"".join(protocol.data_to_send()))
    return Upgrade(TEST_OF_PATH[path], metadata, early)


def parse_query(query: str) -> dict[str, str]:
    """Return the client's metadata by key: the first value of each key, "" for a key without a
    value.

    Raises ValueError if the query is longer than 4096 characters, a % isn't followed by two hex
    digits, the escapes aren't UTF-8, or the first value of early_exit isn't 250.
    """
    if len(query) > MAX_QUERY_BYTES:
        raise ValueError(f"query of {len(query)} bytes; at most {MAX_QUERY_BYTES} are allowed")
    if _BAD_ESCAPE.search(query):
        raise ValueError("query is not URL-encoded: a % stands before other characters than two "
                         "hexadecimal digits")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise ValueError("query is not UTF-8 behind its URL encoding") from None
    metadata: dict[str, str] = {}
    for key, value in pairs:
        metadata.setdefault(key, value)
    early_exit = metadata.get(EARLY_EXIT, EARLY_EXIT_MB)
    if early_exit != EARLY_EXIT_MB:
        raise ValueError(f"{EARLY_EXIT}={early_exit!r:.60}; only {EARLY_EXIT_MB} is known")
    return metadata


def _read_head(transport: Transport) -> tuple[bytes, bytes]:
    """Read the head of the request. Return its bytes with the empty line, and the bytes that
    arrived after it. Raises ConnectionError if the client left, or sent nothing for SO_RCVTIMEO,
    before the head was complete, Refused after an answer if the head is too long or begins with
    TLS, OSError if the connection is broken."""
    head = bytearray()
    buffer = memoryview(bytearray(1 << 13))
    while True:
        count = transport.recv_into(buffer)
        if not count:
            raise ConnectionError(f"the client {'was silent' if count is None else 'left'} before "
                                  "its request was whole")
        head += buffer[:count]
        if head.startswith(_TLS_HANDSHAKE_RECORD):
            reason = ("TLS inside TLS; send the request itself through the port's TLS"
                      if transport.is_tls else
                      "TLS request on the cleartext port; use wss:// with the TLS port, or ws:// "
                      "with this one")
            raise _refuse(transport, ServerProtocol(), 400, reason)
        end = head.find(_END_OF_HEAD)
        if end >= 0:
            end += len(_END_OF_HEAD)
            return bytes(head[:end]), bytes(head[end:])
        if len(head) > _MAX_HEAD_BYTES:
            raise _refuse(transport, ServerProtocol(), 431,
                          f"request head over {_MAX_HEAD_BYTES} bytes")


def _refuse(
    transport: Transport, protocol: ServerProtocol, status: int, reason: str, answer: bytes = b""
) -> Refused:
    """Send an answer with an error status, and return the Refused to raise. Raises OSError if the
    connection is broken.

    Args:
        transport: the client's connection.
        protocol: websockets' state of the connection.
        status: HTTP status, ignored if there is an `answer`.
        reason: text for the log, and for the client unless there is an `answer`.
        answer: answer that websockets has prepared, which is sent as it is. If it is empty, an
            answer with `status` and `reason` is made.
    """
    if answer:
        transport.send(answer)
        return Refused(int(answer.split(b" ", 2)[1]), reason)
    return _refuse_with(transport, protocol.reject(status, reason + "\n"), reason)


def _refuse_with(transport: Transport, response: Response, reason: str) -> Refused:
    """Send this response, and return the Refused to raise, with `reason` for the log. Raises
    OSError if the connection is broken."""
    transport.send(response.serialize())
    return Refused(response.status_code, reason)


_MAX_CONTROL_BYTES = 125
# Longer text messages are received but not kept: a measurement has about 2 kB.
_MAX_KEPT_TEXT_BYTES = 1 << 14
# Value of the length field in the second byte -> bytes of the length that follow.
_LENGTH_BYTES = {126: 2, 127: 8}
_KNOWN = {int(opcode) for opcode in Opcode}


class Violation(Exception):
    """Raised if the client broke a rule of WebSocket or ndt7.

    Attributes:
        code: code for the close frame.
        reason: text for the close frame.
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Message(NamedTuple):
    """A complete text message or control frame, unmasked. The data of a text of more than 16 KiB is
    empty."""

    opcode: Opcode
    data: bytes


def binary_frame(payload: bytes) -> bytes:
    """Return a binary message of a server as bytes to send."""
    return Frame(Opcode.BINARY, payload).serialize(mask=False)


def text_frame(text: str) -> bytes:
    """Return a text message of a server as bytes to send."""
    return Frame(Opcode.TEXT, text.encode()).serialize(mask=False)


def pong_frame(payload: bytes) -> bytes:
    """Return the answer to a ping as bytes to send."""
    return Frame(Opcode.PONG, payload).serialize(mask=False)


def close_frame(code: int, reason: str) -> bytes:
    """Return a close frame as bytes to send. The reason is cut to the room in the frame."""
    short = reason.encode()[: _MAX_CONTROL_BYTES - 2].decode("utf-8", "ignore")
    return Frame(Opcode.CLOSE, Close(code, short).serialize()).serialize(mask=False)


class FrameReader:
    """Parses a client's frames from pieces of any size.

    The payload of binary messages is counted and skipped. websockets' own parser would copy and
    unmask it, although it is random data that nothing uses.

    Attributes:
        binary_bytes: payload of binary messages received so far.
        binary_messages: number of complete binary messages.
    """

    def __init__(self) -> None:
        self.binary_bytes = 0
        self.binary_messages = 0
        self._header = bytearray()
        self._in_payload = False
        self._left_bytes = 0  # bytes of the current frame's payload that haven't arrived
        self._opcode = Opcode.CONT
        self._final = True
        self._mask = b""
        self._kept: bytearray | None = None  # payload of the current frame, if wanted
        self._message = Opcode.CONT  # type of the message being received; CONT: none
        self._message_bytes = 0
        self._text = bytearray()

    def feed(self, data: memoryview) -> Iterator[Message]:
        """Parse received bytes. Yield the text messages and control frames that are complete now.
        Raises Violation if the client broke a rule. Bytes are parsed as messages are taken: take
        all of them before `data` is overwritten and before the next call.

        Messages are yielded one at a time, because a buffer full of pings has more than a hundred
        thousand.
        """
        at, end = 0, len(data)
        while at < end:
            if not self._in_payload:
                at = self._read_header(data, at)
                if not self._in_payload:
                    break
            step = min(self._left_bytes, end - at)
            if self._kept is not None:
                self._kept += data[at : at + step]
            elif self._message is Opcode.BINARY:
                self.binary_bytes += step
            at += step
            self._left_bytes -= step
            if not self._left_bytes:
                yield from self._end_frame()

    def _read_header(self, data: memoryview, at: int) -> int:
        """Collect the bytes of a header from `data`, beginning at index `at`. Begin the frame if
        its header is complete, which sets self._in_payload. Return the index after the header's
        bytes. Raises Violation if the header breaks a rule."""
        header = self._header
        wanted = 2
        while True:
            piece = data[at : at + max(0, wanted - len(header))]
            header += piece
            at += len(piece)
            if len(header) < wanted:
                return at
            masked, length = header[1] & 0x80, header[1] & 0x7F
            whole = 2 + _LENGTH_BYTES.get(length, 0) + (4 if masked else 0)
            if whole == wanted:
                break
            wanted = whole
        if not masked:
            raise Violation(CloseCode.PROTOCOL_ERROR, "client frames must be masked")
        if length in _LENGTH_BYTES:
            length = int.from_bytes(header[2:-4], "big")
        self._mask = bytes(header[-4:])
        self._begin_frame(header[0], length)
        header.clear()
        return at

    def _begin_frame(self, first: int, length: int) -> None:
        """Begin a frame. Raises Violation if it breaks a rule.

        Args:
            first: first byte of the header: flags and opcode.
            length: bytes of the payload.
        """
        if first & 0x70:
            raise Violation(CloseCode.PROTOCOL_ERROR, "a frame's reserved bits are set, but no "
                            "extension was agreed, such as compression")
        if first & 0x0F not in _KNOWN:
            raise Violation(CloseCode.PROTOCOL_ERROR,
                            f"unknown opcode {first & 0x0F}; expected 0 to 2 or 8 to 10")
        self._opcode, self._final = Opcode(first & 0x0F), bool(first & 0x80)
        self._in_payload, self._left_bytes, self._kept = True, length, None
        if self._opcode >= Opcode.CLOSE:
            if not self._final:
                raise Violation(CloseCode.PROTOCOL_ERROR, "a control frame in fragments")
            if length > _MAX_CONTROL_BYTES:
                raise Violation(CloseCode.PROTOCOL_ERROR, f"a control frame of {length} bytes; "
                                f"expected at most {_MAX_CONTROL_BYTES}")
            self._kept = bytearray()
            return
        if (self._opcode is Opcode.CONT) == (self._message is Opcode.CONT):
            raise Violation(CloseCode.PROTOCOL_ERROR, (
                "a fragment continues no message" if self._opcode is Opcode.CONT else
                "a message begins before the last fragment of the one before"))
        if self._opcode is not Opcode.CONT:
            self._message, self._message_bytes = self._opcode, 0
            self._text.clear()
        self._message_bytes += length
        if self._message_bytes > MAX_RECEIVED_MESSAGE_BYTES:
            raise Violation(
                CloseCode.MESSAGE_TOO_BIG, f"message over {MAX_RECEIVED_MESSAGE_BYTES} bytes"
            )
        if self._message is Opcode.TEXT and self._message_bytes <= _MAX_KEPT_TEXT_BYTES:
            self._kept = bytearray()

    def _end_frame(self) -> list[Message]:
        """End the current frame. Return a list with the text message or control frame that it
        completes, empty if it completes none. A binary message that it completes is only counted.
        """
        self._in_payload = False
        data = b"" if self._kept is None else apply_mask(bytes(self._kept), self._mask)
        if self._opcode >= Opcode.CLOSE:
            return [Message(self._opcode, data)]
        self._text += data
        if not self._final:
            return []
        kind, self._message = self._message, Opcode.CONT
        if kind is Opcode.BINARY:
            self.binary_messages += 1
            return []
        whole = self._message_bytes <= _MAX_KEPT_TEXT_BYTES
        return [Message(kind, bytes(self._text) if whole else b"")]

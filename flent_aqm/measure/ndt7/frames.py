# SPDX-License-Identifier: GPL-3.0-or-later
"""WebSocket frames: functions that make the server's frames, and a reader for the client's.

The reader counts and skips the payload of binary messages. websockets' own parser would copy and
unmask it, although it is random data that nothing uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from websockets.frames import Close, CloseCode, Frame, Opcode
from websockets.utils import apply_mask

from flent_aqm.measure.ndt7.spec import MAX_RECEIVED_MESSAGE_BYTES

_MAX_CONTROL_BYTES = 125
# Longer text messages are received but not kept: a measurement has about 2 kB.
_MAX_KEPT_TEXT_BYTES = 1 << 14
# Value of the length field in the second byte -> bytes of the length that follow.
_LENGTH_BYTES = {126: 2, 127: 8}
_KNOWN = {int(opcode) for opcode in Opcode}


class Violation(Exception):
    """The client broke a rule of WebSocket or ndt7. `code` is the code for the close frame."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Message(NamedTuple):
    """A complete text message or control frame, unmasked. The data of a text that is too long is
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
        Raises Violation.

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
        """Collect the bytes of a header from `data`, beginning at index `at`. Return the index
        after them."""
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
        """Begin a frame with this first byte of its header and this length. Raises Violation."""
        if first & 0x70:
            raise Violation(CloseCode.PROTOCOL_ERROR, "reserved bits are set")
        if first & 0x0F not in _KNOWN:
            raise Violation(CloseCode.PROTOCOL_ERROR, f"unknown opcode {first & 0x0F}")
        self._opcode, self._final = Opcode(first & 0x0F), bool(first & 0x80)
        self._in_payload, self._left_bytes, self._kept = True, length, None
        if self._opcode >= Opcode.CLOSE:
            if length > _MAX_CONTROL_BYTES or not self._final:
                raise Violation(CloseCode.PROTOCOL_ERROR, "control frame long or fragmented")
            self._kept = bytearray()
            return
        if (self._opcode is Opcode.CONT) == (self._message is Opcode.CONT):
            raise Violation(CloseCode.PROTOCOL_ERROR, "fragments out of order")
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
        """End the current frame. Return the message or control frame that it completes, if it is to
        be yielded."""
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

# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame reader against frames that the websockets library writes."""

from __future__ import annotations

import pytest
from websockets.frames import Frame, Opcode

from flent_aqm.servers.ndt7.websocket import FrameReader, Message, Violation


def client_frame(opcode: Opcode, data: bytes, final: bool = True) -> bytes:
    """A masked frame."""
    return Frame(opcode, data, final).serialize(mask=True)


STREAM = (
    client_frame(Opcode.BINARY, b"a" * 300)
    + client_frame(Opcode.TEXT, b"he", final=False)
    + client_frame(Opcode.PING, b"p")
    + client_frame(Opcode.CONT, "llö".encode())
    + client_frame(Opcode.BINARY, b"", final=False)
    + client_frame(Opcode.CONT, b"b" * 70_000)
    + client_frame(Opcode.TEXT, b"x" * ((1 << 16) + 1))
    + client_frame(Opcode.CLOSE, b"\x03\xe8")
)
MESSAGES = [
    Message(Opcode.PING, b"p"),
    Message(Opcode.TEXT, "hellö".encode()),
    Message(Opcode.TEXT, b""),
    Message(Opcode.CLOSE, b"\x03\xe8"),
]


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 7, 13, 4096, len(STREAM)])
def test_reader_finds_the_same_messages_however_the_stream_is_cut(piece: int) -> None:
    """Headers, masks and payloads may arrive in pieces of any size."""
    reader = FrameReader()
    seen: list[Message] = []
    for at in range(0, len(STREAM), piece):
        seen += reader.feed(memoryview(STREAM[at : at + piece]))
    assert seen == MESSAGES
    assert reader.binary_bytes == 70_300
    assert reader.binary_messages == 2


def test_payload_counts_before_its_message_is_whole() -> None:
    """A measurement in the middle of a large message sees what has come."""
    reader = FrameReader()
    frame = client_frame(Opcode.BINARY, bytes(1 << 20))
    list(reader.feed(memoryview(frame[:-1000])))
    assert reader.binary_bytes == (1 << 20) - 1000
    assert reader.binary_messages == 0


@pytest.mark.parametrize(("stream", "why"), [
    (client_frame(Opcode.CONT, b"x"), "a fragment continues no message"),
    (client_frame(Opcode.TEXT, b"x", final=False) + client_frame(Opcode.TEXT, b"y"),
     "a message begins before the last fragment of the one before"),
])
def test_fragments_in_wrong_order_are_told_apart(stream: bytes, why: str) -> None:
    with pytest.raises(Violation, match=why):
        list(FrameReader().feed(memoryview(stream)))


@pytest.mark.parametrize(("stream", "why"), [
    # The library writes none of them.
    (b"\x09\x81" + bytes(4), "^a control frame in fragments$"),
    (b"\x89\xfe\x00\x7e" + bytes(4), "^a control frame of 126 bytes; expected at most 125$"),
])
def test_faults_of_control_frames_are_told_apart(stream: bytes, why: str) -> None:
    with pytest.raises(Violation, match=why):
        list(FrameReader().feed(memoryview(stream)))

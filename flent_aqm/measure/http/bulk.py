# SPDX-License-Identifier: GPL-3.0-or-later
"""Bulk on a connection of HTTP/2: wide windows, and the content of DATA frames past h2.

h2 takes 80 us for a frame of 16 kB, which on a fast link is most of what a test costs. So what is
sent goes past it, too, but for the last frame of a stream; h2's windows are drawn down as by it.
And of what comes, h2 gets all frames but the DATA of streams that are bulk: those whose head didn't
say how long they are, as h2 would have to count them. Their end reaches it as an empty frame, and
their windows are ours: h2 never sees them used. Frames: RFC 9113, sections 4.1, 6.1 and 6.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import h2.connection
import h2.exceptions
import h2.settings

from flent_aqm.measure.http.filler import FILLER

_HEADER_BYTES = 9
_DATA, _HEADERS, _SETTINGS, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 4, 8, 9
_END_STREAM, _END_HEADERS, _PADDED = 1, 4, 8
# Of a frame's content: SETTINGS_MAX_FRAME_SIZE stays at its initial value. h2 looks at the length
# only when the whole frame is there, of up to 16 MB.
MOST_FRAME_BYTES = 1 << 14
# Of the frames of a head, which h2 keeps until the last of them.
_MOST_HEAD_BYTES = 1 << 16
# A window is opened again once so much of it has been used.
STEP_BYTES = 1 << 20
# Windows that never are what limits a transfer: 16 MiB for 10 Gbit/s at 13 ms, for a stream.
STREAM_WINDOW_BYTES = 16 << 20
CONNECTION_WINDOW_BYTES = 1 << 30
_DEFAULT_WINDOW_BYTES = 65_535


def settings_for_bulk(http: h2.connection.H2Connection, most_streams: int = 1000) -> None:
    """Begin a connection, with windows for bulk transfer. most_streams: that the other end may
    have at once."""
    http.local_settings = h2.settings.Settings(client=http.config.client_side, initial_values={
        h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW_BYTES,
        h2.settings.SettingCodes.ENABLE_PUSH: 0,
        h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: most_streams})
    http.initiate_connection()
    http.increment_flow_control_window(CONNECTION_WINDOW_BYTES - _DEFAULT_WINDOW_BYTES)


def frame_of_filler(http: h2.connection.H2Connection, stream: int, size: int) -> bytes:
    """Return a DATA frame with so many bytes of filler, which isn't the stream's last, and count
    them as sent. size: no more than local_flow_control_window() and max_outbound_frame_size
    allow."""
    http.outbound_flow_control_window -= size
    http.streams[stream].outbound_flow_control_window -= size
    return _frame(_DATA, 0, stream, FILLER if size == len(FILLER) else FILLER[:size])


class Inbound:
    """What comes on one connection. missing: bytes until the frame that has begun is whole, 1
    between frames; frames, settings: how many of any kind, and of that one, have begun."""

    def __init__(self) -> None:
        self.missing = 1
        self.frames = self.settings = 0
        self._header = b""
        self._left = 0  # of the content of a frame
        self._kind = 0
        self._stream = 0  # of a frame of bulk; 0: of one that is h2's
        self._ends = False
        self._head_bytes = 0  # of the frames of a head that isn't whole
        self._used: dict[int, int] = {}  # stream, 0 for all -> bytes since its window was opened

    def begin(self, stream: int, headers: Sequence[tuple[object, object]]) -> None:
        """A head has come; the stream is bulk if that doesn't tell its length."""
        if all(str(name) != "content-length" for name, _ in headers):
            self._used[stream] = 0

    @property
    def held_bytes(self) -> int:
        """Return the most bytes that are kept of a frame or a head that isn't whole."""
        return self._head_bytes + (MOST_FRAME_BYTES if self.half else 0)

    @property
    def half(self) -> bool:
        """Of a frame, and not one of content, a part has come."""
        return bool(self._header or (self._left and self._kind != _DATA))

    def forget(self, stream: int) -> None:
        """A stream has been reset."""
        self._used.pop(stream, None)

    def split(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Go on with what has come: pieces of bulk by stream, and between them, with stream 0,
        what h2 has to have seen before the next piece is asked for. Raises FrameTooLargeError or
        ProtocolError at the header of a frame that is too long."""
        at = kept = 0  # from kept to at: h2's
        while at < len(data):
            if self._left:
                step = min(self._left, len(data) - at)
                self._left -= step
                at += step
                if self._stream:
                    yield self._stream, data[kept:at]
                    kept = at
                    if not self._left:
                        yield from self._end()
                continue
            begin = at
            at += min(_HEADER_BYTES - len(self._header), len(data) - at)
            # Held back, as it may be bulk's.
            if begin > kept:
                yield 0, data[kept:begin]
            self._header += data[begin:at]
            kept = at
            if len(self._header) == _HEADER_BYTES:
                yield from self._open()
        if at > kept:
            yield 0, data[kept:at]
        self.missing = self._left or (_HEADER_BYTES - len(self._header) if self._header else 1)

    def _open(self) -> Iterator[tuple[int, bytes]]:
        header, self._header = self._header, b""
        self._left = int.from_bytes(header[:3], "big")
        kind, flags, stream = header[3], header[4], int.from_bytes(header[5:], "big")
        self._kind = kind
        self.frames += 1
        self.settings += kind == _SETTINGS
        if self._left > MOST_FRAME_BYTES:
            raise h2.exceptions.FrameTooLargeError(
                f"a frame of {self._left} bytes; expected at most {MOST_FRAME_BYTES}")
        if kind in (_HEADERS, _CONTINUATION):
            self._head_bytes += self._left
            if self._head_bytes > _MOST_HEAD_BYTES:
                raise h2.exceptions.ProtocolError(
                    f"a head of more than {_MOST_HEAD_BYTES} bytes")
            if flags & _END_HEADERS:
                self._head_bytes = 0
        if kind == _DATA and not flags & _PADDED and stream in self._used:
            self._stream, self._ends = stream, bool(flags & _END_STREAM)
            if not self._left:
                yield from self._end()
        else:
            self._stream = 0
            yield 0, header

    def _end(self) -> Iterator[tuple[int, bytes]]:
        """A frame of bulk is whole."""
        if self._ends:
            self._used.pop(self._stream, None)
            yield 0, _frame(_DATA, _END_STREAM, self._stream, b"")

    def used(self, stream: int, size: int) -> bytes:
        """Count what bulk has brought; gives the frames that open its windows again."""
        frames = b""
        for one in (stream, 0):
            if one and one not in self._used:
                continue  # it has ended
            self._used[one] = self._used.get(one, 0) + size
            if self._used[one] >= STEP_BYTES:
                frames += _frame(_WINDOW_UPDATE, 0, one, self._used[one].to_bytes(4, "big"))
                self._used[one] = 0
        return frames


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return (len(content).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
            + content)

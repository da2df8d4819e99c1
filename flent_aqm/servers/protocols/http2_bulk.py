# SPDX-License-Identifier: GPL-3.0-or-later
"""Bulk data on an HTTP/2 connection: large windows, and DATA frames that bypass h2.

h2 takes 80 us for a frame of 16 kB, which on a fast link is most of the cost of a test. So bulk
data is sent without h2, except for the last frame of a stream, and h2's windows are reduced as h2
would do it.

Of the received bytes, h2 gets all frames except the DATA frames of bulk streams. A stream is bulk
if its head has no content-length, because h2 would have to check that length. The end of a bulk
stream is passed to h2 as an empty frame. The windows of bulk streams are managed here, and h2 never
sees them used. Frames: RFC 9113, sections 4.1, 6.1 and 6.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import h2.connection
import h2.exceptions
import h2.settings

from flent_aqm.servers.protocols.content import FILLER

_HEADER_BYTES = 9
# Types of frames.
_DATA, _HEADERS, _SETTINGS, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 4, 8, 9
# Flags of frames.
_END_STREAM, _END_HEADERS, _PADDED = 1, 4, 8
# Most bytes of a frame's content, because SETTINGS_MAX_FRAME_SIZE stays at its initial value. h2
# itself checks the length only when the whole frame has arrived, of up to 16 MB.
MOST_FRAME_BYTES = 1 << 14
# Most bytes in the frames of one head. h2 keeps them until the last has arrived.
_MOST_HEAD_BYTES = 1 << 16
# A window is opened again when so many bytes of it have been used.
STEP_BYTES = 1 << 20
# Windows large enough never to limit a transfer: 16 MiB for a stream, which is 10 Gbit/s at 13 ms.
STREAM_WINDOW_BYTES = 16 << 20
CONNECTION_WINDOW_BYTES = 1 << 30
_DEFAULT_WINDOW_BYTES = 65_535


def settings_for_bulk(http: h2.connection.H2Connection, most_streams: int = 1000) -> None:
    """Begin an HTTP/2 connection with windows for bulk transfer. The caller sends the data that h2
    has then prepared.

    Args:
        http: the connection, which must not have begun.
        most_streams: number of streams that the peer may have open at once.
    """
    http.local_settings = h2.settings.Settings(client=http.config.client_side, initial_values={
        h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW_BYTES,
        h2.settings.SettingCodes.ENABLE_PUSH: 0,
        h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: most_streams})
    http.initiate_connection()
    http.increment_flow_control_window(CONNECTION_WINDOW_BYTES - _DEFAULT_WINDOW_BYTES)


def frame_of_filler(http: h2.connection.H2Connection, stream: int, size: int) -> bytes:
    """Return a DATA frame with `size` bytes of filler, and reduce h2's windows as if it were sent.
    The frame doesn't end the stream.

    Args:
        http: the connection.
        stream: number of the stream, which h2 must have open for sending.
        size: number of bytes, at most local_flow_control_window(), max_outbound_frame_size and the
            length of FILLER, which isn't checked.
    """
    http.outbound_flow_control_window -= size
    http.streams[stream].outbound_flow_control_window -= size
    return _frame(_DATA, 0, stream, FILLER if size == len(FILLER) else FILLER[:size])


class HeadTooLargeError(h2.exceptions.ProtocolError):
    """Raised if the head that the other end sent on a stream is larger than this package allows, 64
    KiB. HTTP/2 allows it, and h2 doesn't know of it, so it has prepared no error to send."""


class Inbound:
    """Splits the received bytes of one connection into bulk data and frames for h2. At a server,
    the client's connection preface is not for it.

    Attributes:
        missing: number of bytes until the current frame, or its header if that has arrived in part,
            is complete. 1 between frames. Valid when the pairs of split() have been taken to the
            end.
        frames: number of frames whose header has arrived.
        settings: number of SETTINGS frames whose header has arrived.
    """

    def __init__(self) -> None:
        self.missing = 1
        self.frames = self.settings = 0
        self._header = b""
        self._left = 0  # bytes of the current frame's content that haven't arrived
        self._kind = 0  # type of the current frame
        self._stream = 0  # bulk stream of the current frame, 0 if the frame is for h2
        self._ends = False  # the current frame ends its bulk stream
        self._head_bytes = 0  # bytes in the frames of a head that isn't complete
        # Bulk stream, 0 for the connection -> bytes since its window was opened.
        self._used: dict[int, int] = {}

    def begin(self, stream: int, headers: Sequence[tuple[object, object]]) -> None:
        """Record that a stream has begun and doesn't end with its head. The stream is bulk if the
        head has no content-length. Otherwise nothing is recorded, and h2 gets its data.

        Args:
            stream: number of the stream.
            headers: names, in lower case and as text, and values of the head.
        """
        if all(str(name) != "content-length" for name, _ in headers):
            self._used[stream] = 0

    @property
    def held_bytes(self) -> int:
        """Number of bytes that are counted as kept now: 16 KiB if `half` is True, and the lengths
        of the frames that have begun of a head whose last frame hasn't begun. 0 if there is
        neither. Not counted are an incomplete DATA frame that h2 keeps, of up to 16 KiB, and the
        earlier frames of a head while its last frame arrives."""
        return self._head_bytes + (MOST_FRAME_BYTES if self.half else 0)

    @property
    def half(self) -> bool:
        """True if a frame other than DATA, or a frame's header, has arrived only in part."""
        return bool(self._header or (self._left and self._kind != _DATA))

    def forget(self, stream: int) -> None:
        """Forget a stream that has been reset. DATA frames that begin later on it are for h2. The
        rest of a frame that has begun is still bulk data."""
        self._used.pop(stream, None)

    def split(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Split received bytes. Yield pairs of stream and data: bulk data with its stream, and
        bytes for h2 with stream 0. The caller has to pass the bytes for h2 to h2 before it takes
        the next pair. A frame that is incomplete is continued by the next call.

        Raises FrameTooLargeError at the header of a frame of more than 16 KiB, HeadTooLargeError at
        the header of the frame with which a head becomes larger than 64 KiB.
        """
        at = kept = 0  # the bytes from kept to at are for h2
        while at < len(data):
            if self._left:
                step = min(self._left, len(data) - at)
                self._left -= step
                at += step
                if self._stream:
                    yield self._stream, data[kept:at]
                    kept = at
                    if not self._left:
                        yield from self._end_frame()
                continue
            begin = at
            at += min(_HEADER_BYTES - len(self._header), len(data) - at)
            # The header is held back, because it may be that of a bulk frame.
            if begin > kept:
                yield 0, data[kept:begin]
            self._header += data[begin:at]
            kept = at
            if len(self._header) == _HEADER_BYTES:
                yield from self._begin_frame()
        if at > kept:
            yield 0, data[kept:at]
        self.missing = self._left or (_HEADER_BYTES - len(self._header) if self._header else 1)

    def _begin_frame(self) -> Iterator[tuple[int, bytes]]:
        """Begin the frame whose header is complete. Yield the bytes for h2 as pairs (0, bytes).
        Raises FrameTooLargeError if the frame has more than 16 KiB, HeadTooLargeError if a head
        becomes larger than 64 KiB by it."""
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
                raise HeadTooLargeError(f"a head of more than {_MOST_HEAD_BYTES} bytes")
            if flags & _END_HEADERS:
                self._head_bytes = 0
        if kind == _DATA and not flags & _PADDED and stream in self._used:
            self._stream, self._ends = stream, bool(flags & _END_STREAM)
            if not self._left:
                yield from self._end_frame()
        else:
            self._stream = 0
            yield 0, header

    def _end_frame(self) -> Iterator[tuple[int, bytes]]:
        """End the current bulk frame. If it ends its stream, forget the stream, and yield an empty
        DATA frame that ends it for h2 as a pair (0, bytes)."""
        if self._ends:
            self._used.pop(self._stream, None)
            yield 0, _frame(_DATA, _END_STREAM, self._stream, b"")

    def used(self, stream: int, size: int) -> bytes:
        """Count bulk bytes that the caller has processed. Return the WINDOW_UPDATE frames to send,
        b"" until 1 MiB has been counted for the stream or the connection since its last one. For a
        stream that has ended or is forgotten, only the connection counts.

        Args:
            stream: number of the bulk stream.
            size: number of bytes.
        """
        frames = b""
        for number in (stream, 0):
            if number and number not in self._used:
                continue  # the stream has ended
            self._used[number] = self._used.get(number, 0) + size
            if self._used[number] >= STEP_BYTES:
                frames += _frame(_WINDOW_UPDATE, 0, number, self._used[number].to_bytes(4, "big"))
                self._used[number] = 0
        return frames


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    """Return an HTTP/2 frame as bytes to send.

    Args:
        kind: type of the frame.
        flags: flags of the frame.
        stream: number of the stream, 0 for the connection.
        content: content after the header.
    """
    return (len(content).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
            + content)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared code of HTTP/3 clients and servers: QUIC, and bulk data on its streams. Needs aioquic.

aioquic keeps all data that it is given until the data has been sent. So bulk data is passed to it
in small pieces, each when little of the one before is left. Less than 8 kB wait in the sender,
which is 5 ms at 13 Mbit/s, so a small request is never delayed by more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.quic.configuration import QuicConfiguration

from flent_aqm.servers.protocols.content import FILLER

PIECE_BYTES = 4096
_PIECE = FILLER[:PIECE_BYTES]
# Windows large enough never to limit a transfer: of a connection, and of a stream.
_MOST_BYTES, _MOST_STREAM_BYTES = 1 << 26, 1 << 25


def configuration(*, client: bool) -> QuicConfiguration:
    """Return the configuration of a QUIC connection: HTTP/3, Cubic, as TCP uses, and large windows.
    A server has to load its certificate into it. A client verifies the server's certificate unless
    the caller sets verify_mode.

    Args:
        client: True for the client's end.
    """
    return QuicConfiguration(is_client=client, alpn_protocols=H3_ALPN,
                             congestion_control_algorithm="cubic", max_data=_MOST_BYTES,
                             max_stream_data=_MOST_STREAM_BYTES)


class Bulk(QuicConnectionProtocol):
    """One end of a connection that can send bulk data. The arguments are those of aioquic's
    QuicConnectionProtocol.

    Attributes:
        http: the HTTP/3 connection.
    """

    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.http = H3Connection(self._quic)
        self._left: dict[int, int] = {}  # stream -> bytes of filler that are still to be sent
        self._progress: dict[int, Callable[[int], None] | None] = {}

    def send_bulk(self, stream: int, size: int,
                  progress: Callable[[int], None] | None = None) -> None:
        """Start to send `size` bytes of filler on a stream, and end the stream after them. The head
        must have been passed to `http` before. If aioquic has discarded the stream, the rest is
        dropped.

        Args:
            stream: number of the stream.
            size: number of bytes.
            progress: called with the size in bytes of each piece when it is passed to aioquic.
        """
        self._left[stream], self._progress[stream] = size, progress
        self.transmit()

    def forget(self, stream: int) -> None:
        """Pass no more bulk data of this stream to aioquic, without ending the stream. What aioquic
        already has is still sent unless the stream was reset."""
        self._left.pop(stream, None)
        self._progress.pop(stream, None)

    def stop_sending(self) -> None:
        """Pass no more bulk data of any stream to aioquic, without ending the streams. What aioquic
        already has is still sent unless the stream was reset or the connection is closed."""
        self._left.clear()
        self._progress.clear()

    def transmit(self) -> None:
        """Send as much as may be sent now, and pass more bulk data to aioquic as it has room.
        Called by send_bulk(), and by aioquic after each datagram and timer."""
        super().transmit()
        while self._hand_over():
            super().transmit()

    def _hand_over(self) -> bool:
        """Pass a piece of bulk data to each stream for which aioquic has less than PIECE_BYTES left
        to send, end the stream with its last piece, and call its `progress`. Forget streams that
        aioquic has discarded. Return whether a piece was passed."""
        done = False
        for number, left in list(self._left.items()):
            # aioquic has no public name for how much of a stream it still has to send.
            stream = self._quic._streams.get(number)
            if stream is None:
                self.forget(number)
                continue
            if stream.sender._buffer_stop - stream.sender.next_offset >= PIECE_BYTES:
                continue
            done = True
            size = min(left, PIECE_BYTES)
            progress = self._progress[number]
            self._left[number] = left - size
            self.http.send_data(number, _PIECE[:size], end_stream=size == left)
            if size == left:
                self.forget(number)
            if progress is not None:
                progress(size)
        return done

    def end(self) -> None:
        """End the connection at once, without waiting for the other end, and close its UDP socket.
        For clients only: a server's connections share a socket."""
        self.stop_sending()
        self.close()
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.close()

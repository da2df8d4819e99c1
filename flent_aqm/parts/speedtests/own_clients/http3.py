# SPDX-License-Identifier: GPL-3.0-or-later
"""A client's HTTP/3 connection, which carries any number of requests at once. Needs aioquic."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from typing import Any

from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamReset

from flent_aqm.base.errors import BadResult
from flent_aqm.parts.speedtests.own_clients.connection import (
    PATIENCE_S,
    Connection,
    Count,
    PendingRequest,
    Reply,
    ServerAddress,
)
from flent_aqm.servers.protocols.quic import Bulk, configuration

_AGENT = b"flent-aqm"


class Http3Connection(Connection):
    """An HTTP/3 connection. The methods are documented in Connection. It is always encrypted, also
    if the server's address isn't `secure`.

    QUIC's handshake includes that of TLS. Its duration is `tcp_ms`, and `tls_ms` is None.
    """

    def __init__(self, server: ServerAddress) -> None:
        super().__init__(server)
        self._streams: dict[int, PendingRequest] = {}
        self._quic_end: _QuicEnd | None = None

    async def open(self) -> None:
        """Connect over QUIC, without a check of the certificate, and set tcp_ms. Raises BadResult
        if that fails or takes longer than 30 s."""
        sock = self.server.new_socket(socket.SOCK_DGRAM)
        quic_settings = configuration(client=True)
        quic_settings.verify_mode = ssl.CERT_NONE
        began_s = time.monotonic()
        _, self._quic_end = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _QuicEnd(self, QuicConnection(configuration=quic_settings)), sock=sock)
        try:
            async with asyncio.timeout(PATIENCE_S):
                self._quic_end.connect(self.server.address)
                if self._quic_end.unsent is not None:
                    raise self._quic_end.unsent
                await self._quic_end.wait_connected()
        except (OSError, TimeoutError) as fault:
            # aioquic's ConnectionError has no text. handle_event() has recorded the reason.
            why = (f"no answer within {PATIENCE_S:g} s" if isinstance(fault, TimeoutError) else
                   self._ended or fault.strerror or "the handshake failed")
            self.abort()
            hint = ("" if fault.strerror else
                    "; does `flent-aqm serve` run there, and do firewalls let UDP pass?"
                    if isinstance(fault, TimeoutError) else "; is it `flent-aqm serve`?")
            raise BadResult(f"no connection to {self.server.host_and_port} over QUIC: {why}{hint}"
                            ) from None
        except asyncio.CancelledError:
            self.abort()
            raise
        self.tcp_ms = (time.monotonic() - began_s) * 1000

    def abort(self) -> None:
        """Close the connection at once. Requests that are under way fail with BadResult, and so do
        later ones."""
        self._ended = "this client closed it"
        if self._quic_end is not None:
            self._quic_end.end()
        self.fail(self._ended)

    def limit_unsent(self, requested: str) -> None:
        """Do nothing: unsent QUIC data waits in this process, not in the kernel."""

    def request(self, method: str, path: str, size: int, count: Count | None
                ) -> asyncio.Future[Reply]:
        """Send a request on a new stream of the open connection. Return a future of the response,
        which gets a BadResult if the connection ends or the server resets the stream before.
        Arguments are those of Connection.request().
        """
        assert self._quic_end is not None
        stream = PendingRequest(method, size, count)
        if self._ended:
            stream.fail(self.broken(self._ended))
            return stream.future
        number = self._quic_end._quic.get_next_available_stream_id()
        self._streams[number] = stream
        headers = [(b":method", method.encode()), (b":path", path.encode()),
                   (b":authority", self.server.host_and_port.encode()), (b":scheme", b"https"),
                   (b"user-agent", _AGENT), (b"accept-encoding", b"identity")]
        if stream.is_upload:
            headers.append((b"content-type", b"application/octet-stream"))
        self._quic_end.http.send_headers(number, headers, end_stream=not size)
        if size:
            self._quic_end.send_bulk(number, size, count)
        else:
            self._quic_end.transmit()
        return stream.future

    def handle_event(self, event: QuicEvent) -> None:
        """Handle an event of aioquic's connection, which _QuicEnd hands on: record headers and data
        of a response, complete or fail the request of the event's stream, or fail all requests if
        the connection ended."""
        now_s = time.monotonic()
        if isinstance(event, ConnectionTerminated):
            self.fail(event.reason_phrase or "the server closed it")
        elif isinstance(event, StreamReset) and event.stream_id in self._streams:
            self._streams.pop(event.stream_id).fail(self.broken("the server reset a request"))
        assert self._quic_end is not None
        for http_event in self._quic_end.http.handle_event(event):
            stream = self._streams.get(getattr(http_event, "stream_id", -1))
            if stream is None:
                continue
            if isinstance(http_event, HeadersReceived):
                stream.reply.first_s = now_s
                stream.reply.status = int(dict(http_event.headers).get(b":status", b"0"))
            elif isinstance(http_event, DataReceived):
                stream.take(http_event.data)
            if getattr(http_event, "stream_ended", False):
                self._streams.pop(http_event.stream_id).finish(now_s)

    def fail(self, why: str) -> None:
        """Let all requests that are under way, and all later ones, fail with a BadResult. Its
        message gives the reason `why`, or the one that was recorded before."""
        self._ended = self._ended or why
        for stream in self._streams.values():
            stream.fail(self.broken(why))
        self._streams.clear()

    def fill(self) -> None:
        """Do nothing: aioquic goes on sending by itself."""


class _QuicEnd(Bulk):
    """The QUIC end of a connection, which hands events to its Http3Connection.

    Args:
        connection: the Http3Connection.
        words, named: arguments of Bulk, such as aioquic's QuicConnection.

    Attributes:
        unsent: error with which the system last refused to send a packet, None if it refused none.
    """

    def __init__(self, connection: Http3Connection, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self._connection = connection
        self.unsent: OSError | None = None

    def error_received(self, exc: Exception) -> None:
        """Called by asyncio if a packet can't be sent: record the error in `unsent`. aioquic sends
        the data again later."""
        if isinstance(exc, OSError):
            self.unsent = exc

    def quic_event_received(self, event: QuicEvent) -> None:
        """Called by aioquic with an event: hand it to the Http3Connection."""
        self._connection.handle_event(event)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves the same endpoints over HTTP/3 as over HTTP/1.1 and HTTP/2. Needs aioquic."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, cast

from aioquic.asyncio.server import QuicServer
from aioquic.h3.connection import ErrorCode
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import QuicEvent, StopSendingReceived, StreamReset

from flent_aqm.base.defaults import ED25519
from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.servers.acceptor import Client, address_text
from flent_aqm.servers.certificate import self_signed_pem
from flent_aqm.servers.endpoints import FOR_OTHER_ORIGINS, Request, answer, request_of
from flent_aqm.servers.limits import IDLE_TIMEOUT_S, Credit, Flood, Held, Quiet
from flent_aqm.servers.log import log
from flent_aqm.servers.loop import Loop
from flent_aqm.servers.protocols.quic import Bulk, configuration

# Credit that a datagram costs. A datagram with content has more than a kilobyte, which earns credit
# for two.
_DATAGRAM = 0.5
# Bit in the first byte of a QUIC packet with a long header.
_LONG_HEADER = 0x80
# Number of datagrams between two calls of note_held().
_HELD_EVERY = 64


class Http3(Bulk):
    """HTTP/3 on one client's connection. aioquic allows 128 streams at once.

    Args:
        quic: the client's connection.
        server: the listener that received the connection. Its timeout_s begins now.
    """

    def __init__(self, quic: QuicConnection, server: Http3Listener) -> None:
        super().__init__(quic)
        self._server = server
        self._requests: dict[int, Request] = {}
        self._requested = False
        self._credit = Credit()
        self._peer: Any = None
        self._datagrams = 0
        self._ended = False
        self._request_timeout = asyncio.get_running_loop().call_later(
            server.timeout_s, self._end_without_request)

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        """Process a datagram, which costs credit. End the connection if its client has used up its
        credit, if the client's address is no longer served, or if a request isn't HTTP. The address
        of a client that has used up its credit isn't served for 10 s. Every 64 datagrams, the
        listener checks how many bytes are kept. Called by aioquic."""
        self._peer = addr
        try:
            self._credit.spend(_DATAGRAM)
            super().datagram_received(data, addr)
            if not self._ended and str(addr[0]) in self._server.quiet:
                self._end("its address has flooded the server")
            self._datagrams += 1
            if self._datagrams % _HELD_EVERY == 0:
                self._server.note_held(self)
        except Flood as flood:
            self._server.quiet.add(str(addr[0]))
            self._end(str(flood))
        except ValueError as fault:
            self._end(f"it sent a request that isn't HTTP: {fault}")

    def transmit(self) -> None:
        """Send pending datagrams and set the connection's timer, unless the listener is closed: a
        timer that was set before would fail then. Called by aioquic."""
        transport = cast(asyncio.DatagramTransport, self._transport)
        if not transport.is_closing():
            super().transmit()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Process an event of QUIC: requests, content, and streams that the client has reset. After
        the end of the connection, events of datagrams that came before it are ignored. Called by
        aioquic, for these events within datagram_received(). Raises Flood if the client has used up
        its credit, ValueError if a request's target isn't a URL."""
        if self._ended:
            return  # aioquic's timer brings what was left when an event raised an exception
        if isinstance(event, (StreamReset, StopSendingReceived)):
            self._credit.spend()
            self._requests.pop(event.stream_id, None)
            self.forget(event.stream_id)
        for http_event in self.http.handle_event(event):
            if isinstance(http_event, HeadersReceived):
                self._credit.spend()
                self._note_request(http_event)
            elif isinstance(http_event, DataReceived):
                self._credit.earn(len(http_event.data))
            if isinstance(http_event, (HeadersReceived, DataReceived)) and http_event.stream_ended:
                self._begin_response(http_event.stream_id)

    @property
    def held_bytes(self) -> int:
        """Bytes of memory for received bytes of the streams that can't be processed yet, because
        bytes before them are missing. The room for the missing bytes counts, too."""
        # aioquic has no public name for these buffers.
        return sum(len(stream.receiver._buffer) for stream in self._quic._streams.values())

    def end_holding(self) -> None:
        """End the connection because the server has to keep too much for all connections."""
        self._end("the server keeps too many bytes for clients that leave gaps in their streams, "
                  "most of them for this client")

    def sent(self, size: int) -> None:
        """Earn credit for a sent piece of a response.

        Args:
            size: bytes of the piece.
        """
        self._credit.earn(size)

    def forgotten(self) -> None:
        """Cancel the timeout of the first request. Called by Http3Listener when the connection has
        ended."""
        self._request_timeout.cancel()

    def _note_request(self, headers_event: HeadersReceived) -> None:
        """Record the request of a stream whose head has arrived. Trailers, which arrive as another
        head, are ignored. Raises ValueError if the request's target isn't a URL."""
        if headers_event.stream_id in self._requests:
            return
        self._requested = True
        headers = {name.decode(): value.decode("latin-1") for name, value in headers_event.headers}
        self._requests[headers_event.stream_id] = request_of(
            headers.get(":method", ""), headers.get(":path", ""),
            headers.get(":authority", ""), str(self._peer[0]) if self._peer else "", secure=True)

    def _begin_response(self, stream: int) -> None:
        """Send the head and a small body of the response to a stream's request, or begin to send
        filler. The response to HEAD is the head only. Nothing is sent if the stream has no
        request, or if the client wants no response any more (STOP_SENDING)."""
        request = self._requests.pop(stream, None)
        # aioquic has no public name for a stream whose sending part has been reset. It resets it
        # before it reports any event of the datagram.
        if request is None or self._quic._streams[stream].sender._reset_error_code is not None:
            return
        reply = answer(request)
        headers = [(b":status", str(reply.status).encode()),
                   (b"content-type", reply.kind.encode()),
                   *((name.encode(), value.encode()) for name, value in FOR_OTHER_ORIGINS)]
        size = reply.total
        if request.method == "HEAD":
            size = 0  # no content-length either, because aioquic's clients would expect the content
        else:
            headers.append((b"content-length", str(size).encode()))
        self.http.send_headers(stream, headers, end_stream=not size)
        if not size:
            return
        if reply.body:
            self.http.send_data(stream, reply.body, end_stream=True)
        else:
            self.send_bulk(stream, reply.length, self.sent)

    def _end_without_request(self) -> None:
        """End the connection if no request has arrived. Called by the event loop when timeout_s
        seconds have passed since the connection began."""
        if not self._requested:
            self._end(f"its first request took too long: none after {self._server.timeout_s:g} s")

    def _end(self, reason: str) -> None:
        """End the connection, unless it has been ended: datagrams still arrive then. `reason` is
        for the log and the client."""
        if self._ended:
            return
        self._ended = True
        log("failed", client=address_text(self._peer) if self._peer else "", reason=reason)
        self.stop_sending()
        self.close(ErrorCode.H3_EXCESSIVE_LOAD, reason)


class Http3Listener(QuicServer):
    """Receives the datagrams of all clients at one address and port of the server.

    Args:
        requested: configuration of the connections.
        quiet: addresses that aren't served.
        most: largest number of connections at once, over this address and port.
        timeout_s: seconds in which a connection has to have its first request.
    """

    def __init__(self, requested: QuicConfiguration, quiet: Quiet, most: int, timeout_s: float
                 ) -> None:
        super().__init__(configuration=requested,
                         create_protocol=lambda quic, stream_handler: self._make_connection(quic))
        self.quiet = quiet
        self.timeout_s = timeout_s
        self._most = most
        self._open: set[Http3] = set()
        self._held = Held()

    def note_held(self, connection: Http3) -> None:
        """Record how many bytes are kept for a connection. If the number has changed and all
        connections of this listener together keep too much, end the connection for which most is
        kept."""
        largest = self._held.note(connection, connection.held_bytes)
        if isinstance(largest, Http3):
            self._held.note(largest, 0)
            largest.end_holding()

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        """Process a datagram. One that belongs to no open connection is ignored if there are too
        many connections, or if its address isn't served. Called by asyncio."""
        if (len(self._open) >= self._most or str(addr[0]) in self.quiet) \
                and not self._is_of_open_connection(data):
            return
        super().datagram_received(data, addr)

    def _make_connection(self, quic: QuicConnection) -> Http3:
        """Return the protocol of a new connection, which counts as open until it has ended."""
        connection = Http3(quic, self)
        self._open.add(connection)
        return connection

    def _is_of_open_connection(self, data: bytes | str) -> bool:
        """Return whether a datagram belongs to an open connection, by its connection id (RFC 9000,
        17.2 and 17.3)."""
        assert isinstance(data, bytes)
        if data[:1] and data[0] & _LONG_HEADER:
            name = data[6:6 + data[5]] if len(data) > 5 else b""
        else:
            name = data[1:1 + self._configuration.connection_id_length]
        return name in self._protocols

    def _connection_terminated(self, protocol: Any) -> None:
        """Forget a connection that has ended, so that another one may be accepted. Called by
        aioquic with the Http3 of the connection."""
        super()._connection_terminated(protocol)
        self._open.discard(protocol)
        self._held.note(protocol, 0)
        protocol.forgotten()


class Http3Service:
    """The HTTP/3 service. See acceptor.Service. It receives its clients itself over UDP, after
    serve(). Creating it starts the thread of its event loop, which stop() ends.

    Args:
        quiet: addresses that aren't served.
        most: largest number of connections at once over each address of the server.
        timeout_s: seconds in which a connection has to have its first request.
    """

    def __init__(self, quiet: Quiet, most: int, timeout_s: float) -> None:
        self._limits = quiet, most, timeout_s
        self._loop = Loop()
        self._transports: list[asyncio.DatagramTransport] = []

    def serve(self, sockets: Sequence[socket.socket], certificate: tuple[str, str] | None) -> None:
        """Serve the clients of these UDP sockets from now on, until stop() closes them. Raises
        ConfigError if a certificate of its own can't be stored in a temporary file, OSError if a
        certificate file can't be read.

        Args:
            sockets: sockets with an address and port.
            certificate: files of the certificate and its key, which the caller has checked. None
                for a self-signed certificate.
        """
        requested = configuration(client=False)
        requested.idle_timeout = IDLE_TIMEOUT_S
        if certificate:
            requested.load_cert_chain(*certificate)
        else:
            try:
                with NamedTemporaryFile() as file:
                    Path(file.name).write_bytes(self_signed_pem({"server"}, ED25519))
                    requested.load_cert_chain(file.name, file.name)
            except OSError as error:
                at = f"{error.filename}: " if error.filename else ""
                raise ConfigError(f"the certificate of HTTP/3 can't be stored: {at}"
                                  f"{cause_of(error)}; set TMPDIR to a folder with room that can "
                                  "be written, or give --cert and --key") from None
        for sock in sockets:
            self._loop.run(self._receive(requested, sock))

    def load(self) -> None:
        """Do nothing: everything has been loaded."""

    def take(self, client: Client) -> None:
        """Raise AssertionError: no client of TCP is ever passed to HTTP/3."""
        raise AssertionError("HTTP/3 has no connections of TCP")

    def stop(self) -> None:
        """Close the sockets, stop the event loop, and wait up to 2 s until its thread ends. Clients
        of open connections aren't told. Called by another thread. It may be called again."""
        if self._transports:
            self._loop.run(self._close())
        self._loop.stop()

    async def _close(self) -> None:
        """Close the UDP sockets."""
        for transport in self._transports:
            transport.close()
        self._transports.clear()

    async def _receive(self, requested: QuicConfiguration, sock: socket.socket) -> None:
        """Serve the clients of a UDP socket on the event loop."""
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: Http3Listener(requested, *self._limits), sock=sock)
        self._transports.append(transport)

# SPDX-License-Identifier: GPL-3.0-or-later
"""A client's HTTP/2 connection, which carries any number of requests at once."""

from __future__ import annotations

import asyncio
import time

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from flent_aqm.parts.speedtests.own_clients.connection import (
    Connection,
    Count,
    PendingRequest,
    Reply,
    ServerAddress,
)
from flent_aqm.servers.protocols.content import FILLER
from flent_aqm.servers.protocols.http2_bulk import (
    HeadTooLargeError,
    Inbound,
    frame_of_filler,
    settings_for_bulk,
)
from flent_aqm.servers.protocols.watermarks import WakeAt

_AGENT = "flent-aqm"


class Http2Connection(Connection):
    """An HTTP/2 connection. The methods are documented in Connection."""

    alpn = "h2"

    def __init__(self, server: ServerAddress) -> None:
        super().__init__(server)
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=True, header_encoding="utf-8"))
        self._streams: dict[int, PendingRequest] = {}
        self._inbound = Inbound()
        self._wake: WakeAt

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio when the connection is open: as Connection.connection_made(), and send
        HTTP/2's preface with settings for bulk transfers."""
        super().connection_made(transport)
        self._wake = WakeAt(self.transport)
        settings_for_bulk(self._http)
        self._write_pending()

    def request(self, method: str, path: str, size: int, count: Count | None
                ) -> asyncio.Future[Reply]:
        """Send a request on a new stream of the open connection. Return a future of the response,
        which gets a BadResult if the connection ends before, the server resets the stream, or what
        it sends isn't HTTP/2. Arguments are those of Connection.request()."""
        stream = PendingRequest(method, size, count)
        if self.transport.is_closing():
            stream.fail(self.broken("the server closed it"))
            return stream.future
        number = self._http.get_next_available_stream_id()
        headers = [(":method", method), (":path", path), (":authority", self.server.host_and_port),
                   (":scheme", "https" if self.server.secure else "http"),
                   ("user-agent", _AGENT), ("accept-encoding", "identity")]
        if stream.is_upload:
            # Without a length, so that this package's server counts the bytes without h2: see
            # http2_bulk.py.
            headers.append(("content-type", "application/octet-stream"))
        self._streams[number] = stream
        self._http.send_headers(number, headers, end_stream=not size)
        self._write_pending()
        if size:
            self.fill()
        return stream.future

    def fill(self) -> None:
        """Send further bytes of all uploads in turn, as many as the kernel and flow control take,
        and report each piece to its upload's `count`."""
        sent = True
        while sent and not self.paused and not self.transport.is_closing():
            sent = False
            for number, stream in list(self._streams.items()):
                if not stream.left or self.paused:
                    continue
                size = min(stream.left, self._http.local_flow_control_window(number),
                           self._http.max_outbound_frame_size,
                           self.limit.frame_bytes(len(FILLER)))
                if size <= 0:
                    continue
                sent = True
                stream.left -= size
                if stream.left:
                    self.transport.write(frame_of_filler(self._http, number, size))
                else:
                    self._http.send_data(number, FILLER[:size], end_stream=True)
                    self._write_pending()
                self.limit.sent(size)
                if stream.count is not None:
                    stream.count(size)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio with bytes that arrived: count bulk data without h2, and hand all other
        bytes to h2. On a protocol error, let all requests fail and abort the connection."""
        try:
            for number, piece in self._inbound.split(data):
                if not number:
                    # Not for bulk data, because reading the clock takes longer than counting bytes.
                    now_s = time.monotonic()
                    for event in self._http.receive_data(piece):
                        self._handle_event(event, now_s)
                    continue
                if opened := self._inbound.used(number, len(piece)):
                    self.transport.write(opened)
                if stream := self._streams.get(number):
                    stream.take(piece)
        except HeadTooLargeError as fault:
            self.fail(f"the response has {fault}")
            self.transport.abort()
            return
        except h2.exceptions.ProtocolError as fault:
            self.fail(f"the response is not HTTP/2: {fault}")
            self.transport.abort()
            return
        self._wake(self._inbound.missing)
        self._write_pending()
        self.fill()

    def _handle_event(self, event: h2.events.Event, now_s: float) -> None:
        """Handle an event of h2: record headers and data of a response, complete or fail the
        request of the event's stream, or fail all and abort the connection if the server ended it.

        Args:
            event: the event.
            now_s: time of the event in monotonic seconds.
        """
        number = getattr(event, "stream_id", None)
        stream = self._streams.get(number) if number else None
        if isinstance(event, h2.events.ConnectionTerminated):
            self.fail("the server closed it")
            self.transport.abort()  # so that later requests fail, too
        if stream is None or number is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            stream.reply.first_s = now_s
            if event.stream_ended is None:
                self._inbound.begin(number, event.headers or ())
            stream.reply.status = int(next(
                value for name, value in event.headers or () if str(name) == ":status"))
        elif isinstance(event, h2.events.DataReceived):
            self._http.acknowledge_received_data(event.flow_controlled_length, number)
            stream.take(event.data or b"")
        elif isinstance(event, h2.events.StreamEnded):
            self._streams.pop(number).finish(now_s)
        elif isinstance(event, h2.events.StreamReset):
            self._streams.pop(number).fail(self.broken("the server reset a request"))

    def _write_pending(self) -> None:
        """Write the bytes that h2 has ready. If the connection is being closed, drop them."""
        if (data := self._http.data_to_send()) and not self.transport.is_closing():
            self.transport.write(data)

    def fail(self, why: str) -> None:
        """Let all requests that are under way fail with the reason `why`, or the one that was
        recorded before, see broken()."""
        for stream in self._streams.values():
            stream.fail(self.broken(why))
        self._streams.clear()

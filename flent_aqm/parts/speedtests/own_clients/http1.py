# SPDX-License-Identifier: GPL-3.0-or-later
"""A client's HTTP/1.1 connection, which carries one request at a time."""

from __future__ import annotations

import asyncio
import time

import h11

from flent_aqm.parts.speedtests.own_clients.connection import (
    Connection,
    Count,
    PendingRequest,
    Reply,
    ServerAddress,
)
from flent_aqm.servers.protocols.content import FILLER, length_of
from flent_aqm.servers.protocols.watermarks import WakeAt

_AGENT = "flent-aqm"


class Http1Connection(Connection):
    """An HTTP/1.1 connection. The methods are documented in Connection."""

    alpn = "http/1.1"

    def __init__(self, server: ServerAddress) -> None:
        super().__init__(server)
        self._http = h11.Connection(h11.CLIENT)
        self._request: PendingRequest | None = None
        # Bytes of an upload that were written to asyncio, but not yet reported to `count`.
        self._taken = 0
        # Bytes still to come of a response whose length is known.
        self._body_left = 0
        self._wake: WakeAt

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio when the connection is open: as Connection.connection_made(), and
        prepare wake-ups for long responses."""
        super().connection_made(transport)
        self._wake = WakeAt(self.transport)

    async def until_free(self) -> None:
        """Wait until the previous request, if any, has its complete response or has failed."""
        if self._request is not None:
            await self._request.ended.wait()

    def request(self, method: str, path: str, size: int, count: Count | None
                ) -> asyncio.Future[Reply]:
        """Send a request on the open connection. Return a future of the response, which gets a
        BadResult if the connection ends before, the response isn't HTTP/1.1, or the server answered
        the previous request before that was sent completely. The previous request must have its
        complete response, unless the connection has ended. Arguments are those of
        Connection.request()."""
        assert self._request is None or self._request.ended.is_set(), "one request at a time"
        self._request = pending = PendingRequest(method, size, count)
        headers = [("host", self.server.host_and_port), ("user-agent", _AGENT),
                   ("accept-encoding", "identity")]
        if pending.is_upload:
            headers += [("content-type", "application/octet-stream"),
                        ("content-length", str(size))]
        # MUST_CLOSE: the server has announced with its last response that it closes the connection.
        if self.transport.is_closing() or self._http.our_state is h11.MUST_CLOSE:
            self.fail("the server closed it")
            return pending.future
        if self._http.our_state is not h11.IDLE:
            self.fail("the server answered an upload before it had all of it")
            return pending.future
        self.transport.write(
            self._http.send(h11.Request(method=method, target=path, headers=headers)) or b"")
        if size:
            self._taken = 0
            self.fill()
        else:
            self._http.send(h11.EndOfMessage())
        return pending.future

    def fill(self) -> None:
        """Send further bytes of the upload, as many as the kernel takes, and report to its `count`
        those that the kernel has taken. Do nothing if no upload is under way."""
        pending = self._request
        if pending is None:
            return
        while pending.left and not self.paused:
            size = min(pending.left, self.limit.frame_bytes(len(FILLER)))
            pending.left -= size
            piece = FILLER if size == len(FILLER) else FILLER[:size]
            for part in self._http.send_with_data_passthrough(h11.Data(data=piece)) or ():
                self.transport.write(part)
            self.limit.sent(size)
            self._report_taken(pending, size)
            if not pending.left:
                self._http.send(h11.EndOfMessage())
        if pending.is_upload and not self.paused:
            self._report_taken(pending, 0)

    def _report_taken(self, pending: PendingRequest, size: int) -> None:
        """Report to the request's `count` the bytes of an upload that the kernel has taken since
        the last report. Bytes in asyncio's buffer don't count.

        Args:
            pending: the upload.
            size: number of bytes that were just written to asyncio, 0 if asyncio's buffer has only
                been emptied.
        """
        self._taken += size
        gone = self._taken - self.transport.get_write_buffer_size()
        if pending.count is not None and gone > 0:
            pending.count(gone)
            self._taken -= gone

    def data_received(self, data: bytes) -> None:
        """Called by asyncio with bytes that arrived: parse them as the response. If they aren't
        HTTP/1.1, let the request fail and abort the connection. Abort it as well if no request was
        sent."""
        pending = self._request
        if pending is None:
            self.transport.abort()  # a response without a request
            return
        if self._body_left:
            data = self._take_body(pending, data)
            if not data:
                return
        now_s = time.monotonic()
        try:
            self._http.receive_data(data)
            while True:
                event = self._http.next_event()
                if isinstance(event, h11.Response):
                    pending.reply.first_s = now_s
                    pending.reply.status = event.status_code
                    self._body_left = length_of(event)
                    if self._body_left:
                        self._take_body(pending, self._http.trailing_data[0])
                        return
                elif isinstance(event, h11.Data):
                    pending.take(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    self._complete(pending, now_s)
                else:
                    return
        except h11.RemoteProtocolError as fault:
            self.fail(f"the response is not HTTP/1.1: {fault}")
            self.transport.abort()

    def _take_body(self, pending: PendingRequest, data: bytes) -> bytes:
        """Add the bytes that belong to a response with known length to it, without h11. Complete
        the response with its last byte. Return the bytes that follow the response.

        Args:
            pending: the request.
            data: bytes that arrived.
        """
        mine, rest = data[:self._body_left], data[self._body_left:]
        self._body_left -= len(mine)
        self._wake(self._body_left)
        pending.take(mine)
        if not self._body_left:
            if self._http.our_state is h11.DONE:
                self._http = h11.Connection(h11.CLIENT)
            # Read only at the end, because reading the clock takes longer than counting bytes.
            self._complete(pending, time.monotonic())
        return rest

    def _complete(self, pending: PendingRequest, now_s: float) -> None:
        """Complete the response at `now_s`, in monotonic seconds. Make h11 ready for the next
        request if this one has been sent completely and the server doesn't close the connection."""
        if self._http.our_state is h11.DONE is self._http.their_state:
            self._http.start_next_cycle()
        pending.finish(now_s)

    def fail(self, why: str) -> None:
        """Let the request that is under way, if any, fail with the reason `why`, or the one that
        was recorded before, see broken()."""
        if self._request is not None:
            self._request.fail(self.broken(why))

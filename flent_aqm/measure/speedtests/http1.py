# SPDX-License-Identifier: GPL-3.0-or-later
"""A client's connection over HTTP/1.1: one request at a time."""

from __future__ import annotations

import asyncio
import time

import h11

from flent_aqm.measure.speedtests.connection import KEPT_BYTES, Connection, Count, Reply, Server
from flent_aqm.measure.speedtests.filler import FILLER
from flent_aqm.measure.speedtests.wake import WakeAt

_AGENT = "flent-aqm"


class Http1Connection(Connection):
    """See Connection."""

    alpn = "http/1.1"

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._http = h11.Connection(h11.CLIENT)
        self._future: asyncio.Future[Reply] | None = None
        self._reply = Reply(0.0)
        self._count: Count | None = None
        self._sends = False
        self._left = 0  # bytes that are still to be handed over
        self._taken = 0  # bytes of them that the kernel had taken when count was last told
        self._awaited = 0  # bytes of an answer of known length that are still to come
        self._wake: WakeAt

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._wake = WakeAt(self.transport)

    def request(self, method: str, path: str, size: int, count: Count | None
                ) -> asyncio.Future[Reply]:
        assert self._future is None or self._future.done(), "one request at a time"
        self._future = asyncio.get_running_loop().create_future()
        self._reply = Reply(time.monotonic())
        self._count, self._sends = count, method == "POST"
        headers = [("host", self.server.name), ("user-agent", _AGENT),
                   ("accept-encoding", "identity")]
        if self._sends:
            headers += [("content-type", "application/octet-stream"),
                        ("content-length", str(size))]
        if self.transport.is_closing():
            self.fail("the server closed it")
            return self._future
        self.transport.write(
            self._http.send(h11.Request(method=method, target=path, headers=headers)) or b"")
        self._left = size
        if size:
            self._taken = 0
            self.fill()
        else:
            self._http.send(h11.EndOfMessage())
        return self._future

    def fill(self) -> None:
        while self._left and not self.paused:
            size = min(self._left, self.limit.frame_bytes(len(FILLER)))
            self._left -= size
            piece = FILLER if size == len(FILLER) else FILLER[:size]
            for part in self._http.send_with_data_passthrough(h11.Data(data=piece)) or ():
                self.transport.write(part)
            self.limit.sent(size)
            self._tell(size)
            if not self._left:
                self._http.send(h11.EndOfMessage())
        if self._sends and not self.paused:
            self._tell(0)

    def _tell(self, size: int) -> None:
        """Count what the kernel has taken since: what asyncio still holds has not gone."""
        self._taken += size
        gone = self._taken - self.transport.get_write_buffer_size()
        if self._count is not None and gone > 0:
            self._count(gone)
            self._taken -= gone

    def data_received(self, data: bytes) -> None:
        now_s = time.monotonic()
        if self._awaited:
            data = self._go_on(data, now_s)
            if not data:
                return
        try:
            self._http.receive_data(data)
            while True:
                event = self._http.next_event()
                if isinstance(event, h11.Response):
                    self._reply.first_s = now_s
                    self._reply.status = event.status_code
                    self._awaited = length_of(event)
                    if self._awaited:
                        self._go_on(self._http.trailing_data[0], now_s)
                        return
                elif isinstance(event, h11.Data):
                    self._take(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    self._end(now_s)
                else:
                    return
        except h11.RemoteProtocolError as fault:
            self.fail(f"its answer is not HTTP/1.1: {fault}")
            self.transport.abort()

    def _go_on(self, data: bytes, now_s: float) -> bytes:
        """Take what belongs to the answer, past h11; gives the rest."""
        mine, rest = data[:self._awaited], data[self._awaited:]
        self._awaited -= len(mine)
        self._wake(self._awaited)
        self._take(mine)
        if not self._awaited:
            if self._http.our_state is h11.DONE:
                self._http = h11.Connection(h11.CLIENT)
            self._end(now_s)
        return rest

    def _take(self, data: bytes) -> None:
        self._reply.size += len(data)
        if len(self._reply.body) < KEPT_BYTES:
            self._reply.body += bytes(data[:KEPT_BYTES])
        if self._count is not None and not self._sends:
            self._count(len(data))

    def _end(self, now_s: float) -> None:
        self._reply.end_s = now_s
        if self._http.our_state is h11.DONE is self._http.their_state:
            self._http.start_next_cycle()
        if self._future is not None and not self._future.done():
            self._future.set_result(self._reply)

    def fail(self, why: str) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_exception(self.broken(why))


def length_of(head: h11.Request | h11.Response) -> int:
    """Bytes of the content, where the head says how many; 0 for none, and where it doesn't.

    A body of known length is only counted. h11 would look at every piece of it.
    """
    return next((int(value) for name, value in head.headers if name == b"content-length"), 0)

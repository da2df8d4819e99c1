# SPDX-License-Identifier: GPL-3.0-or-later
"""The server's HTTP/1.1: one request after the other, then the connection stays open."""

from __future__ import annotations

import asyncio
from typing import Any

import h11

from flent_aqm.measure.speedtests.endpoints import Answer, Request, answer, request_of
from flent_aqm.measure.speedtests.filler import FILLER
from flent_aqm.measure.speedtests.http1 import length_of
from flent_aqm.measure.speedtests.unsent import UnsentLimit
from flent_aqm.measure.speedtests.wake import WakeAt


class Http1:
    """A connection of a client. paused: the kernel takes no more for now."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.paused = False
        self._transport = transport
        self._http = h11.Connection(h11.SERVER)
        self._request: Request | None = None
        self._left = 0  # bytes of filler that are still to be sent
        self._awaited = 0  # bytes of a request of known length that are still to come
        self._pipelined: bytes | None = None  # what came behind one, past h11
        self._wake = WakeAt(transport)
        self._unsent = UnsentLimit(transport.get_extra_info("socket"))

    def received(self, data: bytes) -> None:
        """Serve what has come. Raises ValueError for what isn't HTTP/1.1."""
        if not self._awaited:
            self._http.receive_data(data)
            self._go_on()
            return
        mine = min(len(data), self._awaited)
        self._await(self._awaited - mine)
        if not self._awaited:
            self._pipelined = data[mine:]
            self._respond()

    def writable(self) -> None:
        """Go on with an answer, and then with requests that came meanwhile."""
        self._fill()
        if not self._left:
            self._go_on()

    def _go_on(self) -> None:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as fault:
                raise ValueError(str(fault)) from None
            if isinstance(event, h11.Request):
                self._request = self._read(event)
                if length := length_of(event):
                    self._await(length)
                    self.received(self._http.trailing_data[0])
                    return
            elif isinstance(event, h11.EndOfMessage):
                self._respond()
                if self._left:
                    return
            elif isinstance(event, h11.ConnectionClosed):
                self._transport.close()
                return
            elif not isinstance(event, h11.Data):
                return  # NEED_DATA, or PAUSED until the answer is out

    def _await(self, size: int) -> None:
        self._awaited = size
        self._wake(size)

    def _respond(self) -> None:
        assert self._request is not None
        self._answer(self._request, answer(self._request))

    def _read(self, event: Any) -> Request:
        headers = {name.decode(): value.decode("latin-1") for name, value in event.headers}
        if self._http.they_are_waiting_for_100_continue:
            self._transport.write(self._http.send(h11.InformationalResponse(
                status_code=100, headers=[])) or b"")
        peer = self._transport.get_extra_info("peername")
        return request_of(event.method.decode(), event.target.decode("latin-1"),
                          headers.get("host", ""), str(peer[0]) if peer else "",
                          self._transport.get_extra_info("sslcontext") is not None)

    def _answer(self, request: Request, given: Answer) -> None:
        if given.length:
            self._unsent.begin(request.unsent)
        head = self._http.send(h11.Response(status_code=given.status, headers=[
            ("content-type", given.kind), ("content-length", str(given.total)),
            ("cache-control", "no-store"), ("access-control-allow-origin", "*")]))
        body = self._http.send(h11.Data(data=given.body)) if given.body else b""
        self._transport.write((head or b"") + (body or b""))
        self._left = given.length
        if self._left:
            self._fill()
        else:
            self._end()

    def _fill(self) -> None:
        while self._left and not self.paused and not self._transport.is_closing():
            size = self._unsent.frame_bytes(len(FILLER))
            piece = FILLER if size >= len(FILLER) <= self._left else FILLER[:min(size, self._left)]
            self._left -= len(piece)
            # Its length is all that h11 looks at.
            for part in self._http.send_with_data_passthrough(h11.Data(data=piece)) or ():
                self._transport.write(part)
            self._unsent.sent(len(piece))
            if not self._left:
                self._end()

    def _end(self) -> None:
        self._transport.write(self._http.send(h11.EndOfMessage()) or b"")
        if self._http.our_state is h11.MUST_CLOSE:
            self._transport.close()
        elif self._pipelined is None:
            self._http.start_next_cycle()
        else:
            self._http = h11.Connection(h11.SERVER)
            rest, self._pipelined = self._pipelined, None
            if rest:
                self.received(rest)

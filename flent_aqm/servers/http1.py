# SPDX-License-Identifier: GPL-3.0-or-later
"""The server's HTTP/1.1: serves one request after the other on a persistent connection."""

from __future__ import annotations

import asyncio
from typing import Any

import h11

from flent_aqm.servers.endpoints import FOR_OTHER_ORIGINS, Request, Response, answer, request_of
from flent_aqm.servers.limits import Credit, TooLarge
from flent_aqm.servers.protocols.content import FILLER, length_of
from flent_aqm.servers.protocols.watermarks import UnsentLimit, WakeAt

_MOST_HEAD_BYTES = 1 << 14
# HTTP's status for a head that is too large, which h11 suggests in its exception.
_TOO_LARGE = 431


class Http1:
    """HTTP/1.1 on one client's connection. See Grammar in http.py.

    Args:
        transport: the client's connection.
        credit: the work that the client may still cause.
    """

    def __init__(self, transport: asyncio.Transport, credit: Credit) -> None:
        self.paused = False
        self.heads = self.moved = 0
        self._transport = transport
        self._credit = credit
        self._http = h11.Connection(h11.SERVER, _MOST_HEAD_BYTES)
        self._request: Request | None = None
        self._waiting = b""  # received bytes that h11 hasn't got yet
        self._left = 0  # bytes of filler to send
        self._awaited = 0  # bytes of a request of known length that haven't arrived
        self._past_h11 = False  # the content of this request bypasses h11
        self._wake = WakeAt(transport)
        self._unsent = UnsentLimit(transport.get_extra_info("socket"))

    def received(self, data: bytes) -> None:
        """Process received bytes, and send responses. Raises ValueError if they aren't HTTP/1.1 or
        a request's target isn't a URL, TooLarge if a head is too long, Flood if the client has used
        up its credit."""
        self._waiting += data
        self._process_received()

    def writable(self) -> None:
        """Continue with a response. When it is complete, process requests that arrived meanwhile.
        Raises as received() does."""
        self._send_filler()
        if not self._busy():
            self._transport.resume_reading()
            self._process_received()

    @property
    def held_bytes(self) -> int:
        """Number of received bytes in memory: those that wait for the end of a response or for more
        bytes, and, until the response to a request with content of known length has ended, those
        that arrived with the request's head. See Grammar.held_bytes."""
        return len(self._waiting) + len(self._http.trailing_data[0])

    @property
    def half(self) -> int | None:
        """Number of the request whose head has arrived in part, None if there is none. See
        Grammar.half."""
        idle = not self._busy() and not self._awaited and self._http.their_state is h11.IDLE
        return self.heads if idle and self._http.trailing_data[0] else None

    def refuse(self) -> None:
        """Do nothing: HTTP/1.1 has no message by which to tell a client, between responses, that it
        has flooded the server."""

    def _busy(self) -> bool:
        """Return whether a response is being sent, or the kernel accepts no more data. Then no
        other request is processed."""
        return bool(self._left) or self.paused

    def _process_received(self) -> None:
        """Process received bytes until nothing more can be parsed, the connection is closed, or
        _busy() is true. If bytes are left while it is true, reading from the client is paused.
        Raises as received() does."""
        while not self._transport.is_closing():
            if self._busy():
                # What h11 has of a content that bypasses it was copied to _waiting.
                if self._waiting or (not self._past_h11 and self._http.trailing_data[0]):
                    # The client sends requests without reading the responses.
                    self._transport.pause_reading()
                return
            if self._awaited:
                if not self._waiting:
                    return
                self._count_content()
            elif not self._process_event():
                return

    def _count_content(self) -> None:
        """Count received content of known length without h11, which would process each piece. Send
        the response if the request's content is complete."""
        mine = min(len(self._waiting), self._awaited)
        self._waiting = self._waiting[mine:]
        self._credit.earn(mine)
        self._set_awaited(self._awaited - mine)
        if not self._awaited:
            self._answer_current()

    def _process_event(self) -> bool:
        """Let h11 parse received bytes, and process the next event. Return False if h11 needs more
        bytes, or if no request can follow on this connection, otherwise True. Raises as received()
        does."""
        if self._waiting:
            self._http.receive_data(self._waiting)
            self._waiting = b""
        state = self._http.their_state
        try:
            event = self._http.next_event()
        except h11.RemoteProtocolError as fault:
            if fault.error_status_hint == _TOO_LARGE:
                what = "head" if state is h11.IDLE else "chunk's head or a trailer"
                raise TooLarge(f"a request with a {what} of more than {_MOST_HEAD_BYTES} bytes"
                               ) from None
            raise ValueError(str(fault)) from None
        if isinstance(event, h11.Request):
            self._credit.spend()
            self.heads += 1
            self._request = self._request_from_event(event)
            if length := length_of(event):
                self._past_h11 = True
                self._waiting = self._http.trailing_data[0]
                self._set_awaited(length)
        elif isinstance(event, h11.Data):
            self._credit.spend()
            self._credit.earn(len(event.data))
        elif isinstance(event, h11.EndOfMessage):
            self._answer_current()
        else:
            # NEED_DATA, or PAUSED. That the client has ended the connection, asyncio tells.
            return False
        return True

    def _set_awaited(self, size: int) -> None:
        """Set the number of content bytes to wait for, and the threshold at which the kernel wakes
        this process."""
        self._awaited = size
        self._wake(size)

    def _answer_current(self) -> None:
        """Send the response to the request whose content has arrived."""
        assert self._request is not None
        self._send_response(self._request, answer(self._request))

    def _request_from_event(self, event: Any) -> Request:
        """Return the request of h11's event `Request`. Send 100 Continue if the client waits for
        it. Raises ValueError if the request's target isn't a URL."""
        headers = {name.decode(): value.decode("latin-1") for name, value in event.headers}
        if self._http.they_are_waiting_for_100_continue:
            self._transport.write(self._http.send(h11.InformationalResponse(
                status_code=100, headers=[])) or b"")
        peer = self._transport.get_extra_info("peername")
        return request_of(event.method.decode(), event.target.decode("latin-1"),
                          headers.get("host", ""), str(peer[0]) if peer else "",
                          self._transport.get_extra_info("sslcontext") is not None)

    def _send_response(self, request: Request, reply: Response) -> None:
        """Send the head of the response and its small body. Then begin to send its filler, or end
        the response if it has none. For HEAD, send the head only, and end the response. If the
        response has filler, the limit on unsent data that the request asks for holds on this
        connection from now on."""
        if reply.length:
            self._unsent.begin(request.unsent)
        head = self._http.send(h11.Response(status_code=reply.status, headers=[
            ("content-type", reply.kind), ("content-length", str(reply.total)),
            ("cache-control", "no-store"), *FOR_OTHER_ORIGINS]))
        wanted = request.method != "HEAD"
        body = self._http.send(h11.Data(data=reply.body)) if reply.body and wanted else b""
        self._transport.write((head or b"") + (body or b""))
        self._left = reply.length if wanted else 0
        if self._left:
            self._send_filler()
        else:
            self._end_response()

    def _send_filler(self) -> None:
        """Send filler until the kernel accepts no more or the response is complete. End the
        response when it is complete. Do nothing if no filler is left."""
        while self._left and not self.paused and not self._transport.is_closing():
            size = self._unsent.frame_bytes(len(FILLER))
            piece = FILLER if size >= len(FILLER) <= self._left else FILLER[:min(size, self._left)]
            self._left -= len(piece)
            self.moved += len(piece)
            # h11 only uses the length of the piece.
            for part in self._http.send_with_data_passthrough(h11.Data(data=piece)) or ():
                self._transport.write(part)
            self._unsent.sent(len(piece))
            self._credit.earn(len(piece))
            if not self._left:
                self._end_response()

    def _end_response(self) -> None:
        """End the response. Prepare for the next request, or close the connection if the client
        wants that or speaks HTTP/1.0."""
        self._transport.write(self._http.send(h11.EndOfMessage()) or b"")
        if self._http.our_state is h11.MUST_CLOSE:
            self._transport.close()
        elif self._past_h11:
            self._past_h11 = False
            self._http = h11.Connection(h11.SERVER, _MOST_HEAD_BYTES)
        else:
            self._http.start_next_cycle()

# SPDX-License-Identifier: GPL-3.0-or-later
"""The server's HTTP/2: streams with something to send take turns, a frame each."""

from __future__ import annotations

import asyncio
from collections import deque

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from flent_aqm.measure.speedtests.bulk import Inbound, frame_of_filler, settings_for_bulk
from flent_aqm.measure.speedtests.endpoints import Answer, Request, answer, request_of
from flent_aqm.measure.speedtests.filler import FILLER
from flent_aqm.measure.speedtests.unsent import UnsentLimit
from flent_aqm.measure.speedtests.wake import WakeAt

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Http2:
    """A connection of a client. paused: the kernel takes no more for now."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.paused = False
        self._transport = transport
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=False, header_encoding="utf-8", validate_inbound_headers=False))
        self._requests: dict[int, Request] = {}
        self._left: dict[int, int] = {}  # stream -> bytes of filler that are still to be sent
        self._turn: deque[int] = deque()  # those streams, the next one first
        self._unsent = UnsentLimit(transport.get_extra_info("socket"))
        self._inbound = Inbound()
        self._wake = WakeAt(transport)
        self._preface = True  # is still to come
        settings_for_bulk(self._http)

    def received(self, data: bytes) -> None:
        """Serve what has come. Raises ValueError for what isn't HTTP/2."""
        try:
            if self._preface:  # server.py has waited until it is whole
                self._preface = False
                self._http.receive_data(data[:len(PREFACE)])
                data = data[len(PREFACE):]
            for stream, piece in self._inbound.split(data):
                if stream:
                    if opened := self._inbound.used(stream, len(piece)):
                        self._transport.write(opened)
                else:
                    for event in self._http.receive_data(piece):
                        self._see(event)
        except h2.exceptions.ProtocolError as fault:
            raise ValueError(str(fault)) from None
        self._wake(self._inbound.missing)
        self._flush()
        self.writable()

    def _see(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            self._read(event)
        elif isinstance(event, h2.events.DataReceived):
            # A stream that has ended has no window any more.
            self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self._answer(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            self._forget(event.stream_id)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self._transport.close()

    def writable(self) -> None:
        """Send what windows and the kernel allow."""
        waiting = 0  # streams in a row without a window
        while (self._turn and not self.paused and waiting < len(self._turn)
               and not self._transport.is_closing()):
            stream = self._turn.popleft()
            window = self._http.local_flow_control_window(stream)
            size = min(self._left[stream], window, self._http.max_outbound_frame_size,
                       self._unsent.frame_bytes(len(FILLER)))
            if size <= 0:
                waiting += 1
                self._turn.append(stream)
                continue
            waiting = 0
            self._left[stream] -= size
            if self._left[stream]:
                self._turn.append(stream)
                self._transport.write(frame_of_filler(self._http, stream, size))
            else:
                self._http.send_data(stream, FILLER[:size], end_stream=True)
                self._forget(stream)
                self._flush()
            self._unsent.sent(size)

    def _read(self, event: h2.events.RequestReceived) -> None:
        headers = {str(name): str(value) for name, value in event.headers or ()}
        peer = self._transport.get_extra_info("peername")
        assert event.stream_id is not None
        if event.stream_ended is None:
            self._inbound.begin(event.stream_id, event.headers or ())
        self._requests[event.stream_id] = request_of(
            headers.get(":method", ""), headers.get(":path", ""), headers.get(":authority", ""),
            str(peer[0]) if peer else "",
            self._transport.get_extra_info("sslcontext") is not None)

    def _answer(self, stream: int) -> None:
        request = self._requests.pop(stream)
        given: Answer = answer(request)
        if given.length:
            self._unsent.begin(request.unsent)
        # The length only of small ones: a client of ours counts the others past its h2.
        length = [] if given.length else [("content-length", str(given.total))]
        self._http.send_headers(stream, [
            (":status", str(given.status)), ("content-type", given.kind), *length],
            end_stream=not given.total)
        if given.body:
            self._http.send_data(stream, given.body, end_stream=not given.length)
        if given.length:
            self._left[stream] = given.length
            self._turn.append(stream)

    def _forget(self, stream: int) -> None:
        self._requests.pop(stream, None)
        if self._left.pop(stream, None) is not None and stream in self._turn:
            self._turn.remove(stream)

    def _flush(self) -> None:
        if data := self._http.data_to_send():
            self._transport.write(data)

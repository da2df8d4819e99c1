# SPDX-License-Identifier: GPL-3.0-or-later
"""The server's HTTP/2: streams with data to send take turns, one frame each."""

from __future__ import annotations

import asyncio
from collections import deque

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

from flent_aqm.servers.endpoints import FOR_OTHER_ORIGINS, Request, Response, answer, request_of
from flent_aqm.servers.limits import MOST_STREAMS, RESET_COST, UNREAD_BYTES, Credit, TooLarge
from flent_aqm.servers.protocols.content import FILLER
from flent_aqm.servers.protocols.http2_bulk import (
    HeadTooLargeError,
    Inbound,
    frame_of_filler,
    settings_for_bulk,
)
from flent_aqm.servers.protocols.watermarks import UnsentLimit, WakeAt

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# A change of settings causes work for each stream. Work for so many streams costs as much credit as
# a frame.
_STREAMS_A_FRAME = 20


class Http2:
    """HTTP/2 on one client's connection. See Grammar in http.py.

    Args:
        transport: the client's connection.
        credit: the work that the client may still cause.
    """

    def __init__(self, transport: asyncio.Transport, credit: Credit) -> None:
        self.paused = False
        self.heads = self.moved = 0
        self._transport = transport
        self._credit = credit
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=False, header_encoding="utf-8", validate_inbound_headers=False))
        self._requests: dict[int, Request] = {}
        self._left: dict[int, int] = {}  # stream -> bytes to send
        self._bodies: dict[int, bytes] = {}  # stream -> the bytes to send, if they aren't filler
        # Streams with bytes to send, in the order of their turns.
        self._stream_queue: deque[int] = deque()
        self._unsent = UnsentLimit(transport.get_extra_info("socket"))
        self._inbound = Inbound()
        self._wake = WakeAt(transport)
        self._preface = True  # the connection preface hasn't been processed
        # Frames and SETTINGS frames that have cost credit.
        self._paid_frames = self._paid_settings = 0
        settings_for_bulk(self._http, MOST_STREAMS)

    def received(self, data: bytes) -> None:
        """Process received bytes, and send responses. The first call has to have the whole
        connection preface. If the client leaves more than UNREAD_BYTES unread beyond those in the
        kernel, reading from it is paused. If the client announces the end of the connection
        (GOAWAY), the connection is closed.

        Raises ValueError if the bytes aren't HTTP/2, a frame is too long, or a request's target
        isn't a URL. Raises TooLarge if a head is too long, in its frames or after decompression,
        Flood if the client has used up its credit.
        """
        try:
            if self._preface:  # http.py has waited until the preface is complete
                self._preface = False
                self.heads = 1
                self._http.receive_data(data[:len(PREFACE)])
                data = data[len(PREFACE):]
            for stream, piece in self._inbound.split(data):
                if stream:
                    self._credit.earn(len(piece))
                    if opened := self._inbound.used(stream, len(piece)):
                        self._transport.write(opened)
                else:
                    self._pay_for_frames()
                    for event in self._http.receive_data(piece):
                        self._process_event(event)
                if self._transport.is_closing():
                    return  # nobody reads the answers to what is left
            self._pay_for_frames()
        except h2.exceptions.FrameTooLargeError as fault:
            self._http.close_connection(h2.errors.ErrorCodes.FRAME_SIZE_ERROR)
            self._flush()
            raise ValueError(str(fault)) from None
        except HeadTooLargeError as fault:
            self.refuse()
            raise TooLarge(f"a request with {fault}") from None
        except h2.exceptions.DenialOfServiceError:
            self._flush()  # send the error that h2 has prepared
            most_bytes = self._http.decoder.max_header_list_size
            raise TooLarge(f"a request with a head of more than {most_bytes} bytes after "
                           "decompression") from None
        except h2.exceptions.ProtocolError as fault:
            self._flush()  # send the error that h2 has prepared
            # Of a stream that doesn't exist, h2 tells nothing but the number.
            before = f"{type(fault).__name__}: stream " if str(fault).isdecimal() else ""
            raise ValueError(f"{before}{fault}") from None
        self._wake(self._inbound.missing)
        self._flush()
        self.writable()
        if self._transport.get_write_buffer_size() > UNREAD_BYTES:
            # The client doesn't read the responses to its frames.
            self._transport.pause_reading()

    @property
    def held_bytes(self) -> int:
        """Number of bytes that are counted as kept of an incomplete frame and an incomplete head.
        It may be larger or smaller than the number that is kept: see Inbound.held_bytes in
        http2_bulk.py."""
        return self._inbound.held_bytes

    @property
    def half(self) -> int | None:
        """Number of frames whose header has arrived, if a header or the content of a frame other
        than DATA has arrived only in part. None otherwise. See Grammar.half."""
        return self._inbound.frames if self._inbound.half else None

    def refuse(self) -> None:
        """Tell the client that it takes too much of the server (ENHANCE_YOUR_CALM). The caller has
        to end the connection."""
        self._http.close_connection(h2.errors.ErrorCodes.ENHANCE_YOUR_CALM)
        self._flush()

    def _pay_for_frames(self) -> None:
        """Spend credit for the frames whose header has arrived since the last call: 1 for each, and
        for a SETTINGS frame 1/20 more for each stream whose request or response isn't complete.
        Raises Flood if the credit is used up."""
        frames, settings = self._inbound.frames, self._inbound.settings
        if frames > self._paid_frames:
            streams = len(self._requests) + len(self._left)
            self._credit.spend(frames - self._paid_frames + (settings - self._paid_settings)
                               * streams / _STREAMS_A_FRAME)
            self._paid_frames, self._paid_settings = frames, settings

    def _process_event(self, event: h2.events.Event) -> None:
        """Process one event of h2: begin the response when a request is complete, forget a stream
        that the client resets, which costs RESET_COST of credit, and close the connection if the
        client announces its end (GOAWAY). Raises Flood if the client has used up its credit,
        ValueError if a request's target isn't a URL."""
        if isinstance(event, h2.events.RequestReceived):
            self._note_request(event)
        elif isinstance(event, h2.events.DataReceived):
            self._credit.earn(event.flow_controlled_length)
            # h2 ignores the window of a stream that has ended.
            self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self._begin_response(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            self._credit.spend(RESET_COST)
            self._forget_stream(event.stream_id)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self._transport.close()

    def writable(self) -> None:
        """Send as many frames as windows and the kernel allow, of each stream with data in turn.
        Unless the kernel accepts no more data, reading from the client is resumed first."""
        if not self.paused:
            self._transport.resume_reading()
        waiting = 0  # streams in a row without a window
        while (self._stream_queue and not self.paused and waiting < len(self._stream_queue)
               and not self._transport.is_closing()):
            stream = self._stream_queue.popleft()
            window = self._http.local_flow_control_window(stream)
            size = min(self._left[stream], window, self._http.max_outbound_frame_size,
                       self._unsent.frame_bytes(len(FILLER)))
            if size <= 0:
                waiting += 1
                self._stream_queue.append(stream)
                continue
            waiting = 0
            self._send_frame(stream, size)

    def _send_frame(self, stream: int, size: int) -> None:
        """Send one frame with `size` bytes on a stream that is not in the queue of turns. If more
        is left to send, append the stream to the queue, otherwise end the stream.

        Args:
            stream: number of the stream.
            size: number of bytes, at most those left of the response. Windows and frames have room
                for them.
        """
        self._left[stream] -= size
        ends = not self._left[stream]
        body = self._bodies.get(stream)
        if body is not None:
            self._http.send_data(stream, body[:size], end_stream=ends)
            self._bodies[stream] = body[size:]
            self._flush()
        elif ends:
            self._http.send_data(stream, FILLER[:size], end_stream=True)
            self._flush()
        else:
            self._transport.write(frame_of_filler(self._http, stream, size))
        if ends:
            self._forget_stream(stream)
        else:
            self._stream_queue.append(stream)
        self._unsent.sent(size)
        self._credit.earn(size)
        self.moved += size

    def _note_request(self, event: h2.events.RequestReceived) -> None:
        """Record the request of a stream whose head has arrived. Raises ValueError if its target
        isn't a URL."""
        headers = {str(name): str(value) for name, value in event.headers or ()}
        peer = self._transport.get_extra_info("peername")
        assert event.stream_id is not None
        if event.stream_ended is None:
            self._inbound.begin(event.stream_id, event.headers or ())
        self.heads += 1
        self._requests[event.stream_id] = request_of(
            headers.get(":method", ""), headers.get(":path", ""), headers.get(":authority", ""),
            str(peer[0]) if peer else "",
            self._transport.get_extra_info("sslcontext") is not None)

    def _begin_response(self, stream: int) -> None:
        """Prepare the head of the response to a stream's request. A body is sent with it at once if
        windows and a frame have room for it. Otherwise the next _flush() sends the head, and the
        stream is queued for its body or filler, which writable() sends in turn with other streams.
        The response to HEAD is the head only."""
        request = self._requests.pop(stream)
        reply: Response = answer(request)
        if reply.length:
            self._unsent.begin(request.unsent)
        # Only small responses have a content-length. Our clients count large ones without h2.
        length = [] if reply.length else [("content-length", str(reply.total))]
        size = reply.total if request.method != "HEAD" else 0
        self._http.send_headers(stream, [
            (":status", str(reply.status)), ("content-type", reply.kind), *FOR_OTHER_ORIGINS,
            *length],
            end_stream=not size)
        if not size:
            return
        self._left[stream] = size
        if reply.body:
            self._bodies[stream] = reply.body
            if size <= min(self._http.local_flow_control_window(stream),
                           self._http.max_outbound_frame_size):
                self._send_frame(stream, size)  # at once, before the others' turns
                return
        self._stream_queue.append(stream)

    def _forget_stream(self, stream: int) -> None:
        """Forget all that is kept for a stream that has ended or was reset: its request, the bytes
        to send, and its turn."""
        self._requests.pop(stream, None)
        self._bodies.pop(stream, None)
        self._inbound.forget(stream)
        if self._left.pop(stream, None) is not None and stream in self._stream_queue:
            self._stream_queue.remove(stream)

    def _flush(self) -> None:
        """Hand the data that h2 has prepared, if any, to asyncio's transport, which sends it.
        Neither waits nor raises an error of the connection."""
        if data := self._http.data_to_send():
            self._transport.write(data)

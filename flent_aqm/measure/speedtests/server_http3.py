# SPDX-License-Identifier: GPL-3.0-or-later
"""The server of responsiveness over HTTP/3: the same answers as over HTTP/1.1 and HTTP/2. Needs
aioquic."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from aioquic.asyncio import serve as serve_quic
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.events import QuicEvent, StopSendingReceived, StreamReset

from flent_aqm.base.defaults import ED25519
from flent_aqm.measure.ndt7.certificate import self_signed_pem
from flent_aqm.measure.speedtests.endpoints import Request, answer, request_of
from flent_aqm.measure.speedtests.quic import Bulk, configuration


class Http3(Bulk):
    """A connection of a client."""

    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self._requests: dict[int, Request] = {}

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, (StreamReset, StopSendingReceived)):
            self._requests.pop(event.stream_id, None)
            self.forget(event.stream_id)
        for found in self.http.handle_event(event):
            if isinstance(found, HeadersReceived):
                headers = {name.decode(): value.decode("latin-1") for name, value in found.headers}
                self._requests[found.stream_id] = request_of(
                    headers.get(":method", ""), headers.get(":path", ""),
                    headers.get(":authority", ""), "", secure=True)
            if isinstance(found, (HeadersReceived, DataReceived)) and found.stream_ended:
                self._answer(found.stream_id)

    def _answer(self, stream: int) -> None:
        request = self._requests.pop(stream, None)
        if request is None:
            return
        given = answer(request)
        self.http.send_headers(stream, [
            (b":status", str(given.status).encode()), (b"content-type", given.kind.encode()),
            (b"content-length", str(given.total).encode())], end_stream=not given.total)
        if given.body:
            self.http.send_data(stream, given.body, end_stream=not given.length)
        if given.length:
            self.send_bulk(stream, given.length)


async def _serve(bind: str, port: int) -> None:
    asked = configuration(client=False)
    with NamedTemporaryFile() as file:
        Path(file.name).write_bytes(self_signed_pem({"server"}, ED25519))
        asked.load_cert_chain(file.name, file.name)
    await serve_quic(bind, port, configuration=asked, create_protocol=Http3)
    await asyncio.Event().wait()


def serve(port: int, bind: str = "::") -> None:
    """Serve over UDP until a signal. Raises OSError for a port that is taken."""
    asyncio.run(_serve(bind, port))

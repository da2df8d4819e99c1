# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a WebRTC call that is called: one call at a time, agreed on over TCP, and then over
UDP at the same port.

Each side sends lines of JSON: the caller how long it wants to call and its session description,
this end its own; after the call, the caller anything, this end what it knows of it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.http.webrtc import PATIENCE_S, End, as_json
from flent_aqm.measure.serve.acceptor import Client
from flent_aqm.measure.serve.loop import Loop

LONGEST_CALL_S = 600.0


class _Loop(asyncio.SelectorEventLoop):
    """Its UDP sockets have the server's port where any would do, so that a capture, or a firewall,
    finds them. aiortc has no setting for that."""

    port = 0

    async def create_datagram_endpoint(  # type: ignore[override]
            self, protocol_factory: Callable[[], asyncio.DatagramProtocol],
            local_addr: tuple[str, int] | None = None, **more: Any
            ) -> tuple[asyncio.DatagramTransport, asyncio.DatagramProtocol]:
        if local_addr is not None and not local_addr[1]:
            local_addr = (local_addr[0], self.port)
        return await super().create_datagram_endpoint(protocol_factory, local_addr, **more)


class WebRtc:
    """A Service, see acceptor.py. port: where the calls go, over UDP."""

    def __init__(self, port: int) -> None:
        def loop() -> _Loop:
            made = _Loop()
            made.port = port
            return made

        self._loop = Loop(loop)
        self._busy = False

    def load(self) -> None:
        pass  # all is there

    def take(self, client: Client) -> None:
        self._loop.adopt(client, lambda: asyncio.StreamReaderProtocol(
            asyncio.StreamReader(),
            lambda reader, writer: self._serve(client, reader, writer)))

    def stop(self) -> None:
        self._loop.stop()

    async def _serve(self, client: Client, reader: asyncio.StreamReader,
                     writer: asyncio.StreamWriter) -> None:
        """Serve one caller."""
        # One that says nothing is given up below.
        client.deadline_s = float("inf")
        try:
            if self._busy:
                writer.write(_line({"error": "another call is on"}))
                return
            self._busy = True
            try:
                await _called(reader, writer)
            # Of strangers' descriptions aiortc raises whatever comes to it.
            except Exception as fault:
                writer.write(_line({"error": str(fault)[:200] or type(fault).__name__}))
            finally:
                self._busy = False
        finally:
            writer.close()
            client.done()


async def _called(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async with asyncio.timeout(PATIENCE_S):
        requested = json.loads(await reader.readline())
    length_s = float(requested["length_s"])
    if not 0 < length_s <= LONGEST_CALL_S:
        raise BadResult(f"length_s: {length_s:g}; expected more than 0 and no more than "
                        f"{LONGEST_CALL_S:g}")
    address = str(writer.get_extra_info("sockname")[0]).removeprefix("::ffff:")
    end = End(address, length_s)
    try:
        writer.write(_line({"sdp": await end.answer(str(requested["sdp"]))}))
        _, record = await end.call()
        async with asyncio.timeout(PATIENCE_S):
            await reader.readline()
        writer.write(_line({"told": as_json(record)}))
        await writer.drain()
    finally:
        await end.close()


def _line(words: dict[str, Any]) -> bytes:
    return json.dumps(words).encode() + b"\n"

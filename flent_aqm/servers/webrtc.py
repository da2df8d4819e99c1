# SPDX-License-Identifier: GPL-3.0-or-later
"""The server's WebRTC service: answers one call at a time.

Signalling is over TCP, the call over UDP at the same port.

Both ends send lines of JSON. Before the call, the caller sends the length of the call and its
session description, and this end sends its own description. After the call, the caller sends any
line, and this end sends its records of the call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.base.json_text import json_text
from flent_aqm.servers.acceptor import Client
from flent_aqm.servers.loop import Loop
from flent_aqm.servers.protocols.webrtc import PATIENCE_S, End, as_json

LONGEST_CALL_S = 600.0


class _Loop(asyncio.SelectorEventLoop):
    """Event loop whose UDP sockets have the server's port in place of any free one, so that a
    capture or a firewall can identify them. aiortc has no setting for it.

    Attributes:
        port: the server's port, to be set before the first call. 0 for any free one.
    """

    port = 0

    async def create_datagram_endpoint(  # type: ignore[override]
            self, protocol_factory: Callable[[], asyncio.DatagramProtocol],
            local_addr: tuple[str, int] | None = None, **more: Any
            ) -> tuple[asyncio.DatagramTransport, asyncio.DatagramProtocol]:
        """Open a UDP socket as usual, but on the loop's `port` if `local_addr` has port 0. Called
        by aiortc's ICE for the address of a call."""
        if local_addr is not None and not local_addr[1]:
            local_addr = (local_addr[0], self.port)
        return await super().create_datagram_endpoint(protocol_factory, local_addr, **more)


class WebRtc:
    """The WebRTC service, which answers one call at a time. Other callers get an error meanwhile.
    See acceptor.Service. Creating it starts the thread of its event loop, which stop() ends.

    Args:
        port: UDP port of the calls.
    """

    def __init__(self, port: int) -> None:
        def loop() -> _Loop:
            """Return a new event loop whose UDP sockets have the service's port."""
            made = _Loop()
            made.port = port
            return made

        self._loop = Loop(loop)
        self._busy = False

    def load(self) -> None:
        """Do nothing: everything has been loaded."""

    def take(self, client: Client) -> None:
        """Hand a caller over to the event loop's thread, which serves it. Returns at once. Called
        by the thread that accepts."""
        self._loop.adopt(client, lambda: asyncio.StreamReaderProtocol(
            asyncio.StreamReader(),
            lambda reader, writer: self._serve(client, reader, writer)))

    def stop(self) -> None:
        """Stop the event loop, and wait up to 2 s until its thread ends. Called by another thread,
        after the connections have been ended."""
        self._loop.stop()

    async def _serve(self, client: Client, reader: asyncio.StreamReader,
                     writer: asyncio.StreamWriter) -> None:
        """Serve one caller, or send an error if another call is active. Errors of the call are sent
        to the caller, not logged. At the end, close the connection and call client.done(). The main
        thread's deadline no longer holds."""
        # _answer_call() has timeouts of its own.
        client.deadline_s = float("inf")
        try:
            if self._busy:
                writer.write(_json_line({"error": "another call is on; try again when it has "
                                                  "ended"}))
                return
            self._busy = True
            try:
                await _answer_call(reader, writer)
            # For an invalid description aiortc raises all kinds of exceptions.
            except Exception as fault:
                why = (f"nothing received for {PATIENCE_S:g} s" if isinstance(fault, TimeoutError)
                       else cause_of(fault)[:300])
                writer.write(_json_line({"error": why}))
            finally:
                self._busy = False
        finally:
            writer.close()
            client.done()


async def _answer_call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one call: exchange session descriptions, run the call, wait for one more line or the
    end of the caller's data, and send this end's records. Raises BadResult if the caller's request
    isn't JSON with `length_s` (a number) and `sdp`, if its duration or session description isn't
    valid, or if the call fails, TimeoutError if a line of the caller isn't complete after
    PATIENCE_S, OSError if the connection is broken, or any exception of aiortc."""
    async with asyncio.timeout(PATIENCE_S):
        try:
            requested = json.loads(await reader.readline())
            length_s, offer = float(requested["length_s"]), str(requested["sdp"])
        except (ValueError, LookupError, TypeError, OverflowError) as fault:
            raise BadResult(f"the request can't be read ({cause_of(fault)}); expected a line of "
                            "JSON with length_s, a number, and sdp, the session description"
                            ) from None
    if not 0 < length_s <= LONGEST_CALL_S:
        raise BadResult(f"length_s: {length_s!r}; expected more than 0 and no more than "
                        f"{LONGEST_CALL_S:g}, in s")
    address = str(writer.get_extra_info("sockname")[0]).removeprefix("::ffff:")
    end = End(address, length_s)
    try:
        writer.write(_json_line({"sdp": await end.answer(offer)}))
        _, record = await end.call()
        async with asyncio.timeout(PATIENCE_S):
            await reader.readline()
        writer.write(_json_line({"told": as_json(record)}))
        await writer.drain()
    finally:
        await end.close()


def _json_line(words: dict[str, Any]) -> bytes:
    """Return an object as a line of JSON, with its line end."""
    return json_text(words).encode() + b"\n"

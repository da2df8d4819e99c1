# SPDX-License-Identifier: GPL-3.0-or-later
"""The server of all tests over HTTP: HTTP/1.1 and HTTP/2 on one port, in cleartext or TLS.

One thread, which waits in one place: what happens first is served first, so that runs in
virtual time repeat. HTTP's grammar is h11's and h2's; what is sent when is ours.
"""

from __future__ import annotations

import asyncio
import signal
import ssl
from typing import Protocol

from flent_aqm.base.defaults import P256
from flent_aqm.measure.speedtests.server_http1 import Http1
from flent_aqm.measure.speedtests.server_http2 import PREFACE, Http2
from flent_aqm.measure.speedtests.unsent import stop_at_once

_BACKLOG = 1024


class Grammar(Protocol):
    """One of the versions of HTTP, on a connection. paused: the kernel takes no more for now."""

    paused: bool

    def received(self, data: bytes) -> None:
        """Serve what has come. Raises ValueError for what isn't HTTP."""

    def writable(self) -> None:
        """Go on sending: the kernel takes more."""


class _Connection(asyncio.Protocol):
    """Finds out which HTTP a client speaks, and passes on what happens."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._grammar: Grammar | None = None
        self._first = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        stop_at_once(transport)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        try:
            if self._grammar is None:
                self._first += data
                data = self._first
                if len(data) < len(PREFACE) and PREFACE.startswith(data):
                    return
                self._grammar = (Http2 if data.startswith(PREFACE) else Http1)(self._transport)
                self._first = b""
            self._grammar.received(data)
        except ValueError:
            self._transport.abort()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        if self._grammar is not None:
            self._grammar.paused = True

    def resume_writing(self) -> None:
        if self._grammar is not None:
            self._grammar.paused = False
            if self._transport is not None and not self._transport.is_closing():
                self._grammar.writable()


async def _serve(bind: str | None, port: int, tls_port: int | None, own_key: str) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    servers = [await loop.create_server(_Connection, bind, port, backlog=_BACKLOG)]
    if tls_port is not None:
        servers.append(await loop.create_server(
            _Connection, bind, tls_port, ssl=_context(own_key), backlog=_BACKLOG))
    await stopped.wait()
    for server in servers:
        server.close()


def _context(own_key: str) -> ssl.SSLContext:
    """Of a certificate made for this process, with a key of that kind."""
    # Imported here, because it is large and only TLS needs it.
    from flent_aqm.measure.ndt7.certificate import self_signed_context

    context = self_signed_context([], own_key)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


def serve(port: int, tls_port: int | None = None, *, bind: str | None = None,
          own_key: str = P256) -> None:
    """Serve until SIGINT or SIGTERM, on tls_port over TLS. bind: an address, None for all;
    own_key: one of OWN_KEYS. Raises OSError for a port that is taken."""
    asyncio.run(_serve(bind, port, tls_port, own_key))

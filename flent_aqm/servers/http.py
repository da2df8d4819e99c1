# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP service: all tests over HTTP/1.1 and HTTP/2 on one port, in cleartext or TLS.

h11 and h2 parse and format HTTP. This package decides what is sent when.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from flent_aqm.servers.acceptor import Client
from flent_aqm.servers.http1 import Http1
from flent_aqm.servers.http2 import PREFACE, Http2
from flent_aqm.servers.limits import IDLE_TIMEOUT_S, Credit, Flood, Held, TooLarge
from flent_aqm.servers.log import log
from flent_aqm.servers.loop import Loop
from flent_aqm.servers.protocols.watermarks import stop_at_once

_NEVER = float("inf")
# First byte of a TLS connection (RFC 8446, 5.1), which no request of HTTP begins with.
_TLS_HANDSHAKE = b"\x16"


class Grammar(Protocol):
    """Interface of the protocol of one connection, HTTP/1.1 or HTTP/2.

    Attributes:
        paused: True while the kernel accepts no more data.
        heads: number of requests whose head was complete. In HTTP/2, the connection preface counts
            as one more.
        moved: bytes of responses' content sent. In HTTP/1.1, only filler counts.
    """

    paused: bool
    heads: int
    moved: int

    @property
    def held_bytes(self) -> int:
        """Number of received bytes in memory, most of which can't be processed yet. In HTTP/2, an
        estimate: see Inbound.held_bytes in http2_bulk.py."""

    @property
    def half(self) -> int | None:
        """Number of the request head (HTTP/1.1) or frame (HTTP/2) that has arrived in part, by
        which a later call recognises it. None if there is none. The content of DATA frames doesn't
        count, nor do requests that wait for a response to an earlier one."""

    def received(self, data: bytes) -> None:
        """Process received bytes, and send responses. Raises ValueError if the bytes aren't valid
        in this version of HTTP, TooLarge (also a ValueError) if they exceed this server's limits,
        Flood (also a ValueError) if the client has used up its credit."""

    def writable(self) -> None:
        """Continue to send, because the kernel accepts data again. Raises ValueError if bytes that
        waited aren't valid in this version of HTTP, Flood (also a ValueError) if the client has
        used up its credit."""

    def refuse(self) -> None:
        """Tell the client that it has flooded the server, if the protocol has a message for it."""


class Http:
    """The HTTP service. See acceptor.Service.

    Args:
        loop: the event loop that serves the clients.
        timeout_s: seconds between two checks of a connection. It is ended if the same request is
            incomplete at two checks, or after 60 s without data.
    """

    def __init__(self, loop: Loop, timeout_s: float) -> None:
        self._loop = loop
        self._timeout_s = timeout_s
        self._held = Held()

    def load(self) -> None:
        """Do nothing: everything has been loaded."""

    def take(self, client: Client) -> None:
        """Hand a client over to the event loop's thread, which serves it. Returns at once. Called
        by the thread that accepts."""
        self._loop.adopt(client, lambda: _Connection(client, self._timeout_s, self._held))

    def stop(self) -> None:
        """Stop the event loop, and wait up to 2 s until its thread ends. Called by another thread,
        after the connections have been ended."""
        self._loop.stop()


class _Connection(asyncio.Protocol):
    """Detects the version of HTTP that a client speaks, passes events to its Grammar, and ends the
    connection if it takes too long.

    Args:
        client: the client.
        timeout_s: seconds between two checks.
        held: bytes that are kept for all connections of the service.
    """

    def __init__(self, client: Client, timeout_s: float, held: Held) -> None:
        self._client = client
        self._held = held
        self._timeout_s = timeout_s
        self._transport: asyncio.Transport | None = None
        self._grammar: Grammar | None = None
        self._first = b""
        self._credit = Credit()
        self._timer: asyncio.TimerHandle | None = None
        self._last_progress: tuple[int, int, int] = (0, 0, 0)
        self._half: int | None = None  # Grammar.half at the last call of _check_progress()
        self._idle_s = 0.0
        self._received = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to check that the connection makes progress. Called by asyncio."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        stop_at_once(transport)
        self._schedule_check()

    def data_received(self, data: bytes) -> None:
        """Detect the version of HTTP by the first bytes, and pass received bytes to the Grammar.
        After the first complete head of a request, the main thread's deadline no longer holds. End
        the connection if the bytes aren't valid HTTP or exceed the server's limits, or if the
        client or another one at its address has flooded the server. Called by asyncio."""
        self._received += len(data)
        if self._client.is_quiet:
            self._end("its address has flooded the server")
            return
        if self._grammar is None:
            self._first += data
            data = self._first
            if len(data) < len(PREFACE) and PREFACE.startswith(data):
                return
            if self._client.tls is None and data.startswith(_TLS_HANDSHAKE):
                self._end("TLS on the cleartext port; use https:// with the TLS port, or http:// "
                          "with this one")
                return
            assert self._transport is not None
            kind = Http2 if data.startswith(PREFACE) else Http1
            self._grammar = kind(self._transport, self._credit)
            self._first = b""
        try:
            self._grammar.received(data)
        except ValueError as fault:
            self._refuse(fault)
        if self._grammar.heads:
            # The main thread's deadline is only for the first request.
            self._client.deadline_s = _NEVER
        self._note_held()

    def _note_held(self) -> None:
        """Record how many bytes are kept for this connection: received ones, and those to be sent.
        If all connections together keep too much, end the connection for which most is kept. Call
        it only after the version of HTTP has been detected."""
        assert self._transport is not None
        assert self._grammar is not None
        held_bytes = self._grammar.held_bytes + self._transport.get_write_buffer_size()
        largest = self._held.note(self, 0 if self._transport.is_closing() else held_bytes)
        if isinstance(largest, _Connection):
            largest._end("the server keeps too many bytes for clients that don't read responses or "
                         "don't finish requests, most of them for this client")
            self._held.note(largest, 0)

    def eof_received(self) -> bool:
        """Return False, by which asyncio closes the connection. Called by asyncio when the client
        has ended its direction."""
        return False

    def pause_writing(self) -> None:
        """Make the Grammar send no more. Called by asyncio when the kernel accepts no more data."""
        if self._grammar is not None:
            self._grammar.paused = True

    def resume_writing(self) -> None:
        """Let the Grammar continue to send. End the connection if it raises ValueError. Called by
        asyncio when the kernel accepts data again."""
        if self._grammar is not None:
            self._grammar.paused = False
            if self._transport is not None and not self._transport.is_closing():
                try:
                    self._grammar.writable()
                except ValueError as fault:
                    self._refuse(fault)
                self._note_held()

    def connection_lost(self, exc: Exception | None) -> None:
        """Log why the connection was ended, if the server ended it, and tell the server that the
        client has been served. Called by asyncio."""
        if self._timer is not None:
            self._timer.cancel()
        self._held.note(self, 0)
        if self._client.cut_off:
            log("failed", client=self._client.address, reason=self._client.cut_off)
        self._client.done()

    def _refuse(self, fault: ValueError) -> None:
        """End the connection because of this fault. After a Flood, the client's address isn't
        served for 10 s."""
        if not isinstance(fault, Flood):
            self._end(str(fault) if isinstance(fault, TooLarge) else f"not valid HTTP: {fault}")
            return
        assert self._grammar is not None
        self._grammar.refuse()
        self._client.quiet()
        self._end(str(fault))

    def _end(self, reason: str) -> None:
        """End the connection. `reason` is for the log, in which the first reason counts."""
        self._client.cut_off = self._client.cut_off or reason
        assert self._transport is not None
        self._transport.abort()

    def _schedule_check(self) -> None:
        """Call _check_progress() once after timeout_s, unless the connection ends before."""
        self._timer = asyncio.get_running_loop().call_later(self._timeout_s, self._check_progress)

    def _check_progress(self) -> None:
        """End the connection if the same request or frame has been incomplete since the last call,
        or if no data has been transferred for 60 s, counted in steps of timeout_s. Otherwise call
        this again after timeout_s. Until the version of HTTP has been detected, nothing is checked.
        """
        assert self._transport is not None
        grammar = self._grammar
        if grammar is not None:
            half = grammar.half
            if half is not None and half == self._half:
                self._end(f"a request took too long: it is incomplete after {self._timeout_s:g} s")
                return
            self._half = half
            seen = (self._received, grammar.moved, self._transport.get_write_buffer_size())
            self._idle_s = self._idle_s + self._timeout_s if seen == self._last_progress else 0.0
            self._last_progress = seen
            if self._idle_s >= IDLE_TIMEOUT_S:
                self._end(f"no data in either direction for {IDLE_TIMEOUT_S:g} s")
                return
        self._schedule_check()

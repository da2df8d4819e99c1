# SPDX-License-Identifier: GPL-3.0-or-later
"""All tests over HTTP: HTTP/1.1 and HTTP/2 on one port, in cleartext or TLS.

HTTP's grammar is h11's and h2's; what is sent when is ours.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from flent_aqm.measure.http.unsent import stop_at_once
from flent_aqm.measure.serve.acceptor import Client
from flent_aqm.measure.serve.http1 import Http1
from flent_aqm.measure.serve.http2 import PREFACE, Http2
from flent_aqm.measure.serve.limits import IDLE_TIMEOUT_S, Credit, Flood, Held
from flent_aqm.measure.serve.log import log
from flent_aqm.measure.serve.loop import Loop

_NEVER = float("inf")


class Grammar(Protocol):
    """One of the versions of HTTP, on a connection. paused: the kernel takes no more for now;
    heads: requests whose head was whole; moved: content that was sent, in bytes."""

    paused: bool
    heads: int
    moved: int

    @property
    def held_bytes(self) -> int:
        """Return how much is kept of what has come and can't be acted upon yet, in bytes."""

    @property
    def half(self) -> int | None:
        """Return the number of what has begun to come and can't be acted upon yet, the head of
        a request or a frame; None where there is none."""

    def received(self, data: bytes) -> None:
        """Serve what has come. Raises ValueError for what isn't HTTP, and Flood."""

    def writable(self) -> None:
        """Go on: the kernel takes more. Raises as received() does."""

    def refuse(self) -> None:
        """Say that it was too much, where there is a word for it."""


class Http:
    """A Service, see acceptor.py. timeout_s: for the rest of a request that has begun."""

    def __init__(self, loop: Loop, timeout_s: float) -> None:
        self._loop = loop
        self._timeout_s = timeout_s
        self._held = Held()

    def load(self) -> None:
        pass  # all is there

    def take(self, client: Client) -> None:
        self._loop.adopt(client, lambda: _Connection(client, self._timeout_s, self._held))

    def stop(self) -> None:
        self._loop.stop()


class _Connection(asyncio.Protocol):
    """Finds out which HTTP a client speaks, passes on what happens, and ends what takes too
    long."""

    def __init__(self, client: Client, timeout_s: float, held: Held) -> None:
        self._client = client
        self._held = held
        self._timeout_s = timeout_s
        self._transport: asyncio.Transport | None = None
        self._grammar: Grammar | None = None
        self._first = b""
        self._credit = Credit()
        self._timer: asyncio.TimerHandle | None = None
        self._seen: tuple[int, int, int] = (0, 0, 0)
        self._half: int | None = None  # the request that was half there at the last look
        self._idle_s = 0.0
        self._received = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        stop_at_once(transport)
        self._look_later()

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._client.is_quiet:
            self._end("its address has flooded the server")
            return
        if self._grammar is None:
            self._first += data
            data = self._first
            if len(data) < len(PREFACE) and PREFACE.startswith(data):
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
            # The main thread's deadline is for the first one.
            self._client.deadline_s = _NEVER
        self._note_held()

    def _note_held(self) -> None:
        """End the connection for which most is held if all hold too much."""
        assert self._transport is not None
        assert self._grammar is not None
        held_bytes = self._grammar.held_bytes + self._transport.get_write_buffer_size()
        largest = self._held.note(self, 0 if self._transport.is_closing() else held_bytes)
        if isinstance(largest, _Connection):
            largest._end("the server holds too much for clients that don't read or don't go on")
            self._held.note(largest, 0)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        if self._grammar is not None:
            self._grammar.paused = True

    def resume_writing(self) -> None:
        if self._grammar is not None:
            self._grammar.paused = False
            if self._transport is not None and not self._transport.is_closing():
                try:
                    self._grammar.writable()
                except ValueError as fault:
                    self._refuse(fault)
                self._note_held()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._held.note(self, 0)
        if self._client.cut_off:
            log("failed", client=self._client.address, reason=self._client.cut_off)
        self._client.done()

    def _refuse(self, fault: ValueError) -> None:
        if not isinstance(fault, Flood):
            self._end(f"no HTTP: {fault}")
            return
        assert self._grammar is not None
        self._grammar.refuse()
        self._client.quiet()
        self._end(str(fault))

    def _end(self, reason: str) -> None:
        self._client.cut_off = self._client.cut_off or reason
        assert self._transport is not None
        self._transport.abort()

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._timeout_s, self._look)

    def _look(self) -> None:
        """End a connection whose request has been half there all the time since the last look, or
        over which nothing has gone for long."""
        assert self._transport is not None
        grammar = self._grammar
        if grammar is not None:
            half = grammar.half
            if half is not None and half == self._half:
                self._end("took too long")
                return
            self._half = half
            seen = (self._received, grammar.moved, self._transport.get_write_buffer_size())
            self._idle_s = self._idle_s + self._timeout_s if seen == self._seen else 0.0
            self._seen = seen
            if self._idle_s >= IDLE_TIMEOUT_S:
                self._end(f"nothing has gone either way for {IDLE_TIMEOUT_S:g} s")
                return
        self._look_later()

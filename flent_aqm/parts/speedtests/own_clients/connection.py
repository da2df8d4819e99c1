# SPDX-License-Identifier: GPL-3.0-or-later
"""A client's connection to the server, over HTTP/1.1 or HTTP/2: what both have in common."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.http.tls import adopt
from flent_aqm.measure.http.unsent import UnsentLimit, stop_at_once

Count = Callable[[int], None]

# No answer for so long is a server that hangs. A full queue of 10 s fits in.
PATIENCE_S = 30.0
# Answers longer than this aren't kept, only counted.
KEPT_BYTES = 65_536


@dataclass(frozen=True)
class Server:
    """Where the server is. address: as connect() takes it; secure: TLS is wanted."""

    name: str
    family: int
    address: tuple[object, ...]
    secure: bool


@dataclass
class Reply:
    """An answer. Times are monotonic, in seconds: the request went out, the first byte and
    the last one came."""

    sent_s: float
    first_s: float = 0.0
    end_s: float = 0.0
    status: int = 0
    size: int = 0
    body: bytes = b""

    @property
    def wait_ms(self) -> float:
        """From the request to the first byte of the answer."""
        return (self.first_s - self.sent_s) * 1000

    @property
    def whole_ms(self) -> float:
        """From the request to the last byte of the answer."""
        return (self.end_s - self.sent_s) * 1000


class PendingRequest:
    """A request until its answer is there. future has the reply, or a BadResult; left: bytes of
    an upload that are still to be sent."""

    def __init__(self, method: str, size: int, count: Count | None) -> None:
        self.future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.reply = Reply(time.monotonic())
        self.count = count
        self.is_upload = method == "POST"
        self.left = size

    def take(self, data: bytes) -> None:
        """Take a piece of the answer's body."""
        self.reply.size += len(data)
        if len(self.reply.body) < KEPT_BYTES:
            self.reply.body += bytes(data[:KEPT_BYTES])
        if self.count is not None and not self.is_upload:
            self.count(len(data))

    def finish(self, now_s: float) -> None:
        """The answer is whole."""
        self.reply.end_s = now_s
        if not self.future.done():
            self.future.set_result(self.reply)

    def fail(self, fault: BadResult) -> None:
        """There will be no answer, unless it is there already."""
        if not self.future.done():
            self.future.set_exception(fault)


def find_server(host: str, port: int, ip_version: int | None, secure: bool) -> Server:
    """Return the address of a server. Raises BadResult for a name that nobody knows."""
    family = {4: socket.AF_INET, 6: socket.AF_INET6}.get(ip_version or 0, socket.AF_UNSPEC)
    try:
        address = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0]
    except OSError as fault:
        raise BadResult(f"{host}: {fault.strerror or fault}") from None
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return Server(name, address[0], address[4], secure)


class Connection(ABC, asyncio.Protocol):
    """One connection. tcp_ms, tls_ms: what its handshakes took; tls_ms is None in cleartext.

    A context for `async with`, which aborts it at the end.
    """

    alpn = ""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.tcp_ms = 0.0
        self.tls_ms: float | None = None
        self.paused = False
        self.limit: UnsentLimit
        self.transport: asyncio.Transport
        self._ended = ""

    async def open(self) -> None:
        """Connect. Raises BadResult."""
        loop = asyncio.get_running_loop()
        sock = socket.socket(self.server.family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            began_s = time.monotonic()
            async with asyncio.timeout(PATIENCE_S):
                await loop.sock_connect(sock, self.server.address)
                connected_s = time.monotonic()
                await adopt(sock, self, _context(self.alpn) if self.server.secure else None)
        except (OSError, ssl.SSLError) as fault:
            sock.close()
            raise BadResult(f"no connection to {self.server.name}: {_reason(fault)}") from None
        except asyncio.CancelledError:
            sock.close()
            raise
        self.tcp_ms = (connected_s - began_s) * 1000
        if self.server.secure:
            self.tls_ms = (time.monotonic() - connected_s) * 1000

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.abort()

    def abort(self) -> None:
        """End it at once, whatever is on the way."""
        self._ended = "it was ended"
        if hasattr(self, "transport"):
            self.transport.abort()
        self.fail("it was ended")

    async def get(self, path: str, count: Count | None = None, *,
                  patience_s: float | None = PATIENCE_S) -> Reply:
        """Ask for something. count is told of each piece of it. Raises BadResult."""
        return await self._patiently(self.request("GET", path, 0, count), path, patience_s)

    async def post(self, path: str, size: int, count: Count | None = None, *,
                   patience_s: float | None = PATIENCE_S) -> Reply:
        """Send so many bytes. count is told of each piece that the kernel took. Raises
        BadResult."""
        return await self._patiently(self.request("POST", path, size, count), path, patience_s)

    async def _patiently(self, requested: asyncio.Future[Reply], path: str,
                         patience_s: float | None) -> Reply:
        try:
            async with asyncio.timeout(patience_s):
                reply = await requested
        except TimeoutError:
            raise BadResult(f"{self.server.name} gave no complete answer to {path} within "
                            f"{patience_s:g} s") from None
        if reply.status != 200:
            raise BadResult(f"{self.server.name} answers {path} with status {reply.status}; "
                            "expected 200: is it this package's server?")
        return reply

    def limit_unsent(self, requested: str) -> None:
        """Of an upload that follows, see unsent.py."""
        self.limit.begin(requested)

    @abstractmethod
    def request(self, method: str, path: str, size: int, count: Count | None
                ) -> asyncio.Future[Reply]:
        """Send a request. The future has a BadResult where the connection ends first."""

    @abstractmethod
    def fail(self, why: str) -> None:
        """Let all that is still to come fail."""

    @abstractmethod
    def fill(self) -> None:
        """Send on, as far as the kernel takes it."""

    # Below: what asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        stop_at_once(transport)
        self.limit = UnsentLimit(transport.get_extra_info("socket"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(str(exc or "the server closed it"))

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        if not self.transport.is_closing():
            self.fill()

    def broken(self, why: str) -> BadResult:
        """Return the error of a request that had no end."""
        return BadResult(f"the connection to {self.server.name} broke: {self._ended or why}")


def _reason(fault: OSError) -> str:
    """asyncio puts addresses in place of the system's words."""
    if isinstance(fault, TimeoutError):
        return f"no answer in {PATIENCE_S:g} s"
    if isinstance(fault, ssl.SSLError) or not fault.errno:
        return str(fault)
    return os.strerror(fault.errno)


_contexts: dict[str, ssl.SSLContext] = {}


def _context(alpn: str) -> ssl.SSLContext:
    """Without a check of the certificate: the lab's server has made its own."""
    if alpn not in _contexts:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols([alpn])
        _contexts[alpn] = context
    return _contexts[alpn]

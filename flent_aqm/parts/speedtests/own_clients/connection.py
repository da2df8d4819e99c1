# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the clients' connections over HTTP/1.1, HTTP/2 and HTTP/3."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.base.words import bracketed
from flent_aqm.servers.protocols.tls import adopt
from flent_aqm.servers.protocols.watermarks import UnsentLimit, stop_at_once

# Function that gets the number of bytes of each piece that was transferred.
Count = Callable[[int], None]

# Timeout of connecting and of short requests, in s. It leaves room for a full queue of 10 s.
PATIENCE_S = 30.0
# About so many bytes of a response's body are kept. Further bytes are only counted.
KEPT_BYTES = 65_536


@dataclass(frozen=True)
class ServerAddress:
    """Address of the server.

    Attributes:
        host_and_port: HOST:PORT, for the Host header and messages. An IPv6 address has brackets.
        family: socket.AF_INET or AF_INET6.
        address: the address in the form that socket.connect() takes.
        secure: True if the client shall use TLS.
    """

    host_and_port: str
    family: int
    address: tuple[object, ...]
    secure: bool

    def new_socket(self, kind: int) -> socket.socket:
        """Return a new socket of the address's family that doesn't block. kind: SOCK_STREAM or
        SOCK_DGRAM. Raises BadResult if the system refuses one, such as without IPv6."""
        try:
            sock = socket.socket(self.family, kind)
        except OSError as fault:
            raise BadResult(f"no connection to {self.host_and_port}: {cause_of(fault)}") from None
        sock.setblocking(False)
        return sock


@dataclass
class Reply:
    """A response, which is filled as it arrives. Times are in monotonic seconds, 0 until they are
    known.

    Attributes:
        sent_s: time at which the request was sent.
        first_s: time at which the response's headers arrived.
        end_s: time at which the last byte arrived.
        status: HTTP status, 0 until the headers arrived.
        size: bytes of the body that arrived.
        body: the beginning of the body, at most 64 KiB.
    """

    sent_s: float
    first_s: float = 0.0
    end_s: float = 0.0
    status: int = 0
    size: int = 0
    body: bytes = b""

    @property
    def wait_ms(self) -> float:
        """Time in ms from the request to the headers of the response. Meaningless until they have
        arrived."""
        return (self.first_s - self.sent_s) * 1000

    @property
    def whole_ms(self) -> float:
        """Time in ms from the request to the last byte of the response. Meaningless until it has
        arrived."""
        return (self.end_s - self.sent_s) * 1000


class PendingRequest:
    """A request until its response is complete. Make it when the request is sent, in a running
    event loop.

    Args:
        method: "GET" or "POST".
        size: bytes to upload, 0 without a body.
        count: function that gets the number of bytes of each piece: of the response's body for GET,
            of the upload for POST. None for none.

    Attributes:
        future: gets the Reply, or a BadResult. Cancelled if nobody waits for it any more.
        ended: set when the response is complete or the request has failed.
        reply: the response so far.
        count: the argument of the same name.
        is_upload: whether the method is POST.
        left: bytes of an upload that are still to be sent. The connection reduces it.
    """

    def __init__(self, method: str, size: int, count: Count | None) -> None:
        self.future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.ended = asyncio.Event()
        self.reply = Reply(time.monotonic())
        self.count = count
        self.is_upload = method == "POST"
        self.left = size

    def take(self, data: bytes) -> None:
        """Add a piece of the response's body to `reply`. Of the whole body only the first 64 KiB
        are kept, but all bytes are counted in its size. For a GET request, report the piece's size
        to `count`."""
        self.reply.size += len(data)
        if len(self.reply.body) < KEPT_BYTES:
            self.reply.body += bytes(data[:KEPT_BYTES - len(self.reply.body)])
        if self.count is not None and not self.is_upload:
            self.count(len(data))

    def finish(self, now_s: float) -> None:
        """Record in `reply` that the response was complete at `now_s`, in monotonic seconds. Set
        `reply` as the future's result, unless the future is done already."""
        self.reply.end_s = now_s
        self.ended.set()
        if not self.future.done():
            self.future.set_result(self.reply)

    def fail(self, fault: BadResult) -> None:
        """Set `fault` as the future's exception, unless the future is done already."""
        self.ended.set()
        if not self.future.done():
            self.future.set_exception(fault)


def find_server(host: str, port: int, ip_version: int | None, secure: bool) -> ServerAddress:
    """Resolve a server's name and return its first address.

    Args:
        host: name or address.
        port: TCP or UDP port.
        ip_version: 4 or 6, None for either.
        secure: whether the client shall use TLS.

    Raises BadResult if the name can't be resolved, or has no address of that version.
    """
    family = {4: socket.AF_INET, 6: socket.AF_INET6}.get(ip_version or 0, socket.AF_UNSPEC)
    try:
        address = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0]
    except UnicodeError:  # an empty label, or one of more than 63 characters
        raise BadResult(f"the server's name {host[:60]!r} is not a host name; check it, or give "
                        "the server's address") from None
    except OSError as fault:
        if ip_version and _version_of(host) not in (None, ip_version):
            raise BadResult(f"{host!r} is not an IPv{ip_version} address; give one, or leave out "
                            "the IP version") from None
        version = f" to an IPv{ip_version} address" if ip_version else ""
        raise BadResult(f"cannot resolve the server's name {host!r}{version}: "
                        f"{cause_of(fault)}; check the name, or give the server's address"
                        ) from None
    return ServerAddress(f"{bracketed(host)}:{port}", address[0], address[4], secure)


def _version_of(host: str) -> int | None:
    """Return 4 or 6 for an IPv4 or IPv6 address, None for a name."""
    try:
        return ipaddress.ip_address(host).version
    except ValueError:
        return None


class Connection(ABC, asyncio.Protocol):
    """Base class of connections to the server. As a context for `async with`, a connection is
    opened at the beginning, as by open(), and aborted at the end.

    Attributes:
        alpn: ALPN name of the protocol, "" if the class names none.
        server: address of the server.
        tcp_ms: duration of the TCP handshake (HTTP/3: QUIC handshake), 0 until the connection is
            open.
        tls_ms: duration of the TLS handshake, None in cleartext, with HTTP/3, and until the
            connection is open.
        paused: True while asyncio's write buffer is full. Always False with HTTP/3.
        limit: limit of unsent bytes in the kernel, not there until the connection is open, and
            never with HTTP/3.
        transport: asyncio's transport, likewise.
    """

    alpn = ""

    def __init__(self, server: ServerAddress) -> None:
        self.server = server
        self.tcp_ms = 0.0
        self.tls_ms: float | None = None
        self.paused = False
        self.limit: UnsentLimit
        self.transport: asyncio.Transport
        self._ended = ""

    async def open(self) -> None:
        """Connect, with TLS if the server is secure, and set tcp_ms and, with TLS, tls_ms, which is
        None otherwise. Raises BadResult if that fails or takes longer than 30 s."""
        loop = asyncio.get_running_loop()
        sock = self.server.new_socket(socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected_s = 0.0
        try:
            began_s = time.monotonic()
            async with asyncio.timeout(PATIENCE_S):
                await loop.sock_connect(sock, self.server.address)
                connected_s = time.monotonic()
                await adopt(sock, self, _context(self.alpn) if self.server.secure else None)
        except (OSError, ssl.SSLError) as fault:
            sock.close()
            hint = ("; does the server use TLS?" if connected_s else
                    serves_hint(fault, "flent-aqm serve"))
            raise BadResult(f"no connection to {self.server.host_and_port}: "
                            f"{why_not_open(fault)}{hint}") from None
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
        """Close the connection at once. Requests that are under way fail with BadResult."""
        self._ended = "this client closed it"
        if hasattr(self, "transport"):
            self.transport.abort()
        self.fail(self._ended)

    async def until_free(self) -> None:
        """Wait until a request can be sent, which is at once with HTTP/2 and HTTP/3. With HTTP/1.1
        the response to a request whose caller was cancelled has to be complete, or the connection
        to have ended."""

    async def get(self, path: str, count: Count | None = None, *,
                  patience_s: float | None = PATIENCE_S) -> Reply:
        """Send a GET request on the open connection, and return the response when it is complete.
        Of a body longer than 64 KiB only the beginning is kept.

        Args:
            path: path and query.
            count: called with the number of bytes of each piece of the response's body, None for
                none.
            patience_s: greatest time from the request to its complete response, None for no limit.

        Raises BadResult if the connection breaks, the time runs out, or the status isn't 200.
        """
        return await self._await_response(self.request("GET", path, 0, count), path, patience_s)

    async def post(self, path: str, size: int, count: Count | None = None, *,
                   patience_s: float | None = PATIENCE_S) -> Reply:
        """Upload `size` bytes of filler in a POST request on the open connection, and return the
        complete response.

        Args:
            path: path and query.
            size: number of bytes.
            count: called with the number of bytes of each piece that was sent, None for none. With
                HTTP/1.1 the kernel has taken them. With HTTP/2 and HTTP/3 they may still be in
                asyncio's or aioquic's buffer, which is small.
            patience_s: greatest time from the request to its complete response, None for no limit.

        Raises BadResult if the connection breaks, the time runs out, or the status isn't 200.
        """
        return await self._await_response(self.request("POST", path, size, count), path,
                                          patience_s)

    async def _await_response(self, response: asyncio.Future[Reply], path: str,
                              patience_s: float | None) -> Reply:
        """Wait for the response and return it.

        Args:
            response: the future of the response, which may raise BadResult.
            path: path of the request, for messages.
            patience_s: timeout, None for none.

        Raises BadResult on timeout, if the status isn't 200, or if the connection breaks.
        """
        try:
            async with asyncio.timeout(patience_s):
                reply = await response
        except TimeoutError:
            raise BadResult(f"the server {self.server.host_and_port} sent no complete response to "
                            f"{path} within {patience_s:g} s") from None
        if reply.status != 200:
            raise BadResult(f"the server {self.server.host_and_port} answers {path} with HTTP "
                            f"status {reply.status}; expected 200: is it `flent-aqm serve`?")
        return reply

    def limit_unsent(self, requested: str) -> None:
        """Limit the unsent bytes in the kernel for the uploads that follow. The connection must be
        open. Once there is a limit, further calls do nothing. HTTP/3 connections ignore it.

        Args:
            requested: "draft" (5 ms at the connection's rate), "kernel" (no limit) or a number of
                bytes as text. Both limits are at least 1448 bytes.

        Raises ValueError for another text.
        """
        self.limit.begin(requested)

    @abstractmethod
    def request(self, method: str, path: str, size: int, count: Count | None
                ) -> asyncio.Future[Reply]:
        """Send a request on the open connection. Return a future of the response, whatever its
        status. The future gets a BadResult if, before the response is complete, the connection
        ends, the server resets the request, or it sends something that isn't HTTP.

        Args:
            method: "GET" or "POST".
            path: path and query.
            size: bytes of filler to upload, 0 without a body.
            count: called with the number of bytes of each piece, of the response's body for GET, of
                the upload for POST. None for none.
        """

    @abstractmethod
    def fail(self, why: str) -> None:
        """Let all requests that are under way fail with a BadResult, whose message gives the reason
        `why`, or the one that was recorded before, see broken()."""

    @abstractmethod
    def fill(self) -> None:
        """Send further bytes of uploads, as many as the kernel takes now and the protocol allows.
        Called when asyncio's write buffer has room again. A subclass calls it itself when an upload
        begins and, if its protocol has flow control, when the server may have allowed more. Does
        nothing with HTTP/3, where aioquic goes on sending by itself."""

    # The methods below are called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio when the connection is open: keep the transport, and let asyncio pause
        writing as soon as the kernel takes no more. The kernel's own limit of unsent bytes is off
        until limit_unsent()."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        stop_at_once(transport)
        self.limit = UnsentLimit(transport.get_extra_info("socket"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio when the connection has ended: let all requests that are under way fail
        with BadResult."""
        self.fail(cause_of(exc) if exc else "the server closed it")

    def pause_writing(self) -> None:
        """Called by asyncio when its write buffer is full: stop sending."""
        self.paused = True

    def resume_writing(self) -> None:
        """Called by asyncio when its write buffer has room again: go on sending, unless the
        connection is being closed."""
        self.paused = False
        if not self.transport.is_closing():
            self.fill()

    def broken(self, why: str) -> BadResult:
        """Return the error for requests without a complete response. `why`: the reason that the
        message gives, unless another one was recorded before, such as that this client closed the
        connection."""
        return BadResult(f"the connection to {self.server.host_and_port} broke: "
                         f"{self._ended or why}")


def why_not_open(fault: OSError) -> str:
    """Return the cause of an error while connecting, in words: for a timeout of PATIENCE_S that
    there was no answer, for a TLS error and others without an error number their text, without one
    that the connection ended during the TLS handshake, otherwise the system's words. Addresses that
    asyncio puts into an error's text are left out."""
    if isinstance(fault, TimeoutError) and not fault.errno:
        return f"no answer within {PATIENCE_S:g} s"
    if isinstance(fault, ssl.SSLError) or not fault.errno:
        # asyncio's error has no text if the server ends the connection before the handshake has.
        return str(fault) or "the server closed the connection during the TLS handshake"
    return os.strerror(fault.errno)


def serves_hint(fault: OSError, command: str) -> str:
    """Return the end of a message about a connection that could not be opened, "; does `COMMAND`
    run there?", if nobody listens or answers. "" after other errors, such as that of a missing
    route."""
    return (f"; does `{command}` run there?"
            if isinstance(fault, ConnectionRefusedError | TimeoutError) else "")


_contexts: dict[str, ssl.SSLContext] = {}


def _context(alpn: str) -> ssl.SSLContext:
    """Return the TLS context for this ALPN protocol. It accepts any certificate, because the lab's
    server makes its own."""
    if alpn not in _contexts:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols([alpn])
        _contexts[alpn] = context
    return _contexts[alpn]

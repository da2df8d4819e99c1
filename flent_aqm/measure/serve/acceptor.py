# SPDX-License-Identifier: GPL-3.0-or-later
"""Accepting, cutting off what takes too long, and stopping.

The main thread does these; what a client gets is a Service's business, on other threads.
"""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from flent_aqm.base.errors import AqmError
from flent_aqm.measure.serve.limits import (
    MOST_CONNECTIONS,
    MOST_HANDSHAKES,
    REQUEST_TIMEOUT_S,
    Quiet,
)
from flent_aqm.measure.serve.log import log

if TYPE_CHECKING:
    import ssl

    # Gives the context of connections through TLS, the same each time, from any thread.
    TlsSource = Callable[[], ssl.SSLContext]

# How long no client is accepted after one could not be: what it lacked takes a while to come
# back, and the listening sockets would wake us all that time.
_PAUSE_S = 0.5
_LACKING = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

# Threads that don't notice the end of their connection by then are left behind.
STOP_TIMEOUT_S = 2.0


class Service(Protocol):
    """What clients of some of the listening sockets want."""

    def load(self) -> None:
        """Have all that a client needs before there is one, while there are descriptors for
        it. Raises ImportError, OSError, AqmError."""

    def take(self, client: Client) -> None:
        """Serve a client on another thread, and call its done() at the end. Raises OSError,
        RuntimeError where there can't be one."""

    def stop(self) -> None:
        """End what is left."""


class Listener(NamedTuple):
    """A listening socket. tls: of its connections, None in cleartext."""

    sock: socket.socket
    service: Service
    tls: TlsSource | None


class Client:
    """One accepted connection, shared by the main thread and the one that serves it.

    deadline_s: when the main thread ends it. Only ever moved to later: serve() waits for the
    first one that it knows of. in_handshake: the one of TLS isn't done.
    """

    def __init__(self, sock: socket.socket, tls: TlsSource | None, server: Server,
                 timeout_s: float) -> None:
        self.sock = sock
        self.tls = tls
        self.in_handshake = tls is not None
        self.host = str(sock.getpeername()[0])
        self.address = address_text(sock.getpeername())
        self.server_address = address_text(sock.getsockname())
        self.deadline_s = time.monotonic() + timeout_s
        self.cut_off = ""  # why the main thread ended it, if it did
        self.thread: threading.Thread | None = None
        self._server = server

    def end(self, reason: str) -> None:
        """Wake its thread from whatever system call it waits in."""
        self.cut_off = self.cut_off or reason
        self.in_handshake = False
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended by itself

    def done(self) -> None:
        """It is served. From any thread; more than once does no harm."""
        self._server.forget(self)

    @property
    def is_quiet(self) -> bool:
        """Whether nobody at its address is served for now."""
        return self.host in self._server.quiet

    def quiet(self) -> None:
        """Serve nobody at its address for a while."""
        self._server.quiet.add(self.host)


class Server:
    """Serves until stop() or a signal. Listening sockets are closed at the end."""

    def __init__(self, listeners: Sequence[Listener], services: Sequence[Service], *,
                 quiet: Quiet, most_connections: int = MOST_CONNECTIONS,
                 request_timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self._listeners = {one.sock.fileno(): one for one in listeners}
        self._services = services
        self._most = most_connections
        self._timeout_s = request_timeout_s
        self._clients: dict[Client, None] = {}  # the oldest first
        self.quiet = quiet
        self._paused_until_s: float | None = None
        self._lock = threading.Lock()
        self._wake_read, self._wake_write = os.pipe()
        self._stopping = False

    def stop(self) -> None:
        """Make serve() return; fit for signal handlers and other threads."""
        self._stopping = True
        self._wake()

    def stop_on_signals(self) -> None:
        """SIGTERM and SIGINT stop this server."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())

    def forget(self, client: Client) -> None:
        """A client is served; the next one may come."""
        with self._lock:
            full = len(self._clients) >= self._most
            self._clients.pop(client, None)
        if full:
            self._wake()

    def serve(self, addresses: Mapping[str, Sequence[str]]) -> None:
        """Accept clients until stop(). addresses: what is said to be served, and where."""
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        self._listen(poll, True)
        allow_many_descriptors()
        log("listening", **addresses)
        try:
            while not self._stopping:
                ready = [number for number, _ in poll.poll(self._wait_ms())]
                if self._wake_read in ready:
                    ready.remove(self._wake_read)
                    os.read(self._wake_read, 1 << 10)
                for number in ready:
                    if not self._accept(self._listeners[number]):
                        self._pause(poll)
                        break
                self._go_on(poll)
                self._cut_off_late()
        finally:
            self._close()

    def _wake(self) -> None:
        try:
            os.write(self._wake_write, b"x")
        except OSError:
            pass  # it has stopped already

    def _listen(self, poll: select.poll, on: bool) -> None:
        for number in self._listeners:
            poll.register(number, select.POLLIN if on else 0)

    def _pause(self, poll: select.poll) -> None:
        self._listen(poll, False)
        self._paused_until_s = time.monotonic() + _PAUSE_S

    def _go_on(self, poll: select.poll) -> None:
        """Listen again where a pause is over, and there is room for a client."""
        if self._paused_until_s is None:
            return
        with self._lock:
            full = len(self._clients) >= self._most
        if not full and time.monotonic() >= self._paused_until_s:
            self._listen(poll, True)
            self._paused_until_s = None

    def _accept(self, listener: Listener) -> bool:
        """Accept a client and have it served; False where the process lacks what that takes."""
        try:
            not_loaded = _load(listener)
            sock, _ = listener.sock.accept()
        except OSError as error:
            if error.errno not in _LACKING:
                return True  # the client has gone already
            with self._lock:
                clients = len(self._clients)
            log("failed", reason=f"accept: {error}", clients=clients)
            return False
        if not_loaded:
            log("failed", reason=f"can't serve anybody: {not_loaded}")
            sock.close()
            return True
        client = None
        try:
            client = Client(sock, listener.tls, self, self._timeout_s)
            if client.host in self.quiet:
                sock.close()
                return True
            with self._lock:
                self._clients[client] = None
                full = len(self._clients) >= self._most
                unfinished = [one for one in self._clients if one.in_handshake]
            if len(unfinished) > MOST_HANDSHAKES:
                unfinished[0].end(f"{MOST_HANDSHAKES} TLS handshakes have begun since")
            listener.service.take(client)
        except (OSError, RuntimeError) as error:
            log("failed", reason=f"could not start a test: {error}")
            if client is not None:
                client.done()
            sock.close()
            return not isinstance(error, RuntimeError)  # no more threads
        if full:
            log("failed", reason=f"{self._most} connections; others wait until one ends")
        return not full

    def _wait_ms(self) -> float | None:
        """Time until the first deadline, or the end of a pause; None when there is neither."""
        with self._lock:
            times = [client.deadline_s for client in self._clients]
            full = len(self._clients) >= self._most
        if self._paused_until_s is not None and not full:
            times.append(self._paused_until_s)
        first_s = min(times, default=float("inf"))
        if first_s == float("inf"):
            return None
        return max(0.0, (first_s - time.monotonic()) * 1000) + 1

    def _cut_off_late(self) -> None:
        now_s = time.monotonic()
        with self._lock:
            late = [client for client in self._clients if client.deadline_s <= now_s]
        for client in late:
            client.end("took too long")
            # Its thread ends now, but not at once: don't wake up for it again and again.
            client.deadline_s = now_s + STOP_TIMEOUT_S

    def _close(self) -> None:
        for listener in self._listeners.values():
            listener.sock.close()
        with self._lock:
            clients = list(self._clients)
        for client in clients:
            client.end("the server was stopped")
        end_s = time.monotonic() + STOP_TIMEOUT_S
        for client in clients:
            if client.thread is not None:
                client.thread.join(max(0.0, end_s - time.monotonic()))
        for service in self._services:
            service.stop()
        os.close(self._wake_read)
        os.close(self._wake_write)
        log("stopped", interrupted=len(clients))


def _load(listener: Listener) -> str:
    """Have all that a client takes; why that can't be had, or ""."""
    try:
        listener.service.load()
        if listener.tls is not None:
            listener.tls()
    except (ImportError, OSError, AqmError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def allow_many_descriptors() -> None:
    """Take as many as the administrator allows: what a process begins with is meant for
    programs that use select()."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (OSError, ValueError):
        pass  # it stays as it was


def address_text(name: Sequence[object]) -> str:
    """ADDRESS:PORT, with [] around an IPv6 address, as the specification writes it."""
    host, port = str(name[0]), name[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

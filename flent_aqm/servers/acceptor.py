# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens the server's listening sockets, accepts clients, and ends those that take too long."""

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

from flent_aqm.base.errors import AqmError, ConfigError, cause_of
from flent_aqm.base.words import bracketed
from flent_aqm.servers.limits import (
    MOST_CONNECTIONS,
    MOST_HANDSHAKES,
    REQUEST_TIMEOUT_S,
    Quiet,
)
from flent_aqm.servers.log import log

if TYPE_CHECKING:
    import ssl
    TlsSource = Callable[[], ssl.SSLContext]

# One socket for each family, so that an IPv4 client has its IPv4 address.
EVERYWHERE = ("0.0.0.0", "::")
_BACKLOG = 1024
# Those below are root's.
_FIRST_FREE_PORT = 1024


def listen(addresses: Sequence[str], port: int, option: str,
           kind: socket.SocketKind = socket.SOCK_STREAM) -> list[socket.socket]:
    """Return listening sockets on these addresses, or on all addresses of this machine if the list
    is empty. Sockets of UDP receive from then on.

    Args:
        addresses: IPv4 or IPv6 addresses to listen on.
        port: port of all sockets. 0 for any free port, the same for all addresses.
        option: name of the option for the port, for messages.
        kind: SOCK_STREAM for TCP, SOCK_DGRAM for UDP.

    Raises:
        ConfigError: if a socket can't be opened. If the list is empty, a family of addresses that
            this machine lacks is left out, unless it lacks both.
    """
    sockets: list[socket.socket] = []
    missing = ""  # why a family can't be used
    named = "UDP port" if kind == socket.SOCK_DGRAM else "port"
    try:
        for address in addresses or EVERYWHERE:
            try:
                sockets.append(_open_listening(address, port, kind))
            except (OSError, UnicodeError) as error:
                if not addresses and isinstance(error, OSError) and error.errno in (
                        errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                    missing = cause_of(error)
                    continue  # a machine without one of the two families
                raise ConfigError(
                    f"cannot listen on {address[:100]} {named} {port}: {cause_of(error)}; "
                    f"{_how_to_listen(error, port, option)}") from None
            port = port or sockets[0].getsockname()[1]
    except ConfigError:
        for sock in sockets:
            sock.close()
        raise
    if not sockets:
        raise ConfigError(f"cannot listen: neither IPv4 nor IPv6 can be used here ({missing}); "
                          "leave the sandbox or container that forbids it, such as by systemd's "
                          "RestrictAddressFamilies")
    return sockets


def _how_to_listen(error: Exception, port: int, option: str) -> str:
    """Return what a user can do about an error of _open_listening().

    Args:
        error: the error.
        port: the port that was to be opened.
        option: name of the option for the port.
    """
    number = error.errno if isinstance(error, OSError) else None
    if number in _LACKING:
        return "end other programs, or raise this limit"
    if isinstance(error, socket.gaierror | UnicodeError) or number == errno.EADDRNOTAVAIL:
        return "give an address of this machine with --bind"
    if number == errno.EACCES and 0 < port < _FIRST_FREE_PORT:
        return f"choose a port from {_FIRST_FREE_PORT} with {option}, or start the server as root"
    return f"choose another port with {option}, or address with --bind"


def _open_listening(address: str, port: int, kind: socket.SocketKind) -> socket.socket:
    """Return a listening socket of TCP or UDP on one address. Port 0 takes any free port. Raises
    OSError if the address or port can't be used, UnicodeError if the address can't be encoded as a
    host name."""
    family, _, protocol, _, name = socket.getaddrinfo(
        address, port, type=kind, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, kind, protocol)
    try:
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if kind == socket.SOCK_STREAM:  # in UDP, two servers could share a port by it
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(name)
        if kind == socket.SOCK_STREAM:
            sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


# Seconds for which no client is accepted after accepting failed for lack of a resource. The
# resource takes a while to become free, and the listening sockets would wake the thread all that
# time.
_PAUSE_S = 0.5
# Errors of accept() that mean a lack of descriptors or memory.
_LACKING = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

# Seconds that threads have to notice the end of their connections. Others are left behind.
STOP_TIMEOUT_S = 2.0


class Service(Protocol):
    """Interface of a service: serves the clients of some of the listening sockets."""

    def load(self) -> None:
        """Load all that is needed to serve a client, while there are file descriptors for it.
        Called before each client is accepted, so further calls should be cheap. Raises ImportError,
        OSError or AqmError if something can't be loaded."""

    def take(self, client: Client) -> None:
        """Let another thread serve a client, which calls client.done() at the end. Return at once.
        Raises RuntimeError if no thread can be started, ImportError or OSError if this client can't
        be served."""

    def stop(self) -> None:
        """Stop the service's threads that don't end with their connections, such as that of an
        event loop, and wait up to 2 s for their end. Called by the thread that accepts, after the
        connections have been ended."""


class Listener(NamedTuple):
    """A listening socket and its service.

    Attributes:
        sock: the socket.
        service: serves the socket's clients.
        tls: returns the TLS context of its connections. None for cleartext.
    """

    sock: socket.socket
    service: Service
    tls: TlsSource | None


class Client:
    """One accepted connection, shared by the main thread and the thread that serves it. Creating it
    raises OSError if the client has disconnected already.

    Args:
        server: the Acceptor that accepted the connection.
        timeout_s: seconds from now to the first deadline.

    Attributes:
        sock: the connected socket.
        tls: returns the TLS context, None for cleartext.
        in_handshake: True until the TLS handshake is complete or end() is called. False for
            cleartext.
        host: address of the client.
        address: ADDRESS:PORT of the client.
        server_address: ADDRESS:PORT of the server's end.
        deadline_s: time on the monotonic clock at which the main thread ends the connection. It
            must only be moved to later, because serve() waits for the earliest deadline that it
            knows.
        cut_off: reason for which the server ended the connection, in the main thread or in the one
            that serves the client. "" if it did not.
        thread: thread that serves the client, None if the service has no thread per client.
    """

    def __init__(self, sock: socket.socket, tls: TlsSource | None, server: Acceptor,
                 timeout_s: float) -> None:
        self.sock = sock
        self.tls = tls
        self.in_handshake = tls is not None
        self.host = str(sock.getpeername()[0])
        self.address = address_text(sock.getpeername())
        self.server_address = address_text(sock.getsockname())
        self.deadline_s = time.monotonic() + timeout_s
        self.cut_off = ""
        self.thread: threading.Thread | None = None
        self._server = server

    def end(self, reason: str) -> None:
        """Shut the connection down, which wakes its thread from any system call. `reason` is for
        the log. The first reason is kept."""
        self.cut_off = self.cut_off or reason
        self.in_handshake = False
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the connection has ended already

    def done(self) -> None:
        """Tell the server that the client has been served, so that another may be accepted. Any
        thread may call it, more than once."""
        self._server.forget(self)

    @property
    def is_quiet(self) -> bool:
        """True if clients at this address are currently not served, because one of them flooded the
        server."""
        return self.host in self._server.quiet

    def quiet(self) -> None:
        """Let the server accept no client at this address for 10 s. Connections that are already
        open aren't ended here. HTTP ends those on which data arrive meanwhile."""
        self._server.quiet.add(self.host)


class Acceptor:
    """Accepts clients and lets the services serve them, from serve() until stop(). Signals stop it
    only after stop_on_signals().

    Args:
        listeners: the listening sockets with their services.
        services: all services, which are stopped at the end.
        quiet: addresses that are not served at the moment.
        most_connections: largest number of clients at once, of all services together. Others wait
            in the kernel. Clients of HTTP/3 don't count.
        request_timeout_s: seconds from accepting a client to its first deadline.
    """

    def __init__(self, listeners: Sequence[Listener], services: Sequence[Service], *,
                 quiet: Quiet, most_connections: int = MOST_CONNECTIONS,
                 request_timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self._listeners = {listener.sock.fileno(): listener for listener in listeners}
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
        """Make serve() return, at once if it is called later. Signal handlers and other threads may
        call this, more than once."""
        self._stopping = True
        self._wake()

    def stop_on_signals(self) -> None:
        """Stop this server at SIGTERM and SIGINT from now on. Call it in the process's main
        thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())

    def forget(self, client: Client) -> None:
        """Forget a client that has been served, so that the next one may be accepted."""
        with self._lock:
            full = len(self._clients) >= self._most
            self._clients.pop(client, None)
        if full:
            self._wake()

    def serve(self, addresses: Mapping[str, Sequence[str]]) -> None:
        """Accept clients until stop(), in this thread. Then close the listening sockets, end all
        connections, wait up to 2 s for the threads that serve them, and stop the services. Call it
        once. The process's limit of file descriptors stays raised.

        Args:
            addresses: name of each port -> its addresses, for the log.
        """
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        self._poll_listeners(poll, True)
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
                        self._pause_accepting(poll)
                        break
                self._resume_accepting(poll)
                self._end_overdue()
        finally:
            self._close()

    def _wake(self) -> None:
        """Wake the main thread from poll()."""
        try:
            os.write(self._wake_write, b"x")
        except OSError:
            pass  # the server has stopped already

    def _poll_listeners(self, poll: select.poll, on: bool) -> None:
        """Switch polling of the listening sockets on or off.

        Args:
            on: True to wait for clients.
        """
        for number in self._listeners:
            poll.register(number, select.POLLIN if on else 0)

    def _pause_accepting(self, poll: select.poll) -> None:
        """Stop accepting clients for at least _PAUSE_S seconds. _resume_accepting() ends the
        pause."""
        self._poll_listeners(poll, False)
        self._paused_until_s = time.monotonic() + _PAUSE_S

    def _resume_accepting(self, poll: select.poll) -> None:
        """Accept clients again if a pause is over and there is room for a client. Otherwise do
        nothing."""
        if self._paused_until_s is None:
            return
        with self._lock:
            full = len(self._clients) >= self._most
        if not full and time.monotonic() >= self._paused_until_s:
            self._poll_listeners(poll, True)
            self._paused_until_s = None

    def _accept(self, listener: Listener) -> bool:
        """Accept a client and pass it to its service. Return False if accepting has to pause,
        because the process lacks descriptors, memory or threads, or has the largest number of
        clients. Otherwise return True, also if this client isn't served.

        If more than MOST_HANDSHAKES connections are in their TLS handshake, the oldest of them is
        ended. Failures are logged, but not that a client disconnected before it could be accepted,
        or that its address isn't served.
        """
        try:
            not_loaded = _load_service(listener)
            sock, _ = listener.sock.accept()
        except OSError as error:
            if error.errno not in _LACKING:
                return True  # the client has disconnected already
            with self._lock:
                clients = len(self._clients)
            log("failed", reason=f"can't accept a client: {error}", clients=clients)
            return False
        if not_loaded:
            log("failed", reason=f"can't serve any client: {not_loaded}")
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
        except (ImportError, OSError, RuntimeError) as error:
            log("failed", reason=f"can't serve this client: {error}")
            if client is not None:
                client.done()
            sock.close()
            return not isinstance(error, RuntimeError)  # no more threads
        if full:
            log("failed", reason=f"{self._most} connections are open, the most that "
                                 "--most-connections allows; further ones wait until one ends")
        return not full

    def _wait_ms(self) -> float | None:
        """Return the time in ms for which serve() may wait: until 1 ms after the earliest deadline
        of a client or the end of a pause, whichever comes first. 1 if that has passed. None if
        there is neither. A pause counts only if there is room for a client."""
        with self._lock:
            times = [client.deadline_s for client in self._clients]
            full = len(self._clients) >= self._most
        if self._paused_until_s is not None and not full:
            times.append(self._paused_until_s)
        first_s = min(times, default=float("inf"))
        if first_s == float("inf"):
            return None
        return max(0.0, (first_s - time.monotonic()) * 1000) + 1

    def _end_overdue(self) -> None:
        """End connections whose deadline has passed. Their deadline is moved to 2 s from now, so
        that the main thread doesn't wake up for them while their threads end."""
        now_s = time.monotonic()
        with self._lock:
            late = [client for client in self._clients if client.deadline_s <= now_s]
        for client in late:
            client.end("its handshake, first request or test took too long")
            # The thread takes a while to end. Without a new deadline, the main thread would wake up
            # for it all that time.
            client.deadline_s = now_s + STOP_TIMEOUT_S

    def _close(self) -> None:
        """Close the listening sockets, end all connections and stop the services. Threads that
        don't end within STOP_TIMEOUT_S are left behind."""
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


def _load_service(listener: Listener) -> str:
    """Import the modules of the listener's service, and read or make its TLS certificate if it uses
    TLS. Called before each client is accepted. After a call that succeeded, further calls do
    nothing. Return "", or the reason if that failed."""
    try:
        listener.service.load()
        if listener.tls is not None:
            listener.tls()
    except (ImportError, OSError, AqmError) as error:
        return str(error) or type(error).__name__
    return ""


def allow_many_descriptors() -> None:
    """Raise this process's soft limit of file descriptors to its hard limit, which the
    administrator sets. The default is meant for programs that use select(). If the system refuses,
    the limit stays as it was."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (OSError, ValueError):
        pass  # the limit stays as it was


def address_text(name: Sequence[object]) -> str:
    """Return ADDRESS:PORT, with [] around an IPv6 address, as ndt7's specification requires.

    Args:
        name: address of a socket: host, port, and for IPv6 more.
    """
    return f"{bracketed(str(name[0]))}:{name[1]}"

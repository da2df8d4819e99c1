# SPDX-License-Identifier: GPL-3.0-or-later
"""Listening, accepting, cutting off what takes too long, and stopping.

The main thread does these; each connection has a thread of its own (connection.py).
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
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from flent_aqm.base.errors import AqmError
from flent_aqm.measure.ndt7.log import log
from flent_aqm.measure.ndt7.spec import CUT_OFF_AFTER_END_S, HANDSHAKE_TIMEOUT_S, Settings

if TYPE_CHECKING:
    import ssl

    # Gives the context of connections through TLS, the same each time, from any thread.
    TlsSource = Callable[[], ssl.SSLContext]

# How long no client is accepted after one could not be: what it lacked takes a while to come
# back, and the listening sockets would wake us all that time.
_PAUSE_S = 0.5
_LACKING = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

# Threads that don't notice the end of their connection by then are left behind.
_STOP_TIMEOUT_S = 2.0


class Client:
    """One accepted connection, shared by its own thread and the main thread."""

    def __init__(
        self, sock: socket.socket, settings: Settings, tls: TlsSource | None, prefix: str
    ) -> None:
        self.sock = sock
        self.settings = settings
        self.tls = tls
        self.uuid_prefix = prefix
        self.address = address_text(sock.getpeername())
        self.server_address = address_text(sock.getsockname())
        # Only ever moved to later: serve() waits for the first one that it knows of.
        longest_s = min(HANDSHAKE_TIMEOUT_S, settings.duration_s + CUT_OFF_AFTER_END_S)
        self.deadline_s = time.monotonic() + longest_s
        self.cut_off = ""  # why the main thread ended it, if it did
        self.thread: threading.Thread | None = None

    def end(self, reason: str) -> None:
        """Wake its thread from whatever system call it waits in."""
        self.cut_off = self.cut_off or reason
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended by itself


class Server:
    """Serves until stop() or a signal. Listening sockets are closed at the end."""

    def __init__(
        self,
        plain: Sequence[socket.socket],
        secure: Sequence[socket.socket],
        tls: TlsSource | None,
        settings: Settings,
    ) -> None:
        self._listeners = {
            **{sock.fileno(): (sock, None) for sock in plain},
            **{sock.fileno(): (sock, tls) for sock in secure},
        }
        self._settings = settings
        # Unique together with a socket's cookie, which starts anew at each boot.
        self._uuid_prefix = f"{socket.gethostname()}_{int(time.time())}"
        self._clients: set[Client] = set()
        self._serve: Callable[[Client], None] | None = None
        self._paused_until_s: float | None = None
        self._lock = threading.Lock()
        self._wake_read, self._wake_write = os.pipe()
        self._addresses = {
            "cleartext": [address_text(sock.getsockname()) for sock in plain],
            "tls": [address_text(sock.getsockname()) for sock in secure],
        }

    def stop(self) -> None:
        """Make serve() return; fit for signal handlers and other threads."""
        try:
            os.write(self._wake_write, b"x")
        except OSError:
            pass  # it has stopped already

    def stop_on_signals(self) -> None:
        """SIGTERM and SIGINT stop this server."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())

    def serve(self) -> None:
        """Accept clients until stop()."""
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        self._listen(poll, True)
        _allow_many_descriptors()
        log("listening", **self._addresses)
        try:
            while True:
                ready = [number for number, _ in poll.poll(self._wait_ms())]
                if self._wake_read in ready:
                    return
                for number in ready:
                    if not self._accept(*self._listeners[number]):
                        self._listen(poll, False)
                        self._paused_until_s = time.monotonic() + _PAUSE_S
                        break
                if self._paused_until_s is not None and time.monotonic() >= self._paused_until_s:
                    self._listen(poll, True)
                    self._paused_until_s = None
                self._cut_off_late()
        finally:
            self._close()

    def _listen(self, poll: select.poll, on: bool) -> None:
        for number in self._listeners:
            poll.register(number, select.POLLIN if on else 0)

    def _accept(self, listener: socket.socket, tls: TlsSource | None) -> bool:
        """Accept a client and start its thread; False where the process lacks what that takes."""
        try:
            not_loaded = self._load(tls)
            sock, _ = listener.accept()
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
        try:
            client = Client(sock, self._settings, tls, self._uuid_prefix)
            thread = threading.Thread(target=self._run, args=(client,), daemon=True)
            client.thread = thread
            with self._lock:
                self._clients.add(client)
            thread.start()
        except (OSError, RuntimeError) as error:
            log("failed", reason=f"could not start a test: {error}")
            with self._lock:
                self._clients = {one for one in self._clients if one.sock is not sock}
            sock.close()
            return not isinstance(error, RuntimeError)  # no more threads
        return True

    def _load(self, tls: TlsSource | None) -> str:
        """Have all that a client's thread needs before there is a client, while there are
        descriptors for it. Return why that can't be had, or "".

        Not at the start: importing websockets takes longer than all else that a start does,
        making a certificate as well, and a lab starts this server also for runs without NDT7.
        """
        try:
            if self._serve is None:
                from flent_aqm.measure.ndt7.connection import serve

                self._serve = serve
            if tls is not None:
                import flent_aqm.measure.ndt7.tls  # noqa: F401 (connection.py takes it from memory)

                tls()
        except (ImportError, OSError, AqmError) as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def _run(self, client: Client) -> None:
        assert self._serve is not None
        try:
            self._serve(client)
        finally:
            with self._lock:
                self._clients.discard(client)

    def _wait_ms(self) -> float | None:
        """Time until the first deadline, or the end of a pause; None when there is neither."""
        with self._lock:
            times = [client.deadline_s for client in self._clients]
        if self._paused_until_s is not None:
            times.append(self._paused_until_s)
        if not times:
            return None
        first_s = min(times)
        return max(0.0, (first_s - time.monotonic()) * 1000) + 1

    def _cut_off_late(self) -> None:
        now_s = time.monotonic()
        with self._lock:
            late = [client for client in self._clients if client.deadline_s <= now_s]
        for client in late:
            client.end("took too long")
            # Its thread ends now, but not at once: don't wake up for it again and again.
            client.deadline_s = now_s + _STOP_TIMEOUT_S

    def _close(self) -> None:
        for listener, _ in self._listeners.values():
            listener.close()
        with self._lock:
            clients = list(self._clients)
        for client in clients:
            client.end("the server was stopped")
        end_s = time.monotonic() + _STOP_TIMEOUT_S
        for client in clients:
            if client.thread is not None:
                client.thread.join(max(0.0, end_s - time.monotonic()))
        os.close(self._wake_read)
        os.close(self._wake_write)
        log("stopped", interrupted=len(clients))


def _allow_many_descriptors() -> None:
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

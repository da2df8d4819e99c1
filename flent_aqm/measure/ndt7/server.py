# SPDX-License-Identifier: GPL-3.0-or-later
"""Listening, accepting, cutting off what takes too long, and stopping.

The main thread does these; each connection has a thread of its own (connection.py).
"""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flent_aqm.measure.ndt7.log import log
from flent_aqm.measure.ndt7.spec import CUT_OFF_AFTER_END_S, HANDSHAKE_TIMEOUT_S, Settings

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    # Gives the context of connections through TLS, the same each time, from any thread.
    TlsSource = Callable[[], ssl.SSLContext]

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
        for number in self._listeners:
            poll.register(number, select.POLLIN)
        log("listening", **self._addresses)
        try:
            while True:
                ready = [number for number, _ in poll.poll(self._wait_ms())]
                if self._wake_read in ready:
                    return
                for number in ready:
                    self._accept(*self._listeners[number])
                self._cut_off_late()
        finally:
            self._close()

    def _accept(self, listener: socket.socket, tls: TlsSource | None) -> None:
        try:
            sock, _ = listener.accept()
        except OSError as error:
            # The client has gone, or descriptors ran out: later ones may fare better.
            log("failed", reason=f"accept: {error}")
            time.sleep(0.01)
            return
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

    def _run(self, client: Client) -> None:
        # Importing websockets takes longer than all else that a start does, and a lab
        # starts this server also for runs that don't need it.
        from flent_aqm.measure.ndt7.connection import serve

        try:
            serve(client)
        finally:
            with self._lock:
                self._clients.discard(client)

    def _wait_ms(self) -> float | None:
        """Time until the first deadline; None when there is none."""
        with self._lock:
            if not self._clients:
                return None
            first_s = min(client.deadline_s for client in self._clients)
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


def address_text(name: Sequence[object]) -> str:
    """ADDRESS:PORT, with [] around an IPv6 address, as the specification writes it."""
    host, port = str(name[0]), name[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a thread for each client of NDT7, as the server's NDT7 service."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from flent_aqm.servers.ndt7.spec import Settings

if TYPE_CHECKING:
    from flent_aqm.servers.acceptor import Client


class Ndt7:
    """The NDT7 service. See acceptor.Service.

    Args:
        settings: settings of all tests.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # Unique together with a socket's cookie, whose numbers begin anew at each boot.
        self._uuid_prefix = f"{socket.gethostname()}_{int(time.time())}"
        self._serve_function: Callable[[Client, Settings, str], None] | None = None

    def load(self) -> None:
        """Import the modules that serve a client, except TLS's. After a call that succeeded,
        further calls do nothing. Call it before take(). They aren't imported at the start, because
        importing websockets takes longer than the rest of the start, and a lab starts this server
        also for runs without NDT7. Raises ImportError if a module is missing, OSError if one can't
        be read, for example for lack of file descriptors."""
        if self._serve_function is None:
            from flent_aqm.servers.ndt7.connection import serve

            self._serve_function = serve

    def take(self, client: Client) -> None:
        """Start a thread that serves the client, and record it as client.thread. load() comes
        first. Raises RuntimeError if no thread can be started, ImportError or OSError if the
        modules for TLS can't be loaded."""
        if client.tls is not None:
            import flent_aqm.servers.ndt7.tls  # noqa: F401 (connection.py takes it from memory)
        client.thread = threading.Thread(target=self._serve_in_thread, args=(client,), daemon=True)
        client.thread.start()

    def stop(self) -> None:
        """Do nothing: the threads end with their connections."""

    def _serve_in_thread(self, client: Client) -> None:
        """Serve a client in this thread until its test has ended, and call client.done() in any
        case."""
        assert self._serve_function is not None
        try:
            self._serve_function(client, self._settings, self._uuid_prefix)
        finally:
            client.done()

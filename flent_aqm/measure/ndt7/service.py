# SPDX-License-Identifier: GPL-3.0-or-later
"""NDT7 as a service of the server: a thread for each client."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from flent_aqm.measure.ndt7.spec import Settings

if TYPE_CHECKING:
    from flent_aqm.measure.serve.acceptor import Client


class Ndt7:
    """See acceptor.Service."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # Unique together with a socket's cookie, which starts anew at each boot.
        self._uuid_prefix = f"{socket.gethostname()}_{int(time.time())}"
        self._serve: Callable[[Client, Settings, str], None] | None = None

    def load(self) -> None:
        """Not at the start: importing websockets takes longer than all else that a start does,
        making a certificate as well, and a lab starts this server also for runs without NDT7."""
        if self._serve is None:
            from flent_aqm.measure.ndt7.connection import serve

            self._serve = serve

    def take(self, client: Client) -> None:
        if client.tls is not None:
            import flent_aqm.measure.ndt7.tls  # noqa: F401 (connection.py takes it from memory)
        client.thread = threading.Thread(target=self._run, args=(client,), daemon=True)
        client.thread.start()

    def stop(self) -> None:
        pass  # threads end with their connections

    def _run(self, client: Client) -> None:
        assert self._serve is not None
        try:
            self._serve(client, self._settings, self._uuid_prefix)
        finally:
            client.done()

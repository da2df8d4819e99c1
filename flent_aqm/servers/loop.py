# SPDX-License-Identifier: GPL-3.0-or-later
"""An event loop of asyncio in a thread, which serves clients of the server.

It waits in a single place and handles events in their order, so that runs in virtual time are
repeatable.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

from flent_aqm.servers.acceptor import STOP_TIMEOUT_S, Client
from flent_aqm.servers.log import log
from flent_aqm.servers.protocols.tls import adopt


class Loop:
    """An event loop in a thread of its own, which starts at once and runs until stop(). From then
    on, messages of Python's root logger go to the server's log only, and so do exceptions that no
    code on the event loop handled.

    Args:
        make: makes the event loop.
    """

    def __init__(self, make: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
                 ) -> None:
        logging.getLogger().handlers = [_AsLines()]  # for messages of asyncio and other libraries
        self._loop = make()
        self._loop.set_exception_handler(_log_unhandled)
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def adopt(self, client: Client, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        """Serve a client whose connection was accepted by another thread. Returns at once. If the
        connection can't be given to its protocol, for example because the TLS handshake fails, that
        is logged, the connection is closed, and client.done() is called.

        Args:
            client: the client.
            protocol: makes the protocol that serves the client. The protocol has to call
                client.done() at the end.
        """
        self._loop.call_soon_threadsafe(self._start_opening, client, protocol)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the event loop, and return its result. Raises the coroutine's
        exceptions. Called from another thread, before stop()."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def stop(self) -> None:
        """Stop the event loop, and wait up to 2 s until its thread ends. If it does, close the
        loop, otherwise leave both behind. Called from another thread. It may be called again."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_TIMEOUT_S)
        if not self._thread.is_alive():
            self._loop.close()

    def _start_opening(self, client: Client, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        """Start the task that opens a client's connection. Runs on the event loop's thread."""
        task = self._loop.create_task(self._open_connection(client, protocol))
        self._tasks.add(task)  # the loop itself has only a weak reference
        task.add_done_callback(self._tasks.discard)

    async def _open_connection(self, client: Client,
                               protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        """Give a client's socket to its protocol, after the TLS handshake if the client uses TLS.
        Then set client.in_handshake to False. An OSError, such as a failed handshake, is logged,
        the connection is closed, and client.done() is called."""
        try:
            client.sock.setblocking(False)
            await adopt(client.sock, protocol(), client.tls() if client.tls is not None else None,
                        server_side=True)
            client.in_handshake = False
        except OSError as error:
            log("failed", client=client.address,
                reason=client.cut_off or str(error) or type(error).__name__)
            client.sock.close()
            client.done()


class _AsLines(logging.Handler):
    """Handler of logging that writes messages to the server's log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message to the server's log, as event "failed" without a traceback. Called by
        logging."""
        log("failed", reason=record.getMessage())


def _log_unhandled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Handler of the event loop: log an exception that no code handled, or another fault that
    asyncio reports, as event "defect" with its message and its traceback, "" without an exception.
    The tests of other clients go on."""
    error = context.get("exception")
    log("defect", reason=str(context.get("message", "")),
        traceback="".join(traceback.format_exception(error)) if error else "")

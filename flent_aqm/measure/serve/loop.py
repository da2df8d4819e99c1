# SPDX-License-Identifier: GPL-3.0-or-later
"""A thread that serves clients with asyncio: it waits in one place, and what happens first is
served first, so that runs in virtual time repeat."""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

from flent_aqm.measure.http.tls import adopt
from flent_aqm.measure.serve.acceptor import STOP_TIMEOUT_S, Client
from flent_aqm.measure.serve.log import log


class Loop:
    """Starts when it is made. make: gives the event loop."""

    def __init__(self, make: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
                 ) -> None:
        logging.getLogger().handlers = [_AsLines()]  # what asyncio and others have to say
        self._loop = make()
        self._loop.set_exception_handler(_tell)
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def adopt(self, client: Client, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        """Serve a client that was accepted elsewhere. Its protocol calls done() at the end."""
        self._loop.call_soon_threadsafe(self._adopt, client, protocol)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run something there, and wait for its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def stop(self) -> None:
        """End it; may be called again."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_TIMEOUT_S)

    def _adopt(self, client: Client, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        task = self._loop.create_task(self._open(client, protocol))
        self._tasks.add(task)  # the loop itself would forget it
        task.add_done_callback(self._tasks.discard)

    async def _open(self, client: Client, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
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
    """The log's lines are JSON."""

    def emit(self, record: logging.LogRecord) -> None:
        log("failed", reason=record.getMessage())


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A defect of ours must neither be silent nor end the tests of others."""
    error = context.get("exception")
    log("defect", reason=str(context.get("message", "")),
        traceback="".join(traceback.format_exception(error)) if error else "")

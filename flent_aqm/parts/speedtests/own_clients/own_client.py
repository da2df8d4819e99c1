# SPDX-License-Identifier: GPL-3.0-or-later
"""Run this package's own clients, and meter the load of a direction."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Self

from flent_aqm.parts.speedtests.own_clients.connection import ServerAddress, find_server
from flent_aqm.tools.client import Call, main
from flent_aqm.tools.report import ClientReport, DirectionLoad

STEP_S = 0.2


def run(name: str,
        measure: Callable[[ServerAddress, ClientReport, Call], Coroutine[Any, Any, None]]) -> int:
    """Run a client of this package with the arguments on the command line, and print its report as
    JSON. Return the exit status: 0, or 1 with a line on standard error and no report if the
    arguments can't be read, the server isn't found, or `measure` raises an AqmError or OSError.
    Other errors are raised. From this call on, SIGTERM raises SystemExit.

    Args:
        name: name of the tool, for the report and messages.
        measure: coroutine function (address of the server, report, arguments) that does the whole
            test and fills the report. Of an ExceptionGroup that it raises, the first error counts.
    """
    def find_and_measure(call: Call, report: ClientReport) -> None:
        """Find the server, and run `measure`, which fills the report, to its end. Raises BadResult
        if the server's name can't be resolved, and the errors of `measure`: of an ExceptionGroup,
        the first one that is no group."""
        server = find_server(call.host, call.port, call.ip_version or None, call.tls)
        try:
            asyncio.run(measure(server, report, call))
        except BaseExceptionGroup as group:
            # The first fault is the cause of the others.
            fault: BaseException = group
            while isinstance(fault, BaseExceptionGroup):
                fault = fault.exceptions[0]
            raise fault from None

    return main(name, find_and_measure)


class Metered:
    """Context manager for `async with Metered(load)`: while the block runs, records in load.rates
    every 0.2 s, and once more at the end, the bytes that load.count() has added since the step
    before. Records also the begin of the load, unless it has begun before, and its end. Several
    blocks, one after the other, may record the same load: its end is then that of the last."""

    def __init__(self, load: DirectionLoad) -> None:
        self._load = load
        self._task: asyncio.Task[None] | None = None
        self._last_s = 0.0
        self._last_bytes = 0

    async def __aenter__(self) -> Self:
        self._last_s, self._last_bytes = time.monotonic(), self._load.total_bytes
        if self._load.start_s is None:
            self._load.start_s = self._last_s
        self._task = asyncio.create_task(self._record_steps())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        self._record_step()
        self._load.end_s = time.monotonic()

    async def _record_steps(self) -> None:
        """Record a step every 0.2 s until cancelled."""
        begin_s = self._last_s
        steps = 0
        while True:
            steps += 1
            await asyncio.sleep(max(0.0, begin_s + steps * STEP_S - time.monotonic()))
            self._record_step()

    def _record_step(self) -> None:
        """Append to load.rates a step since the previous one: its end in monotonic seconds, its
        length in s, its bytes. If the previous one was 0.1 ms ago or less, append nothing: the next
        step has the bytes."""
        now_s = time.monotonic()
        if now_s - self._last_s > 1e-4:
            self._load.rates.append((now_s, now_s - self._last_s,
                                     self._load.total_bytes - self._last_bytes))
            self._last_s, self._last_bytes = now_s, self._load.total_bytes

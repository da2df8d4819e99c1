# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs cells side by side, in one worker thread per job.

In virtual time each worker is bound to a processor core. A guest's kernel and process take turns,
so they never use more than one core, and switches between them are much cheaper on one core than
between two.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.run_cell import FinishedRun

_KILL_AGAIN_S = 0.05
_LOOK_AGAIN_S = 0.5


class Pool:
    """Runs cells in worker threads. submit() waits while all workers are busy.

    Args:
        run: makes the run of a cell.
        jobs: number of worker threads.
        room: returns the number of runs that may be on at the moment, if it changes. There are
            never more than `jobs`.
        keep_to_core: bind each worker to a core of its own.
        started: called in the worker's thread when a cell begins.
        ended: called in the worker's thread with the cell, and its FinishedRun or the exception.
    """

    def __init__(
        self,
        run: Callable[[Cell], FinishedRun],
        jobs: int,
        *,
        room: Callable[[], int] | None = None,
        keep_to_core: bool,
        started: Callable[[Cell], None] = lambda cell: None,
        ended: Callable[[Cell, FinishedRun | Exception], None],
    ) -> None:
        self._run, self._started, self._ended = run, started, ended
        self._cores: queue.SimpleQueue[set[int]] = queue.SimpleQueue()
        own = sorted(os.sched_getaffinity(0))
        for cores in cores_for(jobs if keep_to_core else len(own) + 1, own):
            self._cores.put(cores)
        self._jobs, self._room = jobs, room
        self._on = 0
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._closed = False
        self._threads = ThreadPoolExecutor(jobs, "flent-aqm", self._keep_to_core)
        self._futures: list[Future[None]] = []

    def submit(self, cell: Cell) -> bool:
        """Run the cell as soon as a worker is free, and return True when it is about to start.
        Return False without running it if the pool takes no more cells."""
        with self._changed:
            while not self._closed and self._on >= self._limit():
                # Waits with a timeout: a signal handler closes the pool without a notification,
                # and room() changes without one.
                self._changed.wait(_LOOK_AGAIN_S)
            if self._closed:
                return False
            self._on += 1
        self._futures.append(self._threads.submit(self._one, cell))
        return True

    def take_no_more(self) -> None:
        """Start no more cells, but let the running ones end. Called from any thread or signal
        handler."""
        self._closed = True

    def drain(self) -> None:
        """Wait until all cells have ended."""
        for future in self._futures:
            future.result()
        self._futures.clear()

    def abort(self, kill: Callable[[], None]) -> None:
        """Start no more cells, don't call `ended` any more, and kill the running ones. kill: ends
        all runs of this process."""
        self._stopped.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        # wait() would never return for a future that was cancelled before a thread took it.
        running = [future for future in self._futures if not future.cancelled()]
        # Repeated, because a run may have been about to start.
        while wait(running, _KILL_AGAIN_S).not_done:
            kill()

    def close(self) -> None:
        """Wait for running cells, and end the threads."""
        self._threads.shutdown()

    def _limit(self) -> int:
        """Return the largest number of cells that may run now."""
        return min(self._jobs, self._room()) if self._room else self._jobs

    def _keep_to_core(self) -> None:
        """Bind the calling worker thread to its cores."""
        # On Linux 0 means the calling thread, whose children inherit it.
        os.sched_setaffinity(0, self._cores.get())

    def _one(self, cell: Cell) -> None:
        """Run a cell in a worker's thread, and report its result."""
        try:
            if self._stopped.is_set():
                return
            self._started(cell)
            try:
                result: FinishedRun | Exception = self._run(cell)
            except Exception as error:  # a failed run never ends the batch
                result = error
            if not self._stopped.is_set():
                self._ended(cell, result)
        finally:
            with self._changed:
                self._on -= 1
                self._changed.notify_all()


def cores_for(jobs: int, cores: Sequence[int]) -> list[set[int]]:
    """Return the cores that each job may use: a core of its own, or all if there are more jobs than
    cores."""
    if jobs > len(cores):
        return [set(cores)] * jobs
    return [{core} for core in cores[:jobs]]

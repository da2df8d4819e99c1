# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs side by side: one worker thread per job.

In virtual time each is kept to a core of its own. A guest is one kernel and one process of
it that take turns, so it never uses more than one core; kept on one, its switches cost a
fraction of what they cost between two.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from flent_aqm.sweep.cell import Cell
from flent_aqm.sweep.run_cell import Done

_KILL_AGAIN_S = 0.05


class Pool:
    """Runs cells by the function given. submit() waits while all workers are busy.

    ended: called in a worker's thread with the cell and its Done or the exception.
    """

    def __init__(
        self,
        run: Callable[[Cell], Done],
        jobs: int,
        *,
        keep_to_core: bool,
        ended: Callable[[Cell, Done | Exception], None],
    ) -> None:
        self._run, self._ended = run, ended
        self._cores: queue.SimpleQueue[set[int]] = queue.SimpleQueue()
        own = sorted(os.sched_getaffinity(0))
        for cores in cores_for(jobs if keep_to_core else len(own) + 1, own):
            self._cores.put(cores)
        self._free = threading.Semaphore(jobs)
        self._stopped = threading.Event()
        self._threads = ThreadPoolExecutor(jobs, "flent-aqm", self._keep_to_core)
        self._futures: list[Future[None]] = []

    def submit(self, cell: Cell) -> None:
        """Run the cell as soon as a worker is free; returns once it is about to start."""
        self._free.acquire()
        self._futures.append(self._threads.submit(self._one, cell))

    def drain(self) -> None:
        """Wait until all cells have ended."""
        for future in self._futures:
            future.result()
        self._futures.clear()

    def abort(self, kill: Callable[[], None]) -> None:
        """Start nothing more, report nothing more, and kill what runs."""
        self._stopped.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        # Again and again, as a run may have been about to start.
        while wait(self._futures, _KILL_AGAIN_S).not_done:
            kill()

    def close(self) -> None:
        """Wait for what runs, and end the threads."""
        self._threads.shutdown()

    def _keep_to_core(self) -> None:
        # On Linux 0 means the calling thread, whose children inherit it.
        os.sched_setaffinity(0, self._cores.get())

    def _one(self, cell: Cell) -> None:
        try:
            if self._stopped.is_set():
                return
            try:
                result: Done | Exception = self._run(cell)
            except Exception as error:  # a failed run never ends the batch
                result = error
            if not self._stopped.is_set():
                self._ended(cell, result)
        finally:
            self._free.release()


def cores_for(jobs: int, cores: Sequence[int]) -> list[set[int]]:
    """The cores that each job may use: one each, or all where there are more jobs than cores."""
    if jobs > len(cores):
        return [set(cores)] * jobs
    return [{core} for core in cores[:jobs]]

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

from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.run_cell import FinishedRun

_KILL_AGAIN_S = 0.05
_LOOK_AGAIN_S = 0.5


class Pool:
    """Runs cells by the function given. submit() waits while all workers are busy.

    room: how many there is room for at the moment, where that changes; never more than jobs.
    started, ended: called in a worker's thread with the cell, and its FinishedRun or the exception.
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
        """Run the cell as soon as a worker is free; returns once it is about to start, or
        False where nothing is taken any more."""
        with self._changed:
            while not self._closed and self._on >= self._limit():
                # A signal handler may close the pool, but can't notify; room() neither.
                self._changed.wait(_LOOK_AGAIN_S)
            if self._closed:
                return False
            self._on += 1
        self._futures.append(self._threads.submit(self._one, cell))
        return True

    def take_no_more(self) -> None:
        """Let what runs end, and start nothing more. From any thread or signal handler."""
        self._closed = True

    def drain(self) -> None:
        """Wait until all cells have ended."""
        for future in self._futures:
            future.result()
        self._futures.clear()

    def abort(self, kill: Callable[[], None]) -> None:
        """Start nothing more, report nothing more, and kill what runs."""
        self._stopped.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        # To wait() what is cancelled here, before a thread has taken it, is never done.
        running = [future for future in self._futures if not future.cancelled()]
        # Again and again, as a run may have been about to start.
        while wait(running, _KILL_AGAIN_S).not_done:
            kill()

    def close(self) -> None:
        """Wait for what runs, and end the threads."""
        self._threads.shutdown()

    def _limit(self) -> int:
        return min(self._jobs, self._room()) if self._room else self._jobs

    def _keep_to_core(self) -> None:
        # On Linux 0 means the calling thread, whose children inherit it.
        os.sched_setaffinity(0, self._cores.get())

    def _one(self, cell: Cell) -> None:
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
    """Return the cores that each job may use: one each, or all where there are more jobs than
    cores."""
    if jobs > len(cores):
        return [set(cores)] * jobs
    return [{core} for core in cores[:jobs]]

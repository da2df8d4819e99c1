# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs cells side by side in worker threads, on this machine or by a part on other machines.

`jobs` says how many run at once. Interrupts handles the signals that end them.

In virtual time each worker is bound to a processor core. A guest's kernel and process take turns,
so they never use more than one core, and switches between them are much cheaper on one core than
between two.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.part import load, parts
from flent_aqm.lab.place import end_threads
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.readers import text_of
from flent_aqm.sweep.run import FinishedRun, SweepFacts

MAX_JOBS = 1024
_LOOK_AGAIN_S = 0.5


def parse_jobs(value: object, *, real_time: str = "") -> int:
    """Return the number of runs to make side by side.

    The default is the number of processors that this process may use, but 1 on a testbed in real
    time, because runs would disturb each other.

    Args:
        value: value of the batch key `jobs`. None or "" stands for the default.
        real_time: a testbed of the sweep that runs in real time, "" if none does.

    Raises ConfigError if the value is not a whole number from 1 to MAX_JOBS, or if it is more than
    1 in real time.
    """
    if value is None or value == "":
        return 1 if real_time else len(os.sched_getaffinity(0))
    text = text_of("jobs", value, f"a whole number from 1 to {MAX_JOBS}")
    if not text.isdecimal() or len(text) > 9 or not 1 <= int(text) <= MAX_JOBS:
        raise ConfigError(f"jobs: {text[:40]!r} is not a whole number from 1 to {MAX_JOBS}")
    if real_time and int(text) > 1:
        raise ConfigError(f"jobs: {text} runs side by side would disturb each other in real time, "
                          f"on testbed {real_time}; leave jobs out, or use testbed virtual for all "
                          "runs")
    return int(text)


class Pool:
    """Runs cells in worker threads. submit() waits while all workers are busy. close() ends the
    threads.

    Args:
        run: makes the run of a cell. An exception means that the run failed.
        jobs: number of worker threads.
        room: returns the largest number of cells that may run at the moment. There are never more
            than `jobs`. None if the number is always `jobs`.
        keep_to_core: bind each worker to a core of its own. If there are more jobs than cores, or
            if it is false, workers use all cores.
        started: called with the cell, in the worker's thread, when the cell begins.
        ended: called in the worker's thread with the cell, and its FinishedRun or the exception
            that the run raised.
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
        # One entry for each worker, which takes it when its thread starts.
        for cores in cores_for(jobs, own) if keep_to_core else [set(own)] * jobs:
            self._cores.put(cores)
        self._jobs, self._room = jobs, room
        self._running_count = 0
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._closed = False
        self._threads = ThreadPoolExecutor(jobs, "flent-aqm", self._keep_to_core)
        self._futures: list[Future[None]] = []

    def submit(self, cell: Cell) -> bool:
        """Wait until fewer cells run than `jobs` and `room` allow, let a worker run the cell, and
        return True without waiting for its end. Return False without running the cell if
        take_no_more() or abort() was called, also while this method waits. Must not be called after
        close()."""
        with self._changed:
            while not self._closed and self._running_count >= self._limit():
                # Waits with a timeout: a signal handler closes the pool without a notification,
                # and room() changes without one.
                self._changed.wait(_LOOK_AGAIN_S)
            if self._closed:
                return False
            self._running_count += 1
        self._futures.append(self._threads.submit(self._run_in_worker, cell))
        return True

    def take_no_more(self) -> None:
        """Start no more cells: submit() returns False from now on. Running cells continue. May be
        called from any thread or signal handler."""
        self._closed = True

    def drain(self) -> None:
        """Wait until all submitted cells have ended. After that, raise the exception of the first
        cell, in the order of submission, for which `started` or `ended` raised one. Runs that
        failed raise nothing here. Must not be called after abort(), where it might wait forever."""
        wait(self._futures)
        # Only now, because abort() needs them if a signal ends the waiting.
        futures, self._futures = self._futures, []
        for future in futures:
            future.result()

    def abort(self, kill: Callable[[], None]) -> None:
        """Start no more cells, call `ended` no more, and kill the running cells. Return when all
        have ended.

        Args:
            kill: ends all runs of this process. It is called repeatedly.
        """
        self._stopped.set()
        self.take_no_more()
        end_threads(self._threads, self._futures, kill)

    def close(self) -> None:
        """Wait until running cells have ended, and end the worker threads. Call it at the end, also
        after abort()."""
        self._threads.shutdown()

    def _limit(self) -> int:
        """Return the largest number of cells that may run side by side now."""
        return min(self._jobs, self._room()) if self._room else self._jobs

    def _keep_to_core(self) -> None:
        """Initialise a worker thread: bind it to one of the sets of cores that were made for the
        workers, the next that is left. The programs that the thread starts are bound to it, too."""
        # On Linux 0 means the calling thread, whose children inherit it.
        os.sched_setaffinity(0, self._cores.get())

    def _run_in_worker(self, cell: Cell) -> None:
        """Run a cell, and call `started` before and `ended` after it. Called in a worker's thread.
        After abort() nothing is run or reported. An exception of the run is passed to `ended`.
        Raises what `started` or `ended` raises; after that of `started` the cell isn't run."""
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
                self._running_count -= 1
                self._changed.notify_all()


def cores_for(jobs: int, cores: Sequence[int]) -> list[set[int]]:
    """Return the set of cores for each job: one core each, or all cores for each if there are more
    jobs than cores."""
    if jobs > len(cores):
        return [set(cores)] * jobs
    return [{core} for core in cores[:jobs]]


class Elsewhere(Protocol):
    """Interface of a part that makes runs on other machines. refuse() comes first, for each planned
    run, then start(), then run(), in several threads at once, and close() at the end.

    Attributes:
        title: names the machines in messages, after "by".
    """

    title: str

    def refuse(self, cell: Cell) -> None:
        """Raise ConfigError if the run can't be made on another machine. Called before start(),
        when the run is planned."""

    def start(self, facts: SweepFacts, say: Callable[[str], None]) -> None:
        """Prepare the other machines for runs, such as by connecting to them. It is no error if
        none is there yet: room() is 0 then.

        Args:
            facts: facts of the testbed, the same for all runs.
            say: prints a line for the user.

        Raises AqmError if the machines can't be reached, or if none of those that are there can be
        used.
        """

    def run(self, cell: Cell) -> FinishedRun:
        """Make a run on another machine, wait for its end, and write the files that come back.
        Raises an AqmError with the cause if the run fails. Called in several threads at once."""

    def room(self) -> int:
        """Return the largest number of runs that may run side by side now on all machines together,
        with those that are running. 0 if no machine is there."""

    def stop(self) -> None:
        """End all running runs immediately: their run() raises an AqmError. It may be called
        repeatedly."""

    def close(self) -> None:
        """End the connections. Called at the end of the sweep, after all runs have ended, also if
        start() failed or was not called."""


def elsewhere_of(section: Mapping[str, object]) -> Elsewhere | None:
    """Return the object that makes this batch's runs on other machines: that of the first part, in
    the order of parts(), whose `elsewhere` returns one. None if none does: the runs are made on
    this machine.

    Args:
        section: keys and values of the batch.

    Raises ConfigError if a part refuses the value of its key.
    """
    for part in parts().values():
        requested: Elsewhere | None = load(part.elsewhere)(section) if part.elsewhere else None
        if requested is not None:
            return requested
    return None


class Interrupts:
    """Context manager that handles SIGINT, SIGTERM and SIGHUP in the main thread. At the end, the
    handlers from before are set again. In other threads it does nothing.

    The first ^C calls `once`. A second ^C, and SIGTERM or SIGHUP at any time, raise
    KeyboardInterrupt. It is raised only once, because further signals would interrupt the clean-up
    and leave temporary folders behind. A signal that was ignored before (nohup, a shell's
    background job) stays ignored.

    Args:
        once: called by the signal handler of the first SIGINT.
    """

    def __init__(self, once: Callable[[], None]) -> None:
        self._once = once
        self._interrupted_once = self._raised = False
        self._old: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Set the signal handlers. In other threads than the main thread, which alone can set them,
        do nothing."""
        if threading.current_thread() is threading.main_thread():
            for number, handler in ((signal.SIGINT, self._handle_sigint),
                                    (signal.SIGTERM, self._raise_once),
                                    (signal.SIGHUP, self._raise_once)):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._old[number] = signal.signal(number, handler)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Set the signal handlers that were in force before."""
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._old.clear()

    def _handle_sigint(self, number: int, frame: FrameType | None) -> None:
        """Signal handler of SIGINT: call `once` the first time. Raise KeyboardInterrupt the second
        time, unless a signal has raised it before."""
        if self._interrupted_once:
            self._raise_once(number, frame)
            return
        self._interrupted_once = True
        self._once()

    def _raise_once(self, number: int, frame: FrameType | None) -> None:
        """Signal handler of SIGTERM and SIGHUP, also called for the second SIGINT: raise
        KeyboardInterrupt. Do nothing if it was raised before, for whichever of these signals."""
        if not self._raised:
            self._raised = True
            raise KeyboardInterrupt

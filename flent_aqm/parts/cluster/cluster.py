# SPDX-License-Identifier: GPL-3.0-or-later
"""The sweep's side of a cluster: find workers, check them, and distribute runs to them.

If a worker disappears, its run is given to another one. Dask transfers the data and lists the
workers. Which run goes to which worker is decided here, because a worker gets runs only after a
check (agreement.py).
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import LabError, TestbedError, cause_of
from flent_aqm.parts.cluster import worker_side
from flent_aqm.parts.cluster.agreement import RequiredVersions, WorkerFacts, refusal
from flent_aqm.parts.cluster.extra import load_distributed
from flent_aqm.parts.cluster.probe import why_not
from flent_aqm.parts.cluster.security import security_for, tls_context
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.run import RunOutput

# Interval at which the scheduler is asked for its workers.
_LOOK_S = 0.5
# Most workers that may disappear during one run. If more do, the run is probably the cause.
MOST_LOSSES = 5
# Time to wait for a scheduler that has disappeared.
PATIENCE_S = 600.0
_CONNECT_S = 10.0


@dataclass
class _Worker:
    """A worker in use.

    Attributes:
        name: name of its machine, for messages.
        slots: number of runs that it takes at once.
        taken: number of runs that it has now.
    """

    name: str
    slots: int
    taken: int = 0


class Cluster:
    """The workers of a scheduler.

    Call start(), then make() from as many threads as room() allows, and close() at the end. stop()
    ends all runs at once.

    Args:
        address: the scheduler's address.
        wanted: versions that a worker has to have.
        kernel: path of the lab's kernel, for workers that lack it.
        say: function that prints a message for the user.

    Raises ToolMissing without the package distributed, ConfigError if certificates are missing or
    can't be used.
    """

    def __init__(self, address: str, wanted: RequiredVersions, kernel: Path,
                 say: Callable[[str], None]) -> None:
        self._distributed = load_distributed()
        self._security = security_for(address, "client", {})
        self._address = address
        self._wanted, self._kernel, self._say = wanted, kernel, say
        self._sweep = uuid.uuid4().hex
        self._client: Any = None
        self._workers: dict[str, _Worker] = {}
        self._refused: dict[str, str] = {}
        # Addresses of workers whose check failed, of which the user has been told.
        self._unchecked: set[str] = set()
        self._changed = threading.Condition()
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch_workers, name="flent-aqm cluster",
                                         daemon=True)
        self._absent_since: float | None = None
        self._why_ended = "the sweep ended"

    def start(self) -> None:
        """Connect, check the workers, and watch them in a thread from then on. If no worker
        can be used and none is refused, tell the user how to start one.

        Raises TestbedError if the scheduler can't be used, or if a worker is refused and no other
        can be used. The cluster is closed then.
        """
        try:
            self._connect()
            self._update_workers()
        except Exception as error:  # Dask has no class for all: of SSH, it is a MemoryError
            self.close()
            raise TestbedError(
                f"scheduler {self._address}: {self._why_unusable(error)}") from None
        if self._refused and not self._workers:
            self.close()
            name, why = next(iter(self._refused.items()))
            raise TestbedError(f"scheduler {self._address}: none of its workers can be used; "
                               f"{name}: {why}")
        if not self._workers:
            self._say("no worker yet; start them with: flent-aqm worker " + self._address)
        self._watcher.start()

    def _why_unusable(self, error: Exception) -> str:
        """Return why the scheduler can't be used, with a remedy: nobody listens at its address, TLS
        or certificates don't fit, or what answers there isn't a scheduler for this Dask.

        Args:
            error: the error with which Dask gave up.
        """
        context = tls_context(self._security, self._address, "client")
        try:
            why = why_not(self._address, context, "the sweep's")
        except OSError as fault:
            return (f"no connection ({cause_of(fault)}); if none is running there, start one with: "
                    "dask scheduler")
        return why or (f"something answers there, but not as a scheduler should "
                       f"({type(error).__name__}: {str(error)[:200] or 'no text'}); check host and "
                       "port, and that both machines have the same version of the Python package "
                       "distributed")

    def room(self) -> int:
        """Return the number of runs that all workers in use take at once, with those under way. 0
        while there is no worker."""
        with self._changed:
            return sum(worker.slots for worker in self._workers.values())

    def make(self, cell: Cell) -> RunOutput:
        """Make a run on a worker and return its output. Wait for a free worker. A run that fails
        has the reason in its output's `fault`.

        Raises TestbedError if the run is lost MOST_LOSSES times, because its worker or the
        scheduler disappears. Raises LabError if the cluster is stopped or closed, or the scheduler
        stays away for PATIENCE_S, or the error for which the worker can't begin the run.
        """
        for _ in range(MOST_LOSSES):
            address = self._reserve_worker()
            try:
                made = self._make_there(cell, address)
            finally:
                self._release_worker(address)
            if made is not None:
                return made
        raise TestbedError(f"this run was lost {MOST_LOSSES} times, because its worker or the "
                           "scheduler ended or lost its connection; probably the run is the cause, "
                           "such as by its memory: see what its workers printed")

    def stop(self) -> None:
        """End the runs at once, also those under way on the workers that the scheduler reaches.
        Those on other workers end by themselves. Calls of make() raise LabError from then on. If
        the scheduler doesn't do what is asked, tell the user; if it was lost before, nothing is
        asked."""
        self._ended.set()
        with self._changed:
            self._changed.notify_all()
            addresses = list(self._workers)
        if addresses:
            try:
                self._client.run(worker_side.stop, self._sweep, workers=addresses,
                                 on_error="ignore")
            except Exception as error:  # such as a scheduler that is gone: nothing to stop
                self._say(f"can't stop the runs on {self._address} "
                          f"({str(error) or type(error).__name__}); they end by themselves")

    def close(self) -> None:
        """Disconnect from the scheduler, and end the watching thread. Calls of make(), also those
        under way, raise LabError. Runs that are under way on workers aren't killed: call stop()
        first for that."""
        self._ended.set()
        if self._watcher.is_alive():
            self._watcher.join()
        if self._client is not None:
            self._client.close(timeout=_CONNECT_S)

    def _connect(self) -> None:
        """Connect a new client to the scheduler, and keep it in place of the client before, which
        the caller closes. Raises OSError, distributed.TimeoutError or RuntimeError if the scheduler
        doesn't answer or can't be used. In that case the client before stays in its place."""
        self._client = self._distributed.Client(
            self._address, timeout=_CONNECT_S, set_as_default=False, name="flent-aqm",
            security=self._security)

    def _make_there(self, cell: Cell, address: str) -> RunOutput | None:
        """Make a run on the worker at this address, wait for its end, and return its output. Return
        None if the worker or the scheduler disappeared.

        Raises LabError if the cluster is stopped or closed, or the scheduler stays away for
        PATIENCE_S, or the error for which the worker can't begin the run.
        """
        try:
            future = self._client.submit(
                worker_side.run, cell, self._wanted, self._sweep, pure=False, retries=0,
                workers=[address], allow_other_workers=False)
            while not future.done() or future.status == "lost":
                time.sleep(0.05)
                if self._ended.is_set():
                    raise LabError(f"stopped, because {self._why_ended}")
                with self._changed:
                    if address not in self._workers:
                        future.cancel()
                        return None
            made: RunOutput = future.result()
            return made
        except (CancelledError, OSError, self._distributed.KilledWorker,
                self._distributed.client.FutureCancelledError):
            return None

    def _reserve_worker(self) -> str:
        """Reserve room for a run on the least loaded worker, and return its address. Wait until
        there is room. Call _release_worker() after the run.

        Raises LabError if the cluster is stopped or closed, or the scheduler stays away for
        PATIENCE_S.
        """
        with self._changed:
            while not self._ended.is_set():
                free = [(worker.taken / worker.slots, address)
                        for address, worker in self._workers.items()
                        if worker.taken < worker.slots]
                if free:
                    _, address = min(free)
                    self._workers[address].taken += 1
                    return address
                self._changed.wait(_LOOK_S)
        raise LabError(f"stopped, because {self._why_ended}")

    def _release_worker(self, address: str) -> None:
        """Release the room that _reserve_worker() reserved. Do nothing if the worker is gone."""
        with self._changed:
            if address in self._workers:
                self._workers[address].taken -= 1
            self._changed.notify_all()

    def _watch_workers(self) -> None:
        """Update the list of workers every 0.5 s until the cluster is stopped or closed, and
        reconnect if the scheduler is gone."""
        while not self._ended.wait(_LOOK_S):
            try:
                self._update_workers()
                self._absent_since = None
            except Exception as error:
                if not self._ended.is_set():
                    self._handle_lost_scheduler(error)

    def _handle_lost_scheduler(self, error: Exception) -> None:
        """Forget the workers, so that their runs wait for others, and try to reconnect once. Tell
        the user at the first time.

        After PATIENCE_S without a list of workers, make() raises LabError, and the workers are no
        longer watched.

        Args:
            error: the error of the last update of the list of workers.
        """
        with self._changed:
            self._workers.clear()
            self._changed.notify_all()
        now = time.monotonic()
        if self._absent_since is None:
            self._absent_since = now
            self._say(f"scheduler {self._address}: its workers can't be listed "
                      f"({str(error) or type(error).__name__}); trying again for up to "
                      f"{PATIENCE_S:g} s")
        if now - self._absent_since > PATIENCE_S:
            self._why_ended = (f"the scheduler {self._address} could not be used for "
                               f"{PATIENCE_S:g} s ({str(error) or type(error).__name__}); when it "
                               "can be reached again, make the sweep again")
            self._ended.set()
        old = self._client
        try:
            self._connect()
        except Exception:  # not there yet: the next look tries again
            self._client = old
        else:
            old.close(timeout=1)

    def _update_workers(self) -> None:
        """Update the list of workers: forget those that are gone, and check new ones. The user is
        told which are gone, refused, or can't be checked. A worker at the address of a refused one
        is not checked again, but one whose check failed is. Raises OSError or an error of Dask if
        the scheduler doesn't list its workers."""
        there = self._client.scheduler_info(n_workers=-1)["workers"]
        with self._changed:
            for address in self._workers.keys() - there.keys():
                self._say(f"worker {self._workers.pop(address).name} at {address} is gone")
            new = [address for address in there
                   if address not in self._workers and address not in self._refused]
            self._changed.notify_all()
        for address in new:
            try:
                self._check_worker(address, int(there[address]["nthreads"]))
            except OSError:
                pass  # it is gone again; the next look reports that
            except Exception as error:  # concerns this worker alone; the next look checks it again
                if address not in self._unchecked:
                    self._unchecked.add(address)
                    self._say(f"worker at {address} can't be checked "
                              f"({str(error) or type(error).__name__}); trying again")

    def _check_worker(self, address: str, slots: int) -> None:
        """Check a worker, and use or refuse it. A worker without the lab's kernel is sent it. The
        user is told of a refusal and of a kernel that was sent.

        Args:
            address: the worker's address.
            slots: number of runs that it takes at once.

        Raises OSError if the worker is gone, LabError if the kernel can't be read here or stored
        there, other errors if the worker can't be checked.
        """
        worker: WorkerFacts = self._call_on_worker(address, worker_side.describe,
                                                   self._wanted.kernel_hash)
        why = refusal(self._wanted, worker)
        if why:
            self._refused[address] = why
            self._say(f"worker {worker.host_name} at {address} is refused: {why}")
            return
        if not worker.has_required_kernel:
            try:
                kernel = self._kernel.read_bytes()
            except OSError as error:  # not for the caller, which takes it for a lost worker
                raise LabError(f"the lab kernel {self._kernel} can't be read here: "
                               f"{cause_of(error)}; make it readable, or if it is gone, end the "
                               "sweep, run: flent-aqm setup, and make the sweep again") from None
            self._call_on_worker(address, worker_side.take_kernel, self._wanted.kernel_hash,
                                 self._wanted.kernel_version, kernel)
            self._say(f"worker {worker.host_name} at {address} was sent the lab kernel")
        with self._changed:
            self._workers[address] = _Worker(worker.host_name, slots)
            self._changed.notify_all()

    def _call_on_worker(self, address: str, function: Callable[..., Any],
                        *arguments: object) -> Any:
        """Call a function on the worker at this address and return its result. Raises OSError if
        the worker is gone, and the function's own errors."""
        return self._client.run(function, *arguments, workers=[address])[address]

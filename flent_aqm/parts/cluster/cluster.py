# SPDX-License-Identifier: GPL-3.0-or-later
"""The asking side: finds workers, says which can be used, gives runs to them, and gives a run
to another worker when its own is gone.

Dask moves the data and tells who is there. Which run goes to which worker is decided here:
a worker has to agree (agreement.py) before it gets anything.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import LabError, TestbedError
from flent_aqm.parts.cluster import worker_side
from flent_aqm.parts.cluster.agreement import RequiredVersions, WorkerFacts, refusal
from flent_aqm.parts.cluster.extra import load_distributed
from flent_aqm.parts.cluster.security import security_for
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.run_output import RunOutput

_LOOK_S = 0.5
# How often one run may lose its worker. More, and the run is what ends them.
MOST_LOSSES = 5
# How long an absent scheduler is waited for.
PATIENCE_S = 600.0
_CONNECT_S = 10.0


@dataclass
class _Worker:
    """One that is in use: its name for people, how many runs it takes, and has."""

    name: str
    slots: int
    taken: int = 0


class Cluster:
    """A scheduler's workers. start(), then make() from as many threads as room() allows, and
    close(); stop() ends all runs at once."""

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
        self._changed = threading.Condition()
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="flent-aqm cluster", daemon=True)
        self._absent_since: float | None = None

    def start(self) -> None:
        """Connect. Raises TestbedError without a scheduler, or where all workers are refused."""
        try:
            self._connect()
            self._look()
        except (OSError, self._distributed.TimeoutError, RuntimeError) as error:
            self.close()
            raise TestbedError(f"scheduler {self._address}: {error or 'no answer'}; start one "
                               "with: dask scheduler") from None
        if self._refused and not self._workers:
            self.close()
            name, why = next(iter(self._refused.items()))
            raise TestbedError(f"scheduler {self._address}: none of its workers can be used; "
                               f"{name}: {why}")
        if not self._workers:
            self._say("no worker yet; start them with: flent-aqm worker " + self._address)
        self._watcher.start()

    def room(self) -> int:
        """Return how many runs the workers take at once."""
        with self._changed:
            return sum(worker.slots for worker in self._workers.values())

    def make(self, cell: Cell) -> RunOutput:
        """Return a run, made on a worker. Raises TestbedError when that can't be done."""
        for _ in range(MOST_LOSSES):
            address = self._take()
            try:
                made = self._make_there(cell, address)
            finally:
                self._give_back(address)
            if made is not None:
                return made
        raise TestbedError(f"{MOST_LOSSES} workers were lost with this run on them")

    def stop(self) -> None:
        """End all runs at once, wherever they are."""
        self._ended.set()
        with self._changed:
            self._changed.notify_all()
            addresses = list(self._workers)
        if addresses:
            try:
                self._client.run(worker_side.stop, self._sweep, workers=addresses,
                                 on_error="ignore")
            except Exception as error:  # such as a scheduler that is gone: nothing to stop
                self._say(f"can't stop the runs on {self._address}: {error}")

    def close(self) -> None:
        """Disconnect."""
        self._ended.set()
        if self._watcher.is_alive():
            self._watcher.join()
        if self._client is not None:
            self._client.close(timeout=_CONNECT_S)

    def _connect(self) -> None:
        self._client = self._distributed.Client(
            self._address, timeout=_CONNECT_S, set_as_default=False, name="flent-aqm",
            security=self._security)

    def _make_there(self, cell: Cell, address: str) -> RunOutput | None:
        """Return None where the worker, or the scheduler, was lost."""
        try:
            future = self._client.submit(
                worker_side.run, cell, self._wanted, self._sweep, pure=False, retries=0,
                workers=[address], allow_other_workers=False)
            while not future.done() or future.status == "lost":
                time.sleep(0.05)
                if self._ended.is_set():
                    raise LabError("stopped")
                with self._changed:
                    if address not in self._workers:
                        future.cancel()
                        return None
            made: RunOutput = future.result()
            return made
        except (CancelledError, OSError, self._distributed.KilledWorker,
                self._distributed.client.FutureCancelledError):
            return None

    def _take(self) -> str:
        """Return the address of a worker with room, for one run; waits until there is one."""
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
        raise LabError("stopped")

    def _give_back(self, address: str) -> None:
        with self._changed:
            if address in self._workers:
                self._workers[address].taken -= 1
            self._changed.notify_all()

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_S):
            try:
                self._look()
                self._absent_since = None
            except Exception as error:
                if not self._ended.is_set():
                    self._scheduler_is_gone(error)

    def _scheduler_is_gone(self, error: Exception) -> None:
        """Forget its workers, whose runs then wait for others, and try to connect again."""
        with self._changed:
            self._workers.clear()
            self._changed.notify_all()
        now = time.monotonic()
        if self._absent_since is None:
            self._absent_since = now
            self._say(f"scheduler {self._address} is gone ({error or type(error).__name__}); "
                      "waiting for it")
        if now - self._absent_since > PATIENCE_S:
            self._ended.set()
        old = self._client
        try:
            self._connect()
        except Exception:  # not there yet; the next look tries again
            self._client = old
        else:
            old.close(timeout=1)

    def _look(self) -> None:
        """Who is there? New ones are asked what they have; those that left are forgotten."""
        there = self._client.scheduler_info(n_workers=-1)["workers"]
        with self._changed:
            for address in self._workers.keys() - there.keys():
                self._say(f"worker {self._workers.pop(address).name} at {address} is gone")
            new = [address for address in there
                   if address not in self._workers and address not in self._refused]
            self._changed.notify_all()
        for address in new:
            with contextlib.suppress(OSError):  # it left again; the next look tells
                self._meet(address, int(there[address]["nthreads"]))

    def _meet(self, address: str, slots: int) -> None:
        """Use a worker, or refuse it by name."""
        worker: WorkerFacts = self._on(address, worker_side.describe, self._wanted.kernel)
        why = refusal(self._wanted, worker)
        if why:
            self._refused[address] = why
            self._say(f"worker {worker.name} at {address} is refused: {why}")
            return
        if not worker.has_kernel:
            self._on(address, worker_side.take_kernel, self._wanted.kernel,
                     self._wanted.kernel_version, self._kernel.read_bytes())
            self._say(f"worker {worker.name} at {address} was sent the lab kernel")
        with self._changed:
            self._workers[address] = _Worker(worker.name, slots)
            self._changed.notify_all()

    def _on(self, address: str, function: Callable[..., Any], *arguments: object) -> Any:
        return self._client.run(function, *arguments, workers=[address])[address]

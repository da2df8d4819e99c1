# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that run in a worker. The sweep's side sends them to it by name."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import tempfile
import threading
from pathlib import Path

from flent_aqm.base import paths
from flent_aqm.base.errors import LabError, cause_of
from flent_aqm.base.json_text import json_text
from flent_aqm.lab.package_copy import package_hash
from flent_aqm.lab.protocol import FlentRun
from flent_aqm.lab.virtual import Lab, VirtualTestbed
from flent_aqm.parts.cluster.agreement import RequiredVersions, WorkerFacts
from flent_aqm.setup.kernel import locate
from flent_aqm.setup.parts import tool_versions
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.run import RunOutput, make_output

_labs: dict[str, set[Lab]] = {}
_stopped: set[str] = set()
_lock = threading.Lock()
_thread = threading.local()
_counter = itertools.count()
_WHY_STOPPED = "stopped, because its sweep was stopped"


class _RecordingTestbed(VirtualTestbed):
    """Virtual testbed that records the labs of each sweep, so that stop() can kill them.

    Args:
        kernel: the lab's kernel.
        sweep: identifier of the sweep.
    """

    def __init__(self, kernel: locate.Kernel, sweep: str) -> None:
        super().__init__(kernel)
        self._sweep = sweep
        self._placed: set[Lab] = set()

    def place(self, scenario: Scenario, run: FlentRun) -> Lab:
        """Return the lab for a run, not started yet, and record it under the sweep's identifier.
        Raises an AqmError if it can't be made, or if the sweep was stopped meanwhile."""
        lab = super().place(scenario, run)
        with _lock:
            is_stopped = self._sweep in _stopped
            if not is_stopped:
                self._placed.add(lab)
                _labs.setdefault(self._sweep, set()).add(lab)
        if is_stopped:
            lab.close()
            raise LabError(_WHY_STOPPED)
        return lab

    def forget(self) -> None:
        """Remove the records of this testbed's labs, whose runs have ended."""
        with _lock:
            _labs.get(self._sweep, set()).difference_update(self._placed)


def describe(kernel: str) -> WorkerFacts:
    """Return the facts about this worker. Raises ToolMissing if FLENT_AQM_KERNEL is set and isn't a
    program, LabError if a file of this package can't be read.

    Args:
        kernel: hash of the required kernel.
    """
    own_kernel = locate.find_kernel().hash if os.environ.get(locate.VARIABLE) else ""
    return WorkerFacts(socket.gethostname(), package_hash(), own_kernel,
                 locate.kernel_of(kernel) is not None, tool_versions())


def take_kernel(kernel: str, version: str, program: bytes) -> None:
    """Store a kernel in this machine's cache, in a folder that appears complete or not at all. If
    another worker has stored it meanwhile, keep that one.

    Args:
        kernel: hash of the kernel.
        version: its version.
        program: content of the kernel's program file.

    Raises LabError if it can't be written.
    """
    # Not OSError: the sweep would take it for a worker that is gone.
    folder = paths.cache_to_write() / "kernels"
    try:
        _store_kernel(folder, kernel, version, program)
    except OSError as error:
        raise LabError(f"{socket.gethostname()}: the worker can't store the kernel in {folder}: "
                       f"{cause_of(error)}; make room or give the right to write there"
                       f"{paths.or_another_cache(folder.parent, 'where it can')}") from None


def _store_kernel(folder: Path, kernel: str, version: str, program: bytes) -> None:
    """Store a kernel in a subfolder, named after its hash, of `folder`, which is made if it is
    missing. The subfolder appears complete or not at all. If another worker has stored it
    meanwhile, that one stays.

    Args:
        folder: the cache's folder of kernels.
        kernel: hash of the kernel.
        version: its version, for the note beside the program.
        program: content of the kernel's program file.

    Raises OSError if it can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix="new-", dir=folder))
    try:
        (part / "linux").write_bytes(program)
        (part / "linux").chmod(0o755)
        (part / "kernel.json").write_text(json_text({"kernel_version": version}) + "\n")
        part.chmod(0o755)
        try:
            part.rename(folder / kernel)
        except OSError:
            # Another worker of this machine was faster.
            if locate.kernel_of(kernel) is None:
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def run(cell: Cell, wanted: RequiredVersions, sweep: str) -> RunOutput:
    """Make a run in a virtual lab and return its output. If the run fails, its lab can't be made,
    or stop() ends it, the output has the reason in `fault`. From the first call on, this thread
    stays on one core.

    Args:
        cell: the run's settings.
        wanted: names the kernel to use.
        sweep: identifier of the sweep, for stop().

    Raises LabError if the kernel is missing, the sweep was stopped before, or the system reports an
    error, such as for a full disk; ToolMissing if FLENT_AQM_KERNEL is set and isn't a program.
    """
    _bind_to_core()
    lab_kernel = locate.kernel_of(wanted.kernel_hash)
    if lab_kernel is None:
        if os.environ.get(locate.VARIABLE):
            raise LabError(f"{locate.VARIABLE} on {socket.gethostname()} names another kernel than "
                           "when the sweep began; unset it, start the worker again, and make the "
                           "sweep again")
        raise LabError(f"the lab kernel {wanted.kernel_hash} is gone from {socket.gethostname()}; "
                       "make the sweep again, which sends it there")
    if sweep in _stopped:
        raise LabError(_WHY_STOPPED)
    testbed = _RecordingTestbed(lab_kernel, sweep)
    try:
        return make_output(cell, testbed)
    except OSError as error:
        # As it is, it would look like an error of the connection to this worker.
        where = f"{error.filename}: " if error.filename else ""
        raise LabError(f"the worker on {socket.gethostname()} can't make the run: {where}"
                       f"{cause_of(error)}; mend that there, and make the sweep again") from None
    finally:
        testbed.forget()


def stop(sweep: str) -> None:
    """Kill the labs of a sweep that have started in this process, and refuse its further runs here.
    The runs that are killed end with a fault, and so do those whose lab is being prepared, unless
    it starts at this moment."""
    with _lock:
        _stopped.add(sweep)
        labs = list(_labs.get(sweep, ()))
    for lab in labs:
        lab.kill()


def _bind_to_core() -> None:
    """Bind this thread to one of this process's cores, because a lab never uses more than one.
    Successive threads get successive cores, in a circle. Further calls do nothing."""
    if not hasattr(_thread, "cores"):
        own = sorted(os.sched_getaffinity(os.getpid()))
        _thread.cores = {own[next(_counter) % len(own)]}
        os.sched_setaffinity(0, _thread.cores)

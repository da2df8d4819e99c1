# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab in virtual time: boots the guest, watches over it, and cleans up after it.

Whatever happens (a crash, a hang, ^C, this process being killed), the guest's processes
end and its folder is removed, but for a kill -9 of this process, after which the folder
stays.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from flent_aqm import defaults
from flent_aqm.errors import ConfigError, LabError, LabTimeout
from flent_aqm.scenario import Scenario
from flent_aqm.testbed import guest_files
from flent_aqm.testbed.kernel.locate import find_kernel

SERVERS = ("iperf3", "irtt", "netserver", "ndt7")
MEMORY_FOLDER = Path("/dev/shm")

_open_labs: set[Lab] = set()
_lock = threading.Lock()


def kill_all() -> None:
    """End all guests of this process at once; for when the user wants out."""
    with _lock:
        labs = list(_open_labs)
    for lab in labs:
        lab.kill()


@dataclass(frozen=True)
class Outcome:
    """How one boot ended: the command's exit status and what it took.

    virtual_s: seconds on the guest's clock from boot to the command's end; wall_s: ours.
    """

    status: int
    virtual_s: float
    wall_s: float


class Lab:
    """One boot of the guest. A context manager that owns the lab's folder on the host.

        with Lab(scenario, ["iperf3", "-J", "-c", "server"]) as lab:
            outcome = lab.run()
            text = lab.stdout.read_text()

    stdout, stderr: what the command printed; results: what it wrote into /run/results,
    once it has ended; console(): what the guest's kernel and its first process printed.
    """

    def __init__(
        self,
        scenario: Scenario,
        argv: Sequence[str],
        *,
        servers: Sequence[str] = SERVERS,
        prelude: Sequence[Sequence[str]] = (),
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        interactive: bool = False,
        writable_cwd: bool = False,
        wall_limit_s: float = defaults.WALL_LIMIT_S,
    ) -> None:
        self._kernel = find_kernel()
        self._scenario = scenario
        self._wall_limit_s = wall_limit_s
        self._interactive = interactive
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="flent-aqm-lab-"))
        try:
            if set(str(self.folder)) & set(" ,\t\n"):
                raise ConfigError(f"TMPDIR is {self.folder.parent}: the lab's folder can't have "
                                  "a blank or a comma in its path; set TMPDIR to another one")
            guest_files.write(self.folder, scenario, argv, servers=servers, prelude=prelude,
                              env=env, cwd=cwd, interactive=interactive,
                              writable_cwd=writable_cwd)
        except BaseException:
            self.close()
            raise
        self.stdout = self.folder / "stdout"
        self.stderr = self.folder / "stderr"
        self.results = self.folder / "results"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def start(self) -> None:
        """Boot the guest; returns at once."""
        console = (self.folder / "console").open("wb")
        self._started_at = time.monotonic()
        self._process = subprocess.Popen(
            self._command_line(),
            stdin=None if self._interactive else subprocess.DEVNULL,
            stdout=None if self._interactive else console,
            stderr=console,
            env={"PATH": os.defpath, "HOME": str(self.folder),
                 "TMPDIR": str(self._memory_folder())},
            cwd=self.folder,
            start_new_session=not self._interactive,
        )
        console.close()
        with _lock:
            _open_labs.add(self)

    def wait(self) -> Outcome:
        """Wait until the command has ended and the guest is off.

        Raises LabTimeout at the wall-time limit, LabError when the guest ended without
        running the command to its end.
        """
        assert self._process is not None, "start() comes first"
        try:
            self._process.wait(timeout=self._wall_limit_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise LabTimeout(f"the lab was stopped after {self._wall_limit_s:g} s of wall time; "
                             f"its console ends with: {self._last_words()}") from None
        except BaseException:
            self.kill()
            raise
        status = self._read("status")
        if not status.isdigit():
            raise LabError(f"the lab ended before its command did: {self._last_words()}")
        return Outcome(int(status), float(self._read("uptime") or 0),
                       time.monotonic() - self._started_at)

    def run(self) -> Outcome:
        """start() and wait()."""
        self.start()
        return self.wait()

    def kill(self) -> None:
        """End the guest at once, with all its processes."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            if self._interactive:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        """Kill the guest if it still runs, and remove the lab's folder."""
        self.kill()
        with _lock:
            _open_labs.discard(self)
        shutil.rmtree(self.folder, ignore_errors=True)

    def console(self) -> str:
        """What the guest's kernel and first process have printed so far."""
        return self._read("console")

    def _command_line(self) -> list[str]:
        # The kernel mixes its command line into its random pool. So that runs repeat
        # anywhere, no path may be in it: the lab's folder is the working folder.
        console = "fd:0,fd:1" if self._interactive else "null,fd:1"
        scenario = self._scenario
        return [
            # The guest must not outlive us, even if we are killed by force.
            "setpriv", "--pdeathsig", "KILL", "--",
            str(self._kernel.path),
            f"mem={defaults.GUEST_MEMORY_MB}M",
            "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
            "init=/bin/sh",
            "con=null", f"con0={console}", "quiet",
            f"lab_seed={defaults.LAB_SEED if scenario.seed is None else scenario.seed}",
            f"sch_api.watchdog_latency_ns={defaults.ROUTER_MODELS[scenario.router_model]}",
            "ifb.numifbs=0", "dummy.numdummies=0",
            "uml_dir=uml",
            "time-travel=inf-cpu", "seccomp=on",
            f"time-travel-start={defaults.CLOCK_START_NS}",
            # Symbolic links of the host's /proc lead to this process's working folder.
            "--", "/proc/self/cwd/guest/init.sh",
        ]

    def _memory_folder(self) -> Path:
        """Where the guest's memory file lies: in memory if there's room that may be executed."""
        needed = defaults.GUEST_MEMORY_MB * 2**20
        if MEMORY_FOLDER.is_dir() and os.access(MEMORY_FOLDER, os.W_OK):
            usage = os.statvfs(MEMORY_FOLDER)
            if usage.f_bavail * usage.f_frsize >= needed and not usage.f_flag & os.ST_NOEXEC:
                return MEMORY_FOLDER
        return self.folder

    def _last_words(self) -> str:
        """The line of the console that most likely says what went wrong."""
        lines = [line.strip() for line in self.console().splitlines() if line.strip()]
        for mark in ("flent-aqm-guest:", "Kernel panic", "BUG:"):
            for line in lines:
                if mark in line:
                    return line
        if lines:
            return lines[-1]
        code = self._process.returncode if self._process else None
        return f"nothing (the kernel's exit status is {code})"

    def _read(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(errors="replace").strip()
        except FileNotFoundError:
            return ""

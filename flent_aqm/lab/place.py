# SPDX-License-Identifier: GPL-3.0-or-later
"""Where one command runs: a folder, one process to start and to watch, what comes out.

What the kinds of testbed share. Whatever happens (a crash, a hang, ^C, this process being
killed), the processes inside end; the folder is removed, after a kill -9 by the next start.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import shutil
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError, LabError, LabTimeout
from flent_aqm.base.words import plain
from flent_aqm.lab import guest_files
from flent_aqm.lab.folder import OwnedFolder
from flent_aqm.spec.scenario import Scenario

# The guest must not outlive us, even if we are killed by force.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
# A kernel that complains for every packet fills a disk until its limit of time.
MOST_CONSOLE_BYTES = 64 << 20
_LOOK_S = 0.25
_READ_BYTES = 4 << 20

_open_places: set[RunEnvironment] = set()
_lock = threading.Lock()


def kill_all() -> None:
    """End all commands of this process's places at once; for when the user wants out."""
    with _lock:
        places = list(_open_places)
    for place in places:
        place.kill()


# What the guest's scripts begin their last line with, and how many lines before it are told.
_OWN_WORDS = "flent-aqm-guest:"
_LINES_TOLD = 3

# Of a path that is shown.
_LONGEST_LEFT = 300


@dataclass(frozen=True)
class Outcome:
    """How one command ended: its exit status, what it took, what models of its path did.

    virtual_s: seconds on the guest's clock from boot to the command's end, None where the
    clock is ours; wall_s: seconds on ours; host_moderation_us: host -> the least time between two
    interrupts of its card as the kernel reports it, empty where cards have none.
    """

    status: int
    virtual_s: float | None
    wall_s: float
    # By the model's name; see path_model.py.
    models: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    host_moderation_us: Mapping[str, int] = field(default_factory=dict)
    # Of an instrumented kernel: address of each basic block that ran -> how often.
    coverage: Mapping[int, int] = field(default_factory=dict)


class RunEnvironment:
    """One command, with its network. A context manager that owns a folder on the host.

        with Lab(scenario, ["iperf3", "-J", "-c", "server"]) as lab:
            outcome = lab.run()
            text = lab.stdout.read_text()

    owned: the folder, where the command's words name it.
    stdout, stderr: what the command printed; results: what it wrote into /run/results,
    once it has ended; console(): what those printed that set the network up. Once it has
    ended, nothing but files and folders is there: what else it has put there is removed.
    Subclasses say by _command_line() what is started, in the folder.
    """

    name: ClassVar[str]  # for messages
    # The host's folders that are not to be seen inside, as others are mounted there.
    hidden: ClassVar[Sequence[str]]
    # True if the command runs on the host's clock.
    real_time: ClassVar[bool]
    # True if the command sees the host's files where they are, with nothing mounted.
    on_host: ClassVar[bool] = False

    def __init__(
        self,
        scenario: Scenario,
        argv: Sequence[str],
        *,
        servers: Sequence[str] = defaults.SERVERS,
        programs: Mapping[str, Path] | None = None,
        prelude: Sequence[Sequence[str]] = (),
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        interactive: bool = False,
        writable_cwd: bool = False,
        wall_limit_s: float | None = defaults.WALL_LIMIT_S,
        owned: OwnedFolder | None = None,
    ) -> None:
        self._scenario = scenario
        self._wall_limit_s = wall_limit_s
        self._interactive = interactive
        self._process: subprocess.Popen[bytes] | None = None
        self._owned = owned or OwnedFolder()
        self.folder = self._owned.path
        self._console = self.folder / "console"
        try:
            if set(str(self.folder)) & set(" ,\t\n"):
                raise ConfigError(f"TMPDIR is {self.folder.parent}: the lab's folder can't have "
                                  "a blank or a comma in its path; set TMPDIR to another one")
            guest_files.write(self.folder, scenario, argv, servers=servers, more_programs=programs,
                              prelude=prelude,
                              env=env, cwd=cwd, interactive=interactive,
                              writable_cwd=writable_cwd, hidden=self.hidden,
                              on_host=self.on_host)
        except BaseException:
            self.close()
            raise
        # All that is written inside, and so all whose form and content can't be relied on.
        out = self.folder / guest_files.OUT
        self.stdout = out / "stdout"
        self.stderr = out / "stderr"
        self.results = out / "results"
        self._left = out / "left"
        self._status, self._uptime = out / "status", out / "uptime"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    @property
    def left_behind(self) -> str:
        """The first path of those that were not handed over, as they are too deep; "" without
        any. Written inside: it may be anything."""
        try:
            with self._left.open("rb") as file:
                first = file.readline(_LONGEST_LEFT).decode(errors="replace").rstrip("\n")
        except (FileNotFoundError, IsADirectoryError):
            return ""
        return plain(first.removeprefix("/run/results/"))

    def _command_line(self) -> list[str]:
        raise NotImplementedError

    def _environment(self) -> dict[str, str]:
        """Of what _command_line() starts; the command's own is in settings.sh."""
        return {"PATH": os.defpath, "HOME": str(self.folder)}

    def start(self) -> None:
        """Start it; returns at once."""
        console = self._console.open("wb")
        self._started_at = time.monotonic()
        self._process = subprocess.Popen(
            self._command_line(),
            stdin=None if self._interactive else subprocess.DEVNULL,
            stdout=None if self._interactive else console,
            stderr=console,
            env=self._environment(),
            cwd=self.folder,
            start_new_session=not self._interactive,
        )
        console.close()
        with _lock:
            _open_places.add(self)

    def wait(self) -> Outcome:
        """Wait until the command has ended and all that was started around it.

        Raises LabTimeout at the wall-time limit, LabError when that ended without
        running the command to its end, or prints more than MOST_CONSOLE_BYTES.
        """
        assert self._process is not None, "start() comes first"
        try:
            in_time = _ends_within(self._process, self._wall_limit_s,
                                   lambda: self._console_is_full() or self._never_ends())
            if not in_time and not self._console_is_full():
                self._before_it_is_stopped()
        except BaseException:
            self.kill()
            raise
        finally:
            replaced = self._remove_odd()
        if self._console_is_full():
            raise LabError(f"{self.name} was stopped after it had printed more than "
                           f"{MOST_CONSOLE_BYTES >> 20} MiB on its console: {self._last_words()}")
        if not in_time:
            raise LabTimeout(f"{self.name} was stopped after {self._stopped_after()}; "
                             f"{self._why_it_did_not_end()}")
        if replaced:
            raise LabError(f"the command put something else in the place of its {replaced}, "
                           "so what it printed is lost")
        status = read_text(self._status)
        if not status.isdigit():
            raise LabError(f"{self.name} ended before its command did: {self._last_words()}")
        return Outcome(int(status), None if self.real_time else float(read_text(self._uptime) or 0),
                       time.monotonic() - self._started_at)

    def _console_is_full(self) -> bool:
        return self._console.stat().st_size > MOST_CONSOLE_BYTES

    def _never_ends(self) -> bool:
        """Return whether it is sure before the wall-time limit that the command will not end. Asked
        several times a second."""
        return False

    def _stopped_after(self) -> str:
        """Return the limit at which the command was stopped."""
        return f"{self._wall_limit_s:g} s of wall time"

    def _before_it_is_stopped(self) -> None:
        """At the wall-time limit: what can be learnt only of a thing that still runs."""

    def _why_it_did_not_end(self) -> str:
        """Return what the message about the wall-time limit ends with."""
        return f"its console ends with: {self._last_words()}"

    def _remove_odd(self) -> str:
        """Remove links, pipes, sockets and devices that were made inside, which would lead
        readers elsewhere or hold them up. Gives the name of an output that was replaced."""
        self.kill()
        replaced = ""
        for path in (self.stdout, self.stderr):
            if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
                replaced = path.name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
        _remove_all_but_files(self.stdout.parent)
        for path in (self.stdout, self.stderr):
            path.touch()  # after a start that came to nothing, too
        if not self.results.is_dir():
            self.results.unlink(missing_ok=True)
            self.results.mkdir()
        return replaced

    def run(self) -> Outcome:
        """start() and wait()."""
        self.start()
        return self.wait()

    def kill(self) -> None:
        """End it at once, with all its processes."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            if self._interactive:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    @property
    def is_open(self) -> bool:
        """Whether its process was started and the place not closed since."""
        with _lock:
            return self in _open_places

    def close(self) -> None:
        """Kill what still runs, and remove the folder."""
        self.kill()
        with _lock:
            _open_places.discard(self)
        self._owned.remove()

    def console(self) -> str:
        """Return what the guest's kernel and first process have printed so far; of very much, the
        beginning and the end."""
        try:
            with self._console.open("rb") as file:
                first = file.read(_READ_BYTES)
                file.seek(max(len(first), self._console.stat().st_size - _READ_BYTES))
                return (first + file.read(_READ_BYTES)).decode(errors="replace").strip()
        except FileNotFoundError:
            return ""

    def _last_words(self) -> str:
        """Return what of the console most likely says what went wrong."""
        lines = [line.strip() for line in self.console().splitlines() if line.strip()]
        # Our own scripts' words come before the kernel's; of those the first line is the
        # cause, and what follows (registers, a trace, the panic) its consequence.
        for number, line in enumerate(lines):
            if line.startswith(_OWN_WORDS):
                # What failed has said why before
                earlier = [each for each in lines[:number] if not each.startswith("[")]
                return "; ".join([line.removeprefix(_OWN_WORDS).strip(), *earlier[-_LINES_TOLD:]])
        for line in lines:
            if any(mark in line for mark in ("BUG:", "Oops", "Kernel panic", "WARNING: CPU")):
                return line
        if lines:
            return lines[-1]
        code = self._process.returncode if self._process else None
        return f"nothing (its exit status is {code})"


def read_text(path: Path) -> str:
    """Return a file's text without blanks around it, "" where there is none."""
    try:
        return path.read_text(errors="replace").strip()
    except (FileNotFoundError, IsADirectoryError):
        return ""


def _remove_all_but_files(folder: Path) -> None:
    """Leave regular files and folders, however deep and of whatever mode."""
    folders = [str(folder)]
    try:
        while folders:
            for entry in os.scandir(folders.pop()):
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry.path, 0o700)
                    folders.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    os.unlink(entry.path)
    except OSError as error:
        raise LabError(f"the command's files can't be read: {error.strerror}: "
                       f"{str(error.filename)[-200:]!r}") from None


def _ends_within(process: subprocess.Popen[bytes], limit_s: float | None,
                 too_much: Callable[[], bool]) -> bool:
    """Wait for its end, and tell whether it came in time, and before there was too much of
    something. At once, where Popen's own wait with a timeout looks every 50 ms, which a short run
    would notice."""
    until_s = math.inf if limit_s is None else time.monotonic() + limit_s
    handle = os.pidfd_open(process.pid)
    try:
        end = select.poll()
        end.register(handle, select.POLLIN)
        while not end.poll(1000 * max(0.0, min(_LOOK_S, until_s - time.monotonic()))):
            if time.monotonic() >= until_s or too_much():
                return False
    finally:
        os.close(handle)
    process.wait()
    return True

# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one command in an environment of its own: a folder, a process, and its output files.

This is the base class of the run environments of all testbeds. In each case (a crash, a hang, ^C,
kill -9 of this process) the processes inside end. The folder is removed, after kill -9 by the next
start.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import select
import shutil
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self, Unpack

from flent_aqm.base import defaults
from flent_aqm.base.errors import (
    NO_TEMPORARY_FOLDER,
    ConfigError,
    LabError,
    LabTimeout,
    cause_of,
)
from flent_aqm.base.words import plain
from flent_aqm.lab import guest_files
from flent_aqm.lab.folder import OwnedFolder
from flent_aqm.spec.scenario import Scenario

# The guest must not outlive us, even if we are killed by force.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
# Most bytes on the console: a kernel that prints a complaint for every packet would fill the disk.
MOST_CONSOLE_BYTES = 64 << 20
# Seconds between two looks at the size of the console.
_CHECK_INTERVAL_S = 0.25
# Seconds between two attempts of end_threads() to kill what runs.
_KILL_AGAIN_S = 0.05
# Bytes that are read of the beginning and of the end of the console.
_READ_BYTES = 4 << 20

# Run environments whose process was started and that aren't closed yet. _lock guards it.
_open_places: set[RunEnvironment] = set()
_lock = threading.Lock()


def kill_all() -> None:
    """Kill all commands that this process has started in run environments, and wait for their end.
    The environments are not closed. Call it at an interrupt, or when nobody needs the results any
    more."""
    with _lock:
        places = list(_open_places)
    for place in places:
        place.kill()


def end_threads(threads: ThreadPoolExecutor, futures: Collection[Future[Any]],
                kill: Callable[[], None] = kill_all) -> None:
    """Let threads that run commands in run environments take nothing more, end those commands, and
    return when what the threads have begun has ended.

    Args:
        threads: the executor.
        futures: those of all that was submitted to it.
        kill: ends the commands. It is called repeatedly, because a thread may be about to start
            one.
    """
    threads.shutdown(wait=False, cancel_futures=True)
    # wait() would never return for a future that was cancelled before a thread took it.
    running = [future for future in futures if not future.cancelled()]
    while wait(running, _KILL_AGAIN_S).not_done:
        kill()


# How error lines of the guest's scripts begin.
_SCRIPT_ERROR = "flent-aqm-guest:"
# Number of console lines before such a line that are shown with it.
_SHOWN_LINES = 3

# Most bytes of a path that are shown.
_LONGEST_PATH = 300


@dataclass(frozen=True)
class CommandResult:
    """The result of one command in a run environment.

    Attributes:
        status: exit status of the command.
        virtual_s: seconds on the guest's clock from boot to the command's end. None in real time.
        wall_s: seconds on this machine's clock from start() to the end of wait().
        models: reports of the path models by name. See path_model.py. Empty in real time.
        host_moderation_us: interrupt moderation of the network cards in us, as the kernel reports
            it, by name of the host. Hosts that forward packets are missing. Empty in real time.
        coverage: for an instrumented kernel, how often each basic block ran, by its address.
            Otherwise empty.
    """

    status: int
    virtual_s: float | None
    wall_s: float
    models: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    host_moderation_us: Mapping[str, int] = field(default_factory=dict)
    coverage: Mapping[int, int] = field(default_factory=dict)


class RunEnvironment:
    """Runs one command with its network. A context manager that owns a folder on the host.

        with Lab(scenario, ["iperf3", "-J", "-c", "server"]) as lab:
            result = lab.run()
            text = lab.stdout.read_text()

    Attributes:
        name: names the environment in messages.
        hidden: folders of the host that are not visible inside, because others are mounted over
            them.
        real_time: True if the command runs on the host's clock.
        on_host: True if the command sees the host's files at their own paths, with nothing mounted.
        folder: the folder.
        stdout: file with the command's output. Like `stderr`, it is empty if the command has the
            user's terminal.
        stderr: file with the command's standard error.
        wall_limit_s: wall time in s after which the command is stopped, None for no limit.
        results: folder with the files that the command wrote to /run/results, or with on_host to
            the folder of its variable RESULTS. Valid after wait().
        flent_files: folder with the files of Flent, if it is the command: `results` or a folder in
            it.

    After wait(), `stdout` and `stderr` are regular files, and `results` has only regular files and
    folders. Anything else that the command created there is removed. console() returns the output
    of the scripts that set up the network.

    Subclasses implement _command_line(), the command that is started in the folder.

    Args:
        scenario: the settings of the run.
        argv: the command to run on the client.
        wall_limit_s: wall time in seconds after which the command is stopped, None for no limit.
        owned: folder to use in place of a new one, for a command whose words name the folder.
            close() removes it, too.
        options: how the command runs, see guest_files.CommandOptions.

    Raises ConfigError if the path of TMPDIR contains a blank, tab, line break or comma, LabError if
    the folder can't be made or written, such as on a full disk. Raises the errors of
    guest_files.write(), too.
    """

    name: ClassVar[str]
    hidden: ClassVar[Sequence[str]]
    real_time: ClassVar[bool]
    on_host: ClassVar[bool] = False

    def __init__(
        self,
        scenario: Scenario,
        argv: Sequence[str],
        *,
        wall_limit_s: float | None = defaults.WALL_LIMIT_S,
        owned: OwnedFolder | None = None,
        **options: Unpack[guest_files.CommandOptions],
    ) -> None:
        self._scenario = scenario
        self.wall_limit_s = wall_limit_s
        self._interactive = options.get("interactive", False)
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._owned = owned or OwnedFolder()
        except OSError as error:
            raise _no_folder(error, Path(os.environ.get("TMPDIR") or "/tmp")) from None
        self.folder = self._owned.path
        self._console = self.folder / "console"
        try:
            if set(str(self.folder)) & set(" ,\t\n"):
                raise ConfigError(f"the folder for temporary files is {self.folder.parent}; "
                                  "expected a path without blanks, line breaks and commas, for "
                                  "the lab's kernel and scripts; set TMPDIR to another folder, "
                                  "such as /var/tmp")
            guest_files.write(self.folder, scenario, argv, hidden=self.hidden,
                              on_host=self.on_host, **options)
        except OSError as error:
            self.close()
            raise _no_folder(error, self.folder.parent) from None
        except BaseException:
            self.close()
            raise
        # All files below are written inside, so their kind and content can't be relied on.
        out = self.folder / guest_files.OUT
        self.stdout = out / "stdout"
        self.stderr = out / "stderr"
        self.results = out / "results"
        self.flent_files = self.results
        if options.get("writable_cwd") and options.get("for_flent"):
            self.flent_files /= guest_files.FLENT_FILES
        self._left, self._ends_here = out / "left", out / "ends_here"
        self._status, self._uptime = out / "status", out / "uptime"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    @property
    def left_behind(self) -> str:
        """Path, relative to /run/results, of the first file or folder that the guest did not hand
        over because it is in too many nested folders, or its path is too long. "" if there is none,
        and before the command's end. It was written inside, so it may be any text, but it is one
        printable line, cut to at most _LONGEST_PATH characters."""
        try:
            with self._left.open("rb") as file:
                first = file.readline(_LONGEST_PATH).decode(errors="replace").rstrip("\n")
        except (FileNotFoundError, IsADirectoryError):
            return ""
        return plain(first.removeprefix("/run/results/"))

    def files_that_end_here(self) -> list[Path]:
        """Return the absolute paths of the files with content that are in the guest's own /tmp,
        /run and /dev/shm when the command ends, and that aren't handed over. Empty before its end,
        and if it could write no files for the user. They were written inside, so they may be any
        text."""
        return [Path(name) for name in read_text(self._ends_here).split("\0") if name]

    def _command_line(self) -> list[str]:
        """Return the words of the command that start() runs in the folder. Subclasses implement
        this."""
        raise NotImplementedError

    def _environment(self) -> dict[str, str]:
        """Return all environment variables of the process that start() starts: PATH, and HOME,
        which is the folder. It inherits none. The variables of the command inside are in
        settings.sh."""
        return {"PATH": os.defpath, "HOME": str(self.folder)}

    def start(self) -> None:
        """Start the process of the environment, and return at once. Call it once. wait() waits for
        the end, and kill_all() kills the process, too. Raises OSError if it can't be started."""
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

    def wait(self) -> CommandResult:
        """Wait until the process of the environment has ended, or kill it at a limit. Then remove
        links, pipes, sockets and devices from the command's files. Return the command's result,
        whatever its exit status. start() comes first.

        Raises:
            LabTimeout: at the wall-time limit, or if the command is known never to end.
            LabError: if the process ended before the command did, if more than MOST_CONSOLE_BYTES
                were printed on the console, if the command replaced its output file by another kind
                of file or overwrote the lab's record of its duration, or if its files can't be
                read.
        """
        assert self._process is not None, "start() comes first"
        try:
            in_time = _wait_until_end(self._process, self.wall_limit_s,
                                      lambda: self._console_is_full() or self._never_ends())
            at_limit = (self.wall_limit_s is not None
                        and time.monotonic() - self._started_at >= self.wall_limit_s)
            if not in_time and not self._console_is_full():
                self._examine_before_kill()
        except BaseException:
            self.kill()
            raise
        finally:
            replaced = self._kill_and_remove_odd_files()
        if self._console_is_full():
            raise LabError(f"{self.name} was stopped after it had printed more than "
                           f"{MOST_CONSOLE_BYTES >> 20} MiB on its console: {self._failure_text()}")
        if not in_time:
            timeout = LabTimeout(f"{self.name} was stopped after {self._stopped_after()}; "
                                 f"{self._reason_for_not_ending()}")
            timeout.at_limit = at_limit
            raise timeout
        if replaced:
            raise LabError(f"the command replaced the file of its {replaced} by another "
                           "kind of file, so its output is lost; let it write to other files")
        status = read_text(self._status)
        if not status.isdecimal():
            # On a full disk, its scripts can't even write the status.
            room = os.statvfs(self.folder)
            full = "" if room.f_bavail and (room.f_favail or not room.f_files) else (
                f"; {self.folder.parent} is full: make room there, or set TMPDIR to another folder")
            raise LabError(f"{self.name} ended before its command did: {self._failure_text()}"
                           f"{full}")
        try:
            virtual_s = None if self.real_time else float(read_text(self._uptime) or 0)
        except ValueError:
            raise LabError("the command wrote to the file uptime of the lab, so its duration is "
                           "not known; let it write to other files") from None
        return CommandResult(int(status), virtual_s, time.monotonic() - self._started_at)

    def _console_is_full(self) -> bool:
        """Return whether the console has more than MOST_CONSOLE_BYTES."""
        return self._console.stat().st_size > MOST_CONSOLE_BYTES

    def _never_ends(self) -> bool:
        """Hook for subclasses, called every _CHECK_INTERVAL_S seconds: return True to stop a
        command that is known never to end, before the wall-time limit. The default returns
        False."""
        return False

    def _stopped_after(self) -> str:
        """Return after what time the command was stopped, for messages, such as "900 s of wall
        time": the wall-time limit, or without one, the time since the start."""
        wall_s = (time.monotonic() - self._started_at if self.wall_limit_s is None
                  else self.wall_limit_s)
        return f"{wall_s:.6g} s of wall time"

    def _examine_before_kill(self) -> None:
        """Hook for subclasses, called before a command is killed at the wall-time limit or because
        of _never_ends(): find out why it did not end, for _reason_for_not_ending(). The default
        does nothing."""

    def _reason_for_not_ending(self) -> str:
        """Return the second half of the message about a command that did not end. By default: "its
        console shows: " and the text of _failure_text(), or "its console shows nothing"."""
        return (f"its console shows: {self._failure_text()}" if self.console()
                else "its console shows nothing")

    def _kill_and_remove_odd_files(self) -> str:
        """Kill the process, and remove links, pipes, sockets and devices that the command created
        in the output folder, which would lead readers elsewhere or block them. A folder in the
        place of an output file is removed, too. stdout, stderr and the folder of results are made
        empty if they are missing then.

        Return the name of an output file (stdout or stderr) that the command replaced by another
        kind of file, "" if there is none. Raises LabError if a folder can't be read or an entry
        can't be removed.
        """
        self.kill()
        replaced = ""
        for path in (self.stdout, self.stderr):
            if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
                replaced = path.name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
        _remove_all_but_files(self.stdout.parent)
        for path in (self.stdout, self.stderr):
            path.touch()  # it is missing if the start failed
        if not self.results.is_dir():
            self.results.unlink(missing_ok=True)
            self.results.mkdir()
        return replaced

    def own_output(self) -> str:
        """Hook for subclasses: return the output of the user's programs for a run's log, with a
        heading for each, "" for none. The default returns ""."""
        return ""

    def run(self) -> CommandResult:
        """Start the command, wait for its end, and return its result, whatever its exit status.
        Raises OSError if it can't be started, LabTimeout and LabError as wait()."""
        self.start()
        return self.wait()

    def kill(self) -> None:
        """Kill the process with all processes inside, and wait for its end. Does nothing if it was
        not started or has ended."""
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
        """True from the start of the process until close()."""
        with _lock:
            return self in _open_places

    def close(self) -> None:
        """Kill the process if it still runs, and remove the folder."""
        self.kill()
        with _lock:
            _open_places.discard(self)
        self._owned.remove()

    def console(self) -> str:
        """Return the console's text so far, without white space at its ends: output of the guest's
        kernel and scripts. Of a text longer than 8 MiB, return the first and the last 4 MiB, one
        after the other. "" before start() and after close()."""
        try:
            with self._console.open("rb") as file:
                first = file.read(_READ_BYTES)
                file.seek(max(len(first), self._console.stat().st_size - _READ_BYTES))
                return (first + file.read(_READ_BYTES)).decode(errors="replace").strip()
        except FileNotFoundError:
            return ""

    def _failure_text(self) -> str:
        """Return the part of the console that most likely tells the cause of a failure, as one
        line.

        That is the first error line of our own scripts, followed by up to three lines of programs
        that came before it, with "; " between them. If there is none, it is the first fault that
        the kernel reports, else the last line. If nothing was printed, return "no output" and, if
        the process has ended, how.
        """
        lines = [line.strip() for line in self.console().splitlines() if line.strip()]
        # Lines of our own scripts are preferred to those of the kernel. Of a fault in the kernel,
        # the first line is the cause, and the following (registers, a trace, the panic) result
        # from it.
        for number, line in enumerate(lines):
            if line.startswith(_SCRIPT_ERROR):
                # The program that failed printed the reason before. Lines with [ are the kernel's.
                earlier = [each for each in lines[:number] if not each.startswith("[")]
                return "; ".join([line.removeprefix(_SCRIPT_ERROR).strip(),
                                  *earlier[-_SHOWN_LINES:]])
        for line in lines:
            if any(mark in line for mark in ("BUG:", "Oops", "Kernel panic", "WARNING: CPU")):
                return line
        if lines:
            return lines[-1]
        code = self._process.returncode if self._process else None
        how = "" if code is None else (
            f"; signal {-code} ended it" if code < 0 else f"; it ended with status {code}")
        return f"no output{how}"


def _no_folder(error: OSError, above: Path) -> LabError:
    """Return the LabError for a run's folder that can't be made or written, with what the user can
    do.

    Args:
        error: the error of the system call.
        above: the folder for temporary files.
    """
    at = f"{error.filename}: " if error.filename else ""
    # Errors of copytree() are a list, of source, target and cause each.
    why = str(error.args[0][0][2]) if isinstance(error, shutil.Error) else f"{at}{cause_of(error)}"
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT) or any(
        words in why for words in (os.strerror(errno.ENOSPC), NO_TEMPORARY_FOLDER))
    room = "make room there, or " * is_full
    advice = "" if error.errno == errno.ENOLCK else f"; {room}set TMPDIR to another folder"
    return LabError(f"can't make or write the run's folder in {above}: {why}{advice}")


def read_text(path: Path) -> str:
    """Return a file's text without surrounding white space, "" if there is no file or it is a
    folder. Bytes that can't be decoded are replaced. Raises OSError if the file can't be read."""
    try:
        return path.read_text(errors="replace").strip()
    except (FileNotFoundError, IsADirectoryError):
        return ""


def _remove_all_but_files(folder: Path) -> None:
    """Remove all entries below `folder` except regular files and folders. The folders below it get
    the mode 0700, and files that their owner may not read the right to it, so that they can be
    read. Raises LabError if a folder can't be read, or an entry can't be changed or removed."""
    folders = [str(folder)]
    try:
        while folders:
            for entry in os.scandir(folders.pop()):
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry.path, 0o700)
                    folders.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    os.unlink(entry.path)
                elif not os.access(entry.path, os.R_OK):
                    os.chmod(entry.path, entry.stat(follow_symlinks=False).st_mode & 0o777 | 0o400)
    except OSError as error:
        raise LabError(f"the command's files can't be handed over: {cause_of(error)}: "
                       f"{str(error.filename)[-200:]!r}") from None


def _wait_until_end(process: subprocess.Popen[bytes], limit_s: float | None,
                    too_much: Callable[[], bool]) -> bool:
    """Wait until a process ends. Return True if it has ended, False if the limit came first or
    `too_much` returned True.

    Returns as soon as the process ends. Popen.wait() with a timeout looks only every 50 ms, which
    would lengthen short runs.

    Args:
        process: the process.
        limit_s: seconds to wait, None for no limit.
        too_much: returns whether to stop waiting. It is called every _CHECK_INTERVAL_S seconds.
    """
    until_s = math.inf if limit_s is None else time.monotonic() + limit_s
    handle = os.pidfd_open(process.pid)
    try:
        end = select.poll()
        end.register(handle, select.POLLIN)
        while not end.poll(1000 * max(0.0, min(_CHECK_INTERVAL_S, until_s - time.monotonic()))):
            if time.monotonic() >= until_s or too_much():
                return False
    finally:
        os.close(handle)
    process.wait()
    return True

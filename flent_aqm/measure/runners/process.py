# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a tool, watches it, and reports failures: the base class of this package's runners.

Flent's own process runner forks for each tool before the test, and checks once a second whether the
tool still runs. Here the tool is started by subprocess when it is due, without a copy of the
interpreter, which is expensive in the lab's guest. Its end is noticed at once, so that cross
traffic stops, and the next tool starts, immediately.

A tool that failed has an empty series, which Flent counts in FAILED_RUNNERS. The reason is a line
in its metadata: SERIES_META[series]['ERROR'], a list of strings.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any, cast

from flent_aqm.base.errors import AqmError, BadResult, a_defect, cause_of
from flent_aqm.base.flent_api import ProcessRunner, RunnerCheckError, get_logger
from flent_aqm.base.shell import NOT_FOUND, find_program
from flent_aqm.base.words import end_of, significant
from flent_aqm.measure.load_window import Load

# Result of parse() for Flent: series, raw samples, metadata.
Parsed = tuple[Any, list[dict[str, Any]], dict[str, Any]]

POLL_MS = 100
# A tool that ignores SIGINT gets SIGTERM, then SIGKILL, each after so many seconds.
GRACE_S = 2.0
# A tool that was busy for more than this share of its time has not waited.
SPINS_ABOVE = 0.5

# Values of stopped_by. Any other value is the fault for which the tool was stopped.
KILLED, DUE = "killed", "due"

logger = get_logger(__name__)


class SupervisedRunner(ProcessRunner):
    """A ProcessRunner for one tool. Base class of this package's runners, and a mixin before
    Flent's.

    A subclass sets self.command in check(), and implements read() unless it has parse() of Flent.
    These of Flent's keys of a data set work: delay, run_after, kill_after, watchdog_timer (seconds
    after the tool's start at which it is considered hung and is killed).

    Args:
        linger_s: seconds for which the tool goes on after the series of kill_after has ended. Being
            stopped then is its normal end. None to stop it at once.
        kwargs: the keys of Flent's runners.

    Attributes:
        title: name of the tool in messages, "" for the program in the command line.
        endless: True if being stopped by kill_after is the tool's normal end.
        run_for_s: seconds after which the tool is stopped, as its normal end. None for no limit.
        success_return: exit statuses of a successful tool.
        started_s: start of the tool in epoch seconds.
        ended_s: end of the tool in epoch seconds.
        stopped_by: KILLED (also if that was before the tool's start), DUE, or the fault for which
            the tool was stopped or could not be run. "" if it ended by itself, or still runs.
        cpu_s: processor time of the tool in s. 0 if it was stopped.
    """

    supports_remote = False
    title = ""
    endless = False
    run_for_s: float | None = None
    success_return: tuple[int, ...] = (0,)
    watchdog_timer: float | None

    def __init__(self, *, linger_s: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.linger_s = linger_s
        self._linger_until_s: float | None = None
        self.started_s = self.ended_s = 0.0
        self.stopped_by = ""
        self.cpu_s = 0.0

    @property
    def tool(self) -> str:
        """Name of the tool in messages: `title`, or if that is "", the program as it is written in
        the command line, which is known from check() on."""
        return self.title or str(self.args[0])

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Convert the tool's output to series. Subclasses may override it. parse_output() calls it
        if the tool ended normally.

        The default calls parse() of the runner of Flent with which this class is combined.

        Args:
            output: standard output of the tool.
            error: standard error of the tool.

        Returns:
            Series, raw samples and metadata.

        Raises:
            AqmError: if the output has no result. The default raises BadResult.
        """
        parsed: Parsed | None = None
        fault: Exception | None = None
        try:
            parsed = self.parse(output, error)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as raised:
            fault = raised
        if parsed and parsed[0]:
            return parsed
        printed, complaint = text_of(output).strip(), self.complaint(error)
        said = f"its last line on standard error: {complaint}" if complaint else ""
        if fault is not None and printed:
            raise BadResult("; ".join(filter(None, (
                f"{self.tool}: its output can't be parsed ({cause_of(fault)})",
                f"it starts with {printed[:60]!r}", said,
                "is it another version? see flent-aqm doctor"))))
        ends = f"its output ends with {last_line(output)[-60:]!r}" if printed else ""
        raise BadResult(f"{self.tool} gave no measurement; "
                        f"{'; '.join(filter(None, (ends, said))) or 'it printed nothing'}")

    def last_words(self, output: IO[str], error: IO[str]) -> str:
        """Return what the tool said last, for a message about its failure: complaint(), or if there
        is none, "its output ends with '…'", at most 200 characters of it, or "it printed nothing".

        Args:
            output: standard output of the tool.
            error: standard error of the tool.
        """
        printed = text_of(output).strip()
        return self.complaint(error) or (
            f"its output ends with {last_line(output)[-200:]!r}" if printed
            else "it printed nothing")

    def complaint(self, error: IO[str]) -> str:
        """Return the tool's own message about a failure, "" if there is none: its last line on
        standard error. Subclasses override it if the tool has other lines there."""
        return last_line(error) if text_of(error).strip() else ""

    def load(self, server_port: int, direction: str, **more: Any) -> dict[str, Any]:
        """Return metadata that identifies the tool's packets in a capture, as Load.as_dict() does.
        Call it after the tool's end, as its start and end are part of them.

        Args:
            server_port: port of the tool's server.
            direction: "upload" or "download".
            more: further fields of Load.
        """
        return Load(server_port, direction, self.started_s, self.ended_s, **more).as_dict()

    # Methods that Flent calls.

    def fork(self) -> int:
        """Open the files for the tool's output. Flent calls it before the test. Unlike Flent's
        method, it starts no process. Return 0, the number of processes started."""
        self.stdout, self.stderr = self.open_output(), self.open_output()
        return 0

    def open_output(self, suffix: str = "") -> IO[str]:
        """Return a temporary file, open for reading and writing text, whose name ends in `suffix`.
        It is removed when it is closed. Flent closes self.stdout and self.stderr after the test."""
        return tempfile.NamedTemporaryFile(
            mode="w+", encoding="utf-8", prefix="flent-aqm-", suffix=suffix)

    def open_written(self, suffix: str) -> str:
        """Open a further temporary file for the tool's output, and return its path. `written` has
        the path from then on. The file is removed with this runner, or by the next call."""
        # Flent may parse in another process, which gets public attributes only. This process keeps
        # the file open until then.
        self._written = self.open_output(suffix)
        self.written: str = self._written.name
        return self.written

    def start(self) -> int:
        """Start the thread that runs the tool, at the start of the test. Flent calls it. Return 1,
        the number of threads started."""
        self._thread = threading.Thread(target=self.run)
        self._thread.start()
        return 1

    def run(self) -> None:
        """Wait until the tool is due, run it, and set finish_event. If it is stopped before it is
        due, it isn't run, and `stopped_by` is KILLED. An OSError, such as a failure to start it, is
        stored in `stopped_by` as a message. Runs in a thread of its own."""
        try:
            if self.start_event is not None:
                self.start_event.wait()
            if self.kill_event.wait(self.delay):
                self.stopped_by = KILLED
            else:
                self._run_tool()
                self.ended_s = time.time()
        except OSError as fault:
            self.stopped_by = f"{self.tool} could not be run: {os_error_text(fault)}"
        finally:
            # Set it in any case, because other runners wait for it.
            self.finish_event.set()
        self.debug("Finished", extra={"runner": self})

    def parse_output(self) -> Parsed:
        """Return the series, raw samples and metadata of a tool that has ended. If it failed,
        series and samples are empty, and the reason is in the metadata under ERROR, a list of one
        text. No exception leaves this method: an unexpected one is logged, and counts as a failure.
        Flent calls it, possibly in another process."""
        try:
            self._refuse_bad_end(self.stderr)
            self.stdout.seek(0)
            self.stderr.seek(0)
            return self.read(self.stdout, self.stderr)
        except AqmError as fault:
            return [], [], {"ERROR": [str(fault)]}
        except OSError as fault:
            text = f"the tool's output could not be read or stored: {os_error_text(fault)}"
            return [], [], {"ERROR": [text]}
        except Exception as fault:
            # A defect in this package. Without this, Flent would go on as if there were no such
            # series.
            logger.exception("%s: defect in %s", self.runner_name, type(self).__name__)
            return [], [], {"ERROR": [a_defect(fault)]}

    def recv_result(self, res: Parsed) -> None:
        """Store the result of parse_output() where Flent expects it, and log its errors. Flent
        calls it."""
        self.result, self.raw_values, metadata = res
        self.metadata.update(metadata)
        for line in metadata.get("ERROR", []):
            logger.error("%s: %s", self.runner_name, line)

    def _run_tool(self) -> None:
        """Start the tool, wait for its end, and stop it if necessary. Set started_s and returncode,
        and stopped_by if it was stopped. Subclasses override this to run code in place of a tool.
        Raises OSError if the tool can't be started."""
        self.started_s = time.time()
        process = subprocess.Popen(
            self.args, stdin=subprocess.DEVNULL, stdout=self.stdout, stderr=self.stderr,
            env=self._tool_environment())
        self.pid = process.pid
        self.debug("Started as pid %d", process.pid)
        why = self._wait(process)
        if why:
            if why not in (KILLED, DUE):
                why += _busy_note(process.pid, time.time() - self.started_s)
            self.stopped_by = why
            self._stop(process)
        self.returncode = process.returncode

    def _tool_environment(self) -> dict[str, str]:
        """Return the tool's environment: Flent's, with what Flent sets for all tools. Subclasses
        extend it."""
        return {**os.environ, **self._env}

    def _wait(self, process: subprocess.Popen[bytes]) -> str:
        """Wait for the tool's end. Return the reason if it has to be stopped: KILLED, DUE or a
        message. The caller stops it. Return "" if it ended by itself, and set `cpu_s` and the
        process's returncode."""
        watchdog_s = self.watchdog_timer
        begin = time.monotonic()
        late = begin + watchdog_s if watchdog_s else float("inf")
        due = begin + self.run_for_s if self.run_for_s else float("inf")
        poller = select.poll()
        handle = os.pidfd_open(process.pid)
        try:
            poller.register(handle, select.POLLIN)
            while not poller.poll(POLL_MS):
                if why := self.stop_reason():
                    return why
                now = time.monotonic()
                if now > due:
                    return DUE
                if now > late:
                    return f"{self.tool} still ran after {watchdog_s:g} s and was killed"
        finally:
            os.close(handle)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s = used.ru_utime + used.ru_stime
        return ""

    def stop_reason(self) -> str:
        """Return the reason for which the tool has to be stopped now, "" if there is none. After
        the end of kill_after's runner, or of a test that Flent aborts, it is KILLED, or with
        linger_s, DUE when so many seconds have passed since the first call after that end."""
        if not self.kill_event.is_set():
            return ""
        if self.linger_s is None:
            return KILLED
        now = time.monotonic()
        if self._linger_until_s is None:
            self._linger_until_s = now + self.linger_s
        return DUE if now >= self._linger_until_s else ""

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        """Stop the tool by SIGINT, then SIGTERM, then SIGKILL, with GRACE_S between them. Return
        when it has ended."""
        for sign in (signal.SIGINT, signal.SIGTERM):
            process.send_signal(sign)
            try:
                process.wait(GRACE_S)
                return
            except subprocess.TimeoutExpired:
                pass
        process.kill()
        process.wait()

    def _refuse_bad_end(self, error: IO[str]) -> None:
        """Raise BadResult unless the tool ended normally: by itself with a status in
        success_return, stopped as DUE, or if it is endless, stopped as KILLED. `error` is its
        standard error."""
        if self.stopped_by == DUE or (self.stopped_by == KILLED and self.endless):
            return
        if self.stopped_by == KILLED:
            raise BadResult(f"{self.tool} was stopped before it had "
                            f"{'finished' if self.started_s else 'begun'}: the test, or the load "
                            "that it accompanies, ended first")
        if self.stopped_by:
            raise BadResult(self.stopped_by)
        if self.returncode not in self.success_return:
            raise BadResult(f"{self.tool} ended with {end_of(self.returncode)}: "
                            f"{self.last_words(self.stdout, error)}")


def program_path(name: str) -> Path:
    """Return the path of a program that find_program() finds. Raises RunnerCheckError if it finds
    none.

    name: name of the program.
    """
    program = find_program(name)
    if program is None:
        raise RunnerCheckError(f"{name} is {NOT_FOUND}; see flent-aqm doctor")
    return program


def os_error_text(fault: OSError) -> str:
    """Return the reason of an OSError, after the name of the file if it names one."""
    reason = cause_of(fault)
    return f"{fault.filename}: {reason}" if fault.filename else reason


def _busy_note(pid: int, ran_s: float) -> str:
    """Return a clause with the processor time that a tool used, which begins with "; ", for the
    message about a tool that did not end. "" unless that is more than SPINS_ABOVE of the time since
    its start: a tool that busy-waits in virtual time never ends. Raises OSError if there is no such
    process.

    Args:
        pid: process id of the tool. Its child processes aren't counted.
        ran_s: seconds since its start.
    """
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        ticks = stat.read().rpartition(")")[2].split()[11:13]  # of its own and the kernel's work
    busy_s = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return f"; it was busy for {significant(busy_s)} s of them: it doesn't wait, it spins" * (
        busy_s > SPINS_ABOVE * ran_s)


def text_of(stream: IO[str]) -> str:
    """Return the whole text of a tool's output, also what was read before. Bytes that aren't UTF-8
    are replaced. stream: a file opened as text, which is rewound and read to its end. A pipe won't
    do."""
    stream.seek(0)
    raw: bytes = cast(Any, stream).buffer.read()
    return raw.decode("utf-8", "replace")


def last_line(stream: IO[str]) -> str:
    """Return the last line of a tool's output that isn't blank, without white space at its ends. It
    usually is the error message. "it printed nothing" if there is none. The stream is read from its
    start, wherever its position is."""
    lines = text_of(stream).split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")

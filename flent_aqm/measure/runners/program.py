# SPDX-License-Identifier: GPL-3.0-or-later
"""Runner of a command of the user, whose throughput the capture tells."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import IO, Any

from flent_aqm.base import defaults, environment
from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import end_of
from flent_aqm.measure.runners.process import KILLED, Parsed, SupervisedRunner


class AqmProgramRunner(SupervisedRunner):
    """Runs a command of the user on the client.

    Keys of the data set:
        command: the command line. No shell runs it.
        length: seconds after which the command is killed, which is a failure.

    Series: the seconds that it has run, 0 at its start and all at its end. It is empty if the
    command failed. If the variable FLENT_AQM_PROGRAM_OUTPUT names a folder, the command's output is
    kept there, and its exit status if it ended by itself. If it is stopped, or ends with status 0,
    the names of the files with statuses of servers that had ended before are kept in
    CLIENT_STOPPED: a server that ends after that may do so because its client is gone.
    """

    def __init__(self, *, command: str, length: float, **kwargs: Any) -> None:
        super().__init__(watchdog_timer=length, **kwargs)
        self.command = command
        self.length_s = length

    def check(self) -> None:
        super().check()
        # It is in AQM.requested, from where `share` leaves it out.
        self.metadata.pop("COMMAND", None)

    def fork(self) -> int:
        folder = os.environ.get(environment.PROGRAM_OUTPUT)
        if not folder:
            return super().fork()
        self.stdout, self.stderr = (
            _open(folder, defaults.CLIENT_STDOUT), _open(folder, defaults.CLIENT_STDERR))
        return 0

    def _tool_environment(self) -> dict[str, str]:
        """Return the environment without the variables that instruct this Flent alone: the command
        may be a Flent, or need numpy."""
        return {name: value for name, value in super()._tool_environment().items()
                if name not in environment.OF_ONE_FLENT}

    def _run_tool(self) -> None:
        super()._run_tool()
        folder = os.environ.get(environment.PROGRAM_OUTPUT)
        if folder and not self.stopped_by:
            if self.returncode == 0:
                self._note_ended_servers(folder)
            # As a shell tells it of a program that a signal ended.
            status = self.returncode if self.returncode >= 0 else 128 - self.returncode
            Path(folder, defaults.CLIENT_STATUS).write_text(f"{status}\n", encoding="utf-8")

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        folder = os.environ.get(environment.PROGRAM_OUTPUT)
        if folder:
            self._note_ended_servers(folder)
        super()._stop(process)

    @staticmethod
    def _note_ended_servers(folder: str) -> None:
        """Write the names of the files with statuses of servers that have ended to CLIENT_STOPPED.

        folder: folder of the outputs.
        """
        ended = sorted(path.name for path in Path(folder).glob("server-*-status"))
        Path(folder, defaults.CLIENT_STOPPED).write_text(
            "".join(f"{name}\n" for name in ended), encoding="utf-8")

    @property
    def out(self) -> str:
        """Text that Flent logs in place of the command's standard output: a note that refers to the
        run's log."""
        return "(see the run's log)\n"

    err = out  # of standard error

    def _refuse_bad_end(self, error: IO[str]) -> None:
        """Raise BadResult unless the command ended by itself with status 0. If it ended by itself
        with another status or by a signal, the message has the last line of `error`, its standard
        error, or if that is empty, of its output."""
        if self.stopped_by and self.stopped_by != KILLED:
            how = self.stopped_by.removeprefix(f"{self.tool} ")
            raise BadResult(f"the command {how}; have it end, or "
                            "allow more time: --time-limit SECONDS, or length in a batch"
                            if how.startswith("still ran") else self.stopped_by)
        if self.returncode and not self.stopped_by:
            raise BadResult(f"the command ended with {end_of(self.returncode)}: "
                            f"{self.last_words(self.stdout, error)}")
        super()._refuse_bad_end(error)

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Return a series of two points, 0 at the command's start and its duration in s at its end,
        the same as raw samples, and metadata: PROGRAM has status, started_s and ended_s. Times are
        in epoch seconds. The arguments aren't read."""
        samples = [{"t": self.started_s, "val": 0.0},
                   {"t": self.ended_s, "val": round(self.ended_s - self.started_s, 6)}]
        return [[one["t"], one["val"]] for one in samples], samples, {
            "PROGRAM": {"status": self.returncode, "started_s": self.started_s,
                        "ended_s": self.ended_s}}


def _open(folder: str, name: str) -> IO[str]:
    """Return a new file for the command's output, which Flent closes after the test. An existing
    file is replaced. Raises OSError if it can't be written."""
    return Path(folder, name).open("w+", encoding="utf-8")

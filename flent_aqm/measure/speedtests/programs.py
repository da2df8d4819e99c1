# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed tests that are programs of others, which tell on their output what they found.

    python -m flent_aqm.measure.speedtests.programs NAME PROGRAM HOST PORT [--OPTION VALUE …]

NAME is a module beside this one, with measure(asked, report), which runs PROGRAM for both
directions and notes when each of its lines comes. Prints a report as the clients of this package
do.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.speedtests.report import Report, exit_status


@dataclass(frozen=True)
class ProgramCall:
    """What a program is to do: it, the server's address and port, and options by their test
    parameters' names."""

    program: str
    host: str
    port: int
    options: Mapping[str, str]

    @property
    def host_and_port(self) -> str:
        """As URLs have it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Line:
    """One of a program's output; at_s: when it came, monotonic."""

    at_s: float
    text: str


def lines_of(name: str, words: list[str], folder: str | None = None) -> Iterator[Line]:
    """Run a program in a folder; give each line of its output when it comes.

    Raises BadResult where it ends with another status than 0, with its last line.
    """
    last = ""
    process: subprocess.Popen[str] | None = None
    try:
        with delayed(signal.SIGTERM):
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", cwd=folder, env={**os.environ, "TZ": "UTC"})
        assert process.stdout is not None
        for text in process.stdout:
            last = text.strip() or last
            yield Line(time.monotonic(), text.rstrip("\n"))
        process.wait()
    finally:
        # Still running: what was read has a fault, or this process is to end.
        if process is not None:
            with process:
                if process.poll() is None:
                    process.kill()
    if process.returncode:
        raise BadResult(f"{name} ended with status {process.returncode}: "
                        f"{last[:300] or 'it printed nothing'}")


@contextmanager
def delayed(number: signal.Signals) -> Iterator[None]:
    """Handle a signal that comes meanwhile at the end.

    Popen() returns only once the program runs. An exception from a signal's handler before that
    leaves a program that nobody knows.
    """
    came: list[int] = []
    handler = signal.signal(number, lambda *_: came.append(number))
    try:
        yield
    finally:
        signal.signal(number, handler)
    if came:
        os.kill(os.getpid(), number)


def measure(name: str, asked: ProgramCall) -> Report:
    """Run the module of that name. Raises BadResult."""
    report = Report(name)
    module = importlib.import_module(f"flent_aqm.measure.speedtests.{name}")
    run: Callable[[ProgramCall, Report], None] = module.measure
    run(asked, report)
    return report


def main() -> int:
    """Run it; exit status 1 when it came to no result."""
    name, program, host, port, *more = sys.argv[1:]
    options = {option.removeprefix("--").replace("-", "_"): value
               for option, value in zip(more[::2], more[1::2], strict=True)}
    # Whoever ends this process ends the program with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    asked = ProgramCall(program, host, int(port), options)
    return exit_status(name, lambda: print(measure(name, asked).text()))


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the client of a tool in a process of its own, which prints a report.

    python -m MODULE host=HOST port=PORT [program=PATH …] [OPTION=VALUE …]

MODULE is the Tool's `module`. It passes its function measure(call, report) to main(). lines_of()
runs other programs and records when each line of their output arrives.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from flent_aqm.base import environment
from flent_aqm.base.errors import AqmError, BadResult, cause_of
from flent_aqm.base.words import bracketed
from flent_aqm.tools.report import ClientReport

# Starts a server that is another project's Python module. It may need numpy, so the variable that
# keeps numpy out of runs is removed.
MODULE_OF_OTHERS = f'env -u {environment.WITHOUT_PLOTS} "$PYTHON" -P -m'

# Regular expression of a decimal number in a program's output, without sign and exponent. Nothing
# that float() can't read or that is infinite matches: neither 1.5.5 nor a part of it.
NUMBER = r"(?<![0-9.])[0-9]{1,15}(?:\.[0-9]{1,15})?(?![0-9.])"


@dataclass(frozen=True)
class Call:
    """The arguments of a tool's client, as its command line has them.

    Attributes:
        host: address or name of the server. It is an address if there are programs.
        port: port of the server.
        tls: True to use TLS, and accept any certificate.
        ip_version: 4, 6, or 0 for either.
        programs: paths of the programs and scripts that the client starts, the client program
            first. Empty if it needs none.
        options: the client's options, by the names of the test parameters.
    """

    host: str
    port: int
    tls: bool = False
    ip_version: int = 0
    programs: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def program(self) -> str:
        """Path of the client program, the first entry of `programs`. Raises IndexError if there is
        none."""
        return self.programs[0]

    @property
    def host_and_port(self) -> str:
        """HOST:PORT, with brackets around an IPv6 address, as in a URL."""
        return f"{bracketed(self.host)}:{self.port}"

    @property
    def url(self) -> str:
        """URL of the server, http://HOST:PORT, or https:// with TLS, without a path."""
        return f"http{'s' if self.tls else ''}://{self.host_and_port}"

    def words(self) -> list[str]:
        """Return the arguments as words NAME=VALUE of a command line, from which call_of() makes an
        equal Call, unless an option has a name of another argument (host, port, tls, ip_version,
        program)."""
        return [f"host={self.host}", f"port={self.port}", *(["tls=yes"] if self.tls else []),
                *([f"ip_version={self.ip_version}"] if self.ip_version else []),
                *(f"program={path}" for path in self.programs),
                *(f"{name}={value}" for name, value in self.options.items())]


def call_of(words: Iterable[str]) -> Call:
    """Return the Call that the words of Call.words() describe. A word `tls` with any value, also
    "no", turns TLS on. Words of unknown names are options. Of words with the same name the last one
    counts, except that each `program` adds a path. Raises KeyError if host or port is missing,
    ValueError if port or ip_version isn't a whole number."""
    pairs = [word.partition("=")[::2] for word in words]
    values = dict(pairs)
    own = ("host", "port", "tls", "ip_version", "program")
    return Call(values["host"], int(values["port"]), "tls" in values,
                int(values.get("ip_version", 0)),
                tuple(value for name, value in pairs if name == "program"),
                {name: value for name, value in values.items() if name not in own})


@dataclass(frozen=True)
class OutputLine:
    """A line of a program's output.

    Attributes:
        at_s: time at which the line arrived, in monotonic seconds.
        text: the line without its end, which is a line feed, a carriage return or both.
    """

    at_s: float
    text: str


def lines_of(name: str, words: list[str], folder: str | None = None) -> Iterator[OutputLine]:
    """Run a program, and yield each line of its output and errors when it arrives. The program
    starts when the first line is asked for, in the main thread, because that uses delayed(). It is
    killed if the iterator is closed or dropped before the program's end.

    Args:
        name: the program's name, for messages.
        words: its command line.
        folder: its working folder (default: the current one).

    After the last line, raises BadResult with the begin of the last line that isn't blank if the
    program ended with a status other than 0 or by a signal. Raises OSError if it can't be started.
    """
    last = ""
    process: subprocess.Popen[str] | None = None
    try:
        with delayed(signal.SIGTERM):
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", cwd=folder, env=_environment())
        assert process.stdout is not None
        for text in process.stdout:
            last = text.strip() or last
            yield OutputLine(time.monotonic(), text.rstrip("\n"))
        process.wait()
    finally:
        # Still running: what was read has a fault, or this process is to end.
        if process is not None:
            with process:
                if process.poll() is None:
                    process.kill()
    if process.returncode:
        status = process.returncode
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        raise BadResult(f"{name} {how}: {last[:300] or 'it printed nothing'}")


def _environment() -> dict[str, str]:
    """Return the environment for another project's program: this process's, without the variable
    that keeps numpy out of runs, and with the time zone UTC."""
    return {**{name: value for name, value in os.environ.items()
               if name != environment.WITHOUT_PLOTS}, "TZ": "UTC"}


@contextmanager
def delayed(number: signal.Signals) -> Iterator[None]:
    """In a with statement, in the main thread: hold back a signal that arrives during the block,
    and send it once to this process again at the block's end. If the block raises an error, the
    signal is lost.

    Popen() returns only once the program runs. An exception from a signal handler before that would
    leave a running program that this process doesn't know.

    number: the signal.
    """
    received: list[int] = []
    handler = signal.signal(number, lambda *_: received.append(number))
    try:
        yield
    finally:
        signal.signal(number, handler)
    if received:
        os.kill(os.getpid(), number)


def main(name: str, measure: Callable[[Call, ClientReport], None]) -> int:
    """Run a client with the arguments on the command line, and print its report as JSON.

    Return the exit status: 0, or 1 with a line on standard error and no report if the arguments
    can't be read, or if `measure` raises AqmError or OSError. Other errors are raised. From this
    call on, SIGTERM raises SystemExit, so that the programs that the client has started with
    lines_of() end with it.

    Args:
        name: name of the client, for the report and messages.
        measure: function (arguments, report) that measures and fills the report.
    """
    # Whoever ends this process ends the program with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    report = ClientReport(name)
    try:
        call = call_of(sys.argv[1:])
    except (KeyError, ValueError) as fault:
        print(f"error: {name}: the arguments can't be read ({cause_of(fault)}); expected "
              "host=HOST port=PORT, with PORT a number, then options as NAME=VALUE",
              file=sys.stderr)
        return 1
    try:
        measure(call, report)
    except AqmError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        of = f"{error.filename}: " if error.filename else ""
        # Errors of connections don't tell to whom.
        to = "" if error.filename else f"; its server is {call.host_and_port}"
        print(f"error: {name}: {of}{cause_of(error)}{to}", file=sys.stderr)
        return 1
    print(report.text())
    return 0

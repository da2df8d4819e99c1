# SPDX-License-Identifier: GPL-3.0-or-later
"""A client of a tool in a process of its own, which prints a report.

    python -m MODULE host=HOST port=PORT [program=PATH …] [OPTION=VALUE …]

MODULE is what a Tool names; it gives its measure(call, report) to main(). Programs of others are
run by lines_of(), which notes when each of their lines comes.
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
from flent_aqm.base.errors import AqmError, BadResult
from flent_aqm.tools.report import Report

# Starts a server that is a Python module of others, which may need numpy: what keeps this package
# from loading it isn't for them.
MODULE_OF_OTHERS = f'env -u {environment.WITHOUT_PLOTS} "$PYTHON" -P -m'


@dataclass(frozen=True)
class Call:
    """What a client is to do: the server's address and port, TLS with whatever certificate, IP
    version (0: any), the programs that its Tool needs, and options by their test parameters' names.
    """

    host: str
    port: int
    tls: bool = False
    ip_version: int = 0
    programs: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def program(self) -> str:
        """The client's, which comes first."""
        return self.programs[0]

    @property
    def host_and_port(self) -> str:
        """As URLs have it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Of the server."""
        return f"http{'s' if self.tls else ''}://{self.host_and_port}"

    def words(self) -> list[str]:
        """Return it as words for a command line."""
        return [f"host={self.host}", f"port={self.port}", *(["tls=yes"] if self.tls else []),
                *([f"ip_version={self.ip_version}"] if self.ip_version else []),
                *(f"program={one}" for one in self.programs),
                *(f"{name}={value}" for name, value in self.options.items())]


def call_of(words: Iterable[str]) -> Call:
    """Return what words() gave these words for."""
    pairs = [word.partition("=")[::2] for word in words]
    values = dict(pairs)
    own = ("host", "port", "tls", "ip_version", "program")
    return Call(values["host"], int(values["port"]), "tls" in values,
                int(values.get("ip_version", 0)),
                tuple(value for name, value in pairs if name == "program"),
                {name: value for name, value in values.items() if name not in own})


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
                text=True, errors="replace", cwd=folder, env=_environment())
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


def _environment() -> dict[str, str]:
    """Return a program's, as MODULE_OF_OTHERS has it."""
    return {**{name: value for name, value in os.environ.items()
               if name != environment.WITHOUT_PLOTS}, "TZ": "UTC"}


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


def main(name: str, measure: Callable[[Call, Report], None]) -> int:
    """Run a client; gives its exit status: 1, with a line on standard error, when it came to no
    result."""
    # Whoever ends this process ends the program with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    report = Report(name)
    try:
        measure(call_of(sys.argv[1:]), report)
    except AqmError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {name}: {error.strerror or error}", file=sys.stderr)
        return 1
    print(report.text())
    return 0

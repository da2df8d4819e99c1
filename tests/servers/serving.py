# SPDX-License-Identifier: GPL-3.0-or-later
"""A real server in a process of its own."""

from __future__ import annotations

import json
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

WAIT_S = 30


class RunningServer:
    """`python -m flent_aqm.servers WHAT` on free ports of 127.0.0.1 and ::1.

    ports: by name, those of 127.0.0.1. prefix: words of a command that starts it in its own place,
    such as prlimit.
    """

    def __init__(self, *words: str, prefix: Sequence[str] = ()) -> None:
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-P", "-m", "flent_aqm.servers", *words,
             *(word for name in ("ndt7", "ndt7-tls", "http", "http-tls", "http3", "webrtc")
               for word in (f"--{name}-port", "0")),
             "--bind", "127.0.0.1", "--bind", "::1"],
            stderr=subprocess.PIPE, encoding="utf-8")
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        listening = self.next_log()
        assert listening.pop("event") == "listening", listening
        self.ports = {name: int(addresses[0].rpartition(":")[2])
                      for name, addresses in listening.items()}

    def next_log(self) -> dict[str, Any]:
        """The next line that the server logs, waited for. It has to be JSON as others read it."""
        line = json.loads(self._lines.get(timeout=WAIT_S), parse_constant=_refuse)
        assert isinstance(line, dict)
        return line

    def logged(self) -> list[dict[str, Any]]:
        """All lines that it has logged since the last one that was asked for."""
        lines = []
        while not self._lines.empty():
            lines.append(json.loads(self._lines.get()))
        return lines

    def most_memory_mb(self) -> float:
        """The most that its process had resident so far, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines()
                    if line.startswith("VmHWM:")) / 1024

    def cpu_s(self) -> float:
        """What its process has used of a processor so far."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / 100

    def raw(self, name: str) -> socket.socket:
        """A TCP connection without any protocol, to one of its ports."""
        return socket.create_connection(("127.0.0.1", self.ports[name]), timeout=WAIT_S)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; the exit status."""
        self.process.send_signal(number)
        status = self.process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


Kind = TypeVar("Kind", bound=RunningServer)


@contextmanager
def starting(kind: Callable[..., Kind]) -> Iterator[Callable[..., Kind]]:
    """Start servers with words of one's own; they are gone at the end."""
    running: list[Kind] = []

    def start(*words: str, prefix: Sequence[str] = ()) -> Kind:
        running.append(kind(*words, prefix=prefix))
        return running[-1]

    try:
        yield start
    finally:
        for server in running:
            if server.process.poll() is None:
                server.stop()

# SPDX-License-Identifier: GPL-3.0-or-later
"""A scheduler and workers on loopback, that a test starts and ends."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from research.bench.kills import SweepFolder

BIN = Path(sys.executable).parent


def wait_for(condition: Callable[[], object], what: Callable[[], object] = lambda: "") -> None:
    """Until the condition holds; fails after two minutes."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.05)


class Cluster:
    """A scheduler and workers that the test starts and ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Of TLS, for the scheduler and the workers.
        self.options: list[str] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self.started: list[subprocess.Popen[bytes]] = []

    def scheduler(self) -> subprocess.Popen[bytes]:
        protocol, _, place = self.address.partition("://")
        host, _, port = place.partition(":")
        return self._start([BIN / "dask", "scheduler", "--host", host, "--port", port,
                            "--protocol", protocol, "--dashboard-address", "127.0.0.1:0",
                            *self.options])

    def worker(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        return self._start([BIN / "flent-aqm", "worker", self.address, "--jobs", "1",
                            *self.options, *options], **environment)

    def _start(self, words: list[Any], **environment: str) -> subprocess.Popen[bytes]:
        number = len(self.started)
        temporary = self.folder / f"tmp{number}"
        temporary.mkdir()
        with (self.folder / f"said{number}").open("wb") as output:
            self.started.append(subprocess.Popen(
                words, cwd=temporary, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, "TMPDIR": str(temporary), **environment}))
        return self.started[-1]

    def output(self) -> str:
        return "\n".join(path.read_text(errors="replace")
                         for path in sorted(self.folder.glob("said*")))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """None of it runs yet."""
    made = Cluster(tmp_path)
    yield made
    for process in made.started:
        process.terminate()
    for process in made.started:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def here(tmp_path: Path) -> SweepFolder:
    """A batch of four short runs."""
    (tmp_path / "here").mkdir()
    return SweepFolder(tmp_path / "here", repetitions=2)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps by a scheduler and workers on loopback, some of which end in the middle."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.kills import Here, children, compare, gone
from flent_aqm.base import paths
from flent_aqm.setup.kernel.locate import VARIABLE, find_kernel
from flent_aqm.sweep.cluster.agreement import Found, Wanted, refusal

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
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self.started: list[subprocess.Popen[bytes]] = []

    def scheduler(self) -> subprocess.Popen[bytes]:
        host, _, port = self.address.removeprefix("tcp://").partition(":")
        return self._start([BIN / "dask", "scheduler", "--host", host, "--port", port,
                            "--no-dashboard"])

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        return self._start([BIN / "flent-aqm", "worker", self.address, "--jobs", "1"],
                           **environment)

    def _start(self, words: list[Any], **environment: str) -> subprocess.Popen[bytes]:
        number = len(self.started)
        temporary = self.folder / f"tmp{number}"
        temporary.mkdir()
        with (self.folder / f"said{number}").open("wb") as said:
            self.started.append(subprocess.Popen(
                words, cwd=temporary, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                env={**os.environ, "TMPDIR": str(temporary), **environment}))
        return self.started[-1]

    def said(self) -> str:
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
def here(tmp_path: Path) -> Here:
    """A batch of four short runs."""
    (tmp_path / "here").mkdir()
    return Here(tmp_path / "here", repetitions=2)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Their files, made without a cluster."""
    here = Here(tmp_path_factory.mktemp("undisturbed"), repetitions=2)
    assert here.start().wait(600) == 0, here.said()
    return here.take()


def on(cluster: Cluster) -> tuple[str, ...]:
    """Options that send the runs there."""
    return "--batch-override", f"scheduler={cluster.address}"


@pytest.fixture
def other_kernel(tmp_path: Path) -> Iterator[Path]:
    """The lab kernel with another hash, which nobody has; what is sent of it is removed."""
    path = tmp_path / "linux"
    shutil.copy(find_kernel().path, path)
    with path.open("ab") as file:
        file.write(b"\0")
    shutil.copy(find_kernel().path.with_name("kernel.json"), tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(path))
        name = find_kernel().hash
    yield path
    shutil.rmtree(paths.cache_to_write() / "kernels" / name, ignore_errors=True)


@pytest.mark.lab
def test_runs_by_workers_are_those_made_here_and_the_kernel_is_sent(
        cluster: Cluster, here: Here, undisturbed: dict[str, Any], other_kernel: Path) -> None:
    """Workers without the kernel get it; one that was told to use another is refused by name."""
    cluster.scheduler()
    cluster.worker()
    cluster.worker()
    cluster.worker(FLENT_AQM_KERNEL=str(find_kernel().path))
    wait_for(lambda: cluster.said().count("flent-aqm: worker at") == 3, cluster.said)
    here.environment[VARIABLE] = str(other_kernel)
    sweep = here.start(*on(cluster))
    assert sweep.wait(300) == 0, here.said()
    assert compare(undisturbed, here.take()) == []
    assert "was sent the lab kernel" in here.said()
    assert "is refused: it was told to use another kernel (hash " in here.said()
    assert here.left() == []


@pytest.mark.lab
def test_worker_when_killed_in_a_run_has_it_made_by_another(
        cluster: Cluster, here: Here, undisturbed: dict[str, Any]) -> None:
    """kill -9 of a worker with a lab at work: its lab ends, and each run is there once."""
    cluster.scheduler()
    workers = [cluster.worker(), cluster.worker()]
    wait_for(lambda: cluster.said().count("flent-aqm: worker at") == 2, cluster.said)
    sweep = here.start(*on(cluster))
    wait_for(lambda: any(name == "linux" for _, name in children(workers[0].pid)), here.said)
    time.sleep(1)
    workers[0].kill()
    workers[0].wait()
    assert sweep.wait(300) == 0, here.said()
    assert "is gone" in here.said()
    assert "0 failed" in here.said()
    assert compare(undisturbed, here.take()) == []
    workers[1].send_signal(signal.SIGTERM)
    workers[1].wait(30)
    (scheduler, *_) = cluster.started
    scheduler.terminate()
    scheduler.wait(30)
    assert gone(cluster.folder) == []


@pytest.mark.lab
def test_scheduler_when_restarted_loses_no_run(
        cluster: Cluster, here: Here, undisturbed: dict[str, Any]) -> None:
    """Workers and the asking side wait for it, and go on."""
    scheduler = cluster.scheduler()
    workers = [cluster.worker(), cluster.worker()]
    wait_for(lambda: cluster.said().count("flent-aqm: worker at") == 2, cluster.said)
    sweep = here.start(*on(cluster))
    wait_for(lambda: any(name == "linux" for _, name in children(workers[0].pid)), here.said)
    scheduler.kill()
    scheduler.wait()
    time.sleep(1)
    cluster.scheduler()
    assert sweep.wait(300) == 0, here.said()
    assert compare(undisturbed, here.take()) == []


@pytest.mark.lab
@pytest.mark.parametrize(("override", "message"), [
    ("scheduler=10.0.0.1", "expected one such as tcp://192.0.2.1:8786"),
    ("scheduler=tcp://127.0.0.1:1", "start one with: dask scheduler"),
])
def test_scheduler_that_is_none_is_refused_in_one_line(here: Here, override: str, message: str
                                                       ) -> None:
    """Before anything runs."""
    assert here.start("--batch-override", override).wait(120) == 1
    (line,) = [line for line in here.said().splitlines() if "ERROR" in line]
    assert message in line
    assert "Traceback" not in here.said()


def test_worker_with_other_sources_or_tools_is_refused_with_what_differs() -> None:
    """Both sides' hashes or versions, and how to mend it."""
    wanted = Wanted("aaaa", "kkkk", "7.3.4", {"iperf3": "3.12", "lab kernel": "7.3.4"})
    same = Found("far", "aaaa", "", False, {"iperf3": "3.12"})
    assert refusal(wanted, same) == ""
    other = Found("far", "bbbb", "", True, {"iperf3": "3.12"})
    assert "hash bbbb, here aaaa" in refusal(wanted, other)
    old = Found("far", "aaaa", "kkkk", True, {"iperf3": "3.9"})
    assert refusal(wanted, old).startswith("iperf3 is 3.9 there and 3.12 here")
    bare = Found("far", "aaaa", "", True, {})
    assert refusal(wanted, bare).startswith("iperf3 is missing there")

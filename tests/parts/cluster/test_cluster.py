# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps by a scheduler and workers on loopback, some of which end in the middle."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base import paths
from flent_aqm.base.errors import LabError, TestbedError, ToolMissing
from flent_aqm.lab.virtual import VirtualTestbed
from flent_aqm.parts.cluster import cluster as sweep_side
from flent_aqm.parts.cluster import worker_side
from flent_aqm.parts.cluster.agreement import RequiredVersions, WorkerFacts, refusal
from flent_aqm.parts.cluster.extra import load_distributed
from flent_aqm.setup.kernel import locate
from flent_aqm.setup.kernel.locate import VARIABLE, find_kernel
from research.bench.kills import SweepFolder, children, compare, wait_for_orphans

from .conftest import Cluster, wait_for


def test_runs_that_waited_too_long_for_a_scheduler_say_so(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep itself hasn't ended."""
    told: list[str] = []
    side = sweep_side.Cluster("tcp://127.0.0.1:1", RequiredVersions("", "", "", {}), Path("linux"),
                              told.append)
    monkeypatch.setattr(side, "_connect", lambda: side.stop())
    monkeypatch.setattr(sweep_side, "PATIENCE_S", -1.0)
    side._client = type("Client", (), {"close": lambda self, timeout: None})()
    side._handle_lost_scheduler(OSError())
    assert "can't be listed (OSError)" in told[0]
    with pytest.raises(LabError, match=r"stopped, because the scheduler .* could not be used"):
        side._reserve_worker()


def test_run_that_is_lost_each_time_names_its_likely_cause(monkeypatch: pytest.MonkeyPatch
                                                           ) -> None:
    side = sweep_side.Cluster("tcp://127.0.0.1:1", RequiredVersions("", "", "", {}), Path("linux"),
                              print)
    monkeypatch.setattr(side, "_reserve_worker", lambda: "tcp://one:1")
    monkeypatch.setattr(side, "_make_there", lambda cell, address: None)
    cell: Any = None
    with pytest.raises(TestbedError, match=r"lost 5 times, .*; probably the run is the cause"):
        side.make(cell)


def test_worker_says_where_it_could_not_write(tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernels").touch()
    monkeypatch.setattr(paths, "cache_to_write", lambda: tmp_path)
    with pytest.raises(LabError, match=rf"kernel in {tmp_path}/kernels: Not a directory"):
        worker_side.take_kernel("hash", "6.1", b"")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/run/one")

    kernel: Any = object()
    monkeypatch.setattr(locate, "kernel_of", lambda _: kernel)
    monkeypatch.setattr(worker_side, "make_output", full)
    monkeypatch.setattr(worker_side, "_RecordingTestbed",
                        lambda *_: type("Testbed", (), {"forget": lambda self: None})())
    monkeypatch.setattr(worker_side, "_bind_to_core", lambda: None)
    with pytest.raises(LabError, match="/tmp/run/one: No space left on device"):
        worker_side.run(kernel, RequiredVersions("", "gone", "", {}), "sweep")
    monkeypatch.setattr(locate, "kernel_of", lambda _: None)
    with pytest.raises(LabError, match="make the sweep again, which sends it there"):
        worker_side.run(kernel, RequiredVersions("", "gone", "", {}), "sweep")


def test_package_that_cannot_be_imported_tells_what_is_missing(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Which may be something that it needs itself."""
    monkeypatch.setitem(sys.modules, "distributed.client", None)
    with pytest.raises(ToolMissing, match=r"can't be imported \(.*distributed.client.*\);"):
        load_distributed()


def test_worker_whose_check_fails_is_not_taken_for_a_lost_scheduler() -> None:
    """The others stay in use; it is told once, and checked again."""
    class Client:
        """A scheduler with workers, one of which answers nonsense until it is mended."""

        mended = False

        def scheduler_info(self, n_workers: int) -> dict[str, Any]:
            return {"workers": {"tcp://odd:1": {"nthreads": 1}, "tcp://good:1": {"nthreads": 2}}}

        def run(self, function: Any, *arguments: object, workers: list[str]) -> dict[str, Any]:
            address, = workers
            if address == "tcp://odd:1" and not self.mended:
                raise ValueError("nonsense")
            return {address: WorkerFacts(address, "", "", True, {})}

    told: list[str] = []
    side = sweep_side.Cluster("tcp://127.0.0.1:1", RequiredVersions("", "", "", {}), Path("linux"),
                              told.append)
    side._client = Client()
    for _ in range(2):
        side._update_workers()
        assert side.room() == 2
    assert told == ["worker at tcp://odd:1 can't be checked (nonsense); trying again"]
    side._client.mended = True
    side._update_workers()
    assert side.room() == 3


def test_kernel_that_cannot_be_read_is_not_taken_for_a_lost_worker(tmp_path: Path) -> None:
    """It would be tried again for ever without a word."""
    class Client:
        """A scheduler with a worker that lacks the kernel."""

        def scheduler_info(self, n_workers: int) -> dict[str, Any]:
            return {"workers": {"tcp://bare:1": {"nthreads": 1}}}

        def run(self, function: Any, *arguments: object, workers: list[str]) -> dict[str, Any]:
            return {"tcp://bare:1": WorkerFacts("bare", "", "", False, {})}

    told: list[str] = []
    side = sweep_side.Cluster("tcp://127.0.0.1:1", RequiredVersions("", "", "", {}),
                              tmp_path / "linux", told.append)
    side._client = Client()
    side._update_workers()
    assert told == [(f"worker at tcp://bare:1 can't be checked (the lab kernel {tmp_path}/linux "
                     "can't be read here: No such file or directory; make it readable, or if it is "
                     "gone, end the sweep, run: flent-aqm setup, and make the sweep again); trying "
                     "again")]


@pytest.mark.parametrize(("greeting", "scheme", "why"), [
    (b"SSH-2.0-OpenSSH_10.0\r\n", "tcp",
     "something answers there, but not as a scheduler should .MemoryError: .*; check host and po"),
    (b"SSH-2.0-OpenSSH_10.0\r\n", "tls", "127.0.0.1:[0-9]+ speaks without TLS: if it is the sche"),
    (None, "tcp", "no connection .Connection refused.; if none is running there, start one with:")])
def test_scheduler_that_cannot_be_used_is_refused_with_the_cause(
        monkeypatch: pytest.MonkeyPatch, greeting: bytes | None, scheme: str, why: str) -> None:
    """Dask's error for an ssh server is a MemoryError, and for most others a timeout."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def greet() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    connection.sendall(greeting or b"")
                    connection.close()

        if greeting is None:
            listening.close()
        else:
            threading.Thread(target=greet, daemon=True).start()
        side = sweep_side.Cluster(f"tcp://127.0.0.1:{port}", RequiredVersions("", "", "", {}),
                                  Path("linux"), print)
        side._address = f"{scheme}://127.0.0.1:{port}"
        monkeypatch.setattr(side, "_security", type("Security", (), {
            "get_connection_args": lambda self, role: {"ssl_context": ssl.create_default_context()}
        })())

        def connect() -> None:
            raise MemoryError("Unable to allocate 2.82 EiB")

        monkeypatch.setattr(side, "_connect", connect)
        with pytest.raises(TestbedError, match=f"^scheduler {scheme}://127.0.0.1:{port}: {why}"):
            side.start()


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Their files, made without a cluster."""
    here = SweepFolder(tmp_path_factory.mktemp("undisturbed"), repetitions=2)
    assert here.start().wait(600) == 0, here.output()
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
        cluster: Cluster, here: SweepFolder, undisturbed: dict[str, Any],
        other_kernel: Path) -> None:
    """Workers without the kernel get it; one that was told to use another is refused by name."""
    cluster.scheduler()
    cluster.worker()
    cluster.worker()
    cluster.worker(FLENT_AQM_KERNEL=str(find_kernel().path))
    wait_for(lambda: cluster.output().count("flent-aqm: worker at") == 3, cluster.output)
    here.environment[VARIABLE] = str(other_kernel)
    sweep = here.start(*on(cluster))
    assert sweep.wait(300) == 0, here.output()
    assert compare(undisturbed, here.take()) == []
    assert "was sent the lab kernel" in here.output()
    assert "is refused: its variable FLENT_AQM_KERNEL names another kernel (hash " in here.output()
    assert here.left() == []


@pytest.mark.lab
def test_worker_when_killed_in_a_run_has_it_made_by_another(
        cluster: Cluster, here: SweepFolder, undisturbed: dict[str, Any]) -> None:
    """kill -9 of a worker with a lab at work: its lab ends, and each run is there once."""
    cluster.scheduler()
    workers = [cluster.worker(), cluster.worker()]
    wait_for(lambda: cluster.output().count("flent-aqm: worker at") == 2, cluster.output)
    sweep = here.start(*on(cluster))
    wait_for(lambda: any(name == "linux" for _, name in children(workers[0].pid)), here.output)
    time.sleep(1)
    workers[0].kill()
    workers[0].wait()
    assert sweep.wait(300) == 0, here.output()
    assert "is gone" in here.output()
    assert "0 failed" in here.output()
    assert compare(undisturbed, here.take()) == []
    workers[1].send_signal(signal.SIGTERM)
    workers[1].wait(30)
    (scheduler, *_) = cluster.started
    scheduler.terminate()
    scheduler.wait(30)
    assert wait_for_orphans(cluster.folder) == []


@pytest.mark.lab
def test_scheduler_when_restarted_loses_no_run(
        cluster: Cluster, here: SweepFolder, undisturbed: dict[str, Any]) -> None:
    """Workers and the asking side wait for it, and go on."""
    scheduler = cluster.scheduler()
    workers = [cluster.worker(), cluster.worker()]
    wait_for(lambda: cluster.output().count("flent-aqm: worker at") == 2, cluster.output)
    sweep = here.start(*on(cluster))
    wait_for(lambda: any(name == "linux" for _, name in children(workers[0].pid)), here.output)
    scheduler.kill()
    scheduler.wait()
    time.sleep(1)
    cluster.scheduler()
    assert sweep.wait(300) == 0, here.output()
    assert compare(undisturbed, here.take()) == []


@pytest.mark.lab
@pytest.mark.parametrize(("override", "message"), [
    ("scheduler=10.0.0.1", "expected tcp://HOST:PORT or tls://HOST:PORT, with a port"),
    ("scheduler=tcp://127.0.0.1:1", "start one with: dask scheduler"),
])
def test_scheduler_that_is_none_is_refused_in_one_line(here: SweepFolder, override: str,
                                                       message: str
                                                       ) -> None:
    """Before anything runs."""
    assert here.start("--batch-override", override).wait(120) == 1
    (line,) = [line for line in here.output().splitlines() if "ERROR" in line]
    assert message in line
    assert "Traceback" not in here.output()


def test_worker_with_other_sources_or_tools_is_refused_with_what_differs() -> None:
    """Both sides' hashes or versions, and how to mend it."""
    wanted = RequiredVersions("aaaa", "kkkk", "7.3.4", {"iperf3": "3.12", "lab kernel": "7.3.4"})
    same = WorkerFacts("far", "aaaa", "", False, {"iperf3": "3.12"})
    assert refusal(wanted, same) == ""
    other = WorkerFacts("far", "bbbb", "", True, {"iperf3": "3.12"})
    assert "hash bbbb, here aaaa" in refusal(wanted, other)
    old = WorkerFacts("far", "aaaa", "kkkk", True, {"iperf3": "3.9"})
    assert refusal(wanted, old).startswith("iperf3 is 3.9 there and 3.12 here")
    bare = WorkerFacts("far", "aaaa", "", True, {})
    assert refusal(wanted, bare).startswith("iperf3 is missing there")


class _MadeLab:
    """A made lab, as a real one takes seconds to be prepared."""

    def __init__(self) -> None:
        self.is_closed = self.is_killed = False

    def close(self) -> None:
        self.is_closed = True

    def kill(self) -> None:
        self.is_killed = True


def test_stop_of_a_sweep_reaches_labs_that_are_prepared_or_not_started(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of another run of the sweep made a worker forget them, and they ran to their end."""
    kernel: Any = None
    monkeypatch.setattr(worker_side, "_stopped", set())
    monkeypatch.setattr(VirtualTestbed, "place", lambda *_: _MadeLab())
    one, two = (worker_side._RecordingTestbed(kernel, "sweep") for _ in range(2))
    ended, waiting = (testbed.place(kernel, kernel) for testbed in (one, two))
    one.forget()
    worker_side.stop("sweep")
    assert [lab.is_killed for lab in (ended, waiting)] == [False, True]  # type: ignore[attr-defined]
    late = _MadeLab()
    monkeypatch.setattr(VirtualTestbed, "place", lambda *_: late)
    with pytest.raises(LabError, match="its sweep was stopped"):
        two.place(kernel, kernel)
    assert late.is_closed

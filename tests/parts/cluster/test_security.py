# SPDX-License-Identifier: GPL-3.0-or-later
"""Who reaches a worker: where it listens, and TLS with the certificates of docs/cluster.md."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import distributed.core
import pytest

from flent_aqm.base.errors import ConfigError, StorageError
from flent_aqm.parts.cluster import command
from flent_aqm.parts.cluster.address import parse_scheduler
from flent_aqm.parts.cluster.probe import _why_tls_failed, why_not
from flent_aqm.parts.cluster.security import own_address, require_own
from research.bench.kills import SweepFolder, compare
from tests.files import ROOT

from .conftest import BIN, Cluster, wait_for

PAGE = ROOT / "docs" / "cluster.md"


def listening(pid: int) -> set[tuple[str, str]]:
    """(Family, address in hexadecimal) of each port on which a process listens."""
    inodes = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir()
              if link.is_symlink()}
    addresses = set()
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                addresses.add((family, words[1]))
    return addresses


def ready(cluster: Cluster, workers: int = 1) -> None:
    wait_for(lambda: cluster.output().count("flent-aqm: worker at") == workers, cluster.output)


@pytest.mark.parametrize(("options", "address"), [
    ((), "0100007F"), (("--host", "127.0.0.2"), "0200007F")], ids=["default", "--host"])
def test_worker_listens_at_one_port_towards_the_scheduler(
    cluster: Cluster, options: tuple[str, ...], address: str
) -> None:
    """Neither on other addresses nor for HTTP."""
    cluster.scheduler()
    worker = cluster.worker(*options)
    ready(cluster)
    (port,) = listening(worker.pid)
    assert port[0] == "tcp"
    assert port[1].startswith(f"{address}:")
    assert "warning" not in cluster.output()


def test_worker_when_asked_listens_everywhere_and_says_what_that_means(cluster: Cluster) -> None:
    """--host 0.0.0.0 without TLS; the page of --dashboard is at the same address."""
    cluster.scheduler()
    worker = cluster.worker("--host", "0.0.0.0", "--dashboard", "0")
    ready(cluster)
    assert {address.partition(":")[0] for _, address in listening(worker.pid)} == {"00000000"}
    assert len(listening(worker.pid)) == 2
    wait_for(lambda: "can run programs as" in cluster.output(), cluster.output)


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "b..example"])
def test_name_that_the_dns_cannot_carry_is_one_line(host: str) -> None:
    """Python would raise UnicodeError for it. With 63 letters it is a name."""
    with pytest.raises(ConfigError, match=r"scheduler: .* longer than 63 characters"):
        parse_scheduler(f"tcp://{host}:8786")
    with pytest.raises(ConfigError, match=r"--host: .* longer than 63 characters"):
        require_own(host)
    with pytest.raises(ConfigError, match="has letters that names can't have"):
        require_own("a\u200e\u05d0b")
    for good in ("a" * 63 + ".example.", "[::1]", "192.0.2.1"):
        assert parse_scheduler(f"tcp://{good}:8786") == f"tcp://{good}:8786"


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
def test_port_that_cannot_be_is_refused(port: str) -> None:
    """The system would take it modulo 65536, and a worker would wait for ever there."""
    with pytest.raises(ConfigError, match="is not the address of a Dask scheduler"):
        parse_scheduler(f"tcp://127.0.0.1:{port}")
    assert parse_scheduler("tcp://127.0.0.1:65535") == "tcp://127.0.0.1:65535"


def test_own_address_is_the_one_towards_the_scheduler() -> None:
    """Loopback for loopback, by name and in both families."""
    assert own_address("tcp://127.0.0.1:8786") == "127.0.0.1"
    assert own_address("tcp://localhost:8786") == "127.0.0.1"
    assert own_address("tls://[::1]:8786") == "::1"


@pytest.mark.netns
@pytest.mark.skipif(os.geteuid() != 0, reason="making a network namespace needs root")
def test_own_address_follows_the_route(tmp_path: Path) -> None:
    """Of two networks, the one that the scheduler is in."""
    code = ("from flent_aqm.parts.cluster.security import own_address as own; "
            "print(own('tcp://192.0.2.9:1'), own('tcp://198.51.100.9:1'))")
    script = "".join(f"ip link add {name} type veth peer name {name}x && ip address add {address} "
                     f"dev {name} && ip link set {name} up && ip link set {name}x up && "
                     for name, address in (("one", "192.0.2.1/24"), ("two", "198.51.100.1/24")))
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", script + 'exec "$0" -c "$1"', sys.executable, code],
        capture_output=True, text=True, check=True)
    assert done.stdout == "192.0.2.1 198.51.100.1\n"


def certificates(folder: Path) -> list[str]:
    """Made in the folder by the commands of the page; the options that name them."""
    folder.mkdir()
    (script,) = re.findall(r"```sh\n(umask.*?)```", PAGE.read_text(), re.DOTALL)
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True, capture_output=True)
    assert (folder / "key.pem").stat().st_mode & 0o077 == 0
    return ["--tls-ca-file", f"{folder}/authority.pem", "--tls-cert", f"{folder}/cert.pem",
            "--tls-key", f"{folder}/key.pem"]


def environment(folder: Path) -> dict[str, str]:
    """The variables of the page."""
    exports = re.findall(r"^export (\w+)=\$PWD/(\S+)$", PAGE.read_text(), re.MULTILINE)
    assert len(exports) == 3
    return {name: f"{folder}/{file}" for name, file in exports}


@pytest.fixture
def tls_cluster(cluster: Cluster, tmp_path: Path) -> Cluster:
    """A scheduler and a worker with certificates."""
    cluster.options = certificates(tmp_path / "own")
    cluster.address = cluster.address.replace("tcp:", "tls:")
    cluster.scheduler()
    cluster.worker()
    ready(cluster)
    return cluster


# Dask's own aren't typed.
SECURITY: Any = distributed.Security
RPC: Any = distributed.core.rpc


def identity(address: str, security: Any) -> Any:
    """What somebody hears who asks a worker who it is."""

    async def ask() -> Any:
        async with RPC(address, connection_args=security.get_connection_args("client"),
                       timeout=10) as worker:
            return await worker.identity()

    return asyncio.run(ask())


def test_worker_with_tls_answers_nobody_without_a_certificate_of_the_authority(
    tls_cluster: Cluster, tmp_path: Path
) -> None:
    """Neither in cleartext, nor without one, nor with one of another authority."""
    match = re.search(r"worker at (tls://[^;\s]+);", tls_cluster.output())
    assert match
    address, options = match[1], tls_cluster.options
    own = {"tls_ca_file": options[1], "tls_client_cert": options[3],
           "tls_client_key": options[5]}
    assert identity(address, SECURITY(**own))["type"] == "Worker"
    theirs = certificates(tmp_path / "theirs")
    for security, place in (
        (SECURITY(require_encryption=False), address.replace("tls:", "tcp:")),
        (SECURITY(**{**own, "tls_client_cert": theirs[3],
                                 "tls_client_key": theirs[5]}), address),
    ):
        with pytest.raises(OSError, match=r".*"):
            identity(place, security)
    host, _, port = address.removeprefix("tls://").rpartition(":")
    without = ssl.create_default_context(cafile=options[1])
    without.check_hostname = False  # the certificate names no host
    # TLS 1.3: the refusal comes after the client's own part, with the first thing read
    with (socket.create_connection((host, int(port)), timeout=30) as cleartext,
          without.wrap_socket(cleartext) as encrypted,
          pytest.raises(ssl.SSLError, match="certificate required")):
        encrypted.recv(1)
    assert (len(tls_cluster.output().split("warning"))) == 1


def test_failure_of_tls_is_blamed_on_a_certificate_only_if_it_is_about_one() -> None:
    """A scheduler that ends the handshake for another reason hasn't looked at it."""
    assert "refuses this worker's certificate" in _why_tls_failed("tlsv1 alert unknown ca")
    assert "refuses this worker's certificate" in _why_tls_failed("tlsv13 alert certificate requ")
    assert "valid today" in _why_tls_failed("sslv3 alert bad certificate")
    assert "has expired" in _why_tls_failed("sslv3 alert certificate expired")
    assert "expected one of" not in _why_tls_failed("sslv3 alert certificate expired")
    assert "TLS connection to the scheduler fails" in _why_tls_failed("unexpected eof")


def test_other_service_that_speaks_first_is_not_taken_for_a_scheduler() -> None:
    """Such as an SSH server: what it is remains open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def greet() -> None:
            accepted, _ = server.accept()
            with accepted:
                accepted.sendall(b"SSH-2.0-OpenSSH_10.0\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        endpoint = f"127.0.0.1:{server.getsockname()[1]}"
        why = why_not(f"tls://{endpoint}", ssl.create_default_context())
        thread.join()
    assert why == (f"{endpoint} speaks without TLS: if it is the scheduler, give its address as "
                   f"tcp://{endpoint}; otherwise check host and port")


def test_worker_says_why_it_does_not_join(tls_cluster: Cluster, tmp_path: Path) -> None:
    """Without TLS at a scheduler with it; with certificates of another authority, whichever side
    sees it first. Each once, while it goes on trying."""
    own, secure = list(tls_cluster.options), tls_cluster.address
    theirs = certificates(tmp_path / "theirs")
    tls_cluster.address, tls_cluster.options = secure.replace("tls:", "tcp:"), []
    tls_cluster.worker()
    tls_cluster.address = secure
    tls_cluster.options = theirs
    tls_cluster.worker()
    tls_cluster.options = [*own[:2], *theirs[2:]]
    last = tls_cluster.worker()
    for why in (f"the scheduler uses TLS: give its address as {secure}, with certificates",
                "the scheduler's certificate isn't valid by the authority in --tls-ca-file",
                "the scheduler refuses this worker's certificate (tlsv1 alert"):
        wait_for(lambda why=why: why in tls_cluster.output(),  # type: ignore[misc]
                 lambda: tls_cluster.output())
    assert tls_cluster.output().count("can't join") == 3
    assert last.poll() is None


def test_worker_with_tls_at_a_scheduler_without_it_says_so(
    cluster: Cluster, tmp_path: Path
) -> None:
    """And the same worker joins one that is what it was told."""
    cluster.scheduler()
    plain = cluster.address
    cluster.address = plain.replace("tcp:", "tls:")
    cluster.options = certificates(tmp_path / "own")
    cluster.worker()
    wait_for(lambda: f"if it is the scheduler, give its address as {plain};" in cluster.output(),
             lambda: cluster.output())
    cluster.address, cluster.options = plain, []
    cluster.worker()
    ready(cluster)
    assert "Traceback" not in cluster.output()


def test_worker_that_came_before_the_scheduler_says_why_it_does_not_join(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Nobody being there is another reason than speaking otherwise; each is told once."""
    plain = cluster.address
    cluster.address = plain.replace("tcp:", "tls:")
    cluster.options = certificates(tmp_path / "own")
    cluster.worker()
    wait_for(lambda: "waiting for it" in cluster.output(), lambda: cluster.output())
    cluster.address, cluster.options = plain, []
    cluster.scheduler()
    wait_for(lambda: f"if it is the scheduler, give its address as {plain};" in cluster.output(),
             lambda: cluster.output())
    assert cluster.output().count("waiting for it") == 1


@pytest.mark.lab
def test_sweep_through_tls_makes_the_same_files(tls_cluster: Cluster, here: SweepFolder,
                                                tmp_path: Path) -> None:
    """With the page's certificates and variables; without the variables it is one line."""
    options = ("--batch-override", f"scheduler={tls_cluster.address}")
    assert here.start(*options).wait(120) == 1
    (line,) = [line for line in here.output().splitlines() if "ERROR" in line]
    assert "TLS needs certificates; give distributed.comm.tls: ca-file, client.cert" in line
    assert "Traceback" not in here.output()
    here.environment.update(environment(tmp_path / "own"))
    assert here.start(*options).wait(300) == 0, here.output()
    made = here.take()
    assert len(made) == 4
    (tmp_path / "undisturbed").mkdir()
    undisturbed = SweepFolder(tmp_path / "undisturbed", repetitions=2)
    assert undisturbed.start().wait(600) == 0, undisturbed.output()
    assert compare(undisturbed.take(), made) == []


@pytest.mark.parametrize(("words", "message"), [
    (["tls://127.0.0.1:1"], "TLS needs certificates; give --tls-ca-file, --tls-cert and"),
    (["tls://127.0.0.1:1", "--tls-cert", "no.pem"], "give --tls-ca-file, or distributed"),
    (["tls://127.0.0.1:1", "--tls-ca-file", "no.pem", "--tls-cert", "no.pem"],
     "no.pem: No such file or directory; expected two readable PEM files"),
    (["tcp://127.0.0.1:1", "--tls-cert", "no.pem"], "give the scheduler as tls://127.0.0.1:1"),
    (["tcp://127.0.0.1:1", "--host", "192.0.2.1"], "expected an address of this machine"),
    (["tls://127.0.0.1:1", "--tls-ca-file", "/dev/null", "--tls-cert", "/dev/null"],
     "; the key is looked for in the certificate's file, because none is given (--tls-key, or dis"),
    (["tcp://127.0.0.1:1", "--host", "no such"], "--host 'no such': can't listen there"),
    (["tcp://127.0.0.1:1", "--host", ""], "--host '': can't listen there"),
    (["tcp://127.0.0.1:65536"], "or tls://HOST:PORT, with a port from 1 to 65535, such as tcp://"),
    (["tcp://127.0.0.1:1", "--dashboard", "70000"], "expected a port from 1 to 65535, or 0"),
    ([""], "the scheduler's address is empty"),
])
def test_option_that_makes_no_sense_ends_with_one_line(
    words: list[str], message: str, tmp_path: Path
) -> None:
    """Before anything listens."""
    done = subprocess.run([BIN / "flent-aqm", "worker", *words], capture_output=True, text=True,
                          check=False, timeout=60, cwd=tmp_path, env=os.environ)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert message in done.stderr


def test_worker_without_a_folder_does_not_wait_for_a_scheduler(monkeypatch: pytest.MonkeyPatch
                                                               ) -> None:
    """It was told as an absent scheduler, and tried again for ever."""
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(command, "why_not", lambda *_: "")
    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    wanted = command._WorkerOptions("tcp://127.0.0.1:1", 1, "127.0.0.1", None, None)
    with pytest.raises(StorageError, match="No space left on device; make room, or set TMPDIR to"):
        asyncio.run(command._run_worker(wanted))

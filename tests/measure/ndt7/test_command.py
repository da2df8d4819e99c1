# SPDX-License-Identifier: GPL-3.0-or-later
"""Starting and stopping the server as a program."""

from __future__ import annotations

import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import WAIT_S, RunningServer, StartServer


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_the_server_with_status_0(
    start_server: StartServer, number: signal.Signals
) -> None:
    """Also in the middle of a test, whose client sees the connection end."""
    server = start_server("--duration", "60", "--no-tls")
    with server.connect("upload") as client:
        client.recv()
        assert server.stop(number) == 0
        assert server.next_log()["outcome"] == "connection lost: the server was stopped"
        assert server.next_log() == {"event": "stopped", "interrupted": 1}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--port", "70000"], "expected 0 to 65535"),
        (["--port", "9", "--tls-port", "9"], "choose two"),
        (["--cert", "a.pem"], "belong together"),
        (["--cert", "a.pem", "--key", "b.pem", "--bind", "127.0.0.1"], "PEM files"),
        (["--cert", "a.pem", "--key", "b.pem", "--no-tls"], "no sense"),
        (["--bind", "999.0.0.1", "--no-tls"], "cannot listen on 999.0.0.1"),
        (["--congestion-control", "b b r"], "a name like bbr"),
        (["--duration", "nan"], "above 0"),
    ],
)
def test_bad_argument_ends_with_one_line(
    arguments: list[str], reason: str, tmp_path: Path
) -> None:
    """Status 1 and no traceback."""
    if "--port" not in arguments:
        arguments = [*arguments, "--port", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "flent_aqm.measure.ndt7", *arguments],
        capture_output=True, encoding="utf-8", timeout=WAIT_S, check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert reason in done.stderr


def test_port_in_use_ends_with_one_line(server: RunningServer) -> None:
    """The message names the address and the options that help."""
    done = subprocess.run(
        [
            sys.executable, "-m", "flent_aqm.measure.ndt7", "--no-tls",
            "--bind", "127.0.0.1", "--port", str(server.port),
        ],
        capture_output=True, encoding="utf-8", timeout=WAIT_S, check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"error: cannot listen on 127.0.0.1 port {server.port}: Address already in use; "
        "choose others with --bind, --port, --tls-port\n"
    )


def test_self_signed_certificate_is_valid_for_this_host(tls_server: RunningServer) -> None:
    """A client that trusts it needs no --no-verify, by name or by address."""
    server = tls_server
    pem = ssl.get_server_certificate(("127.0.0.1", server.tls_port))
    server.next_log()  # that client left without a request
    context = ssl.create_default_context(cadata=pem)
    for name in ("localhost", "127.0.0.1", "::1"):
        with server.raw(server.tls_port) as sock, context.wrap_socket(
            sock, server_hostname=name
        ) as tls:
            assert tls.version() in ("TLSv1.2", "TLSv1.3")


HEAVY = {"ssl", "websockets", "cryptography", "numpy", "rich", "logging", "asyncio", "dataclasses"}


def test_server_without_tls_imports_neither_ssl_nor_websockets() -> None:
    """Each import costs in the guest, whose runs often need no NDT7 at all."""
    code = (
        "import sys\n"
        "import flent_aqm.measure.ndt7.command\n"
        "import flent_aqm.measure.ndt7.listeners, flent_aqm.measure.ndt7.server\n"
        f"print(sorted({HEAVY} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == "[]\n"


def test_server_listens_on_both_families_by_default() -> None:
    """One socket for IPv4, one for IPv6, on the same port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "flent_aqm.measure.ndt7", "--no-tls", "--port", "0"],
        stderr=subprocess.PIPE, encoding="utf-8",
    )
    with process:
        assert process.stderr is not None
        line = process.stderr.readline()
        port = int(line.split("0.0.0.0:")[1].split('"')[0])
        for host in ("127.0.0.1", "::1"):
            socket.create_connection((host, port), timeout=WAIT_S).close()
        process.terminate()
        process.stderr.read()
    assert process.returncode == 0

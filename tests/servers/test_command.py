# SPDX-License-Identifier: GPL-3.0-or-later
"""Starting and stopping the server as a program."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from flent_aqm.base.errors import ConfigError
from flent_aqm.servers import acceptor, command
from tests.servers.serving import WAIT_S, RunningServer

from .conftest import StartServer

SUBPROTOCOL = Subprotocol("net.measurementlab.ndt.v7")

MODULE = [sys.executable, "-P", "-m", "flent_aqm.servers"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_the_server_with_status_0(
    start_server: StartServer, number: signal.Signals
) -> None:
    """Also in the middle of a test, and with a client of HTTP who says nothing."""
    server = start_server("--duration", "60", "--no-tls")
    with connect(f"ws://127.0.0.1:{server.ports['ndt7']}/ndt/v7/upload", proxy=None,
                 subprotocols=[SUBPROTOCOL]) as client, server.raw("http"):
        client.recv()
        assert server.stop(number) == 0
        lines = {line["event"]: line for line in server.logged()}
        assert lines["test"]["outcome"] == "connection lost: the server was stopped"
        assert lines["stopped"] == {"event": "stopped", "interrupted": 2}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--ndt7-port", "70000"], "expected 0 to 65535"),
        (["--http-port", "9", "--ndt7-tls-port", "9"], "choose two"),
        (["http3", "webrtc", "--http3-port", "9", "--webrtc-port", "9"],
         "--http3-port and --webrtc-port are both 9, and use UDP: choose two different ports"),
        (["--cert", "a.pem"], "belong together"),
        (["--cert", "a.pem", "--key", "b.pem", "--bind", "127.0.0.1"],
         "error: a.pem: No such file or directory; expected two readable PEM files"),
        (["--cert", __file__, "--key", "b.pem"], "error: b.pem: No such file or directory; "),
        (["--cert", __file__, "--key", "/"], "error: /: Is a directory; expected two readable "),
        (["--cert", __file__, "--key", __file__], f"{__file__}: has no certificate in PEM"),
        (["--cert", "a.pem", "--key", "b.pem", "--no-tls"],
         "--cert and --key can't be combined with --no-tls: leave out --no-tls, or both"),
        (["http3", "--cert", "a.pem", "--key", "b.pem"], "expected two readable PEM files"),
        (["--bind", "", "--no-tls"], "--bind is empty; expected an address, such as 127.0.0.1"),
        (["--bind", "999.0.0.1", "--no-tls"], "cannot listen on 999.0.0.1"),
        (["--bind", "a..b", "--no-tls"], "cannot listen on a..b"),
        (["--bind", "a" * 64, "--no-tls"], f"cannot listen on {'a' * 64}"),
        (["--congestion-control", "b b r"], "a name such as bbr or cubic, of up to 15 letters"),
        (["--congestion-control", "foo"], "--congestion-control foo: this kernel lacks it"),
        (["--duration", "3600.0001"], "--duration 3600.0001: expected more than 0 and at"),
        (["--duration", "nan"], "more than 0 and at most 3600"),
        (["--duration", "4000"], "--duration 4000.0: expected more than 0 and at most 3600 sec"),
        (["--most-connections", "0"], "expected 1 or more"),
        (["gopher"], "known: ndt7, http, http3, webrtc"),
    ],
)
def test_bad_argument_ends_with_one_line(arguments: list[str], reason: str) -> None:
    """Status 1 and no traceback."""
    for option in ("--ndt7-port", "--http-port"):
        if option not in arguments:
            arguments = [*arguments, option, "0"]
    done = subprocess.run([*MODULE, *arguments], capture_output=True, encoding="utf-8",
                          timeout=WAIT_S, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert reason in done.stderr


@pytest.mark.parametrize(("what", "option"), [
    ("ndt7", "--ndt7-port"), ("http", "--http-port"), ("http3", "--http3-port")])
def test_port_in_use_ends_with_one_line(what: str, option: str) -> None:
    """The message names the address and the options that help."""
    if what == "http3":
        pytest.importorskip("aioquic")
    kind = socket.SOCK_DGRAM if what == "http3" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-P", "-m", "flent_aqm.cli", "serve", what, "--no-tls",
             "--bind", "127.0.0.1", option, str(port)],
            capture_output=True, encoding="utf-8", timeout=WAIT_S, check=False)
    assert done.returncode == 1
    assert str(port) in done.stderr
    assert done.stderr.lower().endswith(
        f"in use; choose another port with {option}, or address with --bind\n")
    assert done.stderr.count("\n") == 1


def test_machine_without_addresses_of_either_family_is_told(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """No address would help there."""
    def forbidden(*args: object) -> NoReturn:
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")

    monkeypatch.setattr(acceptor, "_open_listening", forbidden)
    with pytest.raises(ConfigError, match=r"neither IPv4 nor IPv6 can be used here \(Address"):
        acceptor.listen([], 0, "--ndt7-port")


@pytest.mark.parametrize("name", ["ndt7-tls", "http-tls"])
def test_self_signed_certificate_is_valid_for_this_host(
    start_server: StartServer, name: str
) -> None:
    """A client that trusts it needs no --no-verify, by name or by address."""
    server = start_server()
    context = ssl.create_default_context(
        cadata=ssl.get_server_certificate(("127.0.0.1", server.ports[name])))
    for host in ("localhost", "127.0.0.1", "::1"):
        with server.raw(name) as sock, context.wrap_socket(sock, server_hostname=host) as tls:
            assert tls.version() in ("TLSv1.2", "TLSv1.3")


def test_certificate_of_the_user_is_served_on_both_ports(
    start_server: StartServer, tmp_path: Path
) -> None:
    """By NDT7 and over HTTP."""
    files = [str(tmp_path / name) for name in ("cert.pem", "key.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", files[1], "-out", files[0], "-days", "2", "-subj", "/CN=mine"],
        check=True, capture_output=True)
    server = start_server("--cert", files[0], "--key", files[1])
    mine = Path(files[0]).read_text().strip()
    for name in ("ndt7-tls", "http-tls"):
        assert ssl.get_server_certificate(("127.0.0.1", server.ports[name])).strip() == mine


HEAVY = {"ssl", "websockets", "cryptography", "numpy", "rich", "logging", "asyncio", "dataclasses"}


def test_server_of_ndt7_without_tls_imports_neither_ssl_nor_websockets() -> None:
    """Each import costs in the guest, whose runs often need no NDT7 at all."""
    code = (
        "import sys\n"
        "import flent_aqm.servers.command, flent_aqm.servers.ndt7.service\n"
        "import flent_aqm.servers.acceptor, flent_aqm.servers.acceptor\n"
        f"print(sorted({HEAVY} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True,
                          encoding="utf-8", check=True)
    assert done.stdout == "[]\n"


def test_server_listens_on_both_families_by_default() -> None:
    """One socket for IPv4, one for IPv6, on the same port."""
    process = subprocess.Popen(
        [*MODULE, "ndt7", "--no-tls", "--ndt7-port", "0"], stderr=subprocess.PIPE,
        encoding="utf-8")
    with process:
        assert process.stderr is not None
        line = process.stderr.readline()
        port = int(line.split("0.0.0.0:")[1].split('"')[0])
        for host in ("127.0.0.1", "::1"):
            socket.create_connection((host, port), timeout=WAIT_S).close()
        process.terminate()
        process.stderr.read()
    assert process.returncode == 0


def test_only_what_is_asked_for_is_served() -> None:
    """Each by its name."""
    for what, ports in (("ndt7", {"ndt7", "ndt7-tls"}), ("http", {"http", "http-tls"})):
        server = RunningServer(what)
        assert set(server.ports) == ports
        assert server.stop() == 0


@pytest.mark.parametrize(("available", "user", "reason"), [
    (["reno", "refused"], 0,
     "doesn't let this user have it; .* `sysctl net.ipv4.tcp_allowed_congestion_control`$"),
    (["reno", "refused"], 1000, "doesn't let this user have it; .*`, or start the server as root$"),
    (["reno"], 1000, "lacks it, or its module is not loaded; .*, or start the server as root$")])
def test_congestion_control_that_the_user_may_not_have_is_told_so(
        available: list[str], user: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that the kernel has, it lets users other than root have some."""
    monkeypatch.setattr(command, "_congestion_control_for", lambda _name: "reno")
    monkeypatch.setattr(command, "_available_congestion_controls", lambda: available)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    with pytest.raises(ConfigError, match=f"^--congestion-control refused: this kernel {reason}"):
        command.main(parser.parse_args(["--congestion-control", "refused"]))


@pytest.mark.parametrize(("error", "how"), [
    (OSError(errno.EACCES, "Permission denied"), "choose a port from 1024 with --x-port, or "),
    (OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address"), "give an address of this "),
    (OSError(errno.EMFILE, "Too many open files"), "end other programs, or raise this limit$"),
    (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "give an address of this ma"),
    (OSError(errno.EADDRINUSE, "Address already in use"), "choose another port with --x-port, or")])
def test_port_that_can_not_be_opened_is_told_with_what_helps(
        error: OSError, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other port helps where the address is not this machine's, nor the other way round."""
    def refuse(*_words: object) -> NoReturn:
        raise error

    monkeypatch.setattr(acceptor, "_open_listening", refuse)
    with pytest.raises(ConfigError, match=f"^cannot listen on a port 7: .*; {how}"):
        acceptor.listen(["a"], 7, "--x-port")

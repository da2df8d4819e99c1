# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what an NDT7 server takes, and an honest client gets, while others misuse the server.

    .venv/bin/python -m research.bench.ndt7_hostile                       this package's server
    .venv/bin/python -m research.bench.ndt7_hostile --server ndt-server   M-Lab's, a program on PATH

Needs root, and makes two network namespaces that nobody else sees. The honest client is ndt7-client
behind 100 Mbit/s each way (HTB), the others come over the server's loopback. Memory is the most
that the server's process had resident (VmHWM). As much as the machine allows of the two cores is
the server's, so keep it idle for figures of throughput.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from websockets.frames import Frame, Opcode

from flent_aqm.measure.parsers.ndt7 import parse_ndt7
from flent_aqm.setup.tools import tool_path

RATE = "100mbit"
PORT, TLS_PORT = 8080, 4443
SERVER, CLIENT = "192.0.2.1", "192.0.2.2"
_INSIDE = "FLENT_AQM_BENCH_INSIDE"
_REQUEST = (
    "GET /ndt/v7/{test} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: DOdm+5/Cm3WwvhfcAlhJoQ==\r\n"
    "Sec-WebSocket-Protocol: net.measurementlab.ndt.v7\r\n\r\n")


def main() -> None:
    """Measure each misuse, or that of --only, beside an upload and a download, and print a line for
    each. First restart this program in a network namespace of its own. With --misuse, which
    _measure() gives to a process of its own, commit that misuse and measure nothing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", choices=("ours", "ndt-server"), default="ours")
    parser.add_argument("--only", choices=MISUSES, help="one misuse in place of all")
    parser.add_argument("--misuse", choices=MISUSES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.misuse:
        MISUSES[args.misuse]()
        return
    if os.environ.get(_INSIDE) != "1":
        # A network namespace that is gone with this process.
        os.environ[_INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, "-m",
                              "research.bench.ndt7_hostile", *sys.argv[1:]])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with _client_namespace() as client:
        for name in [args.only] if args.only else MISUSES:
            for test in ("upload", "download"):
                memory_mb, mbps = _measure(args.server, name, test, client)
                print(f"{args.server:10} {name:12} {test:8} {mbps:6.1f} Mbit/s "
                      f"{memory_mb:7.1f} MiB", flush=True)


def _measure(server: str, misuse: str, test: str, client: int) -> tuple[float, float]:
    """Measure one misuse of a fresh server: begin it, and a second later run the honest client
    once. Return the server's largest memory in MiB, and the throughput of the honest client in
    Mbit/s, as _honest_client_mbps() does. Raises AssertionError if the server doesn't start, or has
    ended by then; and the errors of _honest_client_mbps().

    Args:
        server: "ours" or "ndt-server".
        misuse: key of MISUSES.
        test: "upload" or "download", of the honest client.
        client: process id that keeps the client's namespace.
    """
    with _serving(server) as pid:
        other = subprocess.Popen([sys.executable, "-m", "research.bench.ndt7_hostile", "--misuse",
                                  misuse])
        try:
            time.sleep(1)
            mbps = _honest_client_mbps(test, client)
        finally:
            other.kill()
            other.wait()
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024, mbps
    raise AssertionError("/proc/PID/status has no VmHWM")


def _honest_client_mbps(test: str, client: int) -> float:
    """Run ndt7-client and return the test's mean throughput at the receiver in Mbit/s, up to the
    last count of bytes that the client reports, also if the test then fails. 0 if it reports none.
    Raises TimeoutExpired if it takes 60 s, ToolMissing if it isn't installed, ParseError if its
    output can't be read.

    Args:
        test: "upload" or "download".
        client: process id that keeps the client's namespace.
    """
    unwanted = "--no-upload" if test == "download" else "--no-download"
    done = subprocess.run(
        ["nsenter", f"--net=/proc/{client}/ns/net", tool_path("ndt7-client"), "--server",
         f"{SERVER}:{PORT}", "--no-locate", "--no-tls", "--format", "json", unwanted],
        capture_output=True, text=True, check=False, timeout=60)
    subtest = parse_ndt7(done.stdout).subtests.get(test) if done.stdout else None
    return (subtest.throughput_mbps if subtest else None) or 0.0


@contextlib.contextmanager
def _client_namespace() -> Iterator[int]:
    """Context manager: create a second network namespace, and a link shaped to RATE each way from
    it (address CLIENT) to the namespace of this process (SERVER). Yield the id of the process that
    keeps it, which is killed at the end. Raises CalledProcessError if ip or tc fails."""
    keeper = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    try:
        while os.readlink(f"/proc/{keeper.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            time.sleep(0.01)
        inside = ["nsenter", f"--net=/proc/{keeper.pid}/ns/net"]
        for words in (
            "ip link set lo up",
            f"ip link add near type veth peer name far netns {keeper.pid}",
            f"ip address add {SERVER}/24 dev near", "ip link set near up",
        ):
            subprocess.run(words.split(), check=True)
        for words in (f"ip address add {CLIENT}/24 dev far", "ip link set far up"):
            subprocess.run([*inside, *words.split()], check=True)
        for prefix, device in (([], "near"), (inside, "far")):
            for words in (f"tc qdisc add dev {device} root handle 1: htb default 1",
                          f"tc class add dev {device} parent 1: classid 1:1 htb rate {RATE}"):
                subprocess.run([*prefix, *words.split()], check=True)
        yield keeper.pid
    finally:
        keeper.kill()
        keeper.wait()


@contextlib.contextmanager
def _serving(kind: str) -> Iterator[int]:
    """Context manager: start a fresh server, "ours" or "ndt-server", and yield its process id when
    it takes connections at SERVER, an address that _client_namespace() has made. The server is
    killed at the end. Raises AssertionError with its log if it ends before it takes connections,
    FileNotFoundError if ndt-server isn't on PATH."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "ours":
            words = [sys.executable, "-m", "flent_aqm.servers", "ndt7"]
        else:
            # Its TLS port wants a certificate, which ours makes for itself.
            words = ["ndt-server", "-ndt7_addr_cleartext", f":{PORT}", "-datadir", folder,
                     "-ndt7_addr", f":{TLS_PORT}", *_certificate_options(Path(folder))]
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log)
            try:
                while True:
                    with contextlib.suppress(OSError):
                        socket.create_connection((SERVER, PORT)).close()
                        break
                    assert process.poll() is None, (Path(folder) / "log").read_text()
                    time.sleep(0.05)
                yield process.pid
            finally:
                process.kill()
                process.wait()


def _certificate_options(folder: Path) -> list[str]:
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem", "-days", "2", "-subj", "/CN=bench"],
                   check=True, capture_output=True)
    return ["-cert", str(folder / "cert.pem"), "-key", str(folder / "key.pem")]


def _open_websocket(test: str) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", PORT))
    sock.sendall(_REQUEST.format(test=test).encode())
    sock.recv(1 << 16)
    return sock


def _repeat(sock: socket.socket, data: bytes) -> None:
    """Send the same data again and again until the connection breaks. Meanwhile a thread reads
    everything that comes back, so that the server never has to wait."""

    def read() -> None:
        with contextlib.suppress(OSError):
            while sock.recv(1 << 16):
                pass

    threading.Thread(target=read, daemon=True).start()
    with contextlib.suppress(OSError):
        while True:
            sock.sendall(data)


def _reconnect_and_repeat(connect: Callable[[], socket.socket], data: bytes) -> None:
    while True:
        with contextlib.suppress(OSError), connect() as sock:
            _repeat(sock, data)


def _send_large_texts() -> None:
    """Send measurements of 63 kB made of empty objects, in an upload, for ever. Open a new upload
    whenever the server ends it."""
    text = b'{"a":[' + b",".join([b"{}"] * 21_000) + b"]}"
    _reconnect_and_repeat(lambda: _open_websocket("upload"),
                          Frame(Opcode.TEXT, text).serialize(mask=True))


def _send_tiny_messages() -> None:
    """Send binary messages of one byte, in an upload, for ever. Open a new upload whenever the
    server ends it."""
    _reconnect_and_repeat(lambda: _open_websocket("upload"),
                          Frame(Opcode.BINARY, b"x").serialize(mask=True) * 1000)


def _send_pings() -> None:
    """Send pings without a pause, in an upload, for ever. Open a new upload whenever the server
    ends it."""
    _reconnect_and_repeat(lambda: _open_websocket("upload"),
                          Frame(Opcode.PING, b"x").serialize(mask=True) * 1000)


def _keep_idle_tls() -> None:
    """Keep 200 connections to the TLS port that say nothing. Every 9 s, before the server cuts them
    off, all are closed and opened anew, for ever. Raises OSError if the server refuses one, such as
    when it has ended."""
    _keep_connections(TLS_PORT, 200, b"")


def _keep_idle_uploads() -> None:
    """Keep 200 uploads that send nothing. Every 9 s all are closed and opened anew, for ever.
    Raises OSError if the server refuses one, such as when it has ended."""
    _keep_connections(PORT, 200, _REQUEST.format(test="upload").encode())


def _keep_unread_downloads() -> None:
    """Keep 200 downloads of which nothing is read. Every 9 s all are closed and opened anew, for
    ever. Raises OSError if the server refuses one, such as when it has ended."""
    _keep_connections(PORT, 200, _REQUEST.format(test="download").encode())


def _keep_connections(port: int, count: int, request: bytes) -> None:
    while True:
        socks = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
        for sock in socks:
            sock.sendall(request)
        time.sleep(9)
        for sock in socks:
            sock.close()


MISUSES: dict[str, Callable[[], None]] = {
    "nothing": lambda: time.sleep(1000), "texts": _send_large_texts, "tiny": _send_tiny_messages,
    "pings": _send_pings,
    "idle-tls": _keep_idle_tls, "idle-upload": _keep_idle_uploads, "deaf": _keep_unread_downloads}


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-3.0-or-later
"""A real server in a process of its own, and ways to talk to it."""

from __future__ import annotations

import json
import queue
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

SUBPROTOCOL = Subprotocol("net.measurementlab.ndt.v7")
WAIT_S = 30


class RunningServer:
    """`python -m flent_aqm.measure.ndt7` on free ports of 127.0.0.1 and ::1.

    prefix: words of a command that starts it in its own place, such as prlimit.
    """

    def __init__(self, *arguments: str, prefix: Sequence[str] = ()) -> None:
        self.process = subprocess.Popen(
            [
                *prefix, sys.executable, "-m", "flent_aqm.measure.ndt7",
                "--port", "0", "--tls-port", "0",
                "--bind", "127.0.0.1", "--bind", "::1", *arguments,
            ],
            stderr=subprocess.PIPE, encoding="utf-8",
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        listening = self.next_log()
        assert listening["event"] == "listening", listening
        self.port = int(listening["cleartext"][0].rpartition(":")[2])
        self.tls_port = int(listening["tls"][0].rpartition(":")[2]) if listening["tls"] else 0

    def next_log(self) -> dict[str, Any]:
        """The next line that the server logs, waited for. It has to be JSON as others read it."""
        line = json.loads(self._lines.get(timeout=WAIT_S), parse_constant=_refuse)
        assert isinstance(line, dict)
        return line

    def most_memory_mb(self) -> float:
        """The most that its process had resident so far, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines()
                    if line.startswith("VmHWM:")) / 1024

    def connect(
        self, test: str, query: str = "", host: str = "127.0.0.1", tls: bool = False
    ) -> ClientConnection:
        """A WebSocket client of the websockets library, upgraded to this test."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        name = f"[{host}]" if ":" in host else host
        return connect(
            f"{'wss' if tls else 'ws'}://{name}:{self.tls_port if tls else self.port}"
            f"/ndt/v7/{test}{query}",
            subprotocols=[SUBPROTOCOL], compression=None, max_size=None, proxy=None,
            # Unread messages must not keep the library from seeing a close frame.
            max_queue=None, close_timeout=5,
            ssl=context if tls else None,
        )

    def raw(self, port: int | None = None) -> socket.socket:
        """A TCP connection without any protocol."""
        return socket.create_connection(("127.0.0.1", port or self.port), timeout=WAIT_S)

    def still_works(self) -> None:
        """Do a test; fail unless the server serves it completely. An upload of nothing: a
        download would load both processors as long as it lasts."""
        with self.connect("upload") as client:
            assert measurements_of(client)
        assert self.next_log()["outcome"] == "complete"

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


StartServer = Callable[..., RunningServer]


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Start servers with arguments of one's own; they are gone after the test."""
    running: list[RunningServer] = []

    def start(*arguments: str, prefix: Sequence[str] = ()) -> RunningServer:
        running.append(RunningServer(*arguments, prefix=prefix))
        return running[-1]

    yield start
    for server in running:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture
def server(start_server: StartServer) -> RunningServer:
    """A server in cleartext whose tests last half a second."""
    return start_server("--duration", "0.5", "--no-tls")


@pytest.fixture
def tls_server(start_server: StartServer) -> RunningServer:
    """The same with TLS as well. Making its certificate takes a moment."""
    return start_server("--duration", "0.5")


def measurements_of(client: ClientConnection) -> list[dict[str, Any]]:
    """All measurements until the server closes; binary messages are dropped."""
    return [json.loads(message) for message in client if isinstance(message, str)]


def read_until_closed(client: ClientConnection) -> None:
    """Drop messages until the connection ends, which raises ConnectionClosed."""
    while True:
        client.recv()


def reset(sock: socket.socket) -> None:
    """End a connection as a crashed client does, by a TCP reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def upgrade_request(test: str) -> bytes:
    """A request for a test, for clients that do without a library."""
    return (
        f"GET /ndt/v7/{test} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: DOdm+5/Cm3WwvhfcAlhJoQ==\r\n"
        "Sec-WebSocket-Protocol: net.measurementlab.ndt.v7\r\n\r\n"
    ).encode()

# SPDX-License-Identifier: GPL-3.0-or-later
"""A real server in a process of its own, and ways to talk to it."""

from __future__ import annotations

import json
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import pytest
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.servers import serving

SUBPROTOCOL = Subprotocol("net.measurementlab.ndt.v7")


class _OneCallAtATime(ssl.SSLSocket):
    """A TLS socket for two threads. Before 3.13, Python lets one read while another writes, which
    OpenSSL forbids: now and then it answers "internal error"."""

    calls: threading.Lock

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls, *args, **kwargs)
        self.calls = threading.Lock()
        return self

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Wait outside the lock, as the other thread may have to write first."""
        while True:
            if not self.pending() and not select.select([self], [], [], self.gettimeout())[0]:
                raise TimeoutError
            with self.calls:
                timeout_s = self.gettimeout()
                self.settimeout(0)
                try:
                    return super().recv(buflen, flags)
                except ssl.SSLWantReadError:
                    pass  # part of a record, or one without data
                finally:
                    self.settimeout(timeout_s)

    def sendall(self, data: Any, flags: int = 0) -> None:
        with self.calls:
            super().sendall(data, flags)


class RunningServer(serving.RunningServer):
    """It serves NDT7."""

    def __init__(self, *words: str, prefix: Sequence[str] = ()) -> None:
        super().__init__("ndt7", *words, prefix=prefix)
        self.port, self.tls_port = self.ports["ndt7"], self.ports.get("ndt7-tls", 0)

    def connect(
        self, test: str, query: str = "", host: str = "127.0.0.1", tls: bool = False
    ) -> ClientConnection:
        """A WebSocket client of the websockets library, upgraded to this test."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.sslsocket_class = _OneCallAtATime
        name = f"[{host}]" if ":" in host else host
        return connect(
            f"{'wss' if tls else 'ws'}://{name}:{self.tls_port if tls else self.port}"
            f"/ndt/v7/{test}{query}",
            subprotocols=[SUBPROTOCOL], compression=None, max_size=None, proxy=None,
            # Unread messages must not keep the library from seeing a close frame.
            max_queue=None, close_timeout=5,
            ssl=context if tls else None,
        )

    def still_works(self) -> None:
        """Do a test; fail unless the server serves it completely. An upload of nothing: a
        download would load both processors as long as it lasts."""
        with self.connect("upload") as client:
            assert measurements_of(client)
        assert self.next_log()["outcome"] == "complete"


StartServer = Callable[..., RunningServer]


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Start servers with arguments of one's own; they are gone after the test."""
    with serving.starting(RunningServer) as start:
        yield start


@pytest.fixture
def server(start_server: StartServer) -> RunningServer:
    """A server in cleartext whose tests last half a second."""
    return start_server("--duration", "0.5", "--request-timeout", "3", "--no-tls")


@pytest.fixture
def tls_server(start_server: StartServer) -> RunningServer:
    """The same with TLS as well. Making its certificate takes a moment."""
    return start_server("--duration", "0.5", "--request-timeout", "3")


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

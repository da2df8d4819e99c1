# SPDX-License-Identifier: GPL-3.0-or-later
"""Which requests become a test, and what the others are told."""

from __future__ import annotations

import socket
import ssl

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from flent_aqm.servers.ndt7.websocket import parse_query

from .conftest import SUBPROTOCOL, RunningServer


def status_of(server: RunningServer, path: str, subprotocols: list[Subprotocol] | None) -> int:
    """The HTTP status that refuses this request."""
    with pytest.raises(InvalidStatus) as refusal:
        connect(
            f"ws://127.0.0.1:{server.port}{path}",
            subprotocols=subprotocols, compression=None, proxy=None,
        )
    return refusal.value.response.status_code


@pytest.mark.parametrize("subprotocols", [None, [Subprotocol("chat")]])
def test_handshake_without_ndt7_subprotocol_is_400(
    server: RunningServer, subprotocols: list[Subprotocol] | None
) -> None:
    """The subprotocol is what tells ndt7 from other WebSocket clients."""
    assert status_of(server, "/ndt/v7/download", subprotocols) == 400
    line = server.next_log()
    assert (line["event"], line["status"]) == ("refused", 400)
    assert "subprotocol" in line["reason"]
    server.still_works()


def test_handshake_selects_ndt7_among_several_subprotocols(server: RunningServer) -> None:
    """The response names the one subprotocol that was selected."""
    offered = [Subprotocol("chat"), SUBPROTOCOL]
    url = f"ws://127.0.0.1:{server.port}/ndt/v7/upload"
    with connect(url, subprotocols=offered, compression=None, proxy=None) as client:
        assert client.subprotocol == SUBPROTOCOL


def test_handshake_on_unknown_path_is_404(server: RunningServer) -> None:
    """The answer and the log name the paths that exist."""
    assert status_of(server, "/ndt/v5/download", [SUBPROTOCOL]) == 404
    assert "/ndt/v7/upload" in server.next_log()["reason"]


@pytest.mark.parametrize(
    ("query", "why"), [
        ("a=" + "x" * 4095, "query of 4097 bytes; at most 4096 are allowed"),
        ("a=%ff", "query is not UTF-8 behind its URL encoding"),
        ("a=%zz", "query is not URL-encoded: a % stands before other characters than two hexa"),
        ("early_exit=10", "early_exit='10'; only 250 is known"),
        ("early_exit", "early_exit=''; only 250 is known")],
    ids=["too long", "not UTF-8", "bad escape", "too early", "at no amount"]
)
def test_handshake_with_unacceptable_query_is_400(
        server: RunningServer, query: str, why: str) -> None:
    """The specification wants the upgrade to fail; M-Lab's server knows one early exit."""
    assert status_of(server, f"/ndt/v7/download?{query}", [SUBPROTOCOL]) == 400
    assert server.next_log()["reason"].startswith(why)
    server.still_works()


def test_query_becomes_metadata_with_first_of_duplicates() -> None:
    """Keys without a value have an empty one; later duplicates are ignored."""
    assert parse_query("client_name=a%20b&os&client_name=c") == {"client_name": "a b", "os": ""}
    assert parse_query("") == {}
    assert len(parse_query("a=" + "x" * 4094)["a"]) == 4094


def test_query_stands_in_the_log_line(server: RunningServer) -> None:
    """The server stores what the client says about itself."""
    with server.connect("upload", "?client_name=me&client_version=1") as client:
        for _ in client:
            pass
    assert server.next_log()["client_metadata"] == {"client_name": "me", "client_version": "1"}


@pytest.mark.parametrize(
    ("request_text", "statuses"),
    [
        (b"GET /ndt/v7/download HTTP/1.1\r\nHost: a\r\n\r\n", {426}),
        (b"POST /ndt/v7/download HTTP/1.1\r\nHost: a\r\n\r\n", {400, 405}),
        (b"hello\r\n\r\n", {400}),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", {400}),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000, {431}),
    ],
    ids=["no upgrade", "POST", "no HTTP", "TLS", "endless head"],
)
def test_request_that_is_no_upgrade_gets_http_error(
    server: RunningServer, request_text: bytes, statuses: set[int]
) -> None:
    """Whatever comes, the client can read an HTTP answer, and the log has one line."""
    with server.raw("ndt7") as sock:
        sock.sendall(request_text)
        answer = b""
        while piece := sock.recv(4096):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 ")
    assert int(answer.split()[1]) in statuses
    assert server.next_log()["status"] in statuses
    server.still_works()


def test_client_that_leaves_before_its_request_is_logged(server: RunningServer) -> None:
    """Half a request and an end of stream: one line, and the server goes on."""
    with server.raw("ndt7") as sock:
        sock.sendall(b"GET /ndt/v7/down")
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(1) == b""
    line = server.next_log()
    assert (line["event"], line["reason"]) == (
        "failed", "the client left before its request was whole"
    )
    server.still_works()


@pytest.mark.parametrize("tls", [False, True], ids=["cleartext", "TLS"])
def test_tls_that_is_one_too_many_is_told_with_its_port(tls_server: RunningServer, tls: bool
                                                        ) -> None:
    """A browser with wss:// on the cleartext port, or a proxy that adds TLS to the port with it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (tls_server.raw("ndt7-tls" if tls else "ndt7") as raw,
          context.wrap_socket(raw) if tls else raw as sock):
        sock.sendall(b"\x16\x03\x01\x02\x00\x01")
        assert b" 400 " in sock.recv(4096).split(b"\r\n")[0]
    assert tls_server.next_log()["reason"].startswith(
        "TLS inside TLS" if tls else "TLS request on the cleartext port; use wss:// with the TLS")


def test_garbage_on_the_tls_port_is_logged(tls_server: RunningServer) -> None:
    """No TLS: the connection ends, the server goes on."""
    server = tls_server
    with server.raw("ndt7-tls") as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        while sock.recv(4096):
            pass
    assert server.next_log()["event"] == "failed"
    server.still_works()

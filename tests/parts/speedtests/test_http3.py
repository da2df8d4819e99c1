# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP/3 by aioquic: both ends over loopback."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
from collections.abc import Iterator
from typing import NoReturn

import pytest

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.parts.speedtests.own_clients import http3
from flent_aqm.parts.speedtests.own_clients.connection import (
    PendingRequest,
    ServerAddress,
    find_server,
)
from flent_aqm.parts.speedtests.own_clients.http3 import Http3Connection
from flent_aqm.parts.speedtests.responsiveness import TOOL
from flent_aqm.servers import http3 as served
from flent_aqm.servers.acceptor import listen
from flent_aqm.servers.http3 import Http3Service
from flent_aqm.servers.limits import Held, Quiet
from flent_aqm.servers.protocols.quic import PIECE_BYTES
from flent_aqm.spec.needs import needs_of_run
from flent_aqm.spec.scenario import Scenario
from tests.servers.serving import RunningServer


@pytest.fixture(scope="module")
def server() -> Iterator[ServerAddress]:
    """One of its own, on a port that was free."""
    running = RunningServer("http3")
    yield find_server("127.0.0.1", running.ports["http3"], None, secure=True)
    assert running.stop() == 0


def test_small_answers_come_beside_a_download_and_an_upload(server: ServerAddress) -> None:
    """While either goes on; what waits in a sender is no more than two pieces."""
    got, sent = [0], [0]

    def count(counted: list[int], size: int) -> None:
        counted[0] += size

    async def both() -> None:
        async with Http3Connection(server) as connection:
            assert connection.tcp_ms > 0
            assert connection.tls_ms is None
            reply = await connection.get("/small")
            assert (reply.status, reply.body) == (200, b"1")
            own = json.loads((await connection.get("/getIP")).body)
            assert own["processedString"] == "127.0.0.1"
            load = asyncio.ensure_future(connection.get(
                "/large", lambda size: count(got, size), patience_s=None))
            while got[0] < 100_000:
                await asyncio.sleep(0.01)
            before = got[0]
            assert (await connection.get("/small")).body == b"1"
            while got[0] == before:
                await asyncio.sleep(0.01)
            load.cancel()
        async with Http3Connection(server) as connection:
            load = asyncio.ensure_future(connection.post(
                "/upload", 10**9, lambda size: count(sent, size), patience_s=None))
            while sent[0] < 100_000:
                await asyncio.sleep(0.01)
            assert (await connection.get("/small")).body == b"1"
            end = connection._quic_end
            assert end is not None
            for stream in end._quic._streams.values():
                # next_offset goes back to what was lost, of which a busy machine has some.
                waiting = stream.sender._buffer_stop - stream.sender.highest_offset
                assert waiting < 2 * PIECE_BYTES + 100
            load.cancel()

    asyncio.run(asyncio.wait_for(both(), 60))


def test_server_to_which_nothing_can_be_sent_is_refused_at_once() -> None:
    """By the system's reason, as over TCP. A broadcast needs a permission that no client asks
    for."""
    async def connect() -> None:
        async with Http3Connection(find_server("255.255.255.255", 443, None, secure=True)):
            pass

    with pytest.raises(BadResult, match=r"^no connection to 255.255.255.255:443 over QUIC: "
                                        r"Permission denied$"):
        asyncio.run(asyncio.wait_for(connect(), 10))


def test_upload_of_known_size_is_answered(server: ServerAddress) -> None:
    """Once all of it has come, and each piece was counted."""
    sent: list[int] = []

    async def upload() -> None:
        async with Http3Connection(server) as connection:
            reply = await connection.post("/upload", 100_001, sent.append)
            assert reply.status == 200
            with pytest.raises(BadResult, match="status 404"):
                await connection.get("/nowhere")

    asyncio.run(asyncio.wait_for(upload(), 60))
    assert sum(sent) == 100_001


def test_no_server_and_an_ended_connection_are_told(
    server: ServerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line each."""
    async def ended() -> None:
        async with Http3Connection(server) as connection:
            requested = connection.request("GET", "/large", 0, None)
        with pytest.raises(BadResult, match="broke: this client closed it"):
            await requested
        with pytest.raises(BadResult, match="broke: this client closed it"):
            await connection.get("/small")

    asyncio.run(asyncio.wait_for(ended(), 60))
    monkeypatch.setattr(http3, "PATIENCE_S", 0.2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        nobody = find_server("127.0.0.1", silent.getsockname()[1], 4, secure=True)
        with pytest.raises(BadResult, match=r"over QUIC: no answer within 0.2 s; .* UDP pass\?$"):
            asyncio.run(Http3Connection(nobody).open())


def test_failed_quic_handshake_is_not_told_as_silence() -> None:
    """A server that answers at once, with another version of QUIC than any that aioquic knows."""
    def answer(sock: socket.socket) -> None:
        data, address = sock.recvfrom(2048)
        length = data[5]
        target, source = data[6:6 + length], data[7 + length:7 + length + data[6 + length]]
        sock.sendto(b"\x80" + bytes(4) + bytes([len(source)]) + source
                    + bytes([len(target)]) + target + b"\x0a\x1a\x2a\x3a", address)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        other = find_server("127.0.0.1", sock.getsockname()[1], 4, secure=True)
        thread = threading.Thread(target=answer, args=(sock,))
        thread.start()
        with pytest.raises(BadResult, match=(r"over QUIC: (?!no answer).*version.*; is it "
                                              r"`flent-aqm serve`\?$")):
            asyncio.run(Http3Connection(other).open())
        thread.join()


def test_head_over_http3_has_no_content(server: ServerAddress) -> None:
    """As over the other versions."""
    async def ask() -> tuple[int, int]:
        async with Http3Connection(server) as connection:
            reply = await asyncio.wait_for(connection.request("HEAD", "/large", 0, None), 20)
            return reply.status, reply.size

    assert asyncio.run(ask()) == (200, 0)


@pytest.mark.parametrize("what", ["requests", "resets"])
def test_flood_over_http3_ends_the_connection(what: str) -> None:
    """As over HTTP/2; the address isn't served for a while, and the log has a line."""
    running = RunningServer("http3", "--request-timeout", "2")
    there = find_server("127.0.0.1", running.ports["http3"], None, secure=True)

    async def flood() -> None:
        async with Http3Connection(there) as connection:
            end = connection._quic_end
            assert end is not None
            while not connection._ended:
                requested = [connection.request("GET", "/small", 0, None) for _ in range(20)]
                if what == "resets":
                    for number in list(connection._streams):
                        end._quic.reset_stream(number, 0)
                        connection._streams.pop(number)
                    end.transmit()
                for one in requested:
                    one.add_done_callback(lambda done: done.exception())
                await asyncio.sleep(0.02)

    try:
        asyncio.run(asyncio.wait_for(flood(), 60))
        reason = running.next_log()["reason"]
        expected = {"requests": "more than 200 requests",
                    "resets": "more than 200 requests|Too many streams"}
        assert re.search(expected[what], reason)
        if what == "requests":
            with pytest.raises(BadResult, match="no connection"):
                asyncio.run(asyncio.wait_for(_open_within(there, 1), 60))
    finally:
        assert running.stop() == 0


@pytest.mark.parametrize("requests", [1, 3])
def test_target_that_is_no_url_ends_the_connection_and_is_told(requests: int) -> None:
    """As over the other versions: no defect of the server, also if more such requests are in the
    same datagram. The connection's place is free for the next one."""
    running = RunningServer("http3", "--most-connections", "1")
    there = find_server("127.0.0.1", running.ports["http3"], None, secure=True)

    async def ask() -> None:
        async with Http3Connection(there) as connection:
            for _ in range(requests - 1):
                _begin(connection, path="//[")
            with pytest.raises(BadResult):
                await connection.request("GET", "//[", 0, None)
        async with Http3Connection(there) as connection:
            assert (await connection.get("/small")).body == b"1"

    try:
        asyncio.run(asyncio.wait_for(ask(), 60))
        assert "a request that isn't HTTP: Invalid IPv6 URL" in running.next_log()["reason"]
    finally:
        assert running.stop() == 0
    logged = running.logged()
    assert [line["event"] for line in logged] == ["stopped"], logged


def _begin(connection: Http3Connection, method: str = "GET", path: str = "/small", *,
           ends: bool = True) -> int:
    """Write the head of a request, to be sent with the next datagram; its stream."""
    end = connection._quic_end
    assert end is not None
    stream: int = end._quic.get_next_available_stream_id()
    connection._streams[stream] = PendingRequest(method, 0, None)
    end.http.send_headers(stream, [
        (b":method", method.encode()), (b":path", path.encode()), (b":authority", b"a"),
        (b":scheme", b"https")], end_stream=ends)
    return stream


def test_request_whose_answer_is_not_wanted_any_more_gets_none() -> None:
    """The request and its end (STOP_SENDING) are in one datagram, with one whose answer comes."""
    running = RunningServer("http3")
    there = find_server("127.0.0.1", running.ports["http3"], None, secure=True)

    async def ask() -> None:
        async with Http3Connection(there) as connection:
            assert connection._quic_end is not None
            connection._quic_end._quic.stop_stream(_begin(connection), 0)
            assert (await connection.get("/small")).body == b"1"

    try:
        asyncio.run(asyncio.wait_for(ask(), 60))
    finally:
        assert running.stop() == 0
    assert [line["event"] for line in running.logged()] == ["stopped"]


def test_trailers_do_not_replace_the_request(server: ServerAddress) -> None:
    """They come as another head, without a path."""
    async def upload() -> int:
        async with Http3Connection(server) as connection:
            end = connection._quic_end
            assert end is not None
            stream = _begin(connection, "POST", "/upload", ends=False)
            end.http.send_data(stream, b"x", end_stream=False)
            end.http.send_headers(stream, [(b"x-checksum", b"1")], end_stream=True)
            end.transmit()
            return (await connection._streams[stream].future).status

    assert asyncio.run(asyncio.wait_for(upload(), 60)) == 200


@pytest.mark.parametrize("addresses", [[], ["::", "0.0.0.0"], ["0.0.0.0", "::"]])
def test_both_families_are_served_at_one_port(addresses: list[str]) -> None:
    """By a socket each, as over TCP: a client has the same address over both."""
    service = Http3Service(Quiet(), 10, 10.0)
    sockets = listen(addresses, 0, "", socket.SOCK_DGRAM)
    port, = {sock.getsockname()[1] for sock in sockets}
    service.serve(sockets, None)

    async def own_address(host: str) -> str:
        async with Http3Connection(find_server(host, port, None, secure=True)) as connection:
            return str(json.loads((await connection.get("/getIP")).body)["processedString"])

    try:
        for host in ("127.0.0.1", "::1"):
            assert asyncio.run(asyncio.wait_for(own_address(host), 60)) == host
    finally:
        service.stop()


def test_connection_of_quic_without_a_request_is_given_up() -> None:
    """As one of TCP is."""
    running = RunningServer("http3", "--request-timeout", "1")
    there = find_server("127.0.0.1", running.ports["http3"], None, secure=True)

    async def wait() -> None:
        async with Http3Connection(there) as connection:
            while not connection._ended:
                await asyncio.sleep(0.05)

    try:
        asyncio.run(asyncio.wait_for(wait(), 20))
        assert "its first request took too long" in running.next_log()["reason"]
    finally:
        assert running.stop() == 0


async def _open_within(server: ServerAddress, patience_s: float) -> None:
    try:
        async with asyncio.timeout(patience_s):
            async with Http3Connection(server):
                pass
    except TimeoutError:
        raise BadResult("no connection in time") from None


def test_run_over_http3_has_a_server_and_a_package_of_its_own() -> None:
    """And refuses what is of HTTP/2."""
    needs = needs_of_run("responsiveness", Scenario(), {"http_version": "3"})
    assert needs.servers == ("irtt", "speedtest-http3")
    assert needs.tools == ("aioquic",)
    assert needs_of_run("responsiveness", Scenario(), {"http_version": "2"}).tools == ()
    refused: list[str] = []
    TOOL.options({"http_version": "3", "unsent": "draft"}, refused.append)
    assert refused == ["unsent: only for HTTP/2; leave it out with http_version=3"]


async def _send_without_begin(connection: Http3Connection, size: int) -> None:
    """Send so many bytes of a stream whose first bytes never come, until all are acknowledged or
    the connection has ended."""
    end = connection._quic_end
    assert end is not None
    stream = end._quic.get_next_available_stream_id()
    end._quic.send_stream_data(stream, b"")
    sender = end._quic._streams[stream].sender
    sender._buffer_start = sender._buffer_stop = 100
    end._quic.send_stream_data(stream, bytes(size))
    end.transmit()
    while not connection._ended and sender._buffer_start < size + 100:
        await asyncio.sleep(0.02)


def test_content_before_its_turn_ends_a_connection() -> None:
    """Up to 64 MiB were kept for a connection of whose upload the first bytes never came: a
    datagram that brings nothing forward costs half a request, so that 3 MB end it."""
    running = RunningServer("http3")
    there = find_server("127.0.0.1", running.ports["http3"], None, secure=True)

    async def send() -> None:
        async with Http3Connection(there) as connection:
            assert (await connection.get("/small")).body == b"1"
            before_mb = running.most_memory_mb()
            await _send_without_begin(connection, 40 << 20)
            assert connection._ended
            assert running.most_memory_mb() - before_mb < 20

    asyncio.run(asyncio.wait_for(send(), 60))
    assert running.stop() == 0
    assert "more than 200 requests or frames a second" in str(running.logged())


def test_content_before_its_turn_is_bounded_over_all_connections(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Two connections hold less than a connection may, and together more than all may: that which
    holds most is ended, and the other goes on."""
    monkeypatch.setattr(served, "Held", lambda: Held(1 << 20))
    service = Http3Service(Quiet(), 10, 10.0)
    sockets = listen(["127.0.0.1"], 0, "", socket.SOCK_DGRAM)
    service.serve(sockets, None)
    port = sockets[0].getsockname()[1]
    there = find_server("127.0.0.1", port, None, secure=True)

    async def send() -> None:
        async with Http3Connection(there) as first, Http3Connection(there) as second:
            await _send_without_begin(first, 500_000)
            assert not first._ended
            await _send_without_begin(second, 1_000_000)
            assert second._ended
            assert (await first.get("/small")).body == b"1"

    asyncio.run(asyncio.wait_for(send(), 60))
    service.stop()


def test_certificate_that_cannot_be_stored_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another port is no help if a temporary file can't be written."""
    service = Http3Service(Quiet(), 10, 10.0)

    def fail(*args: object) -> NoReturn:
        raise OSError("full")

    monkeypatch.setattr("flent_aqm.servers.http3.NamedTemporaryFile", fail)
    with pytest.raises(ConfigError, match=(
            r"^the certificate of HTTP/3 can't be stored: .*full; set TMPDIR to a")):
        service.serve([], None)
    service.stop()


def test_udp_port_that_is_taken_is_told_as_one() -> None:
    taken, = listen(["127.0.0.1"], 0, "", socket.SOCK_DGRAM)
    port = taken.getsockname()[1]
    with taken, pytest.raises(ConfigError, match=rf"^cannot listen on 127.0.0.1 UDP port {port}: "):
        listen(["127.0.0.1"], port, "--http3-port", socket.SOCK_DGRAM)


@pytest.mark.parametrize(("host", "version", "why"), [
    ("a..b", None, "the server's name 'a..b' is not a host name; check it"),
    ("x" * 64 + ".test", 4, "is not a host name; check it"),
    ("::1", 4, "'::1' is not an IPv4 address; give one, or leave out the IP version"),
    ("127.0.0.1", 6, "'127.0.0.1' is not an IPv6 address"),
])
def test_server_that_cannot_be_looked_up_is_told_why(
        host: str, version: int | None, why: str) -> None:
    """In one line: no name at all, or an address of the other version."""
    with pytest.raises(BadResult, match=re.escape(why)):
        find_server(host, 80, version, secure=True)

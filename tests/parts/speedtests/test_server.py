# SPDX-License-Identifier: GPL-3.0-or-later
"""The server and both kinds of connection, over loopback."""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
import subprocess
import sys
from contextlib import suppress

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.parts.speedtests import responsiveness_client
from flent_aqm.parts.speedtests.own_clients.connection import (
    Connection,
    Reply,
    ServerAddress,
    find_server,
)
from flent_aqm.parts.speedtests.own_clients.http1 import Http1Connection
from flent_aqm.parts.speedtests.own_clients.http2 import Http2Connection
from flent_aqm.servers.protocols.http2_bulk import Inbound
from flent_aqm.tools.report import DirectionLoad
from flent_aqm.tools.table import TOOLS

KINDS = (Http1Connection, Http2Connection)


def _server(port: int, secure: bool = False) -> ServerAddress:
    return find_server("127.0.0.1", port, None, secure)


def _ask(kind: type[Connection], port: int, method: str, path: str, size: int = 0, *,
         secure: bool = False) -> Reply:
    async def ask() -> Reply:
        async with kind(_server(port, secure)) as connection:
            assert (connection.tls_ms is not None) is secure
            if method == "GET":
                return await connection.get(path)
            return await connection.post(path, size)
    return asyncio.run(ask())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "path", "sent", "got"), [
    ("GET", "/small", 0, 1), ("GET", "/garbage.php?ckSize=3", 0, 3 << 20),
    ("GET", "/backend/garbage", 0, 4 << 20), ("GET", "/__down?bytes=0", 0, 0),
    ("GET", "/__down?bytes=1234567", 0, 1234567), ("POST", "/__up", 3_000_000, 0),
    ("GET", "/download?bytes=77", 0, 77), ("POST", "/empty.php", 5_000_000, 0),
    ("POST", "/upload", 100_000, 0), ("GET", "/__down?bytes=-1", 0, 0),
    ("GET", "/__down?bytes=x", 0, 0)])
def test_endpoints_answer_with_what_their_tests_expect(
        port: int, kind: type[Connection], method: str, path: str, sent: int, got: int) -> None:
    """Each path gives as many bytes as it should, over HTTP/1.1 and HTTP/2."""
    reply = _ask(kind, port, method, path, sent)
    assert (reply.status, reply.size) == (200, got)
    assert reply.sent_s <= reply.first_s <= reply.end_s


@pytest.mark.parametrize("kind", KINDS)
def test_bulk_goes_both_ways_over_tls(ports: tuple[int, int], kind: type[Connection]) -> None:
    """With a certificate that nobody has signed; URLs then are https."""
    assert _ask(kind, ports[1], "GET", "/garbage?ckSize=3", secure=True).size == 3 << 20
    assert _ask(kind, ports[1], "POST", "/__up", 3_000_000, secure=True).status == 200
    configuration = json.loads(_ask(kind, ports[1], "GET", "/.well-known/nq", secure=True).body)
    assert configuration["urls"]["large_download_url"] == f"https://127.0.0.1:{ports[1]}/large"


@pytest.mark.parametrize("kind", KINDS)
def test_configuration_names_urls_of_one_host(port: int, kind: type[Connection]) -> None:
    """That of the draft: version 1, and URLs at the host that was asked."""
    configuration = json.loads(_ask(kind, port, "GET", "/.well-known/nq").body)
    assert configuration["version"] == 1
    assert configuration["urls"]["small_download_url"] == f"http://127.0.0.1:{port}/small"


@pytest.mark.parametrize("kind", KINDS)
def test_requests_go_on_one_connection(port: int, kind: type[Connection]) -> None:
    """A second one is answered, and bytes of either way are counted as they go."""
    async def ask() -> tuple[list[int], list[int]]:
        down: list[int] = []
        up: list[int] = []
        async with kind(_server(port)) as connection:
            await connection.get("/small")
            await connection.get("/__down?bytes=1000000", down.append)
            await connection.post("/__up", 1_000_000, up.append)
            await connection.get("/small")
        return down, up

    down, up = asyncio.run(ask())
    assert sum(down) == 1_000_000
    assert 900_000 < sum(up) <= 1_000_000


def test_small_answers_overtake_large_ones_on_http2(port: int) -> None:
    """With 5 ms of unsent data at most, a small request comes back beside an endless one."""
    async def ask() -> list[Reply]:
        async with Http2Connection(_server(port)) as connection:
            load = asyncio.ensure_future(
                connection.get("/large?unsent=draft", patience_s=None))
            await asyncio.sleep(0.3)
            replies = [await connection.get("/small", patience_s=20) for _ in range(3)]
            assert not load.done()
            load.cancel()
            return replies

    assert [reply.size for reply in asyncio.run(ask())] == [1, 1, 1]


def test_response_whose_head_is_too_long_is_not_called_no_http2() -> None:
    """It is HTTP/2. The limit is this package's."""
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        piece = bytes(16_000)
        writer.write(b"\0\0\0\4\0\0\0\0\0")  # empty SETTINGS
        for kind in (1, 9, 9, 9, 9):  # HEADERS without an end, CONTINUATION
            writer.write(len(piece).to_bytes(3, "big") + bytes([kind, 0]) + b"\0\0\0\1" + piece)
        with suppress(OSError):
            await writer.drain()
        writer.close()

    async def ask() -> None:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with Http2Connection(_server(port)) as connection:
                await connection.get("/small")

    with pytest.raises(BadResult, match="the response has a head of more than 65536 bytes"):
        asyncio.run(ask())


@pytest.mark.parametrize(("kind", "answer"), [
    (Http1Connection, b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"),
    # Empty SETTINGS, the response, 200 and no body, and GOAWAY after it.
    (Http2Connection, bytes.fromhex("000000 04 00 00000000 000001 01 05 00000001 88"
                                    "000008 07 00 00000000 00000001 00000000"))])
def test_request_after_the_server_has_said_that_it_closes_fails(
        kind: type[Connection], answer: bytes) -> None:
    """Though the connection itself is still open."""
    async def ask() -> None:
        ended = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1000)
            await asyncio.sleep(0.1)
            writer.write(answer)
            with suppress(OSError):
                await reader.read()  # until the client ends it
            writer.close()
            ended.set()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            async with kind(_server(server.sockets[0].getsockname()[1])) as connection:
                assert (await connection.get("/small")).status == 200
                with pytest.raises(BadResult, match="broke: the server closed it"):
                    await connection.get("/small")
            await asyncio.wait_for(ended.wait(), 5)

    asyncio.run(ask())


def test_request_after_an_answer_to_half_an_upload_fails() -> None:
    """HTTP/1.1 can't send it before the rest of the upload, which nobody waits for."""
    async def ask() -> None:
        ended = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await ended.wait()
            writer.transport.abort()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            async with Http1Connection(_server(server.sockets[0].getsockname()[1])) as connection:
                assert (await connection.post("/upload", 100_000_000)).status == 200
                with pytest.raises(BadResult, match="answered an upload before it had all of it"):
                    await connection.get("/small")
            ended.set()
            await asyncio.sleep(0.05)

    asyncio.run(ask())


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_path_is_refused_with_its_status(port: int, kind: type[Connection]) -> None:
    """As by a server that is another one."""
    with pytest.raises(BadResult, match="answers /nowhere with HTTP status 404"):
        _ask(kind, port, "GET", "/nowhere")


def test_what_is_no_http_ends_the_connection(port: int) -> None:
    """And the server goes on for others."""
    with socket.create_connection(("127.0.0.1", port), 5) as sock:
        sock.sendall(b"\0\1\2 nonsense\r\n\r\n")
        try:
            assert sock.recv(100) == b""
        except ConnectionResetError:
            pass
    assert _ask(Http1Connection, port, "GET", "/small").size == 1


def test_responsiveness_opens_no_more_connections_than_asked(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are still being opened, on a slow line, count too."""
    begun: list[str] = []

    async def never_open(test: object, direction: str) -> None:
        begun.append(direction)
        await asyncio.sleep(60)

    async def no_probes(test: object) -> None:
        await asyncio.sleep(60)

    async def measure() -> None:
        async with asyncio.TaskGroup() as group:
            test = responsiveness_client._Test(
                _server(1), Http2Connection, DirectionLoad(), responsiveness_client.Parameters(
                    interval_s=0.01, most_connections=3, more_connections=2),
                group, random.Random(0))
            with pytest.raises(BadResult, match="0 probes came back"):
                await responsiveness_client._test_direction(test, "upload")
            for task in list(test.tasks):
                task.cancel()

    monkeypatch.setattr(responsiveness_client, "_run_load", never_open)
    monkeypatch.setattr(responsiveness_client, "_start_probes", no_probes)
    monkeypatch.setattr(responsiveness_client, "STAGE_S", 0.1)
    asyncio.run(measure())
    assert begun == ["upload"] * 3


@pytest.mark.parametrize("client", ["librespeed", "responsiveness"])
def test_client_without_a_server_says_so_in_one_line(client: str) -> None:
    """No traceback, and status 1."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = subprocess.run(
            [sys.executable, "-P", "-m", TOOLS[client].module, "host=127.0.0.1",
             f"port={taken.getsockname()[1]}"],
            capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"error: no connection to 127\.0\.0\.1:\d+: Connection refused; "
                        r"does `flent-aqm serve` run there\?\n",
                        done.stderr)
    assert done.stdout == ""


def test_requests_sent_at_once_are_answered_in_order(port: int) -> None:
    """Uploads of known and of unknown length, whole and in pieces, on one connection."""
    wanted = (b"POST /empty HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nabcde"
              b"GET /small HTTP/1.1\r\nhost: x\r\n\r\n"
              b"POST /empty HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
              b"3\r\nabc\r\n0\r\n\r\n"
              b"POST /empty HTTP/1.1\r\nhost: x\r\ncontent-length: 70000\r\n\r\n" + bytes(70_000)
              + b"GET /__down?bytes=3 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    for step in (len(wanted), 1000, 7):
        with socket.create_connection(("127.0.0.1", port), 20) as sock:
            for at in range(0, len(wanted), step):
                sock.sendall(wanted[at:at + step])
            got = b""
            while piece := sock.recv(65_536):
                got += piece
        heads = re.findall(rb"HTTP/1.1 (\d+) .*?content-length: (\d+)", got, re.DOTALL)
        assert heads == [(b"200", b"0"), (b"200", b"1"), (b"200", b"0"), (b"200", b"0"),
                         (b"200", b"3")]


@pytest.mark.parametrize("step", [1, 5, 9, 10, 1000, 100_000])
def test_bulk_goes_past_h2_however_its_bytes_come(step: int) -> None:
    """All else reaches h2 in order, the end of bulk as an empty frame; and a wake-up comes never
    later than with the end of a frame."""
    def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
        return (len(content).to_bytes(3, "big") + bytes((kind, flags))
                + stream.to_bytes(4, "big") + content)

    settings, padded, other = (frame(4, 0, 0, bytes(6)), frame(0, 8, 1, b"\2abc\0\0"),
                               frame(0, 1, 3, b"small"))
    frames = [settings, frame(0, 0, 1, b"x" * 16_384), padded, other, frame(0, 0, 1, b""),
              frame(0, 1, 1, b"yy"), settings]
    ends = {sum(map(len, frames[:number + 1])) for number in range(len(frames))}
    stream = b"".join(frames)
    inbound = Inbound()
    inbound.begin(1, [(":status", "200")])
    inbound.begin(3, [("content-length", "5")])
    bulk = others = b""
    for start in range(0, len(stream), step):
        for number, piece in inbound.split(stream[start:start + step]):
            bulk += piece if number == 1 else b""
            others += b"" if number else piece
        at = min(start + step, len(stream))
        assert not any(at < end < at + inbound.missing for end in ends)
    assert bulk == b"x" * 16_384 + b"yy"
    assert others == settings + padded + other + frame(0, 1, 1, b"") + settings


def test_windows_of_bulk_are_opened_again_by_what_was_used() -> None:
    """Both, of the stream and of the connection, a mebibyte at a time."""
    inbound = Inbound()
    inbound.begin(5, [])
    assert inbound.used(5, (1 << 20) - 1) == b""
    assert inbound.used(5, 11) == b"".join(
        b"\0\0\4\x08\0" + stream.to_bytes(4, "big") + ((1 << 20) + 10).to_bytes(4, "big")
        for stream in (5, 0))
    assert inbound.used(5, 10) == b""

# SPDX-License-Identifier: GPL-3.0-or-later
"""The WebRTC call: both real ends over loopback, and what is made of their reports."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.parts.speedtests.webrtc_call import TOOL
from flent_aqm.tools.report import ClientReport
from tests.servers.serving import RunningServer

pytest.importorskip("aiortc")

from aiortc import MediaStreamTrack
from aiortc.mediastreams import MediaStreamError
from aiortc.rtcdtlstransport import SRTP_PROFILES
from av import VideoFrame
from OpenSSL import SSL

from flent_aqm.parts.speedtests import webrtc_call_client
from flent_aqm.parts.speedtests.webrtc_call_client import fill
from flent_aqm.servers.protocols.webrtc import (
    CIPHERS,
    FRAMES_PER_S,
    PIXELS,
    End,
    EndRecord,
    Picture,
    RsaCertificate,
    as_json,
    from_json,
)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server of its own, on a port that was free."""
    running = RunningServer("webrtc")
    yield running.ports["webrtc"]
    assert running.stop() == 0


def _answer(port: int, words: bytes) -> dict[str, object]:
    """The line that the server says to one."""
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        sock.sendall(words)
        with sock.makefile() as file:
            answer = json.loads(file.readline())
    assert isinstance(answer, dict)
    return answer


def _call(port: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", TOOL.module, "host=127.0.0.1", f"port={port}",
         "call_length_s=3"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_call_over_loopback_carries_both_pictures(port: int) -> None:
    """All frames of both ways come; a second caller meanwhile is refused, and heard afterwards;
    what isn't a description is answered by an error."""
    with _call(port) as first:
        while "another call is on" not in str(_answer(port, b"{}\n").get("error")):
            assert first.poll() is None
            time.sleep(0.1)
        with _call(port) as second:
            assert second.wait(60) == 1
            assert second.stderr is not None
            assert "another call is on" in second.stderr.read()
        assert first.wait(60) == 0
        assert first.stdout is not None
        report = json.loads(first.stdout.read())
    for way in ("download", "upload"):
        # aiortc's encoder begins with 0.5 Mbit/s.
        assert 0.25 < report["numbers"][f"{way}_mbps"] < 1.6
        assert report["numbers"][f"lost_frames_{way}_pct"] < 5
        probes = report["ways"][way]["probes"]
        assert 0.9 * 3 * FRAMES_PER_S < sum("frame_ms" in one for one in probes) < 3 * FRAMES_PER_S
        assert report["ways"][way]["end_s"] - report["ways"][way]["start_s"] == pytest.approx(3)
    for request, why in (
            (b"{}\n", "'length_s' is missing"), (b"[]\n", "a value is of another kind"),
            (b"hello\n", "Expecting value"), (b'{"length_s": 3}\n', "'sdp' is missing")):
        assert re.fullmatch(rf"the request '.*' can't be read \({why}.*\); expected a line of "
                            "JSON, an object with length_s and sdp",
                            str(_answer(port, request)["error"]))
    assert "length_s: 600.00001 s; expected more than 0 and no more than 600" in str(
        _answer(port, b'{"length_s": 600.00001, "sdp": "v=0"}\n'))
    assert "description can't be answered" in str(
        _answer(port, b'{"length_s": 3, "sdp": "v=0"}\n'))


def test_refused_connection_is_told_as_such() -> None:
    """asyncio's own text has the address in place of the cause."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        with _call(port) as process:
            assert process.wait(60) == 1
            assert process.stderr is not None
            assert process.stderr.read() == (
                f"error: no connection to 127.0.0.1:{port}: Connection refused; does `flent-aqm "
                "serve webrtc` run there?\n")


@pytest.mark.parametrize(("answer", "expected"), [
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", "responded 'HTTP/1.1 400 Bad Request'; expected a JSON"),
    (b"[]\n", "responded '[]'; expected a JSON object"),
    (b'{"error": "busy"}\n', "the server refused the call: busy"),
    (b"", "the server closed the connection instead of responding"),
    (b"[" * 200_000 + b"\n", "expected a JSON object"),
    (b"x" * (5 << 20), "responded with a line of more than 4 MiB; expected a JSON object"),
    (b'{"sdp": "v=0"}\n', "session description can't be read"),
])
def test_server_of_another_kind_is_named(answer: bytes, expected: str) -> None:
    """One line, and exit status 1."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()

        def serve() -> None:
            connection, _ = sock.accept()
            # The client may end the connection before it has read all.
            with connection, suppress(ConnectionError):
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with _call(sock.getsockname()[1]) as process:
            assert process.wait(60) == 1
            assert process.stderr is not None
            output = process.stderr.read()
        thread.join()
    assert expected in output
    assert len(output.splitlines()) == 1


@pytest.mark.parametrize(("answer", "expected"), [
    (b"", "the server closed the connection instead of responding at the end of the call; its "),
    (b"[]\n", "the server responded '[]'; expected a JSON object"),
    (None, "the server did not respond within 0.05 s of the end of the call; its output may say")])
def test_server_that_carried_the_call_is_not_taken_for_another(
        answer: bytes | None, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webrtc_call_client, "PATIENCE_S", 0.05)

    async def exchange() -> None:
        reader = asyncio.StreamReader()
        if answer is not None:
            reader.feed_data(answer)
            reader.feed_eof()
        writer: Any = SimpleNamespace(write=lambda line: None)
        await webrtc_call_client._exchange(reader, writer, {"over": True}, "")

    with pytest.raises(BadResult) as caught:
        asyncio.run(exchange())
    assert str(caught.value).startswith(expected)
    assert "is it" not in str(caught.value)


def test_numbers_are_those_computed_by_hand() -> None:
    """Of 11 frames the last is never shown; 9 came, one of them 150 ms later than it should. Their
    95th percentile is three fifths of the way from the last but one, at 0, to that."""
    theirs = EndRecord(sent=11, packets=40, reports=[(1.0, 1, 2.0, None), (2.0, 4, 4.0, 30.0)])
    mine = EndRecord(
        frames=[(0.02 + number / 15 + (0.15 if number == 7 else 0), number * 6000)
                for number in range(9)],
        received=[(0.0, 0), (0.5, 31_250), (1.0, 125_000), (2.9, 10**9)])
    report = ClientReport("webrtc_call")
    fill(report, "download", theirs, mine, 100.0, 1.0)
    assert report.numbers == {
        "download_mbps": pytest.approx(1.0), "rtt_download_ms": 30.0,
        "jitter_download_ms": 3.0, "lost_download_pct": 10.0,
        "frame_download_ms": pytest.approx(0.6 * 150),
        "late_frames_download_pct": pytest.approx(100 / 9),
        "lost_frames_download_pct": pytest.approx(10.0)}
    way = report.load("download")
    assert way.rates == [(100.5, 0.5, 31_250), (101.0, 0.5, 93_750)]
    assert max(ms for _, what, ms in way.probes if what == "frame_ms") == pytest.approx(150)


def test_handshakes_are_of_one_length() -> None:
    """Whatever random numbers OpenSSL has: else a call in the lab wouldn't repeat."""
    assert len({tuple(_handshake()) for _ in range(12)}) == 1


def _handshake() -> list[int]:
    """Bytes of each flight of a DTLS handshake between two of our certificates."""
    client, server = (SSL.Connection(RsaCertificate.generateCertificate()._create_ssl_context(
        SRTP_PROFILES)) for _ in range(2))
    client.set_connect_state()
    server.set_accept_state()
    sizes = []
    for sender, receiver in [(client, server), (server, client)] * 3:
        with suppress(SSL.WantReadError):
            sender.do_handshake()
        with suppress(SSL.WantReadError):
            while True:
                flight = sender.bio_read(1 << 14)
                receiver.bio_write(flight)
                sizes.append(len(flight))
    assert client.get_cipher_name() == server.get_cipher_name() == CIPHERS.decode()
    return sizes


def test_call_without_a_picture_is_refused() -> None:
    """Nothing is made of a direction that never came. The end that had to receive it is named."""
    with pytest.raises(BadResult, match="the server could decode no video frame of the call's "
                                        "upload, and the client sent 11: were most packets lost"):
        fill(ClientReport("webrtc_call"), "upload", EndRecord(sent=11), EndRecord(), 0.0, 1.0)
    with pytest.raises(BadResult, match=r"^the client took 1 count of its received bytes during"):
        fill(ClientReport("webrtc_call"), "download", EndRecord(sent=11),
             EndRecord(frames=[(0.1, 0)], received=[(0.2, 5)]), 0.0, 1.0)
    for direction, who in (("download", "the server made 1 video frame"),
                           ("upload", "the client made 0 video frames")):
        with pytest.raises(BadResult, match=rf"{who} in 10 s of the call's {direction}; expected "
                                            r"150: was it too busy\? repeat the call"):
            fill(ClientReport("webrtc_call"), direction,
                 EndRecord(sent=int(direction == "download")), EndRecord(), 0.0, 10.0)


def test_report_of_the_other_end_is_checked() -> None:
    """It comes back as it was, and garbage is refused."""
    record = EndRecord(3, 5, [(0.1, 6000)], [(0.2, 10)], [(1.0, 2, 0.5, None)])
    assert from_json(json.loads(json.dumps(as_json(record)))) == record
    odd: list[object] = [None, [], {}, {**as_json(record), "frames": [[1]]},
                         {**as_json(record), "sent": "many"}]
    for garbage in odd:
        with pytest.raises(BadResult, match="can't be read"):
            from_json(garbage)


def test_pictures_are_the_same_in_each_call() -> None:
    """And differ from frame to frame, each pixel within a byte's middle."""
    one, other = Picture(1), Picture(1)
    assert [one.luma(number) for number in range(40)] == [
        other.luma(number) for number in range(40)]
    assert one.luma(0) != one.luma(1)
    for number in (0, 1, 319, 5000):
        luma = one.luma(number)
        assert len(luma) == PIXELS
        assert min(luma) >= 48
        assert max(luma) < 48 + 128 + 32


def test_report_with_an_infinite_number_is_refused() -> None:
    """JSON has none, but Python reads one."""
    whole = as_json(EndRecord())
    with pytest.raises(BadResult, match="the other end's report can't be read"):
        from_json(whole | {"sent": float("inf")})


def test_missing_report_is_quoted_as_json() -> None:
    """As the other end sent it, not as Python writes it."""
    with pytest.raises(BadResult, match=r"it starts with 'null'$"):
        from_json(None)


@pytest.mark.parametrize(("fault", "why"), [
    (ValueError("no frame in these packets"), "any more: no frame in these packets$"),
    (MediaStreamError(), r"broken off .*: was the other end stopped, or do UDP packets .*\?$")])
def test_picture_that_breaks_off_ends_the_call_with_the_reason(fault: Exception, why: str) -> None:
    """A made track, as no real end sends what aiortc can't decode. A track ends with the
    connection."""
    class Broken(MediaStreamTrack):  # type: ignore[misc]  # aiortc has no types
        kind = "video"

        async def recv(self) -> VideoFrame:
            raise fault

    async def call() -> None:
        end = End("127.0.0.1", 1.0)
        end._receive_track(Broken())
        await asyncio.sleep(0)  # for the task
        try:
            end._refuse_broken()
        finally:
            await end.close()

    with pytest.raises(BadResult, match=why):
        asyncio.run(call())


def test_address_without_a_socket_is_named() -> None:
    """aiortc leaves it out, and the other end would wait for packets, and tell of a firewall."""
    async def offer() -> None:
        end = End("192.0.2.1", 1.0)  # of no machine
        try:
            await end.offer()
        finally:
            await end.close()

    with pytest.raises(BadResult, match=r"no UDP socket .* could be opened at 192\.0\.2\.1: is "):
        asyncio.run(offer())

# SPDX-License-Identifier: GPL-3.0-or-later
"""What the server takes, measures and refuses during an upload."""

from __future__ import annotations

import itertools
import struct
import threading

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection

from .conftest import (
    RunningServer,
    StartServer,
    measurements_of,
    read_until_closed,
    upgrade_request,
)


def send_until_closed(client: ClientConnection, sizes: list[int]) -> None:
    """Send binary messages, the last size for ever, until the server closes."""
    try:
        for size in itertools.chain(sizes, itertools.repeat(sizes[-1])):
            client.send(bytes(size))
    except ConnectionClosed:
        pass


@pytest.mark.parametrize("tls", [False, True], ids=["cleartext", "TLS"])
def test_upload_is_measured_while_it_lasts(start_server: StartServer, tls: bool) -> None:
    """BytesReceived and NumBytes grow; at most ten measurements a second arrive."""
    server = start_server("--duration", "0.5", *([] if tls else ["--no-tls"]))
    with server.connect("upload", tls=tls) as client:
        sender = threading.Thread(
            target=send_until_closed, args=(client, [1 << power for power in range(13, 21)])
        )
        sender.start()
        seen = measurements_of(client)
        sender.join()
        assert client.close_code == 1000
    assert 1 <= len(seen) <= 5
    for name, group in (("BytesReceived", "TCPInfo"), ("NumBytes", "AppInfo")):
        counts = [one[group][name] for one in seen]
        assert counts == sorted(counts)
        assert counts[-1] > 1 << 20
    assert seen[-1]["Test"] == "upload"
    line = server.next_log()
    assert line["outcome"] == "complete"
    assert line["bytes"] == seen[-1]["AppInfo"]["NumBytes"]


def test_every_byte_of_payload_is_counted(start_server: StartServer) -> None:
    """Messages of all sizes, then a close: the log has their exact sum."""
    server = start_server("--duration", "5", "--no-tls")
    sizes = [1, 125, 126, 1 << 10, 65_535, 65_536, 1 << 20, (1 << 24), 3]
    with server.connect("upload") as client:
        for size in sizes:
            client.send(bytes(size))
    line = server.next_log()
    assert line["outcome"] == "closed by the client"
    assert line["bytes"] == sum(sizes)


def test_silent_client_still_gets_measurements(server: RunningServer) -> None:
    """A few small messages and then nothing: the server doesn't wait for more."""
    with server.connect("upload") as client:
        client.send(b"x" * 1024)
        seen = measurements_of(client)
    assert len(seen) >= 2
    assert all(one["AppInfo"]["NumBytes"] == 1024 for one in seen)


def test_fragments_with_a_ping_between_are_one_message(server: RunningServer) -> None:
    """RFC 6455 lets control frames into the middle of a message."""
    with server.connect("upload") as client:
        client.send([b"a" * 1000, b"b" * 24])
        pong = client.ping()
        client.send(["{", '"Origin":', '"client"}'])
        assert pong.wait(5)
        measurements_of(client)
    line = server.next_log()
    assert line["bytes"] == 1024
    assert line["last_client_measurement"] == {"Origin": "client"}


MASK = b"\1\2\3\4"


@pytest.mark.parametrize(
    ("data", "code", "why"),
    [
        (b"\x83\x80" + MASK, 1002, "unknown opcode 3; expected 0 to 2 or 8 to 10"),
        (b"\xc2\x80" + MASK, 1002, "a frame's reserved bits are set, but no extension was agreed"),
        (b"\x82\x01x", 1002, "client frames must be masked"),
        (b"\x80\x80" + MASK, 1002, "a fragment continues no message"),
        (b"\x09\x80" + MASK, 1002, "a control frame in fragments"),
        (b"\x89\xfe" + struct.pack("!H", 126) + MASK, 1002, "a control frame of 126 bytes"),
        (b"\x82\xff" + struct.pack("!Q", (1 << 24) + 1) + MASK, 1009, "message over 16777216 byt"),
        (b"\x82\xff" + b"\xff" * 8 + MASK, 1009, "message over 16777216 bytes"),
    ],
    ids=[
        "unknown opcode", "reserved bit", "no mask", "continuation of nothing",
        "fragmented ping", "long ping", "one byte too large", "huge",
    ],
)
def test_frame_that_breaks_rules_is_answered_by_a_close(
    server: RunningServer, data: bytes, code: int, why: str
) -> None:
    """The client is told which kind of fault, one line is logged, the server goes on."""
    with server.connect("upload") as client:
        client.socket.sendall(data)
        with pytest.raises(ConnectionClosed):
            read_until_closed(client)
        assert client.protocol.close_rcvd is not None
        assert client.protocol.close_rcvd.code == code
    assert server.next_log()["outcome"].startswith(f"protocol violation: {why}")
    server.still_works()


def test_frame_sent_together_with_the_request_is_not_lost(server: RunningServer) -> None:
    """A client need not, but may, send before it has seen our answer."""
    frames = Frame(Opcode.BINARY, b"y" * 2000).serialize(mask=True)
    frames += Frame(Opcode.CLOSE, b"").serialize(mask=True)
    with server.raw("ndt7") as sock:
        sock.sendall(upgrade_request("upload") + frames)
        while sock.recv(4096):
            pass
    line = server.next_log()
    assert (line["outcome"], line["bytes"]) == ("closed by the client", 2000)

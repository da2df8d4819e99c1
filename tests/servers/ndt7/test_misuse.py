# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients that want to hurt the server, or those who read its log."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import ExitStack

import pytest
from websockets.frames import Frame, Opcode

from flent_aqm.servers.ndt7.session import ClientTexts

from .conftest import RunningServer, StartServer, measurements_of, upgrade_request

# JSON of 63 kB that takes 1.4 MB as Python's objects.
LARGE = '{"a":[' + ",".join(["{}"] * 21_000) + "]}"
# As large as is read: 16 kB, of which each three make an object.
READ = '{"a":[' + ",".join(["{}"] * 5_400) + "]}"


@pytest.mark.parametrize("text", [LARGE, READ], ids=["large", "as large as is read"])
def test_texts_without_end_take_no_memory(start_server: StartServer, text: str) -> None:
    """A hundred of them, which were kept as objects: 140 MB and 35 MB."""
    server = start_server("--duration", "60", "--no-tls")
    with server.connect("upload") as client:
        client.recv()
        before_mb = server.most_memory_mb()
        for _ in range(100):
            client.send(text)
    line = server.next_log()
    assert line["outcome"] == "closed by the client"
    assert line["client_measurements"] + line["unreadable_texts"] + line["ignored_texts"] == 100
    assert server.most_memory_mb() - before_mb < 10
    server.process.terminate()


def test_measurements_of_an_honest_client_are_all_read() -> None:
    """Ten a second, and a second's more at once; what comes faster is counted and not read."""
    texts = ClientTexts()
    for number in range(100):
        texts.take(json.dumps({"AppInfo": {"NumBytes": number}}).encode(), number / 10)
    assert (texts.measurements, texts.ignored) == (100, 0)
    assert texts.last == {"AppInfo": {"NumBytes": 99}}
    hasty = ClientTexts()
    for _ in range(100):
        hasty.take(b"{}", 1.0)
    assert (hasty.measurements, hasty.ignored) == (20, 80)


@pytest.mark.parametrize("text", [
    '{"a":Infinity}', '{"a":-Infinity}', '{"a":NaN}', '{"a":1e999}', '{"a":{"b":-1e999}}',
    '{"a":"\\ud800"}', '{"\\udfff":1}', '{"a":{"b":{"c":1}}}', '{"a":[[]]}',
    '{"a":' * 5000, "[" * 5000 + "]" * 5000, '{"a":1' + "0" * 9000 + "}", "[]", "1", "", "{",
])
def test_text_that_is_no_measurement_reaches_no_log_line(
    server: RunningServer, text: str
) -> None:
    """It is counted; the log line stays JSON that any program reads."""
    with server.connect("upload") as client:
        client.send('{"Origin":"client"}')
        client.send(text)
        measurements_of(client)
    line = server.next_log()
    assert line["last_client_measurement"] == {"Origin": "client"}
    assert (line["client_measurements"], line["unreadable_texts"]) == (1, 1)


def test_idle_tls_connections_take_little_memory(start_server: StartServer) -> None:
    """A hundred that connect and say nothing; each took more than 1 MB."""
    server = start_server("--duration", "60")
    server.raw("ndt7-tls").close()
    assert server.next_log()["event"] == "failed"  # the certificate is made by now
    before_mb = server.most_memory_mb()
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(server.raw("ndt7-tls"))
        with server.connect("upload", tls=True) as client:
            client.recv()  # so it has accepted all that came before
            assert server.most_memory_mb() - before_mb < 40
    server.process.terminate()


def test_idle_uploads_take_little_memory(start_server: StartServer) -> None:
    """A hundred that never send anything; each took more than 1 MB."""
    server = start_server("--duration", "60", "--no-tls")
    with ExitStack() as stack:
        client = stack.enter_context(server.connect("upload"))
        client.recv()
        before_mb = server.most_memory_mb()
        for _ in range(100):
            sock = stack.enter_context(server.raw("ndt7"))
            sock.sendall(upgrade_request("upload"))
            sock.recv(1 << 16)
        assert server.most_memory_mb() - before_mb < 40
    server.process.terminate()


@pytest.mark.parametrize("tls", [False, True], ids=["cleartext", "TLS"])
def test_server_works_again_after_descriptors_ran_out(
    start_server: StartServer, tls: bool
) -> None:
    """A hundred idle clients where 64 descriptors are allowed: those beyond wait, one line a
    while is logged, and when the idle ones are cut off, all is as before."""
    server = start_server("--duration", "0.5", "--request-timeout", "3",
                          *([] if tls else ["--no-tls"]), prefix=["prlimit", "--nofile=64:64"])
    port = "ndt7-tls" if tls else "ndt7"
    socks: list[socket.socket] = []
    try:
        for _ in range(100):
            socks.append(server.raw(port))
        ran_out, cut_off = 0, 0
        while cut_off < 100:
            line = server.next_log()
            assert line["event"] == "failed", line
            ran_out += "Too many open files" in line["reason"]
            cut_off += "took too long" in line["reason"]
        assert 0 < ran_out < 40
    finally:
        for sock in socks:
            sock.close()
    with server.connect("download", tls=tls) as client:
        measurements_of(client)
    assert server.next_log()["outcome"] == "complete"


def test_pings_without_a_pause_take_no_memory(start_server: StartServer) -> None:
    """A buffer full of them, 150,000, was 20 MB of messages at once."""
    server = start_server("--duration", "60", "--no-tls")
    with server.raw("ndt7") as sock:
        sock.sendall(upgrade_request("upload"))
        sock.recv(1 << 16)
        before_mb = server.most_memory_mb()
        pings = Frame(Opcode.PING, b"x").serialize(mask=True) * 150_000
        last = Frame(Opcode.PING, b"the last one").serialize(mask=True)
        sender = threading.Thread(target=sock.sendall, args=(pings + last,))
        sender.start()
        answer = b""
        while b"the last one" not in answer:  # measurements stand between the pongs, too
            piece = sock.recv(1 << 16)
            assert piece, "the server has closed the connection"
            answer = answer[-100:] + piece
        sender.join()
        assert server.most_memory_mb() - before_mb < 8
    server.process.terminate()

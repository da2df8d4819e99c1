# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client sees during a download."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError

from flent_aqm.servers.ndt7.tcp import use_congestion_control

from .conftest import RunningServer, StartServer, read_until_closed, reset, upgrade_request

SPEC_FIELDS = {
    "BusyTime", "BytesAcked", "BytesReceived", "BytesSent", "BytesRetrans", "ElapsedTime",
    "MinRTT", "RTT", "RTTVar", "RWndLimited", "SndBufLimited",
}
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass(frozen=True)
class Download:
    """A whole one: its messages, what the server logged of it, and both ends of the connection
    (client and server, IP:PORT); how it was closed."""

    messages: Sequence[str | bytes]
    logged: dict[str, Any]
    client: str
    server: str
    close_code: int | None
    server_closed_first: bool | None

    @property
    def measurements(self) -> list[dict[str, Any]]:
        return [json.loads(message) for message in self.messages if isinstance(message, str)]


@pytest.fixture(scope="module")
def download() -> Download:
    """Half a second of as much as goes over loopback, which is work for both processors: once
    for all tests that look at a whole download."""
    server = RunningServer("--duration", "0.5", "--no-tls")
    try:
        with server.connect("download") as client:
            local, port = client.local_address[:2]
            messages = list(client)
        return Download(
            messages, server.next_log(), f"{local}:{port}", f"127.0.0.1:{server.port}",
            client.close_code, client.protocol.close_rcvd_then_sent)
    finally:
        server.stop()


def test_message_size_doubles_once_it_is_a_sixteenth_of_what_was_sent(download: Download) -> None:
    """From 8 KiB by the specification's rule, up to 1 MiB and never above."""
    sizes = [len(message) for message in download.messages if isinstance(message, bytes)]
    expected, sent = 1 << 13, 0
    for size in sizes:
        assert size == expected
        sent += size
        if expected < 1 << 20 and expected <= sent / 16:
            expected *= 2
    assert max(sizes) == 1 << 20
    assert download.logged["bytes"] == sum(sizes)


def test_payload_is_random(download: Download) -> None:
    """Nothing on the path can make a load smaller by compression."""
    assert len(set(download.messages[0])) == 256


def test_measurements_have_the_fields_of_the_specification(download: Download) -> None:
    """Each names both ends, the origin and the test; counters and times grow."""
    seen = download.measurements
    # Half a second with ten measurements a second; a busy machine may skip some.
    assert 1 <= len(seen) <= 5
    for one in seen:
        assert one["Origin"] == "server"
        assert one["Test"] == "download"
        assert one["ConnectionInfo"]["Client"] == download.client
        assert one["ConnectionInfo"]["Server"] == download.server
        assert one["ConnectionInfo"]["StartTime"].endswith("Z")
        assert set(one["TCPInfo"]) <= SPEC_FIELDS
        assert {"RTT", "MinRTT", "BytesAcked", "BytesSent", "ElapsedTime"} <= set(one["TCPInfo"])
        assert one["TCPInfo"]["BytesAcked"] > 0
        assert one["AppInfo"]["NumBytes"] > 0
    times = [one["AppInfo"]["ElapsedTime"] for one in seen]
    assert times == sorted(set(times))
    assert times[-1] >= 500_000
    # The last one is the summary: nothing of the load comes behind it.
    assert isinstance(download.messages[-1], str)
    line = download.logged
    assert line["bytes"] == seen[-1]["AppInfo"]["NumBytes"]
    assert line["uuid"] == seen[-1]["ConnectionInfo"]["UUID"]
    assert round(line["seconds"] * 1e6) == pytest.approx(times[-1], abs=2)


def test_download_ends_by_close_frame_of_the_server(download: Download) -> None:
    """Normal closure, begun by the server when the time is over."""
    assert download.close_code == 1000
    assert download.server_closed_first is True


def test_bbr_is_used_where_the_kernel_has_it(download: Download) -> None:
    """Its state is then part of every measurement, and the log names what was used."""
    used = download.logged["congestion_control"]
    if "bbr" in AVAILABLE.read_text().split():
        assert used == "bbr"
        assert all(one["BBRInfo"]["BW"] > 0 for one in download.measurements)
    else:
        assert used != "bbr"
        assert not any("BBRInfo" in one for one in download.measurements)


def test_unknown_congestion_control_falls_back_to_the_default() -> None:
    """A kernel without BBR serves all the same."""
    default = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    with socket.socket() as sock:
        assert use_congestion_control(sock, "no_such_thing") == default


def test_log_names_the_congestion_control_that_was_used(start_server: StartServer) -> None:
    server = start_server("--no-tls", "--duration", "0.2", "--congestion-control", "reno")
    with server.connect("download") as client:
        client.recv()
    assert server.next_log()["congestion_control"] == "reno"


def test_measurements_of_the_client_are_recorded(server: RunningServer) -> None:
    """Text in JSON is kept; other text is counted and does no harm."""
    mine = {"AppInfo": {"ElapsedTime": 1, "NumBytes": 2}, "Origin": "client"}
    with server.connect("download") as client:
        client.send(json.dumps(mine))
        client.send("no JSON")
        for _ in client:
            pass
    line = server.next_log()
    assert line["outcome"] == "complete"
    assert line["client_measurements"] == 1
    assert line["last_client_measurement"] == mine
    assert line["unreadable_texts"] == 1


def test_binary_message_during_download_closes_the_connection(server: RunningServer) -> None:
    """Clients must not send a load then."""
    with server.connect("download") as client:
        client.send(b"x" * 1024)
        with pytest.raises(ConnectionClosedError):
            read_until_closed(client)
        assert client.close_code == 1003
    assert "binary message" in server.next_log()["outcome"]
    server.still_works()


def test_client_that_closes_first_gets_its_close_frame_back(server: RunningServer) -> None:
    """The closing handshake works in both directions."""
    with server.connect("download") as client:
        client.recv()
        client.close()
    assert client.close_code == 1000
    assert server.next_log()["outcome"] == "closed by the client"


def test_client_that_disappears_is_logged_and_server_goes_on(server: RunningServer) -> None:
    """A reset in the middle of the load."""
    with server.raw("ndt7") as sock:
        sock.sendall(upgrade_request("download"))
        sock.recv(1 << 16)
        reset(sock)
    line = server.next_log()
    assert line["outcome"].startswith("connection lost")
    server.still_works()


def test_client_that_stops_reading_is_cut_off(start_server: StartServer) -> None:
    """Three seconds after its planned end a test is over, whatever the client does."""
    server = start_server("--no-tls", "--duration", "0.2")
    with server.raw("ndt7") as sock:
        sock.sendall(upgrade_request("download"))
        assert server.next_log()["outcome"].endswith("or test took too long")
    server.still_works()


def test_several_downloads_at_once_over_both_families_and_tls(tls_server: RunningServer) -> None:
    """Each has a load and measurements of its own."""

    def run(host: str, tls: bool) -> tuple[int, str]:
        with tls_server.connect("download", host=host, tls=tls) as client:
            messages = list(client)
        texts = [json.loads(message) for message in messages if isinstance(message, str)]
        loads = sum(len(message) for message in messages if isinstance(message, bytes))
        return loads, texts[-1]["ConnectionInfo"]["Client"]

    cases = [(host, tls) for host in ("127.0.0.1", "::1") for tls in (False, True)]
    with ThreadPoolExecutor(len(cases)) as pool:
        results = list(pool.map(lambda case: run(*case), cases))
    lines = {line["client"]: line for line in (tls_server.next_log() for _ in cases)}
    for (host, tls), (count, client) in zip(cases, results, strict=True):
        assert client.startswith("[::1]:" if host == "::1" else "127.0.0.1:")
        assert lines[client]["bytes"] == count > 0
        assert lines[client]["tls"] is tls


@pytest.mark.parametrize("test", ["download", "upload"])
def test_early_exit_ends_a_download_once_its_amount_is_acknowledged(
    start_server: StartServer, test: str
) -> None:
    """Long before its time, and as complete as any; an upload lasts its time."""
    server = start_server("--no-tls", "--duration", "10" if test == "download" else "0.5")
    with server.connect(test, "?early_exit=250") as client:
        seen = [json.loads(message) for message in client if isinstance(message, str)]
    line = server.next_log()
    assert line["outcome"] == "complete"
    if test == "download":
        assert line["seconds"] < 10
        assert seen[-1]["TCPInfo"]["BytesAcked"] >= 250e6
        assert all(one["TCPInfo"]["BytesAcked"] < 250e6 for one in seen[:-1])
    else:
        assert line["seconds"] >= 0.5

# SPDX-License-Identifier: GPL-3.0-or-later
"""The player and the reader, with the real server over loopback, and how the player decides."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.measure.cross_traffic.video import FIRST_MBPS, LADDER_MBPS, Screen, choose_rate
from flent_aqm.measure.cross_traffic.web import HTML_BYTES, OBJECT_BYTES, OBJECTS
from flent_aqm.measure.parsers.cross import parse_lines
from tests.servers.serving import RunningServer


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server's."""
    server = RunningServer("http", "--no-tls")
    yield server.ports["http"]
    assert server.stop() == 0


def printed(module: str, port: int, until: str, more: int = 0) -> str:
    """What a client prints up to a line with a word in it, so many lines more, and when it is then
    stopped."""
    with subprocess.Popen([sys.executable, "-m", f"flent_aqm.measure.cross_traffic.{module}",
                           "127.0.0.1", str(port)], stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        lines = []
        for line in client.stdout:
            lines.append(line)
            if until in line:
                lines += [client.stdout.readline() for _ in range(more)]
                break
        client.send_signal(signal.SIGINT)
        lines += client.stdout
        assert client.wait(30) == 0
    return "".join(lines)


def test_page_comes_whole_and_its_time_is_told(port: int) -> None:
    """All bytes of 71 requests are counted once."""
    traffic = parse_lines(printed("web", port, "page_ms"))
    page, = traffic.events
    assert page["page_ms"] > 0
    assert sum(one["val"] * one["dur"] for one in traffic.rates) * 125_000 == pytest.approx(
        HTML_BYTES + OBJECTS * OBJECT_BYTES)
    assert all(one["dur"] == pytest.approx(0.2) for one in traffic.rates)


def test_player_takes_the_best_picture_once_it_knows_the_line(port: int) -> None:
    """Its first segment is a modest one; stopped, it says how long the picture stood still."""
    events = parse_lines(printed("video", port, '"segment_mbps": 7.8', more=1)).events
    pictures = [one.get("segment_mbps") for one in events]
    assert pictures[:3] == [FIRST_MBPS, None, LADDER_MBPS[-1]]
    # On a busy machine more have come by when it is stopped.
    assert set(pictures[3:]) <= {None, LADDER_MBPS[-1]}
    assert pictures[-1] is None
    assert all(one["stalled_ms"] >= 0 for one in events if "segment_mbps" not in one)
    # A segment counts from when it was asked for, a stall until the picture moves.
    assert events[0]["t"] < events[1]["t"] <= events[2]["t"] < events[3]["t"]


def test_client_without_a_server_says_so_in_one_line() -> None:
    """And ends with status 1."""
    done = subprocess.run(
        [sys.executable, "-m", "flent_aqm.measure.cross_traffic.web", "127.0.0.1", "1"],
        capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "127.0.0.1 port 1: Connection refused\n")


def test_client_of_another_server_says_so_in_one_line() -> None:
    """What answers otherwise is quoted."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        client = subprocess.Popen(
            [sys.executable, "-m", "flent_aqm.measure.cross_traffic.web", "127.0.0.1",
             str(other.getsockname()[1])], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
            text=True)
        connection, _ = other.accept()
        with connection, client:
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            assert client.stderr is not None
            assert re.fullmatch(r"127\.0\.0\.1 port \d+: unexpected answer 'HTTP/1.1 404 Not .*; "
                                r"expected HTTP/1\.1 200 with content-length: \d+, as a server "
                                "started with `flent-aqm serve` gives\n", client.stderr.read())
        assert client.returncode == 1


def test_choice_is_the_best_that_fits_into_nine_tenths() -> None:
    """Of the harmonic mean of the last three segments."""
    assert choose_rate([]) == FIRST_MBPS
    assert choose_rate([5.0]) == 4.5
    assert choose_rate([4.99]) == 3.0
    assert choose_rate([100.0, 2.0, 2.0, 2.0]) == 1.1  # 0.9 of 2
    assert choose_rate([0.01]) == LADDER_MBPS[0]


def test_picture_stands_still_while_the_buffer_is_empty() -> None:
    """Not before the first segment; each wait is told once."""
    screen = Screen()
    screen.go_on(5)
    screen.add(10)
    screen.add(11)
    assert (screen.buffer_s, screen.stalled_ms()) == (3.0, 0.0)
    screen.go_on(15.5)
    assert (screen.buffer_s, screen.stalled_ms(), screen.stalled_ms()) == (0.0, 1500.0, 0.0)


@pytest.mark.parametrize("text", [
    "no JSON", "[]", '{"start": 1}', '{"start": 1, "step_s": 1}\n[]'])
def test_other_output_is_refused(text: str) -> None:
    """By the error that runners tell."""
    with pytest.raises(ParseError, match="output of the cross-traffic client can't be read"):
        parse_lines(text)
    with pytest.raises(ParseError, match="printed nothing, not even its first line: it was sto"):
        parse_lines("")


def test_damaged_line_is_named_by_its_number() -> None:
    """Python's own words say "line 1" of each."""
    with pytest.raises(ParseError, match=r"^line 2 of the output .*: '\{\"step\": 1, \"by'$"):
        parse_lines('{"start": 1, "step_s": 1}\n{"step": 1, "by')

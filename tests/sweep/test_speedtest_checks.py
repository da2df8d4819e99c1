# SPDX-License-Identifier: GPL-3.0-or-later
"""What `speedtest` checks before it loads the line, on this machine's loopback device."""

from __future__ import annotations

import argparse
import errno
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult, ConfigError, TestbedError
from flent_aqm.commands.speedtest import _streams
from flent_aqm.sweep.speedtest import SpeedtestRequest, check_ping, check_server, measure
from tests.files import RUNS, load, save


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A free port of the loopback device, bound but not listening, in place of netperf's."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setattr("flent_aqm.base.defaults.NETPERF_PORT", bound.getsockname()[1])
        yield bound


def test_server_that_does_not_listen_is_told(port: socket.socket) -> None:
    """With the port; one that listens is not."""
    number = port.getsockname()[1]
    with pytest.raises(TestbedError, match=rf"IPv4, port {number}\): Connection refused; start"):
        check_server("127.0.0.1", 4)
    port.listen()
    check_server("127.0.0.1", 4)


def test_default_server_that_does_not_answer_is_not_to_be_mended(port: socket.socket) -> None:
    """The user can't start netserver there."""
    with pytest.raises(TestbedError, match=r"^no connection to the default netperf server "
                                           r".*refused; name another server with -H$"):
        check_server("127.0.0.1", 4, is_default=True)


def test_machine_without_ipv6_is_not_blamed_on_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """netserver may run there."""
    def connect(*_args: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(TestbedError, match=r"this machine has no IPv6 route to ::1; .*give -4"):
        check_server("::1", 6)


@pytest.mark.parametrize(("version", "other"), [(4, 6), (6, 4)])
def test_name_without_an_address_of_this_version_names_the_other(version: int, other: int) -> None:
    with pytest.raises(ConfigError, match=f"no IPv{version} address found .*, or -{other}$"):
        check_ping("no-such-host.invalid", version)


def test_name_without_an_address_is_told() -> None:
    """.invalid never has one (RFC 6761)."""
    with pytest.raises(ConfigError, match="-H"):
        check_server("server.invalid", 4)
    with pytest.raises(ConfigError, match="-p"):
        check_ping("server.invalid", 4)


def test_host_that_answers_pings_passes() -> None:
    """This one does."""
    check_ping("127.0.0.1", 4)


def test_flent_without_a_data_file_has_its_error_told() -> None:
    """Not that there is no file."""
    with pytest.raises(BadResult, match="no_such_test"):
        measure(SpeedtestRequest("no_such_test", "127.0.0.1", 4, 1, 0, "127.0.0.1", ""),
                dots=False, keep=None)


def test_ping_waits_a_second_for_each_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever program there is: fping takes milliseconds, ping seconds."""
    calls: list[list[str]] = []
    monkeypatch.setattr("flent_aqm.sweep.speedtest.run", calls.append)
    for programs in (("fping", "ping"), ("ping",)):
        monkeypatch.setattr("flent_aqm.sweep.speedtest.find_program",
                            lambda name, there=programs: name if name in there else None)
        check_ping("127.0.0.1", 4)
    fping, ping = calls
    assert (fping[0], fping[fping.index("-t") + 1]) == ("fping", "1000")
    assert (ping[0], ping[ping.index("-W") + 1]) == ("ping", "1")


def test_data_file_of_a_speed_test_is_kept_where_the_user_says(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if one of its tools failed, whose error is told; the idle line has no waits."""
    lines: list[list[str]] = []

    def run_flent(words: list[str], settings: object, dots: bool) -> str:
        lines.append(words)
        folder, = (word.partition("=")[2] for word in words if word.startswith("--data-dir="))
        save(Path(folder) / "x.flent.gz", whole)
        return ""

    monkeypatch.setattr("flent_aqm.sweep.speedtest._run_flent", run_flent)
    whole = load(RUNS / "speedtest_idle.flent.gz")
    idle = SpeedtestRequest("speedtest_idle", "server", 4, 5, 0, "near", "")
    kept = tmp_path / "kept.flent.gz"
    assert measure(idle, dots=False, keep=kept).whole == whole == load(kept)
    measure(replace(idle, streams=3), dots=False, keep=None)
    assert [{"--delay=0", "--delay=2", "--test-parameter=streams=3"} & set(words)
            for words in lines] == [{"--delay=0"}, {"--delay=2", "--test-parameter=streams=3"}]
    with pytest.raises(ConfigError, match=r"-o: can't write .*none/x: No such file .*; the "
                                          r"speed test ran, but its data file is lost"):
        measure(idle, dots=False, keep=tmp_path / "none" / "x")
    name = next(iter(whole["metadata"]["SERIES_META"]))
    whole["metadata"]["SERIES_META"][name]["ERROR"] = ["no route", "more"]
    kept.unlink()
    with pytest.raises(BadResult, match=r"^no route$"):
        measure(idle, dots=False, keep=kept)
    assert load(kept) == whole


@pytest.mark.parametrize(("text", "count"), [("0000000005", 5), ("128", 128)])
def test_number_of_streams_may_have_leading_zeros(text: str, count: int) -> None:
    """They say nothing."""
    assert _streams(text) == count


@pytest.mark.parametrize("text", ["0000000019999", "129", "0", "", "9" * 5000, "x"])
def test_number_of_streams_beyond_the_limit_is_refused(text: str) -> None:
    """Also with zeros before it, or of thousands of digits."""
    with pytest.raises(argparse.ArgumentTypeError, match=r"whole number of streams, 1 to 128"):
        _streams(text)

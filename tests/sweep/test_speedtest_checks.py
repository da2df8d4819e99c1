# SPDX-License-Identifier: GPL-3.0-or-later
"""What `speedtest` checks before it loads the line, on this machine's loopback device."""

from __future__ import annotations

import argparse
import errno
import io
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from flent_aqm.base.errors import (
    BadResult,
    CommandFailed,
    ConfigError,
    TestbedError,
    ToolMissing,
)
from flent_aqm.cli import main
from flent_aqm.commands.speedtest import _streams
from flent_aqm.sweep import speedtest
from flent_aqm.sweep.speedtest import (
    SpeedtestRequest,
    check_ping,
    check_server,
    check_tools,
    measure,
)
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
    with pytest.raises(TestbedError, match=r"^no IPv6 route to the netperf server ::1 .*with -H$"):
        check_server("::1", 6)


@pytest.mark.parametrize(("version", "other"), [(4, 6), (6, 4)])
def test_name_without_an_address_of_this_version_names_the_other(version: int, other: int) -> None:
    with pytest.raises(ConfigError, match=f"no IPv{version} address found .*, or -{other}$"):
        check_ping("no-such-host.invalid", version)


def test_name_without_an_address_is_told() -> None:
    """.invalid never has one (RFC 6761)."""
    with pytest.raises(ConfigError, match=r"^netperf server: .* another host with -H, or -6$"):
        check_server("server.invalid", 4, is_default=True)
    with pytest.raises(ConfigError, match=r"^host to ping: .* give another host with -p, or -6$"):
        check_ping("server.invalid", 4)


def test_name_server_that_does_not_answer_is_not_blamed_on_the_name(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither another name nor another version of IP would help."""
    def look_up(*_args: object) -> None:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(ConfigError, match=r"Temporary failure in name resolution; connect this "
                                          r"machine, mend its name server, .* address with -H$"):
        check_server("server.invalid", 4)


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


@pytest.mark.parametrize(("programs", "fault"), [
    ({"netperf", "fping", "ping"}, None), ({"netperf", "fping"}, None), ({"netperf", "ping"}, None),
    ({"fping", "ping"}, "netperf is not installed, not on PATH, or this user may not execute it"),
    ({"netperf"}, "neither fping nor ping is installed, on PATH and executable by this user")])
def test_netperf_and_either_ping_program_are_needed(
        monkeypatch: pytest.MonkeyPatch, programs: set[str], fault: str | None) -> None:
    monkeypatch.setattr(speedtest, "find_program", lambda name: name if name in programs else None)
    if fault is None:
        check_tools()
        return
    with pytest.raises(ToolMissing, match=f"^{fault}; see flent-aqm doctor$"):
        check_tools()


@pytest.mark.parametrize(("programs", "version", "address", "words"), [
    ({"fping", "ping"}, 4, "127.0.0.1", "fping -4 -q -r 3 -B 1 -t 1000 127.0.0.1"),  # once and 3x
    ({"fping"}, 6, "::1", "fping -6 -q -r 3 -B 1 -t 1000 ::1"),
    ({"ping"}, 4, "127.0.0.1", "ping -4 -q -c 4 -i 0.2 -W 1 127.0.0.1"),
    ({"ping"}, 6, "::1", "ping -6 -q -c 4 -i 0.2 -W 1 ::1")])
def test_four_pings_are_sent_to_the_address(
        monkeypatch: pytest.MonkeyPatch, programs: set[str], version: int, address: str, words: str
) -> None:
    """With whichever program there is."""
    calls: list[list[str]] = []
    monkeypatch.setattr(speedtest, "find_program", lambda name: name if name in programs else None)
    monkeypatch.setattr(speedtest, "run", calls.append)
    check_ping(address, version)
    assert calls == [words.split()]


@pytest.mark.parametrize(("status", "printed", "fault"), [
    (1, "", "none of 4 pings to 127.0.0.1 (IPv4) was answered: it is not reachable, or doesn't "),
    (1, "ping: no right\n", ("none of 4 pings to 127.0.0.1 (IPv4) was answered: ping printed "
                             "'ping: no right'; name another host with -p")),
    (2, "no right", "pinging 127.0.0.1 failed: ping: ended with "),
    (0, "no right", "pinging 127.0.0.1 failed: ping: ended with ")])
def test_ping_that_fails_is_no_host_that_does_not_answer(
        monkeypatch: pytest.MonkeyPatch, status: int, printed: str, fault: str) -> None:
    """Only status 1 without a complaint says so."""
    def fail(words: list[str]) -> None:
        raise CommandFailed(["ping"], status, "", printed)

    monkeypatch.setattr(speedtest, "run", fail)
    with pytest.raises(TestbedError) as raised:
        check_ping("127.0.0.1", 4)
    assert str(raised.value).startswith(fault)


def failing_connection(monkeypatch: pytest.MonkeyPatch, error: OSError) -> list[object]:
    """Have connections fail, and note what they are made to."""
    calls: list[object] = []

    def connect(address: object, limit_s: float) -> None:
        calls.append(address)
        raise error

    monkeypatch.setattr(socket, "create_connection", connect)
    return calls


@pytest.mark.parametrize(("version", "address", "other"), [(4, "127.0.0.1", 6), (6, "::1", 4)])
def test_machine_without_a_route_is_told_the_other_version(
        monkeypatch: pytest.MonkeyPatch, version: int, address: str, other: int) -> None:
    calls = failing_connection(monkeypatch, OSError(errno.ENETUNREACH, "Network is unreachable"))
    for host, end in (("named", f", or give -{other}"), (address, "")):  # an address has one
        monkeypatch.setattr(speedtest, "_address", lambda *_: address)
        with pytest.raises(TestbedError) as raised:
            check_server(host, version)
        assert str(raised.value) == (
            f"no IPv{version} route to the netperf server {host} from this machine, or from a "
            f"router on the way to it; connect this machine, name another server with -H{end}")
    assert calls == [(address, 12865)] * 2  # netserver's port


def test_server_that_says_nothing_is_told_with_the_time_waited(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that the user named is to be mended, or another one named."""
    failing_connection(monkeypatch, TimeoutError("timed out"))
    with pytest.raises(TestbedError) as raised:
        check_server("127.0.0.1", 4)
    assert str(raised.value) == (
        "-H: no connection to a netperf server at 127.0.0.1 (IPv4, port 12865): no answer in 10 s; "
        "start netserver there, or name another host")


@pytest.mark.parametrize("host", ["a..b", "x" * 70])
def test_name_that_is_none_is_told(host: str) -> None:
    """No label may be empty, or have more than 63 letters."""
    with pytest.raises(ConfigError, match=(
            r"^netperf server: no IPv4 address found .*: not a host name; give another host ")):
        check_server(host, 4)


@pytest.mark.parametrize(("number", "advice"), [
    (socket.EAI_NONAME, "give another host with -H, or -6"),
    (socket.EAI_AGAIN, "connect this machine, mend its name server, or give an address with -H"),
    (socket.EAI_FAIL, "connect this machine, mend its name server, or give an address with -H")])
def test_name_server_that_is_broken_is_not_the_names_fault(
        number: int, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other name would be found either."""
    def fail(*_: object) -> NoReturn:
        raise socket.gaierror(number, "what the system says")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(ConfigError, match=rf": what the system says; {advice}$"):
        check_server("router.example", 4)


class Flent:
    """Flent, which runs for two waits and a half, and writes an error that is no UTF-8."""

    def __init__(self, words: list[str], *, stderr: Any, **more: object) -> None:
        stderr.write("ERROR: it broke\n")
        stderr.flush()
        self.waits_s: list[float] = []
        Flent.last = self

    last: Flent

    def wait(self, limit_s: float) -> int:
        self.waits_s.append(limit_s)
        if len(self.waits_s) < 3:
            raise subprocess.TimeoutExpired([], limit_s)
        return 0

    def poll(self) -> int:
        return 0


@pytest.mark.parametrize(("dots", "shown"), [(True, b"..\n"), (False, b"")])
def test_dot_is_shown_for_each_second(
        monkeypatch: pytest.MonkeyPatch, dots: bool, shown: bytes) -> None:
    """At once: what a buffer keeps is no progress. Flent's output is returned whole."""
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", stream := io.TextIOWrapper(out))
    monkeypatch.setattr(subprocess, "Popen", Flent)
    waited = Flent.wait

    def wait(flent: Flent, limit_s: float) -> int:
        assert len(out.getvalue()) == (len(flent.waits_s) if dots else 0)
        return waited(flent, limit_s)

    monkeypatch.setattr(Flent, "wait", wait)
    assert speedtest._run_flent(["flent"], {}, dots) == "ERROR: it broke\n"
    stream.flush()
    assert out.getvalue() == shown
    assert Flent.last.waits_s == [1.0, 1.0, 1.0]


def test_error_of_a_tool_ends_a_speed_test_only_if_it_has_one(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty list, as of a tool that wrote nothing, is none, nor is what is no list."""
    whole = load(RUNS / "speedtest_idle.flent.gz")
    name = next(iter(whole["metadata"]["SERIES_META"]))

    def run_flent(words: list[str], settings: object, dots: bool) -> str:
        folder, = (word.partition("=")[2] for word in words if word.startswith("--data-dir="))
        save(Path(folder) / "x.flent.gz", whole)
        return ""

    monkeypatch.setattr(speedtest, "_run_flent", run_flent)
    idle = SpeedtestRequest("speedtest_idle", "server", 4, 5, 0, "near", "")
    nothing: tuple[object, ...] = ([], "text", None)
    for error in nothing:
        whole["metadata"]["SERIES_META"][name]["ERROR"] = error
        assert measure(idle, dots=False, keep=None).whole == whole


@pytest.mark.parametrize(("folder", "why"), [
    ("none", "none: No such file or directory; name a file in"),
    (__file__, "test_speedtest_checks.py: Not a directory; name")])
def test_place_for_the_data_file_is_checked_before(
        folder: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Not when everything is measured, and with the system's reason."""
    assert main(["speedtest", "-o", f"{folder}/x.flent.gz"]) == 1
    assert why in capsys.readouterr().err

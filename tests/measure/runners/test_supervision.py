# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that end as they should, badly, or not at all, under our runners."""

from __future__ import annotations

import errno
import math
import os
import pickle
import re
import shlex
import socket
import struct
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest

from flent_aqm.base import defaults, environment
from flent_aqm.base.errors import BadResult
from flent_aqm.base.flent_api import RunnerCheckError, which
from flent_aqm.measure.runners import process, qdisc
from flent_aqm.measure.runners.iperf3 import AqmIperf3Runner
from flent_aqm.measure.runners.netperf import AqmNetperfRunner
from flent_aqm.measure.runners.ping_exp import data_sets, settings_from
from flent_aqm.measure.runners.probes import AqmIrttRunner, AqmPingRunner
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, text_of
from flent_aqm.measure.runners.program import AqmProgramRunner
from flent_aqm.measure.runners.speedtest import WATCHDOG_MARGIN_S

SETTINGS = SimpleNamespace(IP_VERSION=4)


class LineRunner(SupervisedRunner):
    """Counts the lines that a tool prints."""

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        lines = text_of(output).splitlines()
        if not lines:
            raise BadResult("no line")
        return [[0.0, float(len(lines))]], [{"t": 0.0, "val": len(lines)}], {"LINES": lines}


def prepared(script: str, **keys: Any) -> LineRunner:
    runner = LineRunner(name="lines", settings=SETTINGS, finish_event=threading.Event(),
                        command=shlex.join(["sh", "-c", script]), **keys)
    runner.check()
    runner.fork()
    return runner


def result(runner: SupervisedRunner) -> dict[str, Any]:
    """Run to the end and parse, as Flent does in a process of its own."""
    runner.start()
    runner.join(60)
    assert not runner.is_alive()
    assert runner.finish_event.is_set()
    runner.recv_result(runner.parse_output())
    metadata: dict[str, Any] = runner.metadata
    runner.close()
    return metadata


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_command_of_the_user_has_none_of_the_variables_for_this_flent(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They keep numpy out, and have a Flent take its batch for that of a cell. Others stay."""
    for name in environment.OF_ONE_FLENT:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv(environment.PROGRAM_OUTPUT, str(tmp_path))
    monkeypatch.setenv(environment.IN_LAB, "1")
    runner = AqmProgramRunner(name="program", settings=SETTINGS, finish_event=threading.Event(),
                              command="env", length=10)
    runner.check()
    runner.fork()
    assert "ERROR" not in result(runner)
    printed = (tmp_path / defaults.CLIENT_STDOUT).read_text().splitlines()
    names = {line.partition("=")[0] for line in printed}
    assert {environment.IN_LAB, "PATH"} <= names
    assert names.isdisjoint(environment.OF_ONE_FLENT)


def test_tool_that_works_gives_its_series() -> None:
    """Output, metadata, no error."""
    runner = prepared("echo one; echo two")
    metadata = result(runner)
    assert metadata["LINES"] == ["one", "two"]
    assert runner.result == [[0.0, 2.0]]
    assert "ERROR" not in metadata


def test_tool_with_an_error_status_is_a_failed_series() -> None:
    """An empty series, and one line with the status and the tool's last words."""
    runner = prepared("echo one; echo 'no such host' >&2; exit 3")
    assert result(runner)["ERROR"] == ["sh ended with status 3: no such host"]
    assert runner.result == []


def test_tool_that_spins_is_named_with_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name that users know, where Python runs it; and told from one that waits."""
    monkeypatch.setattr(process, "SPINS_ABOVE", 0.05)  # others are busy, too
    runner = prepared("while :; do :; done", watchdog_timer=0.5)
    runner.title = "librespeed"
    error, = result(runner)["ERROR"]
    assert re.fullmatch(r"librespeed still ran after 0.5 s and was killed; it was busy for "
                        r"\S+ s of them: it doesn't wait, it spins", error)


class ParsedRunner(SupervisedRunner):
    """A tool whose output a method of Flent's kind parses: the sum of its first line's numbers."""

    def parse(self, output: IO[str], error: IO[str]) -> Any:
        words = output.readline().split()
        return [[0.0, sum(map(float, words[1:]))]] if words[0] == "rates" else [], [], {}


@pytest.mark.parametrize(("script", "why"), [
    ("echo rates 5 x", (
        "sh: its output can't be parsed (could not convert string to float: 'x'); "
        "it starts with 'rates 5 x'; is it another version? see flent-aqm doctor")),
    ("echo rates x; echo deprecated >&2", (
        "sh: its output can't be parsed (could not convert string to float: 'x'); "
        "it starts with 'rates x'; its last line on standard error: deprecated; "
        "is it another version? see flent-aqm doctor")),
    ("echo banner; echo reset by peer >&2",
     ("sh gave no measurement; its output ends with 'banner'; its last line on standard error: "
     "reset by peer")),
    ("echo banner; echo bye", "sh gave no measurement; its output ends with 'bye'"),
    ("echo reset >&2", "sh gave no measurement; its last line on standard error: reset"),
    (":", "sh gave no measurement; it printed nothing"),
    ("printf '%080d.' 0", f"sh gave no measurement; its output ends with '{'0' * 59}.'"),
    ("echo usage >&2; exit 2", "sh ended with status 2: usage"),
    ("echo refused; exit 2", "sh ended with status 2: its output ends with 'refused'"),
    ("exit 2", "sh ended with status 2: it printed nothing"),
])
def test_output_without_a_measurement_is_told_from_one_of_another_format(
        script: str, why: str) -> None:
    """A parser that fails is no fault of the tool, and a reason on standard error is shown."""
    runner = ParsedRunner(name="parsed", settings=SETTINGS, finish_event=threading.Event(),
                          command=shlex.join(["sh", "-c", script]))
    runner.check()
    runner.fork()
    assert result(runner)["ERROR"] == [why]


def no_measurement(runner: Any, tool: str, output: str, error: str) -> str:
    """The message of a tool of Flent that printed this."""
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        stdout.write(output)
        stderr.write(error)
        stdout.seek(0)
        stderr.seek(0)
        runner.args = [tool]
        with pytest.raises(BadResult) as refusal:
            runner.read(stdout, stderr)
        return str(refusal.value)


def test_tcps_counters_are_no_complaint_of_netperf() -> None:
    """Flent asks for these lines on standard error."""
    runner = AqmNetperfRunner(name="up", settings=SETTINGS, host="::1", length=1,
                              test="TCP_STREAM")
    assert no_measurement(runner, "netperf", "REMOTE_BYTES_RECVD=0\n", "tcpi_rto 204000\n") == (
        "netperf gave no measurement; its output ends with 'REMOTE_BYTES_RECVD=0'")
    printed = "".join(f"NETPERF_{name}[0]=1.0\n" for name in (
        "INTERIM_RESULT", "INTERVAL", "ENDING"))
    assert no_measurement(runner, "netperf", printed, "") == (
        "netperf reported no throughput of the whole test: it or its connection ended early; its "
        "output ends with 'NETPERF_ENDING[0]=1.0'")


@pytest.mark.parametrize(("tool", "output", "error", "said"), [
    ("fping", "\n", "192.0.2.1 : xmt/rcv/%loss = 3/0/100%\n", ""),
    ("fping", "", "ICMP Host Unreachable from 10.0.0.1\n\n192.0.2.1 : xmt/rcv/%loss = 3/0/100%\n",
     ", and it says 'ICMP Host Unreachable from 10.0.0.1'"),
    ("ping", "5 packets transmitted, 0 received, 100% packet loss, time 827ms\n\n", "", ""),
    ("ping", "5 packets transmitted, 0 received, 100% packet loss, time 827ms\n\n",
     "ping: sendmsg: Operation not permitted\n",
     ", and it says 'ping: sendmsg: Operation not permitted'")])
def test_host_that_answers_no_ping_is_named(tool: str, output: str, error: str, said: str) -> None:
    """fping's sum is no complaint, and ping's no measurement that can't be read."""
    runner = AqmPingRunner(name="ping", settings=SETTINGS, host="192.0.2.1")
    assert no_measurement(runner, tool, output, error) == (
        f"{tool}: none of its probes came back{said}; check that 192.0.2.1 can be reached and "
        "answers pings")


@pytest.mark.parametrize("script", [
    """echo '{"stats": {"rtt": {"mean": 0}, "packets_received": 0}}'""",
    "printf 'panic: Time.Sub() clock mismatch\n\nmain.main()\n\tmain.go:10 +0x28\n' >&2; exit 2"])
@pytest.mark.parametrize("linger_s", [None, 0.0])
def test_irtt_whose_probes_are_all_lost_names_the_host(
        script: str, linger_s: float | None) -> None:
    """Version 0.9.0 leaves out a median of 0, so that Flent can't read it, and 0.9.1 crashes."""
    runner = AqmIrttRunner(name="irtt", settings=SETTINGS, host="192.0.2.1", length=1,
                           linger_s=linger_s, finish_event=threading.Event())
    runner.title = "irtt"
    runner.args = ["-o", "-"]
    runner.fork()
    written = runner.args[1]
    runner.args = ["sh", "-c", script if written == "-" else f"{{ {script}; }} >{written}"]
    assert result(runner)["ERROR"] == [
        ("irtt: none of its probes came back; check that 192.0.2.1 can be reached, and that "
         "nothing on the path drops UDP or this DSCP")]
    if written != "-":
        runner._written.close()


@pytest.mark.parametrize(("script", "told"), [
    ("""[ "$1" = help ] && exec echo --timeouts
        echo 'Error: read udp4 127.0.0.1:2112: read: connection refused' >&2; exit 1""",
     r"connection refused; run irtt server on 127\.0\.0\.1, and let firewalls .* UDP port 2112$"),
    ("""[ "$1" = help ] && exec echo --timeouts
        echo 'Error: no reply from server' >&2; exit 1""",
     r"no reply from server; run irtt server on 127\.0\.0\.1, "),
    # No server is missing then.
    ("""[ "$1" = help ] && exec echo --timeouts
        echo 'Error: lookup nohost: no such host' >&2; exit 1""", r": no such host\s*$"),
    ("echo -timeouts", "too old to support gnu style args. .* v0.9\\+.$")])
def test_irtt_without_its_server_says_how_to_start_it(
        script: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An irtt that is too old has its own remedy."""
    (tmp_path / "irtt").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "irtt").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(AqmIrttRunner, "_irtt", {})
    monkeypatch.setattr(which, "cache", {})  # of paths that other tests found
    settings = SimpleNamespace(IP_VERSION=4, LOCAL_BIND=None, IRTT_INTERVAL=None, STEP_SIZE=0.2)
    runner = AqmIrttRunner(name="irtt", settings=settings, host="127.0.0.1", length=1,
                           finish_event=threading.Event())
    with pytest.raises(RunnerCheckError, match=told):
        runner.check()


@pytest.mark.parametrize(("count", "interval_s"), [(400, 0.2), (100, 0.25), (30, 0.5), (1, 60.0)])
def test_ping_exp_sends_as_many_pings_as_were_asked_for(count: int, interval_s: float) -> None:
    """It sent one more where the interval is exact in binary. ping, where there is no fping, takes
    whole seconds only."""
    wanted = {"ping_count": count, "ping_interval": interval_s}
    requested = settings_from(lambda name, default: wanted.get(name, default), pytest.fail)
    (_, keys), = data_sets(requested, ["192.0.2.1"], 4)
    runner = AqmPingRunner(name="ping", settings=SETTINGS, host="192.0.2.1", delay=0)
    arguments = keys["interval"], keys["length"], "192.0.2.1", None, None
    assert f" -c {count} " in runner.use_fping("fping", 4, *arguments)
    assert f" -w {math.ceil(keys['length'])} " in runner.use_ping("ping", [], *arguments)


def test_tool_that_hangs_and_ignores_signals_is_killed() -> None:
    """By the watchdog; nothing of it is left."""
    runner = prepared("trap '' INT TERM; echo $$; while :; do sleep 0.1; done", watchdog_timer=0.3)
    assert result(runner)["ERROR"] == ["sh still ran after 0.3 s and was killed"]
    assert not alive(runner.pid)


def test_tool_that_is_not_there_is_a_failed_series() -> None:
    """It vanished between check() and start."""
    runner = prepared("true")
    runner.args = ["/nonexistent/tool"]
    assert result(runner)["ERROR"] == [
        "/nonexistent/tool could not be run: /nonexistent/tool: No such file or directory"]


def test_queues_that_the_kernel_refuses_to_list_are_a_failed_series(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """By its answer on the socket, as without the right to ask."""
    ours, kernels = socket.socketpair()
    error = struct.pack("=IHHIIi", 20, 2, 0, 1, 0, -errno.EPERM)
    kernels.send(error)
    monkeypatch.setattr(qdisc, "_router_socket", lambda: ours)
    monkeypatch.setattr(socket, "if_nametoindex", lambda name: 1)
    runner = qdisc.AqmQdiscRunner(name="Queues", settings=SETTINGS, length=1,
                                  finish_event=threading.Event())
    runner.check()
    runner.fork()
    assert result(runner)["ERROR"] == [
        ("the router's queues could not be sampled: the kernel answered the request for "
         "its qdiscs with an error: Operation not permitted")]
    kernels.close()


def test_tool_that_a_signal_ended_is_told_from_one_with_a_status() -> None:
    assert result(prepared("echo one; kill -9 $$"))["ERROR"] == [
        "sh ended with signal 9: its output ends with 'one'"]


def test_output_that_cannot_be_kept_is_not_blamed_on_the_tool(
        monkeypatch: pytest.MonkeyPatch) -> None:
    runner = prepared("echo one")

    def full(output: IO[str], error: IO[str]) -> Parsed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/one.pcap")

    monkeypatch.setattr(runner, "read", full)
    assert result(runner)["ERROR"] == [
        "the tool's output could not be read or stored: /data/one.pcap: No space left on device"]


def test_tool_that_prints_any_bytes_is_read() -> None:
    """Undecodable bytes reach the parser as replacement characters."""
    runner = prepared(r"printf '\377\376\n'")
    assert result(runner)["LINES"] == ["\ufffd\ufffd"]


def test_defect_in_a_reader_marks_the_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flent would leave out the series and count no failure."""
    runner = prepared("echo one")
    monkeypatch.setattr(runner, "read", lambda output, error: dict[str, Parsed]()["missing"])
    assert result(runner)["ERROR"] == [
        "a bug in flent-aqm: KeyError: 'missing'; please report it"]


def test_tool_stopped_before_its_start_is_told_from_one_that_ran() -> None:
    kill = threading.Event()
    kill.set()
    assert result(prepared("echo one", kill_event=kill))["ERROR"] == [
        ("sh was stopped before it had begun: the test, or the load that it accompanies, ended "
         "first")]


def test_program_that_this_user_may_not_execute_is_not_called_missing(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "iperf9").touch(0o644)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunnerCheckError, match="not on PATH, or this user may not execute it"):
        process.program_path("iperf9")


@pytest.mark.parametrize(("name", "why"), [
    ("ROUTER_NAMESPACE", "/nonexistent: No such file or directory"),
    ("_router_socket", "nodevice0: No such device")])
def test_what_the_queue_sampler_lacks_is_named(name: str, why: str,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdisc, name, "/nonexistent" if name.isupper() else socket.socket)
    monkeypatch.setattr(qdisc, "DEVICES", ("nodevice0", "nodevice1"))
    runner = qdisc.AqmQdiscRunner(name="Queues", settings=SETTINGS, length=1,
                                  finish_event=threading.Event())
    runner.check()
    runner.fork()
    assert result(runner)["ERROR"] == [f"the router's queues could not be sampled: {why}"]


@pytest.mark.parametrize("endless", [True, False])
def test_tool_stopped_by_another_fails_unless_it_is_endless(endless: bool) -> None:
    """Cross traffic ends with the speed test; a speed test that is stopped has failed."""
    kill = threading.Event()
    runner = prepared("trap 'exit 1' INT; echo one; while :; do sleep 0.1; done", kill_event=kill)
    runner.endless = endless
    threading.Timer(0.5, kill.set).start()
    why = ("sh was stopped before it had finished: the test, or the load that it accompanies, "
           "ended first")
    assert result(runner).get("ERROR") == (None if endless else [why])


def test_tool_starts_after_the_other_has_ended(tmp_path: Path) -> None:
    """run_after, also when the other was killed."""
    first = prepared(f"sleep 0.3; touch {tmp_path}/first; exec sleep 60", watchdog_timer=0.6)
    second = prepared(f"ls {tmp_path}", start_event=first.finish_event)
    second.start()
    result(first)
    assert result_of_started(second)["LINES"] == ["first"]


def result_of_started(runner: LineRunner) -> dict[str, Any]:
    runner.join(60)
    runner.recv_result(runner.parse_output())
    metadata: dict[str, Any] = runner.metadata
    runner.close()
    return metadata


def test_outputs_are_gone_when_the_runner_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No temporary file stays."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runner = prepared("echo one")
    assert list(tmp_path.iterdir())
    result(runner)
    assert list(tmp_path.iterdir()) == []


def test_state_that_parsing_needs_survives_the_way_to_flents_parser_process() -> None:
    """Flent pickles a runner for it."""
    runner = AqmIperf3Runner(name="up", settings=None, host="::1", length=1, direction="upload")
    runner.stopped_by, runner.started_s = "killed", 12.5
    state = runner.__getstate__()
    copy = pickle.loads(pickle.dumps(state))
    assert (copy["stopped_by"], copy["started_s"]) == ("killed", 12.5)


def test_irtt_that_ends_with_another_tool_outlasts_it() -> None:
    """Even one that is late until its own limit: by itself irtt never ends then."""
    length_s, linger_s = 50, 5.0
    runner = AqmIrttRunner(name="irtt", settings=SETTINGS, finish_event=threading.Event(),
                           host="127.0.0.1", length=length_s, linger_s=linger_s)
    assert runner.length > length_s + WATCHDOG_MARGIN_S + linger_s
    assert runner.watchdog_timer > runner.length
    alone = AqmIrttRunner(name="irtt", settings=SETTINGS, finish_event=threading.Event(),
                          host="127.0.0.1", length=length_s)
    assert alone.length == length_s

# SPDX-License-Identifier: GPL-3.0-or-later
"""Runners whose tools ended well and measured nothing: the message fits each cause."""

from __future__ import annotations

import json
import shutil
import struct
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base import environment
from flent_aqm.base.defaults import CLIENT_STOPPED
from flent_aqm.base.errors import BadResult
from flent_aqm.base.flent_api import RunnerCheckError
from flent_aqm.measure.parsers.transfers import LEAST_BYTES
from flent_aqm.measure.runners import capture, qdisc
from flent_aqm.measure.runners.capture import AqmCaptureRunner
from flent_aqm.measure.runners.cpu import AqmCpuRunner
from flent_aqm.measure.runners.cross import AqmCallRunner, AqmCrossRunner
from flent_aqm.measure.runners.iperf3 import AqmIperf3Runner
from flent_aqm.measure.runners.ndt7 import AqmNdt7Runner
from flent_aqm.measure.runners.netperf import AqmNetperfRunner
from flent_aqm.measure.runners.process import KILLED
from flent_aqm.measure.runners.program import AqmProgramRunner
from flent_aqm.measure.runners.speedtest import AqmSpeedtestRunner

SETTINGS = SimpleNamespace(IP_VERSION=4)
PCAP = struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)
# A packet of 42 bytes: UDP between other hosts than the test's.
PACKET = struct.pack("=IIII", 1, 0, 42, 42) + bytes(12) + bytes.fromhex("08004500001c") + bytes(
    5) + bytes.fromhex("11") + bytes(18)
COUNTS = "{0} packets captured\n{0} packets received by filter\n0 packets dropped by kernel\n"


def refusal(runner: Any, folder: Path, output: bytes, error: str) -> str:
    """The message for a tool that printed this."""
    (folder / "out").write_bytes(output)
    (folder / "err").write_text(error)
    with open(folder / "out") as runner.stdout, open(folder / "err") as runner.stderr, \
            pytest.raises(BadResult) as refused:
        runner.read(runner.stdout, runner.stderr)
    return str(refused.value)


@pytest.mark.parametrize(("packets", "message"), [
    (0, ("or go to another address than 192.0.2.1, or are of another protocol than TCP and UDP, or "
         "of a port that is left out (2112)")),
    (1, (f"called client carried {LEAST_BYTES} bytes or more, ports 5202, 2112 apart: the command "
         "sent less, or from or to another host"))])
def test_load_that_was_not_captured_may_have_gone_elsewhere(tmp_path: Path, packets: int,
                                                            message: str) -> None:
    """The command may have loaded the network by way of another server."""
    runner = AqmCaptureRunner(name="x", settings=SETTINGS, host="server", length=1, ports=[],
                              every_port=True, not_ports=[2112])
    runner.addresses, runner.stopped_by = ["192.0.2.1"], "due"
    assert refusal(runner, tmp_path, PCAP + packets * PACKET, COUNTS.format(packets)
                   ).endswith(message)


def test_iperf3_that_reaches_no_server_names_it_and_what_to_run_there(tmp_path: Path) -> None:
    runner = AqmIperf3Runner(name="x", settings=SETTINGS, host="server", port=5299, length=1,
                             direction="upload")
    refused = (f"{refusal(runner, tmp_path, json.dumps({'start': {}, 'error': why}).encode(), '')}"
               for why in ("unable to connect to server: Connection refused", "is busy"))
    assert [*refused] == [
        ("iperf3 with server, port 5299: unable to connect to server: Connection refused; check "
         "that its server runs there: iperf3 -s -p 5299"),
        "iperf3 with server, port 5299: is busy"]


def test_server_that_is_not_there_is_named_with_what_to_run(tmp_path: Path) -> None:
    """netperf's last line is another one, and the NDT7 crate names no server."""
    def ended(runner: Any, status: int, output: str, error: str) -> str:
        runner.returncode = status
        (tmp_path / "out").write_text(output)
        (tmp_path / "err").write_text(error)
        with open(tmp_path / "out") as runner.stdout, open(tmp_path / "err") as runner.stderr, \
                pytest.raises(BadResult) as refused:
            runner._refuse_bad_end(runner.stderr)
        return str(refused.value)

    asked = "establish control: are you sure there is a netserver listening on ::1 at port 12865?"
    netperf = AqmNetperfRunner(name="x", settings=SETTINGS, host="::1", length=1, test="TCP_STREAM")
    assert ended(netperf, 255, f"{asked}\nestablish_control could not establish the control "
                 "connection from 0.0.0.0 port 0\n", "").endswith(f"ended with status 255: {asked}")
    assert ended(netperf, 1, "so\n", "").endswith("with status 1: its output ends with 'so'")
    ndt7 = AqmNdt7Runner(name="x", settings=SETTINGS, host="server", direction="upload")
    ndt7.title = "ndt7-client"
    assert ended(ndt7, 1, "", "error: I/O error: Connection refused (os error 111)\n").endswith(
        "Connection refused (os error 111) by server, port 8080; does `flent-aqm serve ndt7` or "
        "another NDT7 server run there?")
    assert ended(ndt7, 1, "", "out of memory\n").endswith("status 1: out of memory")


@pytest.mark.parametrize(("client", "failure", "end"), [
    ("browser", "error", (": its WebSocket failed, and browsers don't tell why; does `flent-aqm "
                          "serve ndt7` or another NDT7 server run there?")),
    ("mlab", "dial tcp: connect: connection refused", (
        ": dial tcp: connect: connection refused; does `flent-aqm serve ndt7` or another NDT7 "
        "server run there?")),
    ("mlab", "error", ", port 8080: error"), ("browser", "timeout", ", port 8080: timeout")])
def test_error_of_an_ndt7_client_without_a_cause_is_told_as_such(
        tmp_path: Path, client: str, failure: str, end: str) -> None:
    runner = AqmNdt7Runner(name="x", settings=SETTINGS, host="server", direction="upload",
                           client=client)
    printed = json.dumps({"Key": "error", "Value": {"Test": "upload", "Failure": failure}})
    assert refusal(runner, tmp_path, printed.encode(), "").endswith(end)


def test_kernel_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only "timed out"."""
    def fail() -> None:
        raise TimeoutError("timed out")

    monkeypatch.setattr(qdisc, "_router_socket", fail)
    runner = qdisc.AqmQdiscRunner(name="x", settings=SETTINGS, length=1)
    runner._run_tool()
    assert runner.stopped_by == ("the router's queues could not be sampled: the kernel did not "
                                 "answer within 5 s")


def test_cross_traffic_without_rates_tells_the_reason_of_its_kind(tmp_path: Path) -> None:
    """irtt's server has answered before a packet is sent, and clients tell also that nothing
    arrived."""
    runner = AqmCrossRunner(name="x", settings=SETTINGS, client="web", host="server", port=8081,
                            length=1)
    printed = json.dumps({"start": 1.0, "step_s": 0.2}).encode()
    assert refusal(runner, tmp_path, printed, "") == (
        "the cross-traffic client of port 8081 of server was stopped by force before it printed "
        "what had arrived; repeat the run")
    call = AqmCallRunner(name="x", settings=SETTINGS, client="irtt", host="server", port=2112,
                         length=1)
    lost = {"seqno": 0, "lost": "true", "delay": {},
            "timestamps": {"client": {"send": {"wall": 1.0}}}}
    call.written = str(tmp_path / "call.json")
    Path(call.written).write_text(json.dumps({"round_trips": [lost]}))
    assert refusal(call, tmp_path, b"", "").startswith(
        "none of the call's packets of 1200 bytes is known to have arrived in the upload, though "
        "irtt reached its server at port 2112 of server before; check that the path carries")


def test_processors_whose_counts_stand_still_are_not_blamed_on_the_tests_end(tmp_path: Path
                                                                             ) -> None:
    runner = AqmCpuRunner(name="x", settings=SETTINGS, length=3)
    line = json.dumps({"t": 1.0, "stat": "cpu0 0 0 0 0 0 0 0\n", "mhz": {}}) + "\n"
    assert "in 3 readings of /proc/stat, no processor's counts grew" in refusal(
        runner, tmp_path, 3 * line.encode(), "")


@pytest.mark.parametrize(("error", "end"), [
    ("", "no result of the upload: it ended before that began"),
    ("server full\n", "no result of the upload; its last line on standard error: server full")])
def test_speed_test_without_a_direction_tells_its_own_reason(tmp_path: Path, error: str, end: str
                                                             ) -> None:
    runner = AqmSpeedtestRunner(name="x", settings=SETTINGS, client="librespeed",
                                direction="upload", host="server", port=80, longest_s=1)
    printed = json.dumps({"client": "x", "numbers": {}, "notes": [], "idle": [], "ways": {}})
    assert refusal(runner, tmp_path, printed.encode(), error).endswith(end)


def test_command_that_complains_on_its_output_is_quoted(tmp_path: Path) -> None:
    runner = AqmProgramRunner(name="x", settings=SETTINGS, command="tool", length=1)
    runner.returncode = 3
    (tmp_path / "out").write_text("no route\n")
    (tmp_path / "err").touch()
    with open(tmp_path / "out") as runner.stdout, open(tmp_path / "err") as runner.stderr:
        assert runner.parse_output()[2]["ERROR"] == [
            "the command ended with status 3: its output ends with 'no route'"]


def test_command_that_the_test_stopped_is_not_said_to_have_failed(tmp_path: Path) -> None:
    """Also if the signal ended it."""
    runner = AqmProgramRunner(name="x", settings=SETTINGS, command="tool", length=1)
    runner.title, runner.started_s, runner.stopped_by, runner.returncode = "tool", 1.0, KILLED, -2
    (tmp_path / "err").touch()
    with open(tmp_path / "err") as runner.stdout, open(tmp_path / "err") as runner.stderr:
        [why] = runner.parse_output()[2]["ERROR"]
    assert why.startswith("tool was stopped before it had finished: ")


def test_stopped_command_leaves_the_servers_that_had_ended_before(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it is stopped: a server may end because of that."""
    monkeypatch.setenv(environment.PROGRAM_OUTPUT, str(tmp_path))
    (tmp_path / "server-2-status").write_text("1\n")
    script = f"trap 'echo 0 >{tmp_path}/server-1-status; exit' INT; while :; do sleep 0.01; done"
    runner = AqmProgramRunner(name="x", settings=SETTINGS, command="tool", length=0.2)
    runner.args = ["sh", "-c", script]
    runner.fork()
    runner._run_tool()
    assert "still ran after 0.2 s" in runner.stopped_by
    assert (tmp_path / "server-1-status").exists()
    assert (tmp_path / CLIENT_STOPPED).read_text() == "server-2-status\n"


def test_capture_that_is_there_already_is_not_called_a_folder(tmp_path: Path) -> None:
    settings = SimpleNamespace(DATA_DIR=str(tmp_path), DATA_FILENAME="a.flent.gz", NAME="x",
                               TIME=datetime(2026, 1, 1))
    runner = AqmCaptureRunner(name="x", settings=settings, host="server", length=1, ports=[],
                              keep=True)
    (tmp_path / "a.pcap").touch()
    (tmp_path / "out").write_bytes(PCAP)
    with open(tmp_path / "out") as output, pytest.raises(BadResult) as refused:
        runner._keep_capture(output)
    assert str(refused.value) == (f"the capture can't be kept: {tmp_path}/a.pcap exists already; "
                                  "move it, or write the data file to another folder")


def test_capture_without_room_is_refused_before_tcpdump_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which would complain about an invalid packet count."""
    for name, value in (("program_path", Path("tcpdump")), ("_egress_device", "lo"), ("_mtu", 1500),
                        ("lookup_host", [0, 0, 0, 0, ("192.0.2.1", 0)])):
        monkeypatch.setattr(capture, name, lambda *_, value=value: value)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))
    runner = AqmCaptureRunner(name="x", settings=SETTINGS, host="server", length=1, ports=[])
    monkeypatch.setattr(capture, "SHARE_OF_FREE_ROOM", 0.01)
    with pytest.raises(RunnerCheckError, match="has no room for a capture: 4,096 bytes are free; "):
        runner.check()


@pytest.mark.parametrize(("status", "noted"), [(0, "server-2-status\n"), (3, None)])
def test_command_that_ends_leaves_the_servers_that_had_ended_before(
        status: int, noted: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test goes on for a while, and a server may end because its client is gone. After an error
    of the command all count, as a server may be the cause."""
    monkeypatch.setenv(environment.PROGRAM_OUTPUT, str(tmp_path))
    (tmp_path / "server-2-status").write_text("1\n")
    runner = AqmProgramRunner(name="x", settings=SETTINGS, command="tool", length=9)
    runner.args = ["sh", "-c", f"exit {status}"]
    runner.fork()
    runner._run_tool()
    kept = tmp_path / CLIENT_STOPPED
    assert (kept.read_text() if kept.exists() else None) == noted

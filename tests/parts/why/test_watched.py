# SPDX-License-Identifier: GPL-3.0-or-later
"""What is captured, and whose flows those are, by a run's settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base.errors import LabError
from flent_aqm.lab.virtual import Lab
from flent_aqm.parts.why import watched
from flent_aqm.parts.why.flow_names import cross_ports_of
from flent_aqm.parts.why.watched import Watched, _blocks
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize(("kind", "ports"), [
    ("yes", {5202}), ("bulk", {5202}), ("no", set()), ("nonsense", set())])
def test_bulk_traffic_has_one_of_iperf3s_two_servers(kind: str, ports: set[int]) -> None:
    """The other is that of a test by iperf3, which was called cross traffic, too."""
    assert cross_ports_of({"TEST_PARAMETERS": {"cross_traffic": kind}}) == ports
    own = {"cross_traffic": kind, "cross_port": "5999"}
    assert cross_ports_of({"TEST_PARAMETERS": own}) == ({5999} if ports else set())


def test_modem_gets_as_much_room_as_the_router() -> None:
    """Each sees every packet. The room of one was divided between them."""
    alone = Scenario.from_settings({"rate_mbps": 100})
    with_modem = Scenario.from_settings({"rate_mbps": 90, "modem_mbps": 100})
    assert _blocks(with_modem, 500_000) == pytest.approx(2 * _blocks(alone, 500_000), abs=1)
    assert _blocks(with_modem, 10**9) == _blocks(alone, 10**9) == 640
    # The router's capture has the download's packets a third time.
    ifb = Scenario.from_settings({"rate_mbps": 90, "modem_mbps": 100, "ingress": "ifb"})
    assert _blocks(ifb, 200_000) == pytest.approx(5 * _blocks(with_modem, 200_000) / 4, abs=1)


def test_packet_that_was_not_dropped_is_told_with_the_reason(tmp_path: Path) -> None:
    """The reason is what the failed command printed, and comes before its words."""
    program = tmp_path / "ip"
    program.write_text("#!/bin/sh\necho 'RTNETLINK answers: File exists' >&2; exit 2\n")
    program.chmod(0o755)
    script = Path(watched.__file__).parent / "guest" / "drop.py"
    done = subprocess.run([sys.executable, script, "down", "0", "0", "ip", "match"],
                          env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("RTNETLINK answers: File exists\n"
                           "(ip link add flent-nowhere type failed)\n")


@pytest.mark.parametrize(("files", "why"), [
    ({"why_drop": "Error: Exclusivity flag on.\n(tc qdisc add dev up failed)\n"},
     r"the packet: Error: Exclusivity flag on\. \(tc qdisc add dev up failed\); name another"),
    ({"why_errors-router": "OSError: [Errno 12] Cannot allocate memory\n"},
     "^the capture on router failed: OSError: .* Cannot allocate memory; explain it again, or if"),
    ({"why_devices-router": "1 lo\ndropped 7\n"},
     "no room for 7 packets: it has memory for 15 % more than the recorded .*, up to 640 MiB")])
def test_capture_that_failed_is_told_with_the_cause(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], why: str) -> None:
    for name, text in (files | {"why_pids": "99\n"}).items():
        (tmp_path / name).write_text(text)
    with pytest.raises(LabError, match=why):
        _ended_in(tmp_path, monkeypatch).wait()


def test_test_that_was_refused_before_captures_is_left_to_say_why(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a test of one's own whose file isn't named: a failed capture was told instead."""
    assert _ended_in(tmp_path, monkeypatch).wait() is None  # what the lab returned
    script = Path(watched.__file__).parent / "guest" / "why.sh"
    assert not Path("/run/lab/out").exists()
    done = subprocess.run(["sh", script], env={"STEP": "end"}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def _ended_in(out: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Return a lab whose run has ended, and left its files in `out`."""
    lab = Watched.__new__(Watched)
    monkeypatch.setattr(Lab, "wait", lambda self: None)
    monkeypatch.setattr(lab, "stdout", out / "stdout", raising=False)
    monkeypatch.setattr(lab, "_scenario", Scenario(), raising=False)
    return lab

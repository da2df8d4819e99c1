# SPDX-License-Identifier: GPL-3.0-or-later
"""The bulk transfer over QUIC, with its real server over loopback."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest

from flent_aqm.base.errors import ToolMissing
from flent_aqm.measure.parsers.cross import parse_lines
from flent_aqm.setup import optional
from flent_aqm.spec.needs import needs_of_run
from flent_aqm.spec.scenario import Scenario

MODULE = [sys.executable, "-m", "flent_aqm.measure.cross_traffic.quic"]


def test_download_goes_on_until_it_is_stopped() -> None:
    """More than the 4 MB that were asked for at first come, and are counted."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as free:
        free.bind(("::", 0))
        port = str(free.getsockname()[1])
    with subprocess.Popen([*MODULE, port]) as server, subprocess.Popen(
            [*MODULE, "127.0.0.1", port], stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        lines, came = [], 0
        for line in client.stdout:
            lines.append(line)
            came += int(line.partition('"bytes": ')[2].rstrip("}\n") or 0)
            if came > 5e6:
                break
        client.send_signal(signal.SIGINT)
        lines += client.stdout
        assert client.wait(30) == 0
        server.kill()
    assert sum(one["val"] * one["dur"] for one in parse_lines("".join(lines)).rates) > 40


def test_server_that_does_not_answer_until_the_end_is_told() -> None:
    """A short test ends before the handshake's limit. It said that 0 Mbit/s had come."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = str(silent.getsockname()[1])
        with subprocess.Popen([*MODULE, "127.0.0.1", port], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as client:
            silent.recv(2000)  # it has begun
            client.send_signal(signal.SIGINT)
            _, said = client.communicate(timeout=30)
    assert (client.returncode, said) == (
        1, f"127.0.0.1 port {port}: no answer by QUIC; is the server started?\n")


def test_run_without_the_package_is_refused_before_it_starts(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that gets it."""
    needs = needs_of_run("ndt7", Scenario.from_settings({"cross_traffic": "quic"}), {})
    assert "quic" in needs.servers
    monkeypatch.setattr(optional, "find_spec", lambda name: None)
    with pytest.raises(ToolMissing, match=r"cross_traffic=quic, http_version=3\) needs the Python "
                       "package aioquic, which this Python can't import; run: "
                       "flent-aqm setup --speedtests aioquic"):
        optional.check_tools(["aioquic"])

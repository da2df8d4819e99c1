# SPDX-License-Identifier: GPL-3.0-or-later
"""The real ndt7-client against the real server, for as long as the protocol says."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.paths import find_cached

from ...warm_flent import run_flent_aqm

pytestmark = pytest.mark.lab

CLIENT_IP, SERVER_IP = "192.0.2.2", "198.51.100.2"


def client_program() -> Path:
    """The NDT7 client; a test without it fails and says what to do."""
    named = os.environ.get("NDT7_CLIENT") or shutil.which("ndt7-client")
    path = Path(named) if named else find_cached("bin", "ndt7-client")
    if path is None or not path.is_file():
        pytest.fail("ndt7-client not found: run make setup, or name it in NDT7_CLIENT")
    return path


def test_crate_client_downloads_and_uploads_in_cleartext_and_tls(tmp_path: Path) -> None:
    """Both at once; each ends with a summary of both directions. In the lab, where 20 s take
    less."""
    client = f"{client_program()} --no-locate --format json --server {SERVER_IP}"
    done = run_flent_aqm("lab", "--rate", "20", "--", "sh", "-ec", f"""
        ip netns exec server {sys.executable} -m flent_aqm.servers ndt7 --ndt7-port 8888 \
            --ndt7-tls-port 8889 --bind {SERVER_IP} 2>log &
        server=$!
        sleep 1
        {client}:8888 --no-tls >cleartext &
        cleartext=$!
        {client}:8889 --no-verify >tls
        wait "$cleartext"
        kill "$server"
        wait "$server"
        """, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("cleartext", "tls"):
        check([json.loads(line) for line in (tmp_path / name).read_text().splitlines()])
    listening, *lines, stopped = map(json.loads, (tmp_path / "log").read_text().splitlines())
    assert (listening["event"], stopped["event"]) == ("listening", "stopped")
    assert sorted((line["test"], line["tls"]) for line in lines) == [
        ("download", False), ("download", True), ("upload", False), ("upload", True),
    ]
    for line in lines:
        assert line["bytes"] > 0
        if line["test"] == "download":
            assert line["outcome"] == "complete"
            assert line["seconds"] >= 10
        assert line["client_metadata"]["client_library_name"] == "ndt7-client-rs"


def check(events: list[dict[str, Any]]) -> None:
    """No error; both tests complete, with measurements of the server; a whole summary."""
    kinds = [event["Type"] for event in events]
    assert "Error" not in kinds, events
    assert [event["Test"] for event in events if event["Type"] == "Complete"] == [
        "download", "upload",
    ]
    for test in ("download", "upload"):
        of_server = [
            event["Measurement"] for event in events
            if event["Type"] == "Measurement" and event["Test"] == test
            and event["Measurement"]["Origin"] == "server"
        ]
        # Ten seconds with ten a second at most; a loaded machine may skip some.
        assert 20 <= len(of_server) <= 100
        received = [one["TCPInfo"]["BytesReceived"] for one in of_server]
        assert received == sorted(received)
    summary = events[-1]["Summary"]
    assert (summary["ClientIP"], summary["ServerIP"]) == (CLIENT_IP, SERVER_IP)
    for direction in ("Download", "Upload"):
        assert summary[direction]["ThroughputMbps"] > 0
        assert summary[direction]["LatencyMs"] > 0

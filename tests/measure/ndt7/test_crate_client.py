# SPDX-License-Identifier: GPL-3.0-or-later
"""The real ndt7-client against the real server, for as long as the protocol says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.paths import find_cached

from .conftest import StartServer


def client_program() -> Path:
    """The NDT7 client; a test without it fails and says what to do."""
    named = os.environ.get("NDT7_CLIENT") or shutil.which("ndt7-client")
    found = Path(named) if named else find_cached("bin", "ndt7-client")
    if found is None or not found.is_file():
        pytest.fail("ndt7-client not found: run make setup, or name it in NDT7_CLIENT")
    return found


def test_crate_client_downloads_and_uploads_in_cleartext_and_tls(
    start_server: StartServer,
) -> None:
    """Both at once, to save time; each ends with a summary of both directions."""
    server = start_server()
    program = client_program()
    runs = {
        transport: subprocess.Popen(
            [
                program, "--server", f"127.0.0.1:{port}", "--no-locate", flag,
                "--format", "json",
            ],
            stdout=subprocess.PIPE, encoding="utf-8",
        )
        for transport, port, flag in (
            ("cleartext", server.port, "--no-tls"),
            ("TLS", server.tls_port, "--no-verify"),
        )
    }
    for process in runs.values():
        output, _ = process.communicate(timeout=90)
        assert process.returncode == 0
        check([json.loads(line) for line in output.splitlines()])
    lines = [server.next_log() for _ in range(4)]
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
    assert summary["ClientIP"] == summary["ServerIP"] == "127.0.0.1"
    for direction in ("Download", "Upload"):
        assert summary[direction]["ThroughputMbps"] > 0
        assert summary[direction]["LatencyMs"] > 0

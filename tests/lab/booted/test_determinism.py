# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs repeat to the byte in circumstances that must not matter: a small `make identical`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lab

SOURCE = Path(__file__).resolve().parents[3]


# What burns processor time goes with the shortest run.
@pytest.mark.parametrize(("name", "circumstances"), [
    ("iperf3_bidirectional", "other_folder,other_environment"),
    ("rrul", "other_user,below_tmp"),
    ("lab: iperf3", "load,other_host_name,jobs_beside"),
])
def test_run_repeats(name: str, circumstances: str, tmp_path: Path) -> None:
    """Once as it is, and once in each of the circumstances."""
    if os.geteuid() != 0 and "other_" in circumstances:
        circumstances = "load,other_folder,other_environment"
    output = tmp_path / "verdict.json"
    count = len(circumstances.split(","))
    done = subprocess.run(
        [sys.executable, "-m", "research.bench.identical", "--runs", str(count + 1), "--only", name,
         "--circumstances", circumstances, "--output", output],
        cwd=SOURCE, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    verdict, = json.loads(output.read_text())["verdicts"]
    assert verdict == {"name": name, "runs": count + 1, "differed": []}

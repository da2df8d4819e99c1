# SPDX-License-Identifier: GPL-3.0-or-later
"""NDT7 through TLS in the lab: it works, and repeats although both ends draw keys."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base.paths import resource_dir
from tests.files import load

from ...warm_flent import run_flent

pytestmark = pytest.mark.lab

BIN = Path(sys.executable).parent


def test_client_through_tls_works_and_prints_the_same_bytes_twice() -> None:
    """Measurements, round-trip times in us and all; and what OpenSSL, of whose kind the
    client's library is, draws beside: no random number comes from the processor."""
    script = ("python3 -c 'import ssl; print(ssl.RAND_bytes(16))'; ndt7-client --server "
              "server:4443 --no-locate --no-verify --no-upload --format json")
    command = [str(BIN / "flent-aqm"), "lab", "--rate", "5", "--", "sh", "-c", script]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=False,
                                    cwd="/var/tmp", timeout=300) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr
    summary = json.loads(first.stdout.splitlines()[-1])["Summary"]
    assert summary["Download"]["ThroughputMbps"] == pytest.approx(5 * 1448 / 1514, rel=0.02)
    assert first.stdout == second.stdout


def test_sweep_through_tls_repeats(tmp_path: Path) -> None:
    """Two runs with one seed have the same samples, and the capture sees port 4443."""
    shutil.copy(resource_dir("batches") / "base.batch", tmp_path)
    (tmp_path / "try.batch").write_text(
        "[Batch::try]\ninherits = base\noutput_path = results\ntest_name = ndt7_upload\n"
        "delay = 1\nrate_mbps = 5\nseed = 1\nrepetitions = 2\n"
        "test_parameters = ndt7_tls=yes\n")
    done = run_flent("-B", "try.batch", cwd=tmp_path, timeout_s=600)
    assert done.returncode == 0, done.stderr
    first, second = (load(path)["raw_values"]
                     for path in sorted(tmp_path.glob("results/*.flent.gz")))
    assert first == second
    assert max(one["upload"] for one in first["Capture"]) > 4
    assert first["TCP upload"]

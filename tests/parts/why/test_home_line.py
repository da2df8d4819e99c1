# SPDX-License-Identifier: GPL-3.0-or-later
"""A home line without SQM: the glitch's queue is the modem's, so SQM is what is tried."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base.paths import resource_dir

pytestmark = pytest.mark.lab

BATCH = """
[Batch::home]
inherits = base
output_path = results
filename_extra = sqm-off
test_name = iperf3_upload
aqm = no_aqm
shaper = none
modem_down_mbps = 40
modem_up_mbps = 10
base_delay_ms = 20
length = 3
delay = 1
"""


def test_sqm_is_tried_and_removes_the_glitch_of_a_modem(tmp_path: Path) -> None:
    """The router's queues could not: all of them gave the same samples."""
    shutil.copy(resource_dir("batches") / "base.batch", tmp_path)
    (tmp_path / "home.batch").write_text(BATCH)
    programs = Path(sys.executable)
    subprocess.run([programs.with_name("flent"), "-B", "home.batch"], cwd=tmp_path, check=True,
                   capture_output=True, timeout=300)
    [path] = (tmp_path / "results").glob("*.flent.gz")
    done = subprocess.run([programs.with_name("flent-aqm"), "why", path, "--format", "json"],
                          check=True, capture_output=True, text=True, timeout=300)
    told = json.loads(done.stdout)
    assert told["settings"]["Rate"] == (
        "of the modem: 10 Mbit/s upload, 40 download; the router does not shape")
    off, *tried = told["what_if"]
    rates = "ingress=ifb,rate_down_mbps=36,rate_up_mbps=9"
    assert [one["change"] for one in tried] == [
        f"shaper=cake,aqm=cake,{rates}", f"shaper=htb,aqm=fq_codel,{rates}"]
    assert off["probe_ms"] > 150
    for one in tried:
        assert one["fault"] == ""
        assert one["probe_ms"] < 60
        assert one["glitches_per_minute"] == 0
        assert one["upload_mbps"] > 8
    assert told["conclusion"].startswith("Removes the glitch: shaper=cake,aqm=cake,")

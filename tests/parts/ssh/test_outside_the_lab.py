# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent -B` on a router behind ssh, on this machine's own kernel: no lab around it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base.paths import resource_dir
from flent_aqm.parts.ssh.try_router import GUEST
from flent_aqm.results.data_file import read_data_file
from flent_aqm.setup.tools import tool_dirs

pytestmark = pytest.mark.netns
IRTT = shutil.which("irtt", path=os.pathsep.join([*map(str, tool_dirs()), os.defpath])) or ""
OUTSIDE = Path(__file__).with_name("outside.sh")


def can_shape() -> bool:
    """Whether we may make namespaces, and this machine's kernel has HTB and bfifo."""
    tried = subprocess.run(
        ["unshare", "--net", "sh", "-c", ("tc qdisc add dev lo root handle 1: htb && "
         "tc class add dev lo parent 1: classid 1:1 htb rate 1mbit && "
         "tc qdisc add dev lo parent 1:1 bfifo")], capture_output=True, check=False)
    return tried.returncode == 0


def test_a_run_through_a_router_of_this_kernel(tmp_path: Path) -> None:
    """The file has the load, the router's settings before and after it, and this kernel; the
    router is as it was found."""
    if not can_shape():
        pytest.skip("this machine can't be a router: it takes root, and a kernel with sch_htb "
                    "and sch_fifo")
    flent = Path(sys.executable).with_name("flent")
    overrides = {"testbed": "ssh://root@203.0.113.1", "hosts": "198.51.100.2", "aqm": "bfifo",
                 "for_tool": "iperf3_upload", "rate_mbps": "20", "length": "1",
                 "output_path": str(tmp_path / "results")}
    words = [word for key, value in overrides.items()
             for word in ("--batch-override", f"{key}={value}")]
    done = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
         "sh", OUTSIDE, flent, "-B", resource_dir("batches") / "aqm_sweep.batch", "-b", "quick",
         *words],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=180,
        env={**os.environ, "IRTT": IRTT, "SSH_HOST_SH": str(GUEST / "ssh_host.sh")})
    assert done.stdout.splitlines()[-2:] == ["status 0", "as found"], done.stdout + done.stderr
    path, = (tmp_path / "results").glob("*.flent.gz")
    metadata = read_data_file(path).metadata
    assert metadata["AQM"]["kernel"] == {"version": os.uname().release, "hash": None}
    assert metadata["AQM"]["before"]["applied"] == metadata["AQM"]["after"]["applied"]
    assert 1 < metadata["SERIES_META"]["TCP upload"]["MEAN_VALUE"] < 20

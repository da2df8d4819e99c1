# SPDX-License-Identifier: GPL-3.0-or-later
"""A scalable control beside a classic one in DualPI2: with Linux' own DCTCP a sweep says that its
packets are in the wrong queue, with the patch of batches/ they are in the right one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from flent_aqm.base.paths import cache_to_write, resource_dir
from flent_aqm.results.metrics.queue import empty_l_queue_warnings
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.setup.kernel import recipe
from flent_aqm.setup.kernel.tree import NOTES

from ...warm_flent import run_flent

NAME = "suite-l4s"
BIN = Path(sys.executable).parent

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def patched() -> Iterator[str]:
    """The kernel's name."""
    stock = recipe.stock_source()
    folder = cache_to_write() / "trees" / (f"{stock.package}_{stock.version}" if stock else "-")
    if not (folder / NOTES).is_dir():
        pytest.skip(f"set-up has kept no objects in {folder}; flent-aqm kernel build makes them")
    patch = resource_dir("batches") / "dctcp_ect1.patch"
    done = subprocess.run([BIN / "flent-aqm", "kernel", "build", NAME, "--patch", patch],
                          capture_output=True, text=True, check=False, timeout=1500)
    assert done.returncode == 0, done.stderr
    yield NAME
    subprocess.run([BIN / "flent-aqm", "kernel", "remove", NAME], check=False,
                   capture_output=True)


def sweep(folder: Path, kernel: str, control: str = "dctcp") -> tuple[str, Run]:
    """What a sweep of one run printed, and the run."""
    done = run_flent("-B", resource_dir("batches") / "gate.batch", *(
        f"--batch-override={one}" for one in (
            "aqm=dualpi2", f"kernel={kernel}", "for_check=scalable", "for_draw=one",
            "tcp_ecn=accecn", f"output_path={folder}",
            f"test_parameters=flows=1x{control}+1xcubic")), cwd=folder, timeout_s=300)
    assert done.returncode == 0, done.stdout + done.stderr
    file, = folder.glob("*.flent.gz")
    return done.stdout + done.stderr, load_run(file)


def test_control_that_sends_ect0_is_told_and_recorded(tmp_path: Path) -> None:
    """Of Linux' DCTCP, and not of Cubic; a run of another queue has no such counter."""
    printed, run = sweep(tmp_path, "stock")
    warning, = run.aqm["warnings"]
    assert warning.startswith("upload: none of ")
    assert "L queue, though dctcp sent some" in warning
    assert "L queue, though dctcp sent some" in " ".join(printed.split())
    classic = replace(run, flows=[flow for flow in run.flows if flow.control != "dctcp"])
    assert len(classic.flows) < len(run.flows)
    assert empty_l_queue_warnings(classic) == []
    assert empty_l_queue_warnings(replace(run, aqm={})) == []


def test_control_that_sends_ect1_is_in_the_right_queue(patched: str, tmp_path: Path) -> None:
    """And nothing is said."""
    printed, run = sweep(tmp_path, patched)
    assert run.aqm["warnings"] == []
    assert "warning" not in printed
    counters = run.counters("after", "upload")["qdisc"]
    assert counters["pkts-in-l"] > 1000
    assert counters["step-mark"] > 100

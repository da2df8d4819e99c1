# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for all tests."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# The files that take longest when all tests run, the longest first. A worker of pytest-xdist
# gets a whole file at a time: a long one that began last would keep one worker busy while the
# others have nothing left.
LONGEST = tuple(HERE / name for name in (
    "show/plots/test_plots.py", "testbed/lab/test_own_kernel.py",
    "testbed/ssh/test_sweep.py", "testbed/lab/test_speedtests.py",
    "sweep/calibrate/test_calibrate.py", "results/recompute/test_recompute.py",
    "hostile/test_commands.py", "testbed/test_netns.py", "show/plots/test_images.py",
    "measure/runners/test_runs.py", "bridge/test_names.py", "sweep/cluster/test_cluster.py",
    "testbed/lab/test_lab_files.py", "show/report/test_accessible.py",
    "testbed/ssh/test_faults.py", "results/share/test_share.py",
    "testbed/lab/test_determinism.py", "bridge/test_packaging.py",
    "router/test_hooks_in_guest.py", "sweep/test_killed.py", "sweep/test_sweep.py",
    "sweep/test_measured.py", "bridge/test_batch.py", "show/plots/test_figures.py",
    "testbed/lab/test_lab.py", "bridge/test_flent_own_tests.py"))


def pytest_configure() -> None:
    """Have ^C reach the programs that tests start and interrupt. Shells without job control
    start what runs in the background with SIGINT ignored, and children take that over."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if missing := [str(path) for path in LONGEST if not path.exists()]:
        raise pytest.UsageError(f"LONGEST in {__file__} names no file: {', '.join(missing)}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have the workers of pytest-xdist begin with the files that take longest. They keep to
    the order of the list with --no-loadscope-reorder; else files with many tests come first."""
    if hasattr(config, "workerinput"):
        place = {path: number for number, path in enumerate(LONGEST)}
        items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their number: what gzip packs holds the time, so that the processes of
    pytest-xdist, which collect by themselves, would name one test differently."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None

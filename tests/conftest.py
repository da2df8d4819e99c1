# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for all tests."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent
# The files that take longest when all tests run, the longest first. A worker of pytest-xdist
# gets a whole file at a time: a long one that began last would keep one worker busy while the
# others have nothing left.
LONGEST = tuple(HERE / name for name in (
    "show/plots/test_plots.py", "parts/ssh/test_sweep.py", "measure/runners/test_runs.py",
    "measure/load_windows/test_load_windows.py",
    "docs/test_typed.py", "hostile/test_commands.py", "results/recompute/test_recompute.py",
    "lab/test_netns.py", "results/share/test_share.py", "bridge/test_packaging.py",
    "sweep/test_killed.py", "parts/kernels/test_own_kernel.py", "parts/kernels/test_may_sleep.py",
    "parts/cluster/test_cluster.py",
    "show/plots/test_images.py", "lab/booted/test_speedtests.py", "sweep/test_sweep.py",
    "bridge/test_names.py", "parts/router_models/test_calibrate.py", "parts/ssh/test_faults.py",
    "show/report/test_accessible.py", "lab/booted/test_determinism.py",
    "show/plots/test_figures.py", "lab/booted/test_lab_files.py",
    "parts/cluster/test_security.py", "show/report/test_page.py",
    "measure/runners/test_speedtest.py", "sweep/test_measured.py", "servers/ndt7/test_misuse.py",
    "servers/test_misuse.py",
    "bridge/test_hook.py", "lab/booted/test_lab.py", "results/share/test_stock_gui.py",
    "bridge/test_upstream_flent.py", "parts/router_models/test_router_cards.py",
    "show/report/test_follow.py", "router/test_hooks_in_guest.py",
    "bridge/test_flent_own_tests.py", "sweep/test_sqm_home.py"))
# Others that take seconds, beside those that boot the lab or make namespaces: they draw, browse,
# start programs, or wait.
SLOW = {*LONGEST, *(HERE / name for name in (
    "bridge/test_replaced.py", "docs/test_readme.py", "lab/test_package_copy.py",
    "setup/test_venv_script.py",
    "parts/kernels/verdict/test_bisect_run.py", "parts/kernels/verdict/test_verdict.py",
    "parts/test_taken_out.py", "release/test_source_package.py", "research/test_renew.py",
    "results/export/test_export.py",
    "show/plots/test_room.py", "show/plots/test_speedtests_page.py",
    "show/report/test_headline.py", "sweep/replay/test_archive.py", "parts/links/test_plan.py",
    "base/test_waiting.py", "bridge/test_batch.py", "bridge/test_one_shell.py",
    "sweep/plan/test_batch_keys.py", "sweep/plan/test_places.py",
    "bridge/test_strangers_files.py", "bridge/test_unknown_test.py", "bridge/test_untrusted.py",
    "servers/ndt7/test_download.py", "servers/ndt7/test_handshake.py",
    "servers/ndt7/test_upload.py", "measure/runners/test_supervision.py",
    "parts/speedtests/test_webrtc.py", "show/plots/test_axes.py", "show/plots/test_gui.py",
    "show/plots/test_latency_plots.py", "show/plots/test_many_runs.py",
    "show/report/test_commands.py", "show/report/test_log_axes.py", "servers/ndt7/test_browser.py",
    "parts/speedtests/test_cloudflare_browser.py", "parts/speedtests/test_librespeed_browser.py"))}


PARTS = HERE / "parts"


def _part_tests(path: Path) -> Path:
    return PARTS / path.relative_to(PARTS).parts[0]


def pytest_configure(config: pytest.Config) -> None:
    """Have ^C reach the programs that tests start and interrupt. Shells without job control
    start what runs in the background with SIGINT ignored, and children take that over.

    In a checkout that can't be written, such as another user's, git and the tests' caches work,
    too.
    """
    if not os.access(ROOT, os.W_OK):
        _use_folders_elsewhere(config)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Thousands of tests and their modules are no garbage; to look at them again and again took a
    # fifteenth of the processor time.
    gc.set_threshold(50_000, 50, 100)
    # A part that was taken out has taken its tests along.
    if missing := [str(path) for path in SLOW if not path.exists()
                   and (PARTS not in path.parents or _part_tests(path).exists())]:
        raise pytest.UsageError(f"SLOW in {__file__} names no file: {', '.join(missing)}")


def _use_folders_elsewhere(config: pytest.Config) -> None:
    """Keep the caches of pytest and hypothesis in a temporary folder, and let git read a checkout
    of another user."""
    folder = tempfile.mkdtemp(prefix="flent-aqm-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", folder)
    if cache := getattr(config, "cache", None):  # none with -p no:cacheprovider
        cache._cachedir = Path(folder)
    os.environ |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
                   "GIT_CONFIG_VALUE_0": str(ROOT)}


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is slow, and have the workers of pytest-xdist begin with the files that take
    longest. They keep to the order of the list with --no-loadscope-reorder; else files with many
    tests come first."""
    for item in items:
        if item.path in SLOW:
            item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):
        place = {path: number for number, path in enumerate(LONGEST)}
        items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their number: what gzip packs holds the time, so that the processes of
    pytest-xdist, which collect by themselves, would name one test differently."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None

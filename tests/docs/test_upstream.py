# SPDX-License-Identifier: GPL-3.0-or-later
"""The patches for Flent itself fit the Flent that is pinned, and do what they say."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.files import ROOT

# The last one is documentation, which an installed Flent doesn't have.
SERIES = sorted((ROOT / "release" / "upstream").glob("*.patch"))[:-1]


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the installed Flent with the series applied."""
    spec = find_spec("flent")
    assert spec is not None
    assert spec.origin is not None
    site, folder = Path(spec.origin).parents[1], tmp_path_factory.mktemp("flent")
    for name in ("flent", "unittests"):
        shutil.copytree(site / name, folder / name,
                        ignore=shutil.ignore_patterns("__pycache__", "test_data"))
    (folder / "unittests" / "test_data").symlink_to(site / "unittests" / "test_data")
    for patch in SERIES:
        subprocess.run(["patch", "-p1", "--fuzz=0", "--forward", "-s", "-i", patch], cwd=folder,
                       check=True)
    return folder


def run(patched: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the patched Flent, and without this package's own patches."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", *words], cwd=patched, capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": str(patched), "FLENT_AQM_DISABLE": "1",
                          "MPLBACKEND": "agg", **more})


def test_series_has_unit_tests_that_pass(patched: Path) -> None:
    """Run as Flent runs its own; and they fail on Flent as it is."""
    words = ("-m", "unittest", "unittests.test_testpath", "unittests.test_plugins")
    done = run(patched, *words)
    assert done.returncode == 0, done.stderr
    assert "Ran 14 tests" in done.stderr
    (patched / "flent" / "plugins.py").rename(patched / "away")
    try:
        assert run(patched, *words).returncode != 0
    finally:
        (patched / "away").rename(patched / "flent" / "plugins.py")


def test_patched_flent_lists_our_tests_without_our_patches(patched: Path) -> None:
    """By their folder in FLENT_TEST_PATH, beside Flent's own."""
    code = "from flent import testenv; print(*testenv.list_tests())"
    tests = run(patched, "-c", code, FLENT_TEST_PATH=str(ROOT / "tests_defs")).stdout.split()
    assert {"ndt7", "iperf3_upload", "rrul"} <= set(tests)
    assert "ndt7" not in run(patched, "-c", code).stdout.split()

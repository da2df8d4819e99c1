# SPDX-License-Identifier: GPL-3.0-or-later
"""The same samples on any machine, and whatever is around a run.

digests.json holds, of one run of each kind, the SHA-256 of its samples, and the versions of kernel
and tools that they were made with. A machine with these versions has to make the same. After an
intended change:

    KEEP_DIGESTS=1 .venv/bin/pytest tests/lab/booted/test_digests.py
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.paths import resource_dir
from flent_aqm.results.data_file import read_data_file
from research.bench import disturbances
from tests.files import GOLDEN

pytestmark = pytest.mark.lab

RECORD = GOLDEN / "digests.json"
BATCHES = ("speed_tests", "rrul", "parking_lot", "link", "wifi", "router", "http", "quic")
# Of these no run has anything: the host draws and reads with them.
NOT_IN_THE_GUEST = ("numpy", "matplotlib", "rich", "ssh")


@pytest.fixture(scope="module")
def files() -> Iterator[Mapping[str, Path]]:
    """One data file of each kind, by its name, in a folder that every user can read."""
    with tempfile.TemporaryDirectory(prefix="flent-aqm-digests-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for path in (resource_dir("batches") / "base.batch", GOLDEN / "digests.batch"):
            shutil.copy(path, folder)
        words = [word for batch in BATCHES for word in ("-b", batch)]
        done = subprocess.run(
            [Path(sys.executable).with_name("flent"), "-B", "digests.batch", *words],
            cwd=folder, capture_output=True, text=True, check=False, timeout=900)
        assert done.returncode == 0, done.stdout + done.stderr
        # batch-BATCH-TIME-TEST-AQM-KIND.flent.gz
        by_kind = {re.sub(r".*T\d{6}-|\.flent\.gz", "", path.name): path
                   for path in sorted((folder / "results").glob("*.flent.gz"))}
        assert len(by_kind) == 15
        yield by_kind


def digest(path: Path) -> str:
    """SHA-256 of a file's samples."""
    samples = read_data_file(path).whole["raw_values"]
    assert samples
    return hashlib.sha256(json.dumps(samples, sort_keys=True).encode()).hexdigest()


def versions(path: Path) -> dict[str, Any]:
    """Kernel, tools and Python that made a run."""
    aqm = read_data_file(path).metadata["AQM"]
    return {"kernel": aqm["kernel"]["hash"], "python": platform.python_version(),
            **{name: version for name, version in aqm["tools"].items()
               if name not in NOT_IN_THE_GUEST}}


def test_samples_are_those_of_every_other_machine(files: Mapping[str, Path]) -> None:
    """With the same versions; where those differ, it says which."""
    made = {"versions": versions(next(iter(files.values()))),
            "digests": {name: digest(path) for name, path in files.items()}}
    if os.environ.get("KEEP_DIGESTS"):
        RECORD.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
    recorded = json.loads(RECORD.read_text())
    other = {name: (recorded["versions"].get(name), made["versions"].get(name))
             for name in recorded["versions"].keys() | made["versions"].keys()
             if recorded["versions"].get(name) != made["versions"].get(name)}
    if other:
        pytest.skip(f"digests are of other versions (recorded, here): {other}")
    assert made["digests"] == recorded["digests"]


@pytest.mark.parametrize("kind", ["ndt7-codel-plain", "rrul-fq_codel-plain",
                                  "aqm_flows-cake-parking_lot", "librespeed-codel-http"])
def test_samples_hang_on_nothing_around(files: Mapping[str, Path], kind: str) -> None:
    """Another user, a longer path, more modules that the guest's Flent imports, and more programs
    in the router's hook."""
    with disturbances.all_at_once() as around:
        again = around.run("replay", files[kind])
    assert again.returncode == 0, (again.stdout + again.stderr).decode()
    assert b"identical" in again.stdout + again.stderr

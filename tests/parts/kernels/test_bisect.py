# SPDX-License-Identifier: GPL-3.0-or-later
"""A real regression, and the commit that brought it, by the commands of docs/own-queue.md:
HFSC that stalls above FQ-CoDel, as reported of routers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flent_aqm.base.paths import cache_to_write, resource_dir
from flent_aqm.setup.kernel import recipe
from flent_aqm.setup.kernel.tree import NOTES, KernelTree
from tests.files import ROOT

BIN = Path(sys.executable).parent
FILE = "net/sched/sch_hfsc.c"
FIRST_BAD, COMMITS = 3, 4

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def source() -> bytes:
    """The kernel's HFSC, which has the fix."""
    stock = recipe.stock_source()
    folder = cache_to_write() / "trees" / (f"{stock.package}_{stock.version}" if stock else "-")
    if not (folder / NOTES).is_dir():
        pytest.skip(f"set-up has kept no objects in {folder}; flent-aqm kernel build makes them")
    content = KernelTree(folder).original(FILE)
    assert content is not None
    return content


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Of somebody who has the project in it, and has made the good side's runs."""
    project = tmp_path / "flent-aqm"
    (project / "results").mkdir(parents=True)
    (project / ".venv").mkdir()
    (project / ".venv" / "bin").symlink_to(BIN)
    (project / "batches").symlink_to(resource_dir("batches"))
    done = subprocess.run(
        [BIN / "flent", "-B", project / "batches" / "hfsc.batch",
         f"--batch-override=output_path={project}/results/base"], cwd=tmp_path, check=False,
        capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    yield tmp_path
    subprocess.run([BIN / "flent-aqm", "kernel", "remove", "step"], check=False,
                   capture_output=True)


def git(repository: Path, *words: str) -> str:
    """Run git as somebody."""
    return subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.net", *words], cwd=repository,
        check=True, capture_output=True, text=True).stdout.strip()


def test_git_bisect_names_the_commit_that_brought_the_stall(source: bytes, home: Path) -> None:
    """Of four: the third takes the fix back, the others change a remark; of the good one that is
    built all runs are identical."""
    repository = home / "queue"
    repository.mkdir()
    git(repository, "init", "-qb", "main")
    path = repository / "sch_hfsc.c"
    for number in range(1, COMMITS + 1):
        path.write_bytes(source + b"/* change %d */\n" % number)
        if number >= FIRST_BAD:
            patch = (resource_dir("batches") / "hfsc_unfixed.patch").read_bytes()
            subprocess.run(["patch", "-s", path], input=patch, check=True)
        git(repository, "add", "sch_hfsc.c")
        git(repository, "commit", "-qm", f"change {number}")
    document = (ROOT / "docs" / "own-queue.md").read_text("utf-8")
    script = re.search(r"^```\n(#!/bin/sh\n.*?)^```$", document, re.M | re.S)
    assert script is not None
    step = repository / "step.sh"
    step.write_text(script[1].replace("--source .", "--qdisc sch_hfsc.c"))
    step.chmod(0o755)
    git(repository, "bisect", "start", "main", f"main~{COMMITS - 1}")
    ended = subprocess.run(
        ["git", "bisect", "run", "./step.sh"], cwd=repository, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1500,
        env={**os.environ, "HOME": str(home)})
    assert "is the first bad commit" in ended.stdout, ended.stdout
    commits = re.findall(r"^([0-9a-f]{40}) is the first bad commit", ended.stdout, re.M)
    assert git(repository, "log", "-1", "--format=%s", *commits) == f"change {FIRST_BAD}"
    assert "pairs have identical samples" in ended.stdout
    assert "stalled" in ended.stdout

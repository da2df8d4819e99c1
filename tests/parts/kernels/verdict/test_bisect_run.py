# SPDX-License-Identifier: GPL-3.0-or-later
"""The script for `git bisect run` in docs/own-queue.md, with git and `verdict` as they are. Kernels
and runs of a version are made up: each takes minutes."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.files import ROOT
from tests.parts.kernels.verdict.test_verdict import write

DOCUMENT = ROOT / "docs" / "own-queue.md"
FIRST_BAD, BROKEN, NO_RUNS = 6, 4, 5
COMMITS = 8
# The queue's file says what a version is like.
PROGRAMS = {
    "flent-aqm": f"""
        [ "$1" != kernel ] || exec grep -qv broken sch_foo.c
        exec {shlex.quote(sys.executable)} -m flent_aqm.cli "$@"
    """,
    "flent": """
        for last; do :; done
        cp -r ~/"$(cut -d ' ' -f 1 sch_foo.c)" "${last#output_path=}"
    """,
}


def git(repository: Path, *words: str) -> str:
    """Run git as somebody."""
    return subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.net", *words], cwd=repository,
        check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with this package's folder where the script has it, and the good side's runs."""
    programs = tmp_path / "flent-aqm" / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, text in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}")
        (programs / name).chmod(0o755)
    (tmp_path / "flent-aqm" / "results").mkdir()
    (tmp_path / "nothing").mkdir()
    write(tmp_path / "slow", "6ms", 20)
    write(tmp_path / "flent-aqm" / "results" / "base", "5ms", 0)
    write(tmp_path / "fast", "6ms", 0)
    return tmp_path


def test_script_of_the_document_finds_the_first_slow_version(home: Path) -> None:
    """One that doesn't build, and one without a verdict, are passed over, not blamed."""
    repository = home / "queue"
    repository.mkdir()
    git(repository, "init", "-qb", "main")
    for number in range(1, COMMITS + 1):
        word = "nothing" if number == NO_RUNS else "slow" if number >= FIRST_BAD else "fast"
        (repository / "sch_foo.c").write_text(
            f"{word} {'broken' if number == BROKEN else ''} {number}\n")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", f"change {number}")
    step = repository / "step.sh"
    script = re.search(r"^```\n(#!/bin/sh\n.*?)^```$", DOCUMENT.read_text("utf-8"), re.M | re.S)
    assert script is not None
    step.write_text(script[1])
    step.chmod(0o755)
    # The versions next to the first slow one are such that can't be tested: it is among three.
    git(repository, "bisect", "start", "main", f"main~{COMMITS - 1}")
    ended = subprocess.run(
        ["git", "bisect", "run", "./step.sh"], cwd=repository, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "HOME": str(home)})
    left = re.findall(r"^([0-9a-f]{40})$", ended.stdout, re.M)
    assert sorted(git(repository, "log", "-1", "--format=%s", one) for one in left) == [
        f"change {number}" for number in (BROKEN, NO_RUNS, FIRST_BAD)], ended.stdout

# SPDX-License-Identifier: GPL-3.0-or-later
"""The workflows of .github: they parse, and run the scripts and targets that there are."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from flent_aqm import __version__
from tests.files import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
# Of the systems themselves, and of the machine that runs containers.
PROGRAMS = {"apt-get", "gh", "gzip", "podman"}


def steps(path: Path) -> Iterator[dict[str, Any]]:
    """Every step of every job."""
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_each_command_is_one_that_there_is(path: Path) -> None:
    """A script of the sources that may be executed, a target of make, or a system's program."""
    commands = [shlex.split(step["run"]) for step in steps(path) if "run" in step]
    assert commands
    for program, *words in commands:
        if program == "make":
            assert set(words) <= TARGETS
        elif "/" in program:
            assert os.access(ROOT / program, os.X_OK), program
        else:
            assert program in PROGRAMS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_have_a_version_and_no_host_is_named(path: Path) -> None:
    """Where images and packages come from is for the machine to say."""
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", one) for one in used), used
    assert not re.search(r"\b[\w-]+\.(io|com|org|net)\b", path.read_text())


def test_tests_run_on_the_systems_of_the_readme() -> None:
    """In a container of each, and of Ubuntu, which the README doesn't name before it was tried."""
    matrix = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())[
        "jobs"]["test"]["strategy"]["matrix"]["system"]
    readme = (ROOT / "README.md").read_text()
    named = re.findall(r"Debian \d+|Ubuntu [\d.]+", readme)
    assert named
    assert [one.replace(":", " ").capitalize() for one in matrix] == [*named, "Ubuntu 24.04"]


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint isn't installed")
def test_actionlint_finds_nothing() -> None:
    """Keys, contexts, expressions, and shell in steps."""
    done = subprocess.run(["actionlint", *WORKFLOWS], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("tag", "status"), [(f"v{__version__}", 0), ("v9.9.9", 1)])
def test_tag_of_a_release_is_the_version(tag: str, status: int, tmp_path: Path) -> None:
    """And the version has a section of the changes."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "check_tag", tmp_path / ".ci")
    (tmp_path / "flent_aqm").mkdir()
    shutil.copy(ROOT / "flent_aqm" / "__init__.py", tmp_path / "flent_aqm")
    changes = tmp_path / "CHANGELOG.md"
    for text, expected in ((f"## {__version__}, today\n", status), ("## 0.0.1\n", 1)):
        changes.write_text(text)
        done = subprocess.run([tmp_path / ".ci" / "check_tag", tag], capture_output=True,
                              text=True, check=False)
        assert done.returncode == expected, done.stderr
        assert done.stderr.count("\n") == expected

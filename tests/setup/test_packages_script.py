# SPDX-License-Identifier: GPL-3.0-or-later
"""packages.sh, as a user who may not install anything."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from flent_aqm.setup.ndt7_client import FOLDER, OLDEST_RUST
from flent_aqm.setup.package_list import LIST, read_packages

NOBODY = 65534

pytestmark = pytest.mark.skipif(shutil.which("dpkg-query") is None,
                                reason="dpkg-query is not installed")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_script(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a copy of the script, with a list of its own, without root."""
    base = tmp_path_factory.mktemp("source")
    folder = base / "flent_aqm" / "setup"
    folder.mkdir(parents=True)
    shutil.copy(LIST.with_name("packages.sh"), folder)
    for path in (base, *base.parents):
        if path.stat().st_uid == os.geteuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)

    def run(listed: str, *words: str) -> subprocess.CompletedProcess[str]:
        (folder / "packages.txt").write_text(listed)
        drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return subprocess.run(
            [*(drop if os.geteuid() == 0 else []), folder / "packages.sh", *words],
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
            capture_output=True, text=True, check=False)

    return run


def test_packages_when_some_are_missing_prints_the_command_to_type(run_script: Run) -> None:
    """Without root nothing is tried: the missing names and the whole command are shown."""
    done = run_script("dpkg run - there\nflent-aqm-absent run - not there\n")
    assert done.returncode == 1
    assert "missing: flent-aqm-absent" in done.stderr
    sudo, script, *groups = shlex.split(done.stderr.splitlines()[-1])
    assert (sudo, groups) == ("sudo", ["run", "build"])
    assert os.access(script, os.X_OK)


def test_packages_when_only_asked_changes_nothing(run_script: Run) -> None:
    """--check names what is missing and gives no command."""
    done = run_script("flent-aqm-absent run - not there\n", "--check")
    assert (done.returncode, done.stdout) == (1, "")
    assert "flent-aqm-absent" in done.stderr
    assert "sudo" not in done.stderr


def test_packages_are_those_of_the_groups_that_are_asked_for(run_script: Run) -> None:
    """A demo needs no browser; and a group that there isn't is refused."""
    listed = "flent-aqm-measures run - x\nflent-aqm-browses test - x\nflent-aqm-draws gui - x\n"
    assert "flent-aqm-browses" not in run_script(listed, "--check").stderr
    assert "flent-aqm-measures" in run_script(listed, "--check").stderr
    errors = run_script(listed, "--check", "test", "gui").stderr
    assert "missing: flent-aqm-browses flent-aqm-draws" in errors
    refused = run_script(listed, "tests")
    assert refused.returncode == 1
    assert "unknown group tests; expected run, build, test or gui" in refused.stderr


@pytest.mark.parametrize("names", ["dpkg|flent-aqm-absent", "flent-aqm-absent|dpkg"])
def test_packages_when_one_of_the_names_is_installed_is_content(
        run_script: Run, names: str) -> None:
    """Names differ between releases; any of them will do."""
    done = run_script(f"# a comment\n\n{names} run - there\n")
    assert "dpkg" not in done.stderr


def test_package_list_is_read_alike_by_the_script_and_by_doctor(run_script: Run) -> None:
    """Each line of the real list has a group that doctor knows, and a purpose."""
    packages = read_packages()
    assert {package.group for package in packages} == {"run", "build", "gui", "test"}
    assert all(package.purpose for package in packages)
    # the script sees the same number of lines: with every name made unknown, it misses all
    unknown = "".join(f"flent-aqm-absent-{number} run - x\n" for number in range(len(packages)))
    assert run_script(unknown, "--check").stderr.count("flent-aqm-absent-") == len(packages)


def test_script_and_builder_agree_on_client_and_rust() -> None:
    """The version stands in both: the script runs before any Python of ours does."""
    script = LIST.with_name("packages.sh").read_text()
    assert f"client={FOLDER}\n" in script
    assert "rust_oldest={}.{}\n".format(*OLDEST_RUST) in script

# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of the router hooks: portable."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from flent_aqm.base.paths import resource_dir

HOOKS = resource_dir("router_hooks")
SCRIPTS = sorted(HOOKS.rglob("*.sh"))


def run(*argv: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a checker, which must be installed."""
    if not shutil.which(argv[0]):
        pytest.fail(f"{argv[0]} is not installed; run make packages")
    return subprocess.run(argv, cwd=HOOKS, capture_output=True, text=True, check=False)


def test_hooks_when_checked_with_all_of_shellcheck_have_no_finding() -> None:
    """With every optional check; .shellcheckrc tells the reason of each exemption."""
    done = run("shellcheck", "--enable=all", *SCRIPTS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("shell", [["dash"], ["busybox", "sh"]], ids=" ".join)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_hooks_when_read_by_a_small_shell_are_valid(shell: list[str], script: Path) -> None:
    """No bashism that a parser can see."""
    done = run(*shell, "-n", script)
    assert (done.returncode, done.stderr) == (0, "")


def test_host_that_ssh_would_take_for_an_option_is_refused_in_one_line() -> None:
    """The answer, which never came, is not called too long."""
    done = run("sh", "on_router.sh", "probe", "testbed=ssh://-oProxyCommand=false")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("router hook: testbed=ssh://-oProxyCommand=false: user and host names "
                           "can't begin with -\n")

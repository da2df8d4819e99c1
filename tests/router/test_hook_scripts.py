# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of the router hooks: portable, and each scheme of the same form."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from flent_aqm.base.paths import resource_dir

HOOKS = resource_dir("router_hooks")
SCRIPTS = sorted(HOOKS.rglob("*.sh"))
SCHEMES = sorted((HOOKS / "schemes").glob("*.sh"))


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


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda path: path.stem)
def test_schemes_when_compared_define_the_same_functions(scheme: Path) -> None:
    """scheme_help, scheme_requires, scheme_qdisc, and nothing that runs when it is read."""
    text = scheme.read_text()
    functions = re.findall(r"^(\w+)\(\)", text, re.MULTILINE)
    assert functions[:3] == ["scheme_help", "scheme_requires", "scheme_qdisc"]
    assert functions[3:] in ([], ["scheme_below"])
    outside = re.sub(r"^\w+\(\) \{\n(?: .*\n)*\}$|^#.*$", "", text, flags=re.MULTILINE)
    assert outside.strip() == ""


@pytest.mark.parametrize("shell", [["dash"], ["busybox", "sh"]], ids=" ".join)
def test_help_when_asked_for_lists_every_scheme(shell: list[str]) -> None:
    """One line a scheme, with the name that a user types."""
    done = run(*shell, "on_router.sh", "help")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == [
        f"aqm={scheme.stem}" for scheme in SCHEMES]

# SPDX-License-Identifier: GPL-3.0-or-later
"""What a wheel holds, and what installing and uninstalling it leaves behind."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from .conftest import PACKED, Env

SHELVES = ("tests_defs", "batches", "router_hooks")


def names_of(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.name[0] != "."]


def test_wheel_when_built_holds_package_and_shelves_in_it(checkout: Path, wheel: Path) -> None:
    """Python, C, shell, patch and kernel option files alike are where the code looks for them."""
    wanted = {str(path.relative_to(checkout)) for path in files_below(checkout / "flent_aqm")}
    for shelf in SHELVES:
        wanted |= {f"flent_aqm/{path.relative_to(checkout)}"
                   for path in files_below(checkout / shelf)}
    assert "flent_aqm/tests_defs/aqm_probe.conf" in wanted
    outside = {name for name in names_of(wheel) - wanted if ".dist-info/" not in name}
    assert wanted <= names_of(wheel)
    assert outside == {"flent_aqm.pth", "flent_aqm.start"}


def test_wheel_when_file_is_executable_keeps_it_so(own_checkout: Path, fresh: Env) -> None:
    """A router hook that can be run in the checkout can be run when installed."""
    for name, mode in (("run.sh", 0o755), ("read.sh", 0o644)):
        (own_checkout / "router_hooks" / name).write_text("#!/bin/sh\n")
        (own_checkout / "router_hooks" / name).chmod(mode)
    fresh.install(own_checkout)
    hooks = fresh.site / "flent_aqm" / "router_hooks"
    assert (hooks / "run.sh").stat().st_mode & 0o111 == 0o111
    assert (hooks / "read.sh").stat().st_mode & 0o111 == 0


def test_wheel_when_built_from_sdist_is_the_same(
    own_checkout: Path, wheel: Path, fresh: Env, tmp_path: Path
) -> None:
    """The source archive lacks nothing, and the same files give the same bytes."""
    build = f"import flent_aqm_backend as b; print(b.build_sdist({str(tmp_path)!r}))"
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", build], cwd=own_checkout, capture_output=True,
        text=True, check=True, env={"PYTHONPATH": str(own_checkout / "release/build_backend")})
    fresh.pip("wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path,
              tmp_path / made.stdout.split()[-1])
    again = next(tmp_path.glob("*.whl"))
    assert names_of(again) == names_of(wheel)
    with zipfile.ZipFile(again) as one, zipfile.ZipFile(wheel) as other:
        assert [n for n in sorted(names_of(wheel)) if one.read(n) != other.read(n)] == []


@pytest.mark.parametrize("options", [(), ("-e",)], ids=["wheel", "editable"])
def test_uninstall_when_flent_was_used_leaves_every_file_as_before(
    options: tuple[str, ...], checkout: Path, fresh: Env
) -> None:
    """After install, use and uninstall the environment is the same, file for file."""
    plots_of_ours = ("flent", "aqm_probe", "--list-plots")
    assert "No plots available" in fresh.run(*plots_of_ours).err
    before = fresh.files()
    fresh.install(checkout, *options)
    assert fresh.files() != before
    ended = fresh.run(*plots_of_ours)
    assert (ended.status, ended.err) == (0, "")
    fresh.pip("uninstall", "-y", "flent-aqm")
    assert fresh.files() == before
    assert "No plots available" in fresh.run(*plots_of_ours).err


@pytest.mark.parametrize("options", [(), ("-e",)], ids=["wheel", "editable"])
def test_install_when_done_writes_nothing_into_checkout(
    options: tuple[str, ...], own_checkout: Path, fresh: Env
) -> None:
    """No build folder is left that a later build could take stale files from."""
    before = sorted(files_below(own_checkout))
    fresh.install(own_checkout, *options)
    assert sorted(files_below(own_checkout)) == before


def test_metadata_when_installed_names_flent_and_the_command(installed: Env) -> None:
    """Flent is pinned, since the bridge wraps internals of that version."""
    printed = installed.code(
        "from importlib.metadata import distribution as d; x = d('flent-aqm');"
        "print(x.requires, [(e.name, e.value) for e in x.entry_points])")
    assert "'flent==2.3.0'" in printed
    assert "('flent-aqm', 'flent_aqm.cli:main')" in printed


def test_packed_names_when_listed_exist_in_checkout(checkout: Path) -> None:
    """The copy that these tests install is not empty where the checkout isn't."""
    assert {name for name in PACKED if name != "README.md"} <= {
        path.name for path in checkout.iterdir()}

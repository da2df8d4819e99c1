# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine must have before the first run begins."""

from __future__ import annotations

import resource
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError, ToolMissing
from flent_aqm.setup.iproute2 import OLDEST
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep import preflight

UNLIMITED = resource.RLIM_INFINITY
# 200 MiB for the kernel itself, as README and troubleshooting say of ulimit -v.
LAB_BYTES = (defaults.GUEST_MEMORY_MB + 200) << 20


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tools that were looked for: all are there."""
    asked: list[str] = []

    def look(names: Iterable[str]) -> None:
        asked.extend(names)

    monkeypatch.setattr(preflight, "check_tools", look)
    return asked


def cell(folder: Path, test: str = "iperf3_upload", **settings: object) -> Cell:
    return Cell(name="run", folder=folder, test_name=test,
                scenario=Scenario.from_settings({"aqm": "codel", **settings}), settings={},
                commands={}, metadata={}, length_s=5)


def limited(monkeypatch: pytest.MonkeyPatch, which: int, soft: int, hard: int) -> None:
    """Have one limit of the process be this, and others none."""
    monkeypatch.setattr(resource, "getrlimit", lambda asked: (
        (soft, hard) if asked == which else (UNLIMITED, UNLIMITED)))


ONE = "1 run at a time needs 52 open files; "
TWO = "2 runs at a time need 64 open files; "
HARD = "have the hard limit raised, in the container, batch system or limits.conf"


@pytest.mark.parametrize(("jobs", "soft", "hard", "end"), [
    (1, 52, 52, None), (2, 64, 100, None), (16, 232, 232, None), (16, UNLIMITED, UNLIMITED, None),
    (1, 51, 52, f"{ONE}raise the limit: ulimit -n 52"),
    (2, 63, 64, f"{TWO}raise the limit: ulimit -n 64, or give fewer jobs"),
    (2, 63, 63, f"{TWO}the limit can be raised to 63 at most; {HARD}, or give fewer jobs"),
    (1, 51, 51, f"{ONE}the limit can be raised to 51 at most; {HARD}"),
    (2, 63, UNLIMITED, f"{TWO}raise the limit: ulimit -n 64, or give fewer jobs")])
def test_sweep_needs_40_open_files_and_12_for_each_run_side_by_side(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: list[str], jobs: int, soft: int,
        hard: int, end: str | None) -> None:
    """The limit can be raised as far as the hard limit allows."""
    limited(monkeypatch, resource.RLIMIT_NOFILE, soft, hard)
    if end is None:
        preflight.check([cell(tmp_path)], jobs)
        return
    with pytest.raises(ConfigError) as raised:
        preflight.check([cell(tmp_path)], jobs)
    assert str(raised.value) == f"ulimit -n is {soft}: {end}"


def test_one_run_at_a_time_is_the_default(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: list[str]) -> None:
    limited(monkeypatch, resource.RLIMIT_NOFILE, 52, 52)
    preflight.check([cell(tmp_path)])


@pytest.mark.parametrize(("testbed", "soft", "fits"), [
    ("virtual", LAB_BYTES, True), ("virtual", UNLIMITED, True), ("virtual", LAB_BYTES - 1, False),
    ("netns", LAB_BYTES - 1, True)])
def test_address_space_is_needed_for_the_guest_and_its_kernel(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: list[str], testbed: str, soft: int,
        fits: bool) -> None:
    """Only where there is a guest."""
    limited(monkeypatch, resource.RLIMIT_AS, soft, UNLIMITED)
    if fits:
        preflight.check([cell(tmp_path, testbed=testbed)])
        return
    with pytest.raises(ConfigError) as raised:
        preflight.check([cell(tmp_path, testbed=testbed)])
    assert str(raised.value) == (
        f"ulimit -v is {(LAB_BYTES >> 10) - 1} KiB: the virtual lab needs an address space of "
        f"{LAB_BYTES >> 10} KiB; raise the limit: ulimit -v unlimited")


def test_tools_are_those_that_any_run_needs_and_those_of_the_tests(
        tmp_path: Path, tools: list[str]) -> None:
    """Each once."""
    preflight.check([cell(tmp_path), cell(tmp_path)])
    assert {"tc", "ip", "iperf3", "irtt"} <= set(tools)
    assert len(tools) == len(set(tools))


@pytest.mark.parametrize(("testbed", "is_new", "fits"), [
    ("virtual", True, True), ("virtual", False, False), ("netns", False, False),
    ("ssh://root@192.0.2.9", False, True)])
def test_queue_that_a_new_tc_sets_needs_it_where_the_router_is_here(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: list[str], testbed: str,
        is_new: bool, fits: bool) -> None:
    """A router behind ssh has a tc of its own; other queues need no new one."""
    monkeypatch.setattr(preflight, "new_tc_is_there", lambda: is_new)
    preflight.check([cell(tmp_path, testbed=testbed, test="ping")])
    one = cell(tmp_path, testbed=testbed, test="ping", aqm="dualpi2")
    if fits:
        preflight.check([one])
        return
    with pytest.raises(ToolMissing, match=(
            rf"^aqm dualpi2: it needs .*, and no tc of iproute2 {OLDEST[0]}\.{OLDEST[1]} or n")):
        preflight.check([one])


def test_results_folder_is_made_with_those_above_it(tmp_path: Path, tools: list[str]) -> None:
    """What is there stays; a file in its place is refused."""
    folder = tmp_path / "a" / "b"
    for made in ([folder.parent, folder], []):
        assert sorted(preflight.check([cell(folder)])) == made
        assert folder.is_dir()
        assert list(folder.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"^results folder .*/file can't be made or written: "):
        preflight.check([cell(tmp_path / "file")])


def test_name_that_no_file_can_have_is_refused(tmp_path: Path, tools: list[str]) -> None:
    """Before the first run, and with room for the temporary name under which it is written."""
    for length, too_long in ((255 - len(".flent.gz") - len("..4194304.part"), False), (240, True)):
        one = replace(cell(tmp_path / "new"), name="x" * length)
        if not too_long:
            preflight.check([cell(tmp_path / "new"), one])
            (tmp_path / "new").rmdir()
            continue
        with pytest.raises(ConfigError, match=(
                r"^the name of a run's data file is too long for results folder .*/new: 'x{60}'… "
                "has 263 bytes while it is written; expected 255 at most: give a")) as refused:
            preflight.check([cell(tmp_path / "new"), one])
        assert refused.value.key == "filename_extra"
        assert list(tmp_path.iterdir()) == []


def test_refused_results_folder_leaves_no_other(tmp_path: Path, tools: list[str]) -> None:
    """Neither those of other runs nor those above it; what was there stays."""
    (tmp_path / "there").mkdir()
    (tmp_path / "z").touch()
    for refused in (tmp_path / "z" / "b", tmp_path / "new" / ("x" * 300)):
        with pytest.raises(ConfigError, match="can't be made or written: "):
            preflight.check([cell(tmp_path / "a" / "b"), cell(tmp_path / "there"), cell(refused)])
        assert sorted(path.name for path in tmp_path.iterdir()) == ["there", "z"]

# SPDX-License-Identifier: GPL-3.0-or-later
"""Which batches run, which runs of them are made, and what is refused of their hosts and
commands."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.cell import ROUTER_COMMAND, ROUTER_HOOK
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.plan.cells import _cell_commands, _check_topology_hosts
from flent_aqm.sweep.plan.runner import SweepRunner, _must_not_run, _pause_s


def runner(names: list[str] | None, **settings: Any) -> Any:
    """A runner of two batches that can run, and one that can't."""
    made = SweepRunner.__new__(SweepRunner)
    made.batches = {"base": {"abstract": True}, "mine": {}, "other": {}}
    made.settings = SimpleNamespace(BATCH_NAMES=names, BATCH_FILES=["x/Mine.batch"],
                                    BATCH_OVERRIDE={}, BATCH_DRY=False, BATCH_SHUFFLE=False,
                                    **settings)
    made.tests_run = 0
    return made


@pytest.mark.parametrize(("names", "running"), [
    (["ALL"], ["base", "mine", "other"]), (["other"], ["other"]),
    (["other", "base"], ["other", "base"]), ([], ["mine"]), (None, ["mine"])])
def test_batches_that_run_are_those_named_or_that_of_the_files_name(
        names: list[str] | None, running: list[str]) -> None:
    """ALL are all; without a batch of the file's name, all that can run."""
    assert runner(names)._batches_to_run() == running


def test_batch_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"Mine\.batch: unknown batch none; batches: base, mine"):
        runner(["mine", "none"])._batches_to_run()
    without = runner(None)
    without.settings.BATCH_FILES = ["x/some.batch"]
    assert without._batches_to_run() == ["mine", "other"]
    without.batches = {"base": {"abstract": True}}
    with pytest.raises(ConfigError, match="all are abstract or disabled"):
        without._batches_to_run()
    without.batches = {}
    with pytest.raises(ConfigError, match="there is no section"):
        without._batches_to_run()
    assert [_must_not_run(keys) for keys in ({}, {"abstract": True}, {"disabled": True}, {
        "enabled": False}, {"enabled": True})] == [False, True, True, True, False]


@pytest.mark.parametrize(("resume", "dry", "made", "counted"), [
    (False, False, ["there", "new"], 2), (True, False, ["new"], 1), (False, True, [], 2),
    (True, True, [], 1)])
def test_resumed_batch_makes_the_runs_without_a_data_file(
        tmp_path: Path, resume: bool, dry: bool, made: list[str], counted: int) -> None:
    """A dry run makes none, and counts those that would be made."""
    cells = [SimpleNamespace(name=name, data_file=tmp_path / name) for name in ("there", "new")]
    cells[0].data_file.touch()
    submitted: list[str] = []
    one = runner(None)
    one.settings.BATCH_DRY = dry
    one._sweep = SimpleNamespace(submit=lambda cell: submitted.append(cell.name),
                                 drain=lambda: None, take_count=lambda: len(submitted))
    one._run_cells("mine", cells, resume=resume)
    assert submitted == made
    assert one.tests_run == counted


@pytest.mark.parametrize(("value", "pause_s"), [(None, 0), ("0", 0), ("15", 15), (True, 1), (7, 7)])
def test_pause_is_whole_seconds(value: object, pause_s: int) -> None:
    keys = {} if value is None else {"pause": value}
    assert _pause_s("mine", keys) == pause_s
    for wrong in ("-1", "1.5", "x", "1234567"):
        with pytest.raises(ConfigError, match=r"batch mine: pause: .*expected whole seconds"):
            _pause_s("mine", {"pause": wrong})


def test_router_is_set_first_unless_the_batch_says_when() -> None:
    """Other commands have a number and only their own keys."""
    router = dict(ROUTER_COMMAND[ROUTER_HOOK])
    other = {"exec": "echo 1", "type": "pre", "rate_mbps": 5}
    kept = {"exec": "echo 1", "type": "pre"}
    assert list(_cell_commands("x", []).items()) == [*ROUTER_COMMAND.items()]
    assert list(_cell_commands("x", [other]).items()) == [*ROUTER_COMMAND.items(), ("hook1", kept)]
    assert list(_cell_commands("x", [other, router]).items()) == [
        ("hook1", kept), *ROUTER_COMMAND.items()]


@pytest.mark.parametrize(("host", "why"), [
    ("client", "'client' is on the client's side of all routers, where no servers run; expected"),
    ("moon", "'moon' is not in the topology client-lan, lan-router, router-server; expected one")])
def test_host_that_no_router_is_before_is_refused(host: str, why: str) -> None:
    scenario = Scenario.from_settings({"topology": "client-lan, lan-router, router-server"})
    _check_topology_hosts("batch x", scenario, ["server", "router", "localhost", "192.0.2.1"])
    with pytest.raises(ConfigError, match=f"^batch x: hosts: {why}"):
        _check_topology_hosts("batch x", scenario, ["server", host])

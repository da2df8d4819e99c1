# SPDX-License-Identifier: GPL-3.0-or-later
"""Which batches run, which runs of them are made, and what is refused of their hosts and
commands."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.cell import ROUTER_COMMAND, ROUTER_HOOK
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.plan import runner as runner_module
from flent_aqm.sweep.plan.cells import _cell_commands, _check_topology_hosts
from flent_aqm.sweep.plan.runner import SweepRunner, _must_not_run, _pause_s
from flent_aqm.sweep.sweep import Stopped

from ...warm_flent import run_flent


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


@pytest.mark.parametrize(("overrides", "values", "found"), [
    # It did nothing, without a word, because the key of one direction counts.
    ({"rate_mbps": 50}, {"rate_down_mbps": 250, "rate_up_mbps": 20, "aqm": "sfq"},
     {"rate_down_mbps": "${rate_mbps}", "rate_up_mbps": "${rate_mbps}", "aqm": "sfq"}),
    ({"rate_mbps": 50, "rate_up_mbps": 5}, {"rate_down_mbps": 250, "rate_up_mbps": 5},
     {"rate_down_mbps": "${rate_mbps}", "rate_up_mbps": 5}),
    ({"modem_mbps": 40}, {"modem_up_mbps": 10, "rate_up_mbps": 9},
     {"modem_up_mbps": "${modem_mbps}", "rate_up_mbps": 9}),
    ({"rate_down_mbps": 50}, {"rate_mbps": 20, "own": 1}, {"rate_mbps": 20, "own": 1}),
    ({}, {"rate_down_mbps": 250}, {"rate_down_mbps": 250})])
def test_override_of_both_directions_replaces_those_of_each(
        overrides: dict[str, Any], values: dict[str, Any], found: dict[str, Any]) -> None:
    one = runner(None)
    one.settings.BATCH_OVERRIDE = overrides
    assert one._of_both(values) == found
    one.batches["mine"] = values
    assert one._keys_of_batch("mine") == {**overrides, **found}


def test_batch_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"Mine\.batch: unknown batch none; batches: base, mine"):
        runner(["mine", "none"])._batches_to_run()
    with pytest.raises(ConfigError, match=r"batch Mine; batches \(in lower case, as Flent reads"):
        runner(["Mine"])._batches_to_run()
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
    ("client1", "'client1' is on the client's side of all routers, where no servers run"),
    ("client", "'client' is on the client's side of all routers, where no servers run; expected"),
    ("moon", "'moon' is not in the topology clients:2; expected one of server, router")])
def test_host_that_no_router_is_before_is_refused(host: str, why: str) -> None:
    scenario = Scenario.from_settings({"topology": "clients:2"})
    _check_topology_hosts("batch x", scenario, ["server", "router", "localhost", "192.0.2.1"])
    with pytest.raises(ConfigError, match=f"^batch x: hosts: {why}"):
        _check_topology_hosts("batch x", scenario, ["server", host])


class Steps:
    """A sweep that notes what it is told to do."""

    def __init__(self) -> None:
        self.steps: list[object] = []
        self.planned: dict[Path, object] = {}
        self.batch_files: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.steps.append("end")

    def start(self, *, resume: bool) -> None:
        self.steps.append(f"start, resume {resume}")

    def report(self) -> None:
        self.steps.append("report")

    def testbeds_elsewhere(self) -> list[str]:
        return ["ssh://root@192.0.2.9"]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Flent's log says of a batch."""
    lines: list[str] = []
    monkeypatch.setattr(runner_module, "_logger", SimpleNamespace(
        info=lambda text, *values: lines.append(text % values)))
    return lines


def stepping(names: list[str], **settings: Any) -> tuple[Any, list[object]]:
    """A runner, of whose batches mine is a sweep and other is Flent's, and what it does."""
    made = runner(names, BATCH_RESUME=None, TIME="now", BATCH_UUID=None, LOG_FILE="x", **settings)
    made.batches["mine"] = {"testbed": "virtual"}
    made._sweep = sweep = Steps()
    made._plan_batch = lambda name: iter([f"cell of {name}"])
    made._run_cells = lambda name, cells, *, resume: sweep.steps.append(
        f"{name}: {cells}, resume {resume}")
    made.run_batch = lambda name: sweep.steps.append(f"Flent runs {name}")
    return made, sweep.steps


def test_batches_run_in_order_and_each_is_said_once(said: list[str]) -> None:
    """A sweep's before the bar is on the terminal, Flent's when it begins."""
    made, steps = stepping(["other", "mine"])
    assert made.run() is True
    assert steps == ["start, resume False", "Flent runs other",
                     "mine: ['cell of mine'], resume False", "end", "report"]
    assert said == ["Running batch 'mine'.", "Running batch 'other'.", "Ran 0 tests."]
    assert made.settings.LOG_FILE is None
    assert len(made.settings.BATCH_UUID) == 36


def test_flents_batches_alone_start_no_sweep(said: list[str]) -> None:
    made, steps = stepping(["other"])
    assert made.run() is True
    assert steps == ["Flent runs other", "end", "report"]
    assert said == ["Running batch 'other'.", "Ran 0 tests."]


def test_dry_run_starts_nothing_and_says_what_it_did_not_ask(said: list[str]) -> None:
    """Each batch's name stands before its runs."""
    made, steps = stepping(["mine", "other"])
    made.settings.BATCH_DRY = True
    assert made.run() is True
    assert steps == ["mine: ['cell of mine'], resume False", "Flent runs other", "end", "report"]
    assert said[:3] == ["Running batch 'mine'.", "Running batch 'other'.",
                        "Would have run 0 tests."]
    assert said[3].startswith("A dry run asks no other machine: whether ssh://root@192.0.2.9 and")


@pytest.mark.parametrize(("time", "taken"), [("then", "then"), (None, "now")])
def test_resumed_batch_has_the_time_and_number_of_its_folder(
        monkeypatch: pytest.MonkeyPatch, said: list[str], time: str | None, taken: str) -> None:
    """The time of now, if the folder's files have none."""
    kept: list[object] = []
    monkeypatch.setattr(runner_module, "Resumed", lambda folder: SimpleNamespace(
        time=time, uuid=f"number of {folder}", refuse_to_leave=kept.append))
    made, steps = stepping(["mine"])
    made.settings.BATCH_RESUME = "results"
    assert made.run() is True
    assert taken == made.settings.TIME
    assert made.settings.BATCH_UUID == "number of results"
    assert kept == [made._sweep.planned]
    assert steps[:2] == ["start, resume True", "mine: ['cell of mine'], resume True"]


def test_stop_ends_the_batches_and_the_report_says_why(said: list[str]) -> None:
    def stop(name: str, cells: object, *, resume: bool) -> None:
        raise Stopped

    made, steps = stepping(["mine", "other"])
    made._run_cells = stop
    assert made.run() is True
    assert steps == ["start, resume False", "end", "report"]


@pytest.mark.parametrize(("keys", "is_sweep"), [
    ({"testbed": "virtual"}, True), ({}, False), ({"testbed": "virtual", "abstract": True}, False),
    ({"testbed": "virtual", "enabled": False}, False), ({"disabled": True}, False)])
def test_sweep_is_a_batch_with_a_testbed_that_may_run(
        keys: dict[str, object], is_sweep: bool) -> None:
    """An override of the testbed makes one of any batch."""
    made = runner(None)
    made.batches["mine"] = keys
    assert made._is_sweep("mine") is is_sweep
    made.settings.BATCH_OVERRIDE = {"testbed": "netns"}
    assert made._is_sweep("mine") is not _must_not_run(keys)


@pytest.mark.parametrize(("kernel", "extra", "name"), [
    (None, "${aqm}", "run"), ("", "${aqm}", "run"), ("stock", "${aqm}", "run"),
    ("mine", "${aqm}", "run-mine"), ("mine", None, "run-mine"), ("mine", "${kernel}", "run"),
    ("stock", "${kernel}", "run"), ("/a/b", "${aqm}", "run-_a_b")])
def test_file_name_has_the_own_kernels_once(
        kernel: str | None, extra: str | None, name: str) -> None:
    """A kernel's path makes no folders."""
    made = runner(None)
    made.gen_filename = lambda settings, section, arguments, repetition: "run"
    values = {} if extra is None else {"filename_extra": extra}
    assert made._file_name(None, {} if kernel is None else {"kernel": kernel}, values, [], 1) == (
        name)


def reading(folder: Path, **files: str) -> Any:
    """A runner that has read these batch files of a folder, in order. _ stands for / in names."""
    for name, text in files.items():
        path = folder / f"{name.replace('_', '/')}.batch"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return SweepRunner(SimpleNamespace(BATCH_FILES=[
        str(folder / f"{name.replace('_', '/')}.batch") for name in files
        if not name.endswith("base")]))


def test_base_of_a_folder_is_read_once_for_all_its_files(tmp_path: Path) -> None:
    """A second reading would undo what the first file changed; another folder's is read, too."""
    base, own = "[Batch::base]\nlength = 5\n", "[Batch::base]\nlength = 6\n"
    made = reading(tmp_path, base=base, one=own, two="[Batch::two]\nlength = 7\n")
    assert {name: keys["length"] for name, keys in made.batches.items()} == {
        "base": "6", "two": "7"}
    assert made.args["codel"] == {"aqm": "codel"}
    made = reading(tmp_path, base=base, one=own, more_base=base, more_two="[Batch::two]\n")
    assert made.batches["base"]["length"] == "5"


def test_file_without_a_base_is_read_alone(tmp_path: Path) -> None:
    """Also after one that has a base; its queues have no names then."""
    made = reading(tmp_path, alone="[Batch::alone]\nlength = 7\n")
    assert (list(made.batches), dict(made.args), list(made.commands)) == (
        ["alone"], {}, [ROUTER_HOOK])
    made = reading(tmp_path, more_base="[Batch::base]\nlength = 5\n", more_one="[Batch::one]\n",
                   last="[Batch::last]\nlength = 8\n")
    assert list(made.batches) == ["base", "one", "last"]


def test_base_itself_can_be_run(tmp_path: Path) -> None:
    (tmp_path / "base.batch").write_text("[Batch::base]\nlength = 5\n")
    made = SweepRunner(SimpleNamespace(BATCH_FILES=[str(tmp_path / "base.batch")]))
    assert {name: dict(keys) for name, keys in made.batches.items()} == {"base": {"length": "5"}}


def test_sections_are_named_by_type_in_any_case_and_files_by_their_content(tmp_path: Path) -> None:
    """The SHA-256 is that of sha256sum."""
    text = "[ARG::One]\naqm = codel\n[batch::Two]\nlength = 5\n[Command::three]\nexec = true\n"
    made = reading(tmp_path, one=text)
    assert (list(made.args), list(made.batches), list(made.commands)) == (
        ["one"], ["two"], [ROUTER_HOOK, "three"])
    assert made._sweep.batch_files == {
        str(tmp_path / "one.batch"): hashlib.sha256(text.encode()).hexdigest()}


@pytest.mark.parametrize(("section", "fault"), [
    ("one", r"section \[one\] has no '::' in its name; expected \[Batch::NAME\]"),
    ("Test::one", r"section \[Test::one\] is of the unknown type 'Test'; expected \[Batch::NAME")])
def test_section_of_another_name_is_refused(section: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"one\.batch: {fault}"):
        reading(tmp_path, one=f"[{section}]\nlength = 5\n")


def test_batch_says_more_than_the_command_line(tmp_path: Path) -> None:
    """Its hosts are there, that of the option is not, which a warning tells."""
    (tmp_path / "mine.batch").write_text(
        "[Batch::mine]\ninherits = base\ntest_name = ndt7\nhosts = server\n")
    ended = run_flent("-B", "mine.batch", "--batch-dry-run", "-H", "moon", cwd=tmp_path)
    assert ended.returncode == 0
    assert ended.stderr.strip().endswith("-H moon is not used, because the batch sets hosts to "
                                         "server; write --batch-override hosts=moon")


@pytest.mark.parametrize(("path", "resumed", "ends"), [
    ("results/deep", "results", True), ("results/deep", "results/deep", True),
    ("results", "results/deep", False)])
def test_output_path_may_be_a_folder_below_another(
        tmp_path: Path, path: str, resumed: str, ends: bool) -> None:
    """As a resumed sweep of the folder above it sees."""
    (tmp_path / "results" / "deep").mkdir(parents=True)
    (tmp_path / "mine.batch").write_text(
        f"[Batch::mine]\ninherits = base\ntest_name = ndt7\noutput_path = {path}\n")
    ended = run_flent("-B", "mine.batch", "--batch-dry-run", "--batch-resume", resumed,
                      cwd=tmp_path)
    assert (ended.returncode == 0) is ends, ended.stderr
    assert ("which is not in this folder" in ended.stderr) is not ends

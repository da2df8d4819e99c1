# SPDX-License-Identifier: GPL-3.0-or-later
"""When a run counts as done, without a lab: complete, with all samples, as planned."""

from __future__ import annotations

import io
import json
import os
import re
import resource
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from flent_aqm.base import defaults
from flent_aqm.base.errors import BadResult, ConfigError, StorageError, ToolMissing
from flent_aqm.results import status
from flent_aqm.results.data_file import read_data_file
from flent_aqm.setup.kernel.locate import Kernel
from flent_aqm.spec.cell import ROUTER_COMMAND, Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep import missing, preflight, sweep
from flent_aqm.sweep import resumed as resumed_module
from flent_aqm.sweep.progress import SweepProgress
from flent_aqm.sweep.resumed import (
    Resumed,
    files_of_other_builds,
    refuse_another_run,
    set_aside_unfinished,
)
from flent_aqm.sweep.run import refuse_incomplete, samples_sha256
from tests.files import RUNS, load, save

GOLDEN = RUNS / "iperf3_upload.flent.gz"
SETTINGS: Mapping[str, object] = {"HOSTS": ["server"], "LENGTH": 3, "DELAY": 1}


def test_resume_refuses_to_write_outside_of_its_folder(tmp_path: Path) -> None:
    """Also by a link or through "..", below which a folder of its name may be."""
    folder = tmp_path / "results"
    folder.mkdir()
    (tmp_path / "other").mkdir()
    (folder / "link").symlink_to(tmp_path / "other")
    resumed = Resumed(str(folder))
    resumed.refuse_to_leave([folder / "a.flent.gz", folder / "deep" / "b.flent.gz"])
    for path in (tmp_path / "a.flent.gz", folder / ".." / "b.flent.gz",
                 folder / "link" / "c.flent.gz", tmp_path / "results2" / "d.flent.gz"):
        with pytest.raises(ConfigError, match=(
                r"writes to /.*, which is not in this folder; .* where it was started before$")):
            resumed.refuse_to_leave([folder / "a.flent.gz", path])
    # A run's file may be a link, as in an archive of git-annex: another file takes its place.
    (folder / "d.flent.gz").symlink_to(tmp_path / "other" / "object")
    resumed.refuse_to_leave([folder / "d.flent.gz"])
    with pytest.raises(ConfigError, match=f"writes to {tmp_path}/other, which"):
        resumed.refuse_to_leave([folder / "link" / "c.flent.gz"])
    # An override of output_path that is left out is seen at the command that began the sweep.
    status.write(folder, status.Status(
        ["flent", "-B", "a.batch", "--batch-override", "output_path=my results"], 1, 0, 1.0))
    with pytest.raises(ConfigError, match=(
            r"; it was begun by: flent -B a\.batch --batch-override 'output_path=my results'$")):
        resumed.refuse_to_leave([tmp_path / "a.flent.gz"])


@pytest.mark.parametrize(("name", "why"), [
    ("none", "No such file or directory"), ("file.flent.gz", "Not a directory"),
    ("n" * 300, "File name too long")])
def test_resume_of_what_is_no_folder_is_refused(name: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file.flent.gz").touch()
    with pytest.raises(ConfigError, match=f"^--batch-resume .*{name}: {why}; expected the folder"):
        Resumed(str(tmp_path / name))


def test_resume_takes_the_time_from_a_file_that_has_the_uuid_too(tmp_path: Path) -> None:
    """Not from one whose UUID somebody removed, so that both are of one batch."""
    data = content()
    data["metadata"]["BATCH_TIME"] = "2001-02-03T04:05:06.000000Z"
    data["metadata"].pop("BATCH_UUID", None)
    save(tmp_path / "a.flent.gz", data)
    assert Resumed(str(tmp_path)).time is None
    data["metadata"] |= {"BATCH_TIME": "2002-02-03T04:05:06.000000Z", "BATCH_UUID": "other"}
    save(tmp_path / "b.flent.gz", data)
    resumed = Resumed(str(tmp_path))
    assert (resumed.time, resumed.uuid) == (datetime(2002, 2, 3, 4, 5, 6), "other")


def test_of_several_batches_below_the_folder_the_last_is_resumed(tmp_path: Path) -> None:
    """As in results/, which is what a sweep of several batches names; an older one came first."""
    data = content()
    for name, year in (("aaa", 2001), ("one", 2003), ("two", 2002)):
        data["metadata"] |= {"BATCH_TIME": f"{year}-02-03T04:05:06.000000Z", "BATCH_UUID": name}
        (tmp_path / name).mkdir()
        save(tmp_path / name / "a.flent.gz", data)
    resumed = Resumed(str(tmp_path))
    assert (resumed.time, resumed.uuid) == (datetime(2003, 2, 3, 4, 5, 6), "one")


def content() -> dict[str, Any]:
    data: dict[str, Any] = load(GOLDEN)
    return data


def planned(folder: Path) -> Cell:
    """The cell of the data file that written() makes."""
    return Cell(name="run", folder=folder, test_name="iperf3_upload",
                scenario=Scenario.from_settings({"aqm": "codel", "rate_mbps": 20, "seed": 7}),
                settings=SETTINGS, commands=ROUTER_COMMAND, metadata={}, length_s=5)


def written(cell: Cell, change: Callable[[Any], object] = lambda data: None) -> Path:
    """A data file as a sweep writes it for a cell, but for a change."""
    data = content()
    aqm = data["metadata"]["AQM"]
    aqm |= {"requested": json.loads(json.dumps(cell.scenario.as_dict())),
            "run": json.loads(json.dumps(cell.as_metadata)), "schema": 1,
            "samples_sha256": samples_sha256(data),
            "kernel": {"version": "7.3.4", "hash": None}}
    data["metadata"]["DATA_FILENAME"] = cell.data_file.name
    change(data)
    save(cell.data_file, data)
    return cell.data_file


def test_whole_file_of_the_planned_run_is_done(tmp_path: Path) -> None:
    cell = planned(tmp_path)
    file = written(cell)
    before = file.read_bytes()
    assert list(set_aside_unfinished({file: cell})) == []
    assert file.read_bytes() == before


@pytest.mark.parametrize(("change", "why"), [
    (lambda data: data["metadata"].update(FAILED_RUNNERS=1), "1 of the test's tools gave no data"),
    (lambda data: data["metadata"]["AQM"].pop("before"), "no read-back of the router"),
    (lambda data: data["metadata"]["AQM"].pop("after"), "no read-back of the router"),
    (lambda data: data["metadata"]["SERIES_META"]["TCP upload"].update(ERROR=["it broke"]),
     "TCP upload: it broke"),
    (lambda data: data.update(raw_values={}), "the file has no samples"),
    (lambda data: data.update(raw_values={"TCP upload": []}), "the file has no samples"),
    (lambda data: data["raw_values"]["TCP upload"].pop(),
     "its raw_values, x_values or results, or their"),
    (lambda data: data["x_values"].pop(), "its raw_values, x_values or results, or their"),
    (lambda data: data["raw_values"]["TCP upload"][0].update(val=1.5),
     "its raw_values, x_values or results, or their"),
    (lambda data: data["metadata"]["AQM"].pop("samples_sha256"), "flent-aqm share leaves out"),
    (lambda data: data["metadata"].pop("AQM"), "no object AQM"),
])
def test_file_that_is_not_complete_is_set_aside(
        tmp_path: Path, change: Callable[[Any], object], why: str) -> None:
    cell = planned(tmp_path)
    file = written(cell, change)
    line, = set_aside_unfinished({file: cell})
    assert why in line
    assert "its run is repeated" in line
    assert not file.exists()
    assert file.with_name(f"{file.name}.damaged").is_file()


def _replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _replace_by_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _replace_by_link(file: Path, target: str) -> None:
    file.unlink()
    file.symlink_to(target)


def test_file_that_cannot_be_set_aside_is_told_with_what_is_in_the_way(tmp_path: Path) -> None:
    """Whether the folder, or what has the new name."""
    cell = planned(tmp_path)
    file = written(cell, lambda data: data.update(raw_values={}))
    file.with_name(f"{file.name}.damaged").mkdir()
    with pytest.raises(ConfigError, match=(
            r"; it can't be renamed to run\.flent\.gz\.damaged \(Is a directory\): make its folder "
            r"writable, or remove the file or what has that name")):
        list(set_aside_unfinished({file: cell}))


@pytest.mark.parametrize("replace_file", [
    lambda file: file.write_bytes(b""),
    lambda file: file.write_bytes(file.read_bytes()[:-100]),
    lambda file: file.write_bytes(file.read_bytes() + b"garbage"),
    _replace_by_folder, _replace_by_pipe,
    lambda file: _replace_by_link(file, "/etc/passwd"),
    lambda file: _replace_by_link(file, "/nonexistent/x"),
], ids=["empty", "cut", "garbage", "folder", "pipe", "link", "dangling"])
def test_what_is_no_data_file_under_a_runs_name_is_never_done(
        tmp_path: Path, replace_file: Callable[[Path], object]) -> None:
    """It moves aside, or the sweep refuses it; nothing that a link leads to is touched."""
    cell = planned(tmp_path)
    file = written(cell)
    replace_file(file)
    passwd = Path("/etc/passwd").read_bytes()
    refused = False
    try:
        lines = list(set_aside_unfinished({file: cell}))
    except ConfigError as error:
        refused, lines = True, [str(error)]
    line, = lines
    assert file.name in line
    assert refused or "its run is repeated" in line
    assert refused or not os.path.lexists(file)
    assert Path("/etc/passwd").read_bytes() == passwd


def test_incomplete_runs_are_refused_when_they_end() -> None:
    """The same rules hold for a run that has just been made."""
    data = content()
    refuse_incomplete(data)
    for change, why in (
            ({"FAILED_RUNNERS": 2}, "2 of the test's tools"),
            ({"AQM": {"before": {}}}, "no read-back"), ({"AQM": {"after": {}}}, "no read-back")):
        with pytest.raises(BadResult, match=why):
            refuse_incomplete({**data, "metadata": {**data["metadata"], **change}})


@pytest.mark.parametrize(("other", "why"), [
    ({"test_name": "ndt7"}, "test is iperf3_upload in the file, ndt7 in this plan"),
    ({"settings": {**SETTINGS, "LENGTH": 4}}, "LENGTH is 3 in the file, 4 in this plan"),
    ({"settings": {"HOSTS": ["server"], "LENGTH": 3}}, "DELAY is 1 in the file, not set in this"),
    ({"commands": {}}, "commands is router in the file, others in this plan"),
    ({"name": "other"}, "DATA_FILENAME is run.flent.gz in the file, other.flent.gz in this plan"),
    ({"scenario": {"base_delay_ms": 80}}, "base_delay_ms is 0 in the file, 80 in this plan"),
    ({"scenario": {"seed": 8}}, "seed is 7 in the file, 8 in this plan"),
    ({"scenario": {"aqm": "pie"}}, "aqm is codel in the file, pie in this plan"),
])
def test_file_of_another_run_is_refused(
        tmp_path: Path, other: dict[str, Any], why: str) -> None:
    """Each setting that decides the run is compared, and named with both values."""
    cell = planned(tmp_path)
    file = read_data_file(written(cell))
    refuse_another_run(file, cell)
    changes = dict(other)
    if "scenario" in changes:
        changes["scenario"] = Scenario.from_settings(
            {"aqm": "codel", "rate_mbps": 20, "seed": 7, **changes["scenario"]})
    with pytest.raises(ConfigError, match="has another run than planned: " + why):
        refuse_another_run(file, replace(cell, **changes))


@pytest.mark.parametrize(("built", "refused"), [("hash-then", False), ("hash-now", True)])
@pytest.mark.parametrize(("name", "whose"), [("stock", "set-up's kernel"),
                                             ("mine", "the kernel mine")])
def test_runs_of_two_builds_of_a_kernel_are_not_mixed(
        name: str, whose: str, built: str, refused: bool, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> None:
    """The table would give one median of both. A file that tells no build is taken as it is."""
    monkeypatch.setattr(resumed_module, "kernel_called",
                        lambda kernel: Kernel(Path("linux"), "7.3.4", built, name=kernel))
    cell = planned(tmp_path)
    cell = replace(cell, scenario=cell.scenario.but(kernel=name))
    file = written(cell, lambda data: data["metadata"]["AQM"].update(
        kernel={"version": "7.3.4", "hash": "hash-then", "name": name}))
    if not refused:
        assert list(set_aside_unfinished({file: cell})) == []
        return
    with pytest.raises(ConfigError, match=rf"{whose} \(hash hash-then, now hash-now\).* another "
                                          "folder, or move"):
        list(set_aside_unfinished({file: cell}))
    assert file.exists()
    untold = written(cell)
    assert list(set_aside_unfinished({untold: cell})) == []
    real_time = replace(cell, scenario=cell.scenario.but(testbed="netns", kernel="stock"))
    other = written(real_time, lambda data: data["metadata"]["AQM"].update(
        kernel={"version": "6.12", "hash": "hash-then"}))
    assert list(set_aside_unfinished({other: real_time})) == []


def test_folder_with_runs_of_an_earlier_build_is_told(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names have another time, so that they aren't in the way, but a report takes both."""
    monkeypatch.setattr(resumed_module, "kernel_called",
                        lambda kernel: Kernel(Path("linux"), "7.3.4", "now", name=kernel))
    cell = planned(tmp_path)
    mine = replace(cell, name="new", scenario=cell.scenario.but(kernel="mine"))
    assert list(files_of_other_builds([mine])) == []
    for name, build in (("1", "then"), ("2", "then"), ("3", "now"), ("4", None)):
        def of_build(data: Any, build: str | None = build) -> None:
            data["metadata"]["AQM"]["kernel"] = {"version": "7.3.4", "hash": build, "name": "mine"}

        written(replace(mine, name=name), of_build)
    (tmp_path / "5.flent.gz").write_text("no data file")
    line, = files_of_other_builds([mine])
    assert line.startswith(f"{tmp_path} has 2 runs of an earlier build of the kernel mine, such as "
                           "1.flent.gz: move them away")
    # Of set-up's kernel nothing is read, and a planned file is not one of another sweep's.
    assert list(files_of_other_builds([cell])) == []
    assert list(files_of_other_builds([replace(mine, name=name) for name in "12"])) == []
    (tmp_path / "z").mkdir()
    deeper = replace(mine, folder=tmp_path / "z")
    written(replace(deeper, name="6"), lambda data: data["metadata"]["AQM"].update(
        kernel={"hash": "then", "name": "mine"}))
    assert [line.partition(" of an")[0] for line in files_of_other_builds([mine, deeper])] == [
        f"{tmp_path} has 2 runs", f"{tmp_path / 'z'} has 1 run"]


def test_kernel_that_is_gone_keeps_no_complete_folder_from_being_read(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run can be made with it, so nothing is mixed."""
    def gone(name: str) -> Kernel:
        raise ToolMissing(f"the kernel {name} is gone")

    monkeypatch.setattr(resumed_module, "kernel_called", gone)
    cell = planned(tmp_path)
    file = written(cell, lambda data: data["metadata"]["AQM"].update(kernel={"hash": "then"}))
    assert list(set_aside_unfinished({file: cell})) == []


def test_further_differences_are_counted(tmp_path: Path) -> None:
    """The first is told, with how many others there are."""
    cell = planned(tmp_path)
    file = read_data_file(written(cell))
    for others, more in ((cell.scenario.but(base_delay_ms=80.0, seed=8, aqm="pie"), 2),
                         (cell.scenario.but(seed=8, aqm="pie"), 1)):
        with pytest.raises(ConfigError, match=rf"\(and {more} more\)"):
            refuse_another_run(file, replace(cell, scenario=others))
    with pytest.raises(ConfigError) as alone:
        refuse_another_run(file, replace(cell, scenario=cell.scenario.but(seed=8)))
    assert "more" not in str(alone.value)


def test_setting_that_came_later_counts_as_its_default(tmp_path: Path) -> None:
    """A file of an earlier version lacks it; paths are compared without their folders."""
    cell = planned(tmp_path)
    file = read_data_file(written(
        cell, lambda data: data["metadata"]["AQM"]["requested"].pop("tcp_ecn")))
    refuse_another_run(file, cell)
    other = replace(cell, scenario=cell.scenario.but(tcp_ecn=True))
    with pytest.raises(ConfigError, match="tcp_ecn"):
        refuse_another_run(file, other)


def test_command_that_plans_its_runs_takes_no_other_run_for_its_own(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As scorecard does; it took any file of the name."""
    monkeypatch.setattr(sweep.Sweep, "start", lambda *args, **more: pytest.fail("a run began"))
    cell = planned(tmp_path)
    written(cell)
    assert missing.make_missing([cell], {}) == 0
    with pytest.raises(ConfigError, match="base_delay_ms"):
        missing.make_missing([replace(cell, scenario=cell.scenario.but(base_delay_ms=5.0))], {})


def test_full_disk_is_no_interrupt_for_a_command_that_plans_its_runs(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ended as if the user had pressed ^C."""
    def disk_full(sweep_: sweep.Sweep, cell: Cell) -> None:
        sweep_._storage_fault = "no space"
        raise sweep.Stopped

    monkeypatch.setattr(sweep.Sweep, "start", lambda *args, **more: None)
    monkeypatch.setattr(sweep.Sweep, "submit", disk_full)
    with pytest.raises(StorageError, match=(
            r"^no space; mend this .*, then run it again with the same command$")):
        missing.make_missing([planned(tmp_path)], {})


def test_full_disk_of_the_last_run_is_told_by_a_command_that_plans_its_runs(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last run nothing is submitted that could tell it."""
    def disk_full(sweep_: sweep.Sweep) -> None:
        sweep_._storage_fault = "no space"

    monkeypatch.setattr(sweep.Sweep, "start", lambda *args, **more: None)
    monkeypatch.setattr(sweep.Sweep, "submit", lambda *args: None)
    monkeypatch.setattr(sweep.Sweep, "drain", disk_full)
    with pytest.raises(StorageError, match="no space"):
        missing.make_missing([planned(tmp_path)], {})


@pytest.mark.parametrize("interrupted", [True, False])
def test_interrupt_while_the_last_runs_are_running_ends_a_command_with_more_sweeps(
        interrupted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was left of the first one, so scorecard began the next."""
    def drain(sweep_: sweep.Sweep) -> None:
        sweep_._was_interrupted = interrupted

    monkeypatch.setattr(sweep.Sweep, "start", lambda *args, **more: None)
    monkeypatch.setattr(sweep.Sweep, "submit", lambda *args: None)
    monkeypatch.setattr(sweep.Sweep, "drain", drain)
    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            missing.make_missing([planned(tmp_path)], {})
    else:
        assert missing.make_missing([planned(tmp_path)], {}) == 0


@pytest.mark.parametrize(("change", "keys"), [
    ({"settings": {"LENGTH": 99.0}}, "add ${length}, in which"),
    ({"settings": {"TEST_PARAMETERS": {"streams": "2"}}}, "add ${length}, ${test_parameters}, in"),
    ({"commands": {"hook1": {"exec": "true", "type": "pre"}}}, "add ${commands}, in which"),
    ({"commands": {"router": {**ROUTER_COMMAND["router"], "exec": "true"}}},
     "add the argument that the command router contains, in which"),
    ({"test_name": "rrul"}, "add ${test_name}, in which"),
    ({"base_delay_ms": 5.0}, "add ${base_delay_ms}, in which"),
    ({"seed": 5}, "add ${repetition} (or ${seed}, if the batch varies that), in which")])
def test_two_runs_that_differ_in_anything_are_not_written_to_one_file(
        tmp_path: Path, change: dict[str, Any], keys: str) -> None:
    """One of them would be lost. The same run again gives the same samples."""
    cell = replace(planned(tmp_path), settings={"LENGTH": 1.0})
    other = (replace(cell, **change) if hasattr(cell, next(iter(change)))
             else replace(cell, scenario=cell.scenario.but(**change)))
    both = sweep.Sweep()
    assert both.plan(cell, {})
    assert not both.plan(replace(cell), {})
    assert list(both.planned.values()) == [cell]
    with pytest.raises(ConfigError, match=re.escape(keys)):
        both.plan(other, {})


def test_repetitions_in_real_time_need_names_of_their_own(tmp_path: Path) -> None:
    """They have no seed in which they differ, and only one of them was made."""
    cell = planned(tmp_path)
    cell = replace(cell, scenario=cell.scenario.but(testbed="netns", seed=None))
    both = sweep.Sweep()
    both.plan(cell, {})
    both.plan(cell, {})
    with pytest.raises(ConfigError, match=r"add \$\{repetition\} "):
        both.plan(replace(cell), {})


def test_interrupted_resume_counts_no_kept_run_as_left(tmp_path: Path) -> None:
    cells = [replace(planned(tmp_path), name=name) for name in ("there", "left")]
    resumed = sweep.Sweep()
    resumed.planned = {cell.data_file: cell for cell in cells}
    resumed._kept = 1
    printed = io.StringIO()
    resumed._progress = SweepProgress(cells, Console(file=printed, width=200))
    resumed._print_interrupted()
    assert printed.getvalue().startswith("Interrupted: 0 runs done, 1 left; go on with")


def test_sweep_removes_what_killed_processes_left_before_it_begins(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a data file, whose writer is gone. Data files stay."""
    class Testbed:
        title, real_time, tools = "a test", False, ()

        def check(self, cells: object) -> list[str]:
            return []

        def prepare(self) -> None:
            raise ConfigError("far enough")

        def clean_up(self) -> None:
            pass

    monkeypatch.setattr(sweep, "open_testbed", lambda name: Testbed())
    left = tmp_path / ".run.flent.gz.123.part"
    left.write_bytes(b"half")
    cell = planned(tmp_path)
    made = sweep.Sweep()
    made.plan(cell, {})
    with pytest.raises(ConfigError, match="far enough"):
        made.start()
    assert not left.exists()


@pytest.mark.parametrize(("limit", "soft", "words"), [
    (resource.RLIMIT_AS, 1500 << 20, "ulimit -v is 1536000 KiB: the virtual lab needs an address"),
    (resource.RLIMIT_NOFILE, 60, "ulimit -n is 60: 2 runs at a time need 64 open files"),
])
def test_limits_that_are_too_low_are_refused_before_anything_runs(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, soft: int, words: str
) -> None:
    """With 1,800 MB and 64 files two runs succeed; each run failed with a cause of its own."""
    real = resource.getrlimit
    monkeypatch.setattr(resource, "getrlimit", lambda which: (
        (soft, resource.RLIM_INFINITY) if which == limit else real(which)))
    with pytest.raises(ConfigError, match=words):
        preflight.check([planned(tmp_path)], 2)


NEEDED_KIB = defaults.GUEST_ADDRESSES_MIB << 10


@pytest.mark.parametrize(("most_kib", "how"), [
    (-1, "raise the limit: ulimit -v unlimited$"),
    (4_000_000, f"raise the limit: ulimit -v {NEEDED_KIB}$"),
    (NEEDED_KIB, f"raise the limit: ulimit -v {NEEDED_KIB}$"),
    (NEEDED_KIB - 1, f"can be raised to {NEEDED_KIB - 1} KiB at most; have the hard limit raised")])
def test_limit_on_memory_is_raised_as_far_as_the_hard_limit_allows(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_kib: int, how: str) -> None:
    """"ulimit -v unlimited" fails below a hard limit."""
    real = resource.getrlimit
    monkeypatch.setattr(resource, "getrlimit", lambda which: (
        (1500 << 20, most_kib << 10 if most_kib > 0 else resource.RLIM_INFINITY)
        if which == resource.RLIMIT_AS else real(which)))
    with pytest.raises(ConfigError, match=how):
        preflight.check([planned(tmp_path)], 2)


def test_file_of_a_setting_may_have_moved(tmp_path: Path) -> None:
    """To another folder; another name is another run."""
    def of_trace(folder: str, name: str) -> Cell:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text("1\n2\n")
        return replace(planned(tmp_path), scenario=Scenario.from_settings({
            "aqm": "codel", "rate_mbps": 20, "seed": 7,
            "link_trace": str(tmp_path / folder / name)}))

    file = read_data_file(written(of_trace("old", "lte.trace")))
    refuse_another_run(file, of_trace("new", "lte.trace"))
    with pytest.raises(ConfigError, match=r"link_down_trace is lte\.trace in the file, 5g\.trace"):
        refuse_another_run(file, of_trace("new", "5g.trace"))


@pytest.mark.parametrize(("was", "wanted", "told"), [
    ({"client_program": "a" * 90 + " -x"}, {"client_program": "a" * 90 + " -y"},
     f"client_program is …{'a' * 18} -x' in the file, …{'a' * 18} -y' in this plan"),
    ({"base_delay_ms": 1.0000001}, {"base_delay_ms": 1.0000002},
     "base_delay_ms is 1.0000001 in the file, 1.0000002 in this plan"),
    ({"aqm_target": "5ms", "aqm_limit": "100"}, {"aqm_target": "5ms", "aqm_limit": "200"},
     "aqm_parameters.limit is 100 in the file, 200 in this plan")])
def test_values_that_differ_are_told_by_the_difference(
        tmp_path: Path, was: dict[str, object], wanted: dict[str, object], told: str) -> None:
    """At the end of a long text, in the seventh digit, in one of several parameters."""
    cells = [replace(planned(tmp_path), scenario=Scenario.from_settings({
        "aqm": "codel", "rate_mbps": 20, "seed": 7, **values})) for values in (was, wanted)]
    with pytest.raises(ConfigError) as raised:
        refuse_another_run(read_data_file(written(cells[0])), cells[1])
    assert told in str(raised.value)


def test_value_of_another_run_is_told_by_its_first_80_characters(tmp_path: Path) -> None:
    """A command may be long. It is another one, though its last word is the same."""
    programs = ["/bin/" + "a" * 90 + "/x", "/bin/" + "b" * 90 + "/x"]
    cells = [replace(planned(tmp_path), scenario=Scenario.from_settings({
        "aqm": "codel", "rate_mbps": 20, "seed": 7, "client_program": program}))
        for program in programs]
    file = read_data_file(written(cells[0]))
    refuse_another_run(file, cells[0])
    with pytest.raises(ConfigError) as raised:
        refuse_another_run(file, cells[1])
    assert (f"client_program is /bin/{'a' * 75} in the file, /bin/{'b' * 75} in this plan"
            ) in str(raised.value)

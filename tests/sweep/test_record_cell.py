# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests the cell of `lab --record`: the command is required, the time limit has two edges; and
what becomes of its run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base import defaults
from flent_aqm.base.errors import BadResult, ConfigError, StorageError
from flent_aqm.lab.protocol import Facts
from flent_aqm.results.grouping import own_title
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep import preflight, record
from flent_aqm.sweep.run import RunOutput, SweepFacts

FILE = Path("run.flent.gz")


@pytest.mark.parametrize(("limit", "seconds"), [
    (None, 60), ("1", 1), ("060", 60), ("9", 9), ("86399", 86_399), ("86400", 86_400)])
def test_the_time_limit_is_the_length_of_the_run(limit: str | None, seconds: int) -> None:
    cell = record._cell(Scenario.from_settings({}), ["iperf3", "-c", "a b"], FILE, limit)
    assert cell.length_s == cell.settings["LENGTH"] == seconds
    assert cell.name == "run"
    assert cell.scenario.as_dict()["client_program"] == "iperf3 -c 'a b'"


@pytest.mark.parametrize("limit", ["0", "86401", "99999", "100000", "00", "1.5", "-1"])
def test_a_time_limit_outside_1_s_to_a_day_is_refused(limit: str) -> None:
    with pytest.raises(ConfigError) as error:
        record._cell(Scenario.from_settings({}), ["true"], FILE, limit)
    assert str(error.value) == (f"--time-limit: {limit!r}; expected whole seconds, from 1 to 86400")


def test_a_missing_command_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        record._cell(Scenario.from_settings({}), [], FILE, None)
    assert str(error.value) == "--record: there is no command to measure; give it after --"


@pytest.mark.parametrize(("name", "why"), [
    (".flent.gz", "has no name before .flent.gz; expected a file such as run.flent.gz"),
    ("run.gz", "; expected a file whose name ends in .flent.gz, such as run.flent.gz"),
    ("folder.flent.gz", " is a folder; expected the path of a file")])
def test_a_path_that_is_no_data_file_is_refused(name: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "folder.flent.gz").mkdir()
    with pytest.raises(ConfigError) as error:
        record._cell(Scenario.from_settings({}), ["true"], tmp_path / name, None)
    assert str(error.value).startswith(f"--record: {str(tmp_path / name)!r}")
    assert str(error.value).endswith(why)


@pytest.mark.parametrize(("settings", "seed", "parameters"), [
    ({}, defaults.LAB_SEED, None), ({"seed": 9}, 9, None), ({"seed": 0}, 0, None),
    ({"cross_traffic": 0}, defaults.LAB_SEED, None),
    ({"cross_traffic": 1}, defaults.LAB_SEED, {"cross_traffic": "1"}),
    ({"cross_traffic": "call"}, defaults.LAB_SEED, {"cross_traffic": "call"})])
def test_the_cell_has_a_seed_and_the_cross_traffic(
        settings: dict[str, object], seed: int, parameters: dict[str, str] | None) -> None:
    """The lab's own seed, if none is given."""
    cell = record._cell(Scenario.from_settings(settings), ["true"], FILE, None)
    assert cell.scenario.lab.seed == seed
    assert cell.settings.get("TEST_PARAMETERS") == parameters
    title = str(cell.metadata["TITLE"])
    assert title == f"no_aqm 100 Mbit/s burst 0 cross {settings.get('cross_traffic', 0)}"
    # A report would name runs of two rates "no_aqm Mbit/s" by it.
    assert not own_title(title)


class Lab:
    """Makes a run in which a command wrote its output, its status and a file."""

    def __init__(self, folder: Path, status: str) -> None:
        (folder / "out").mkdir()
        (folder / "files").mkdir()
        self.stdout, self.flent_files = folder / "out" / "flent-stdout", folder / "files"
        self.wall_limit_s = 0.0
        (folder / "out" / defaults.CLIENT_STATUS).write_text(status)

    def run(self) -> str:
        (self.stdout.parent / defaults.CLIENT_STDOUT).write_text("said\n")
        (self.stdout.parent / defaults.CLIENT_STDERR).write_text("complained\n")
        return "result"


def recording(monkeypatch: pytest.MonkeyPatch, folder: Path, status: str, output: Any
              ) -> tuple[Callable[..., int], list[Any]]:
    """record_command() with a lab whose command ends with that status, and what it does."""
    steps: list[Any] = []

    class Bed:
        def check(self, cells: list[Any]) -> None:
            steps.append(f"check {cells[0].name}")

        def facts(self, kernel: str) -> Facts:
            return Facts({"of": kernel}, {})

    def make(cell: Any, bed: object, run: Callable[[Any], object]) -> Any:
        lab = Lab(folder, status)
        steps.append(f"{run(lab)} within {lab.wall_limit_s:g} s")
        assert lab.flent_files == folder / "out" / "flent-files"
        assert lab.flent_files.is_dir()
        return output

    monkeypatch.setattr(record, "VirtualTestbed", Bed)
    monkeypatch.setattr(preflight, "check", lambda cells: steps.append("preflight"))
    monkeypatch.setattr(record, "make_output", make)
    monkeypatch.setattr(record, "tool_versions", lambda: {"tc": "1"})
    monkeypatch.setattr(record, "copy_results", lambda lab, to, since_ns, command: steps.append(to))
    monkeypatch.setattr(record, "write_completed", lambda *values: steps.append(values))

    def call(results: Path | None = None, name: str = "run.flent.gz",
             command: Sequence[str] = ("true",)) -> int:
        return record.record_command(
            Scenario.from_settings({}), command, folder / name, results=results,
            time_limit=None, wall_limit_s=77.0)

    return call, steps


WHOLE: Any = RunOutput(b"{}", "command", "", "", capture=b"pcap")  # type: ignore[arg-type]


def test_a_recorded_run_has_its_data_file_and_capture(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """What the command wrote is shown as it was; its files go to the folder, or to this one."""
    call, steps = recording(monkeypatch, tmp_path, "0", WHOLE)
    assert call(tmp_path / "to") == 0
    assert steps[:4] == ["check run", "preflight", tmp_path / "to", "result within 77 s"]
    data, cell, facts, command = steps[4]
    assert (data, cell.name, facts, command) == (
        b"{}", "run", SweepFacts(Facts({"of": "stock"}, {}), {"tc": "1"}), "command")
    assert cell.capture_file.read_bytes() == b"pcap"
    assert capfd.readouterr() == ("said\n", "complained\n")


def test_files_of_the_command_go_to_this_folder_by_default(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without a capture writes none."""
    monkeypatch.chdir(tmp_path)
    call, steps = recording(monkeypatch, tmp_path, "0", RunOutput(
        b"{}", "command", "", ""))  # type: ignore[arg-type]
    assert call() == 0
    assert steps[2] == tmp_path
    assert not list(tmp_path.glob("*.pcap*"))


def test_a_command_that_is_refused_is_not_called_by_a_key(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user gives words after --."""
    call, _ = recording(monkeypatch, tmp_path, "0", WHOLE)
    for command, why in (
            (["echo", "a\tb"],
             "COMMAND: .*has the control character '\\\\t' at place 8; "),
            (["./nothing"], "COMMAND: there is no program './nothing'; give the path")):
        with pytest.raises(ConfigError, match=f"^{why}"):
            call(command=command)


def test_a_folder_that_is_not_there_is_refused_before_the_run(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A typo made one. That of --results is made."""
    call, steps = recording(monkeypatch, tmp_path, "0", WHOLE)
    with pytest.raises(ConfigError) as error:
        call(name="typo/run.flent.gz")
    assert str(error.value) == (f"--record: there is no folder {tmp_path / 'typo'}; make it, or "
                                "give another path")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="/file is no folder to write to: Not a directory; give "):
        call(name="file/run.flent.gz")
    with pytest.raises(ConfigError, match="is no folder to write to: File name too long; give "):
        call(name=f"{'x' * 300}/run.flent.gz")
    assert steps == []
    assert not (tmp_path / "typo").exists()
    assert call(tmp_path / "to", "to/run.flent.gz") == 0


@pytest.mark.parametrize(("status", "ends"), [("1", 1), ("9", 9), ("10", 10), ("255", 255)])
def test_a_command_that_fails_gives_its_status_and_no_file(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
        status: str, ends: int) -> None:
    call, steps = recording(monkeypatch, tmp_path, status, WHOLE)
    assert call() == ends
    assert len(steps) == 4
    assert (f"run.flent.gz: not written, because the command ended with status {ends}; with "
            "--record the lab's own servers don't run: if the command needs one, give it with "
            "--server\n") in capfd.readouterr().err


def test_files_that_a_failing_command_wrote_are_not_lost_without_a_word(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """The error of copying them hid behind the command's status."""
    call, _ = recording(monkeypatch, tmp_path, "3", WHOLE)
    make: Any = vars(record)["make_output"]

    def fail(*_: object) -> None:
        raise StorageError("the disk is full")

    def without_raising(cell: Any, bed: Any, run: Any) -> Any:
        with suppress(StorageError):
            return make(cell, bed, run)
        return RunOutput(None, None, "the disk is full", "")

    monkeypatch.setattr(record, "copy_results", fail)
    monkeypatch.setattr(record, "make_output", without_raising)
    with pytest.raises(StorageError, match="the disk is full"):
        call()
    assert "not written, because the command ended with status 3" in capfd.readouterr().err


@pytest.mark.parametrize(("data", "command"), [(None, "command"), (b"{}", None), (None, None)])
def test_a_run_that_failed_is_told_by_its_fault(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes | None, command: Any) -> None:
    """Without data, or without an end of the network."""
    call, _ = recording(monkeypatch, tmp_path, "", RunOutput(data, command, "it broke", ""))
    with pytest.raises(BadResult, match=r"^it broke$"):
        call()


def test_a_data_file_that_cannot_be_written_is_told(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call, _ = recording(monkeypatch, tmp_path, "0", WHOLE)

    def fail(*values: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(record, "write_completed", fail)
    with pytest.raises(StorageError, match=r"^--record: can't write .*run\.flent\.gz or its "
                                           r"capture: No space left on device$"):
        call()

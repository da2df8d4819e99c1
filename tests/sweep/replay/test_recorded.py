# SPDX-License-Identifier: GPL-3.0-or-later
"""Which data files are taken for runs that can be repeated, and what their cell is; no lab."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.lab.protocol import Facts
from flent_aqm.spec.cell import ROUTER_COMMAND, Cell
from flent_aqm.sweep import preflight
from flent_aqm.sweep.replay import again as again_module
from flent_aqm.sweep.replay import recorded
from flent_aqm.sweep.replay.again import again
from flent_aqm.sweep.run import SweepFacts
from tests.files import GOLDEN, RUNS, load, save

FILE = GOLDEN / "batches" / "quick" / "iperf3_upload-codel.flent.gz"
PROGRAM = {"client_program": "wget x", "server_program": "./serve"}


def written(folder: Path, change: Callable[[Any], object] = lambda aqm: None) -> Path:
    """The data file of a run of the lab, with a change of its object AQM."""
    data = copy.deepcopy(load(FILE))
    change(data["metadata"]["AQM"])
    path = folder / "run-of-mine.flent.gz"
    save(path, data)
    return path


def with_data(folder: Path, change: Callable[[Any], object]) -> Path:
    """The same with a change of the whole file."""
    data = copy.deepcopy(load(FILE))
    change(data)
    path = folder / "run-of-mine.flent.gz"
    save(path, data)
    return path


def test_cell_repeats_the_files_run(tmp_path: Path) -> None:
    """By its name, in another folder; the batch's and the user's names are kept."""
    path = written(tmp_path)
    run = recorded.read(path, tmp_path / "new")
    cell = run.cell
    metadata = load(FILE)["metadata"]
    assert run.data == load(path)
    assert (cell.name, cell.folder, cell.test_name) == (
        "run-of-mine", tmp_path / "new", "iperf3_upload")
    assert cell.settings == {
        "HOSTS": ["server"], "LENGTH": 10, "TEST_PARAMETERS": {"cross_traffic": "0"}}
    assert metadata["AQM"]["requested"].items() <= cell.scenario.as_dict().items()
    assert cell.commands == ROUTER_COMMAND
    assert cell.metadata == {name: metadata[name] for name in (
        "BATCH_NAME", "BATCH_TIME", "BATCH_UUID", "BATCH_TITLE", "TITLE", "NOTE")}
    assert cell.length_s == 0  # virtual time needs no limit


def test_run_of_a_test_of_flents_own_can_be_repeated(tmp_path: Path) -> None:
    path = written(tmp_path, lambda aqm: aqm["run"].update(test="rrul"))
    assert recorded.read(path, tmp_path).cell.test_name == "rrul"


TEST = "AQM.run.test in its metadata is {}, which is no installed test; flent --list-tests lists"
COMMANDS = "AQM.run.commands in its metadata is {}; only runs with the command 'router' alone can"
BY_HAND = ("{} is not accepted from a data file; expected {}; if you trust it, run the test by a "
           "batch of your own, or by flent with {}")
REMOVED = "was removed when the file was shared, so the run can't be repeated; ask its author"


@pytest.mark.parametrize(("change", "why"), [
    (lambda aqm: aqm.pop("schema"),
     "written by Flent or flent-aqm speedtest inside `flent-aqm lab`, which doesn't"),
    (lambda aqm: (aqm.pop("schema"), aqm.update(testbed="netns")),
     "its AQM.schema is missing, which flent-aqm writes in each file of a batch"),
    (lambda aqm: aqm.update(schema=2), "its AQM.schema is 2; expected 1"),
    (lambda aqm: aqm.update(testbed="netns"), "measured on 'netns'; only runs of the virtual lab"),
    (lambda aqm: aqm.pop("run"), "its metadata do not have both objects AQM.run and"),
    (lambda aqm: aqm.update(requested=[]), "its metadata do not have both objects AQM.run and"),
    (lambda aqm: aqm["run"].update(test=["ndt7"]), TEST.format("['ndt7']")),
    (lambda aqm: aqm["run"].update(test="../evil"), TEST.format("'../evil'")),
    (lambda aqm: aqm["run"].pop("test"), TEST.format(None)),
    (lambda aqm: aqm["run"].update(settings=[]), "AQM.run.settings in its metadata is not a JSON"),
    (lambda aqm: aqm["run"]["settings"].update(DATA_DIR="/etc"), (
        "unknown setting 'DATA_DIR' in AQM.run.settings of its metadata; for the file of a newer")),
    (lambda aqm: aqm["run"]["settings"].update(LENGHT=5), (
        "unknown setting 'LENGHT' in AQM.run.settings of its metadata; did you mean 'LENGTH'?; ")),
    (lambda aqm: aqm["run"]["settings"].update(LENGTH=1e9), (
        BY_HAND.format("LENGTH: 1000000000.0", "a number from 1 to 86400", "--length"))),
    (lambda aqm: aqm["run"]["settings"].update(IP_VERSION=5), (
        BY_HAND.format("IP_VERSION: 5", "4 or 6", "-4 or -6"))),
    (lambda aqm: aqm["run"]["settings"].update(TEST_PARAMETERS={"streams": "x"}), (
        BY_HAND.format("test parameter 'streams': 'x'", "a whole number from 1 to 9999",
                       "--test-parameter"))),
    (lambda aqm: aqm["run"].update(commands="others"), COMMANDS.format("'others'")),
    (lambda aqm: aqm["run"].pop("commands"), COMMANDS.format(None)),
    (lambda aqm: aqm["requested"].update(weather="rain"), (
        "AQM.requested: unknown key 'weather'; see docs/reference/keys.md; for the file of a newer "
        "flent-aqm, use its version")),
    (lambda aqm: aqm["requested"].update(seed=None), "the file records no seed"),
    (lambda aqm: aqm["requested"].update(testbed="netns", seed=None),
     ("AQM.requested.testbed in its metadata is 'netns', but AQM.testbed is 'virtual'. flent-aqm "
      "writes the same in both, so the file was changed; replay the original file")),
    (lambda aqm: aqm.pop("testbed"), "it has no AQM.testbed, which says where it was measured"),
    (lambda aqm: aqm["run"].update(test="removed"), f"AQM.run.test {REMOVED}"),
    (lambda aqm: aqm["run"]["settings"].update(HOSTS="removed"), (
        f"AQM.run.settings.HOSTS {REMOVED}")),
    (lambda aqm: aqm["run"]["settings"]["TEST_PARAMETERS"].update(cross_traffic="removed"),
     f"AQM.run.settings.TEST_PARAMETERS.cross_traffic {REMOVED}"),
    (lambda aqm: aqm["requested"].update(topology="removed"), (
        f"AQM.requested.topology {REMOVED}")),
])
def test_run_that_cannot_be_repeated_is_refused(
        tmp_path: Path, change: Callable[[Any], object], why: str) -> None:
    """With the file's path and the reason."""
    path = written(tmp_path, change)
    with pytest.raises(BadResult) as raised:
        recorded.read(path, tmp_path)
    assert str(raised.value).startswith(f"{path}: {why}")


@pytest.mark.parametrize(("change", "why"), [
    (lambda data: data["metadata"].pop("AQM"), "no object AQM: another program made it, or "),
    (lambda data: data["metadata"].update(AQM=[]), "no object AQM: another program made it, or "),
    (lambda data: data.update(version=3), "its format version is 3, and flent-aqm writes 4, so it"),
    (lambda data: data.update(version=5), "its format version is 5; known: 1 to 4"),
    (lambda data: data.pop("x_values"), "its x_values or results are missing"),
    (lambda data: data.update(x_values={}), "its x_values or results are missing"),
    (lambda data: data.pop("results"), "its x_values or results are missing"),
    (lambda data: data.update(results=[]), "its x_values or results are missing"),
    (lambda data: data["results"].update(one={}), "its x_values or results are missing"),
])
def test_file_of_another_form_is_refused(
        tmp_path: Path, change: Callable[[Any], object], why: str) -> None:
    """Each part of it would be needed to compare."""
    with pytest.raises(BadResult, match=why):
        recorded.read(with_data(tmp_path, change), tmp_path)


def test_file_of_flent_in_the_lab_command_says_how_to_run_it_again(tmp_path: Path) -> None:
    with pytest.raises(BadResult, match=r"call flent-aqm lab as before, with --seed 1$"):
        recorded.read(RUNS / "ndt7.flent.gz", tmp_path)


def test_programs_of_the_file_run_only_if_the_user_says_so(tmp_path: Path) -> None:
    """All are named whole; without any there is nothing to allow."""
    path = written(tmp_path, lambda aqm: (
        aqm["requested"].update(PROGRAM), aqm["run"].update(test="program")))
    with pytest.raises(BadResult) as raised:
        recorded.read(path, tmp_path)
    assert str(raised.value) == (
        f"{path}: the file names programs, which would run with your rights: server_program "
        "'./serve', client_program 'wget x'; if they are yours, and you trust the file, "
        "flent-aqm replay and why repeat the run with --run-programs; other commands don't")
    run = recorded.read(path, tmp_path, run_programs=True)
    assert run.cell.scenario.programs.client_program == "wget x"
    assert recorded.why_programs_differ(run.cell) == (
        "the programs may have changed since, as a file records their commands and not their "
        "content: server_program './serve', client_program 'wget x'")
    without = recorded.read(written(tmp_path), tmp_path, run_programs=True)
    assert not recorded.why_programs_differ(without.cell)
    long = f"sh -c '{'a' * 500}; evil; {'b' * 500}'"
    path = written(tmp_path, lambda aqm: aqm["requested"].update(router_program=long))
    with pytest.raises(BadResult) as raised:
        recorded.read(path, tmp_path)
    assert long in str(raised.value)


class Bed:
    """A testbed that notes what it is told."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def check(self, cells: list[Cell]) -> list[str]:
        self.steps.append("check")
        return []

    def prepare(self) -> None:
        self.steps.append("prepare")

    def facts(self, kernel: str) -> Facts:
        return Facts({"kernel": kernel}, {})

    def clean_up(self) -> None:
        self.steps.append("clean up")


@pytest.mark.parametrize("is_given", [True, False])
def test_repeated_run_gives_the_content_of_its_new_file(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_given: bool) -> None:
    """In the testbed that is given, else in the cell's own; it is cleaned up after a failure, too.
    """
    beds = {"given": Bed(), "virtual": Bed()}
    cell = recorded.read(written(tmp_path), tmp_path / "new").cell
    cell.folder.mkdir()

    def run(one: Cell, bed: Bed, facts: SweepFacts) -> None:
        bed.steps.append(f"run {one.name} with {dict(facts.testbed.kernel)}")
        save(one.data_file, {**load(FILE), "x_values": [1.0]})

    monkeypatch.setattr(again_module, "open_testbed", beds.__getitem__)
    monkeypatch.setattr(preflight, "check", lambda cells: None)
    monkeypatch.setattr(again_module, "run_cell", run)
    given: Any = beds["given"] if is_given else None
    assert again(cell, given)["x_values"] == [1.0]
    used, other = beds["given" if is_given else "virtual"], beds["virtual" if is_given else "given"]
    assert (used.steps, other.steps) == (
        ["check", "prepare", "run run-of-mine with {'kernel': 'stock'}", "clean up"], [])

    def fail(*args: object) -> None:
        raise BadResult("it broke")

    monkeypatch.setattr(again_module, "run_cell", fail)
    with pytest.raises(BadResult, match="it broke"):
        again(cell, given)
    assert used.steps[-1] == "clean up"

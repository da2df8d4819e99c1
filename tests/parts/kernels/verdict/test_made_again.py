# SPDX-License-Identifier: GPL-3.0-or-later
"""Which runs a verdict makes itself: further seeds, and cells with an instrumented kernel. All but
the lab is as it is; each run that it would make leaves a data file."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from flent_aqm.parts.kernels.verdict import more_seeds
from flent_aqm.parts.kernels.verdict.command import scored
from flent_aqm.parts.kernels.verdict.exercised import NOTE, _blocks_that_ran, _read_note
from flent_aqm.parts.kernels.verdict.more_seeds import FOLDER, add_seeds
from flent_aqm.parts.kernels.verdict.pairs import PairedSides, pair
from flent_aqm.results.many_files import find_files
from flent_aqm.setup.kernel.locate import Kernel
from flent_aqm.setup.kernel.named import NamedKernel
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.sweep import Sweep
from tests.files import GOLDEN, load, save

FILE = GOLDEN / "batches" / "quick" / "iperf3_upload-codel.flent.gz"
AQM = load(FILE)["metadata"]["AQM"]


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """Runs that were made: each has its settings, and a block of code that ran once for each ms of
    delay."""
    cells: list[Cell] = []

    def submit(sweep: Sweep, cell: Cell) -> None:
        cells.append(cell)
        cell.folder.mkdir(parents=True, exist_ok=True)
        whole = load(FILE)
        whole["metadata"]["AQM"] |= {"requested": cell.scenario.as_dict(), "coverage": [
            [16, int(cell.scenario.path.base_delay_ms)]]}
        save(cell.data_file, whole)

    monkeypatch.setattr(Sweep, "start", lambda sweep: None)
    monkeypatch.setattr(Sweep, "submit", submit)
    monkeypatch.setattr(more_seeds, "kernel_called", lambda name: Kernel(
        Path("linux"), "6.12", AQM["kernel"]["hash"], name=name))
    return cells


def write(path: Path, seed: int, target: str, delay_ms: float = 0.0) -> None:
    whole = load(FILE)
    whole["metadata"]["AQM"]["requested"] |= {
        "seed": seed, "aqm_parameters": {"target": target}, "base_delay_ms": delay_ms}
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, whole)


def compared(folders: Iterable[Path]) -> PairedSides:
    return pair(*(scored(find_files([folder])) for folder in folders))


@pytest.mark.parametrize("lacking", ["base", "test"])
def test_further_seeds_are_above_those_of_runs_without_a_partner(lacking: str, tmp_path: Path
                                                                 ) -> None:
    """The file of a run whose partner failed stays, and two runs of one seed are refused."""
    folders = [tmp_path / "base", tmp_path / "test"]
    for folder, target in zip(folders, ("5ms", "6ms"), strict=True):
        for seed in range(1, 4 if folder.name == lacking else 5):
            write(folder / f"run-{seed}.flent.gz", seed, target)
    assert add_seeds(compared(folders).cells, folders, 5, time.monotonic() + 3600)
    for folder in folders:
        assert sorted(path.name for path in (folder / FOLDER).iterdir()) == [
            "run-1-seed5.flent.gz", "run-1-seed6.flent.gz"]
    assert compared(folders).pairs == 5


@pytest.fixture
def sides(tmp_path: Path) -> list[Path]:
    """Folders of both sides, whose cells are in subfolders, with equal names of data files."""
    folders = [tmp_path / "base", tmp_path / "test"]
    for folder, target in zip(folders, ("5ms", "6ms"), strict=True):
        for seed in range(1, 4):
            write(folder / "far" / f"run-{seed}.flent.gz", seed, target, 100)
            write(folder / "near" / f"run-{seed}.flent.gz", seed, target, 10)
    return folders


def test_cells_whose_files_have_equal_names_get_further_seeds_each(sides: list[Path]) -> None:
    """Also by a verdict that begins with the files of one before."""
    for seeds in (4, 5):
        assert add_seeds(compared(sides).cells, sides, seeds, time.monotonic() + 3600)
        assert [len(cell.pairs) for cell in compared(sides).cells] == [seeds] * 2
    assert {path.parent.name for path in find_files(sides)} == {"far", "near", FOLDER}


@pytest.mark.parametrize("damaged", [
    {"run-1.flent.gz": 5}, {"run-1.flent.gz": [[16]]}, {"run-1.flent.gz": [["a", 1]]},
    [], 7])
def test_damaged_note_of_the_runs_counts_as_none(damaged: object, tmp_path: Path) -> None:
    """It was told as a note beside a kernel, which building the kernel again doesn't mend."""
    (tmp_path / NOTE).write_text(json.dumps({"0123": damaged}))
    assert _read_note(tmp_path / NOTE) == {}
    (tmp_path / NOTE).write_text(json.dumps({"0123": {"run-1.flent.gz": [[16, 100]]}}))
    assert _read_note(tmp_path / NOTE) == {"0123": {"run-1.flent.gz": [(16, 100)]}}


@pytest.mark.parametrize("noted", [True, False])
def test_each_cell_has_the_lines_of_its_own_run(noted: bool, sides: list[Path], made: list[Cell]
                                                ) -> None:
    """Also where data files have equal names. Noted runs are not made again."""
    cells = compared(sides).cells
    kernel = NamedKernel("recording", "0123", "", "6.12", "", "")
    for times in (1, 2):
        assert _blocks_that_ran(cells, sides[1] if noted else None, kernel) == (
            {"base_delay_ms 100": {16: 100}, "base_delay_ms 10": {16: 10}}, [])
        assert len(made) == 2 * (1 if noted else times)

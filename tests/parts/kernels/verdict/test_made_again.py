# SPDX-License-Identifier: GPL-3.0-or-later
"""Which runs a verdict makes itself: further seeds, and cells with an instrumented kernel. All but
the lab is as it is; each run that it would make leaves a data file."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from flent_aqm.parts.kernels.verdict import more_seeds
from flent_aqm.parts.kernels.verdict.command import scored
from flent_aqm.parts.kernels.verdict.more_seeds import FOLDER, add_seeds
from flent_aqm.parts.kernels.verdict.pairs import Comparison, pair
from flent_aqm.results.many_files import find_files
from flent_aqm.setup.kernel.locate import Kernel
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep.sweep import Sweep
from tests.files import GOLDEN, load, save

FILE = GOLDEN / "batches" / "quick" / "iperf3_upload-codel.flent.gz"
AQM = load(FILE)["metadata"]["AQM"]


@pytest.fixture(autouse=True)
def lab(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write each planned run's data file, with its settings, without running it."""
    def submit(sweep: Sweep, cell: Cell) -> None:
        cell.folder.mkdir(parents=True, exist_ok=True)
        whole = load(FILE)
        whole["metadata"]["AQM"]["requested"] = cell.scenario.as_dict()
        save(cell.data_file, whole)

    monkeypatch.setattr(Sweep, "start", lambda sweep: None)
    monkeypatch.setattr(Sweep, "submit", submit)
    monkeypatch.setattr(more_seeds, "kernel_called", lambda name: Kernel(
        Path("linux"), "6.12", AQM["kernel"]["hash"], name=name))


def write(path: Path, seed: int, target: str, delay_ms: float = 0.0) -> None:
    whole = load(FILE)
    whole["metadata"]["AQM"]["requested"] |= {
        "seed": seed, "aqm_parameters": {"target": target}, "base_delay_ms": delay_ms}
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, whole)


def compared(folders: Iterable[Path]) -> Comparison:
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

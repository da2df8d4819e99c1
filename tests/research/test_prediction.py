# SPDX-License-Identifier: GPL-3.0-or-later
"""A router measured, fitted and predicted: what is made of the runs. The measurement itself takes
qemu and an idle machine: `python -m research.validation.prediction`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.router_models.calibrate import parse_measurements
from flent_aqm.results.metrics.run import load_run
from research.validation.prediction import __main__ as program
from research.validation.prediction import cells
from research.validation.prediction.__main__ import model_of
from research.validation.prediction.measure import packets_per_s
from research.validation.stamp import made_of
from tests.files import GOLDEN, ROOT, RUNS, load, save

RUN = RUNS / "iperf3_upload.flent.gz"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two repetitions of one cell."""
    for number in (1, 2):
        shutil.copy(RUN, tmp_path / f"{number}.flent.gz")
    return tmp_path


def test_cell_is_a_measurement_that_calibrate_takes(folder: Path) -> None:
    """Goodput of the shaper's rate and the rise of the median, both of the repetitions."""
    cell, = cells.load(folder).values()
    point, = parse_measurements([cell.point()]).points
    assert point.measured.goodput_mbps == pytest.approx(cell.values("goodput")[0], abs=0.01)
    assert point.measured.rise_ms == pytest.approx(
        cell.values("median")[0] - cell.idle_ms, abs=0.001)


def test_prediction_of_what_was_measured_has_no_error(folder: Path) -> None:
    """Each quantity has a line with its spread; a lab that does the same is 0 % off."""
    measured = cells.load(folder)
    name, = measured
    lines = [line for line in cells.table(measured, measured, measured, calibration=False)
             if line.endswith("| +0 % |")]
    assert [line.split(" | ")[1] for line in lines] == list(cells.QUANTITIES.values())
    assert lines[0].startswith(f"| {name} |")
    assert list(cells.table(measured, measured, measured, calibration=True))[2:] == []
    row, = list(cells.by_cell(cells.table(measured, measured, measured, calibration=False)))[2:]
    assert row.startswith(f"| {name} | ")
    assert row.count(" | ") == len(cells.QUANTITIES)
    assert list(cells.unexplained(measured, measured)) == []


def test_what_the_model_says_otherwise_is_named(tmp_path: Path, folder: Path) -> None:
    """A lab whose queue is another one: each quantity that is off, with both values."""
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(RUN.with_name("iperf3_bidirectional.flent.gz"), other)
    (name, measured), = cells.load(folder).items()
    lab, = cells.load(other).values()
    left = list(cells.unexplained({name: measured}, {name: lab}))
    assert left, "the two runs are alike; take others"
    assert all(f" of {name}: " in one and ", by the model " in one for one in left)


@pytest.mark.parametrize("output", [
    "timers\nrouter_model = ideal+bql=0+rx_packet_ns=5\nrx_packet_ns: 5; from 1 to 9\n",
    "is wrong. The closest is ideal+bql=0+rx_packet_ns=5.\n"])
def test_model_is_the_one_that_calibrate_names(output: str) -> None:
    """The best one, or the closest where none explains the measurements."""
    assert model_of(output) == "ideal+bql=0+rx_packet_ns=5"


def test_page_says_that_numbers_of_the_fitted_cells_count(folder: Path) -> None:
    """Which its table leaves out."""
    fitted = load(RUN)
    fitted["metadata"]["AQM"]["requested"] |= {
        "batch": f"{cells.CALIBRATION}some", "aqm": "codel"}
    (folder / "measured").mkdir()
    for path in folder.glob("*.flent.gz"):
        path.rename(folder / "measured" / path.name)
    save(folder / "measured" / "fitted.flent.gz", fitted)
    (folder / "measured" / "machine.json").write_text(json.dumps(dict.fromkeys(
        ("date", "qemu", "cpu", "kernel", "load"), "x")))
    (folder / "measured" / "packets").write_text("1000\n")
    measured = cells.load(folder / "measured")
    assert len(measured) == 2
    lines = list(program.lines(folder, measured, {"ideal": measured, "model": measured}, [], "x"))
    rows = [line for line in lines if line.startswith("| `")]
    assert len(rows) == 1
    assert lines[-1].startswith("Of the 6 numbers, with those of the fitted cells, 6 are among ")


def test_fitted_cells_that_cannot_be_written_are_one_line(
        folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Here a folder is in the file's place. The lab's runs take minutes, so a text stands for what
    they give."""
    made = made_of([load_run(GOLDEN / "batches" / "ping_exp" / "sfq-both.flent.gz")])
    monkeypatch.setattr(program, "predict", lambda _: ("a text", ["| a cell |"], made))
    beside = folder / "results" / "prediction.csv"
    beside.mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "results" / "prediction.md", beside.parent)
    monkeypatch.setattr(sys, "argv", ["prediction", "--only", "predict", "--output", str(folder)])
    assert program.main() == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"{beside}" in err


def test_folder_without_a_measurement_is_refused_in_a_line(tmp_path: Path) -> None:
    """Neither runs nor packets a second, nor an answer that names no model."""
    with pytest.raises(ConfigError, match=r"no data files \(\*\.flent\.gz\) there; measure again"):
        cells.load(tmp_path)
    with pytest.raises(ConfigError, match=r"packets: can't read .* \(No such file or directory\)"):
        packets_per_s(tmp_path)
    (tmp_path / "packets").write_text("")
    with pytest.raises(ConfigError, match="it is empty"):
        packets_per_s(tmp_path)
    (tmp_path / "packets").write_text("many\n")
    with pytest.raises(ConfigError, match=r"packets: can't read .* \(could not convert string"):
        packets_per_s(tmp_path)
    with pytest.raises(ConfigError, match="names no model"):
        model_of("nothing\n")

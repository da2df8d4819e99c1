# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo's picture, by the command, from data files of real runs."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from flent_aqm.cli import main

RUNS = Path(__file__).resolve().parents[3] / "tests" / "golden" / "runs"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two real runs, of two tests and two queues."""
    for test in ("iperf3_upload", "ndt7_upload"):
        shutil.copy(RUNS / f"{test}.flent.gz", tmp_path)
    return tmp_path


def test_picture_of_real_runs_names_queues_tests_and_rate(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The picture has all that tells its lines apart, and the command says where it is."""
    assert main(["demo-picture", str(folder), "-o", str(folder / "demo.svg")]) == 0
    assert str(folder / "demo.svg") in capsys.readouterr().out
    drawn = (folder / "demo.svg").read_text()
    # An SVG's texts are shapes, each after a comment with its characters.
    for text in ("no_aqm", "codel", "iperf3_upload", "ndt7_upload", "50 Mbit/s", "2 runs",
                 "p99: of all samples of a line",
                 "Bars: mean over the runs of a queue, and over a run's directions"):
        assert text in drawn


def test_newest_batch_when_no_folder_is_named_is_drawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two batches with data the later one gets the picture; an empty one is passed over."""
    for time in ("2026-01-01T000000", "2026-01-02T000000"):
        (folder / "results" / f"quick-{time}").mkdir(parents=True)
        shutil.copy(RUNS / "iperf3_upload.flent.gz", folder / "results" / f"quick-{time}")
    (folder / "results" / "quick-2026-01-03T000000").mkdir()
    monkeypatch.chdir(folder)
    assert main(["demo-picture"]) == 0
    assert [path.parent.name for path in folder.rglob("demo.png")] == ["quick-2026-01-02T000000"]


def test_folder_without_data_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing to draw is said, with the folder's name."""
    assert main(["demo-picture", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"flent-aqm: {tmp_path}: no data files (*.flent.gz) there\n")


@pytest.mark.parametrize("content", [
    b"", b"not gzip", (RUNS / "iperf3_upload.flent.gz").read_bytes()[:5000],
    gzip.compress(b"[]"), gzip.compress(json.dumps({"metadata": {}}).encode()),
], ids=["empty", "text", "cut", "list", "keys missing"])
def test_damaged_file_is_one_line_with_its_name_and_the_others_are_drawn(
    content: bytes, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One bad file among good ones is left out, and named."""
    (folder / "bad.flent.gz").write_bytes(content)
    assert main(["demo-picture", str(folder), "-o", str(folder / "drawn.png")]) == 0
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"left out: {folder / 'bad.flent.gz'}" in error
    assert (folder / "drawn.png").stat().st_size > 1000

# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of what each speed test says: golden runs, and what counts as telling of latency."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from flent_aqm.cli import main
from flent_aqm.results.data_file import read_data_file
from flent_aqm.show.figures.speedtests import (
    ADDS,
    HIDES,
    NOTHING,
    TELLS,
    SpeedtestRow,
    _draw_latencies,
)
from tests.files import RUNS, load, save

GOLDEN = RUNS
CALL = GOLDEN.parent / "speedtests" / "webrtc_call.flent.gz"


def test_page_has_a_row_for_each_test_with_its_numbers_and_verdict(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of golden runs: NDT7's latency is that of the idle line, iperf3 shows none."""
    assert main(["figures", str(GOLDEN / "ndt7.flent.gz"),
                 str(GOLDEN / "iperf3_bidirectional.flent.gz"),
                 "--set", "speedtests", "-o", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    # Two tests by two queues: tests without a run have no line.
    assert "2 runs; 2 cells without a value: " in printed
    tables = sorted(tmp_path.glob("*.csv"))
    rows = [row for path in tables for row in csv.DictReader(
        path.read_text(encoding="utf-8").splitlines())]
    assert {row["test"] for row in rows} == {"ndt7", "iperf3_bidirectional"}
    for path in tables:
        for kind in ("svg", "png", "pdf"):
            assert path.with_suffix(f".{kind}").stat().st_size > 10_000
        assert path.stem in printed
    for row in rows:
        assert 10 < float(row["share_download_pct"]) < 103
        assert float(row["truth_p5_ms"]) <= float(row["truth_mean_ms"])
    ndt7, = (row for row in rows if row["test"] == "ndt7")
    assert ndt7["verdict"].startswith("latency ")
    assert float(ndt7["shown_ms"]) <= float(ndt7["truth_p95_ms"])
    iperf3, = (row for row in rows if row["test"] != "ndt7")
    assert (iperf3["judged"], iperf3["shown_ms"]) == (NOTHING, "")


def test_a_call_has_a_latency_and_late_frames_but_no_share_of_the_line(tmp_path: Path) -> None:
    """It takes what it needs, so that its rate says nothing of the line."""
    assert main(["figures", str(CALL), "--set", "speedtests", "-o", str(tmp_path)]) == 0
    table, = tmp_path.glob("*.csv")
    row, = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    assert row["test"] == "webrtc_call"
    assert (row["share_download_pct"], row["share_upload_pct"]) == ("", "")
    numbers = {name: value for part in read_data_file(CALL).metadata["SERIES_META"].values()
               for name, value in part.get("SPEEDTEST", {}).get("numbers", {}).items()}
    assert float(row["shown_ms"]) == pytest.approx(
        max(numbers["rtt_download_ms"], numbers["rtt_upload_ms"]), rel=1e-3)
    assert row["verdict"] == "; ".join(
        f"late {numbers[f'late_frames_{way}_percent']:.0f} % {word}"  # as older files name it
        for way, word in (("download", "down"), ("upload", "up")))
    # A page of one row is no taller than that takes: one of all tests has 8.6 inches.
    width, height = imread(table.with_suffix(".png")).shape[1::-1]
    assert height < width / 5


def test_pages_of_lines_that_differ_in_one_direction_have_files_of_their_own(
        tmp_path: Path) -> None:
    """Of 100/10 and 100/20 Mbit/s one would replace the other."""
    for up in (10.0, 20.0):
        data = load(GOLDEN / "ndt7.flent.gz")
        data["metadata"]["AQM"]["requested"] |= {"rate_down_mbps": 100.0, "rate_up_mbps": up}
        save(tmp_path / f"{up:g}.flent.gz", data)
    assert main(["figures", str(tmp_path), "--set", "speedtests", "-o", str(tmp_path)]) == 0
    assert sorted(path.name.split("mbit")[0] for path in tmp_path.glob("*.csv")) == [
        "speedtests-100-10", "speedtests-100-20"]


@pytest.mark.parametrize(("shown_ms", "judged"), [
    (None, NOTHING), (20.0, HIDES), (49.9, HIDES), (50.1, TELLS), (100.0, TELLS), (199.0, TELLS),
    (201.0, ADDS)])
def test_a_test_is_judged_by_the_mean_of_the_probe(shown_ms: float | None, judged: str) -> None:
    """Half of 100 ms and twice that are the limits."""
    row = SpeedtestRow(Path("x"), {}, "ndt7", {}, shown_ms,
              {"mean": 100.0, "p5": 20.0, "median": 20.0, "p95": 300.0}, None, "")
    assert row.judged == judged


def test_runs_without_a_queue_are_named_and_words_of_files_name_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are drawn; rates of half a megabit and kinds of cross traffic have a page each."""
    for name, requested in (
            ("good", {}), ("call", {"cross_traffic": "call"}), ("half", {"rate_down_mbps": 0.5}),
            ("path", {"cross_traffic": "../../x"}), ("odd", {"aqm": None}),
            ("rate", {"rate_up_mbps": "fast"})):
        whole = load(GOLDEN / "ndt7.flent.gz")
        whole["metadata"]["AQM"]["requested"] |= requested
        save(tmp_path / f"{name}.flent.gz", whole)
    made = tmp_path / "made"
    assert main(["figures", str(tmp_path), "--set", "speedtests", "-o", str(made)]) == 0
    output = capsys.readouterr().err
    assert "odd.flent.gz: the file does not record its queue" in output
    assert "rate.flent.gz: its rate_up_mbps is 'fast', not a number" in output
    stems = [path.name.removesuffix(".csv") for path in sorted(made.glob("*.csv"))]
    assert len(stems) == 4
    assert {"-cross" in stem for stem in stems} == {True, False}
    assert any(stem.endswith("-cross-call") for stem in stems)
    assert any("-cross-______x" in stem for stem in stems)
    assert {path.parent for path in tmp_path.rglob("*.svg")} == {made}


@pytest.mark.parametrize(("words", "message"), [
    ([str(GOLDEN / "ping_exp.flent.gz")],
     "shows; make some: flent -B batches/speedtests.batch"),
    ([__file__], "no run of a speed test in 1 file that this figure shows (1 can't be"),
    ([str(GOLDEN / "ndt7.flent.gz"), "--where", "rate=17"],
     "--where excludes all runs of speed tests (1) in 1 file; give a setting and value"),
    ([str(GOLDEN / "ndt7.flent.gz"), "--where", "test=ndt7", "--where", "rate=17"],
     "in 1 file; give settings and values that some of them have together"),
    ([str(GOLDEN / "ndt7.flent.gz"), "--where", "aqmm=codel"], "no run has the setting 'aqmm'; kn"),
])
def test_files_of_no_speed_test_are_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line that says how to get some, or that the user excludes them."""
    assert main(["figures", *words, "--set", "speedtests", "-o", str(tmp_path / "none")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_no_share_where_no_link_has_the_rate(tmp_path: Path) -> None:
    """With shaper=none the rate of the settings shapes nothing."""
    data = load(GOLDEN / "ndt7.flent.gz")
    data["metadata"]["AQM"]["requested"]["shaper"] = "none"
    path = tmp_path / "ndt7.flent.gz"
    save(path, data)
    assert main(["figures", str(path), "--set", "speedtests", "-o", str(tmp_path)]) == 0
    table, = tmp_path.glob("*.csv")
    row, = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    assert (row["share_download_pct"], row["share_upload_pct"], row["queue_p95_ms"]) == ("", "", "")


@pytest.mark.parametrize(("p95_ms", "arrows"), [(80.0, []), (math.inf, [50.0])])
def test_bar_whose_end_is_a_lost_probe_has_an_arrow(p95_ms: float, arrows: list[float]) -> None:
    """It ends at the largest number that there is, which isn't the 95th percentile."""
    row = SpeedtestRow(Path("x"), {}, "ndt7", {}, None,
                       {"p5": 20.0, "mean": 50.0, "p95": p95_ms}, None, "")
    axis = Figure().subplots()
    _draw_latencies(axis, {("ndt7", "codel"): row}, ["ndt7"], ["codel"])
    drawn = [(line.get_marker(), numpy.asarray(line.get_xdata()).tolist()) for line in axis.lines]
    assert [ends for marker, ends in drawn if marker == ">"] == [[end] for end in arrows]
    assert drawn[0][1] == [20.0, arrows[0] if arrows else p95_ms]

# SPDX-License-Identifier: GPL-3.0-or-later
"""The study's figures by the command, from a partial sweep of real runs."""

from __future__ import annotations

import argparse
import csv
import io
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from matplotlib.figure import Figure

from flent_aqm.base.errors import LostProbe
from flent_aqm.cli import main
from flent_aqm.commands import figures
from flent_aqm.commands.table import fill
from flent_aqm.results.metrics.table import METRICS, Unavailable, middle, ranked
from flent_aqm.show.figures.boxes import _spacing_text
from flent_aqm.show.figures.gather import FigureRow
from flent_aqm.show.figures.instant import _draw_panel
from flent_aqm.show.figures.numbers import deviation, quantiles
from flent_aqm.show.figures.verdicts import _median_or_reason
from flent_aqm.show.looks import looks_for
from flent_aqm.show.plots.paper import parse_inches
from flent_aqm.show.row import Curve

from .conftest import variants

Variant = Callable[..., Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NDT7 at two rates with three of four queues, baseline only; and an upload by iperf3."""
    folder = tmp_path_factory.mktemp("made")
    variant = variants(folder)
    for aqm in ("no_aqm", "codel", "fq_codel"):
        for rate in (100, 900):
            variant(f"ndt7-{aqm}-{rate}", test="ndt7", aqm=aqm, rate_mbps=rate,
                    burst_shaping=False, cross_traffic=False)
    variant("iperf3", test="iperf3_upload", aqm="no_aqm", rate_mbps=100, burst_shaping=False,
            cross_traffic=False)
    return folder


@pytest.fixture
def sweep(made: Path, variant: Variant, tmp_path: Path) -> Path:
    """These runs in a folder of the test's own, where it may make more."""
    return Path(shutil.copytree(made, tmp_path / "runs", dirs_exist_ok=True))


@dataclass(frozen=True)
class Drawn:
    """The figures of a sweep with one broken file, and what the command said."""

    sweep: Path
    out: Path
    told: str
    errors: str


@pytest.fixture(scope="module")
def drawn(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """All ten figures, drawn once for all that look at them."""
    folder = tmp_path_factory.mktemp("drawn")
    sweep, out = folder / "runs", folder / "out"
    shutil.copytree(made, sweep)
    (sweep / "broken.flent.gz").write_bytes(b"\x1f\x8bnothing")
    told, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(told), redirect_stderr(errors):
        assert main(["figures", str(sweep), "-o", str(out), "--jobs", "1"]) == 0
    return Drawn(sweep, out, told.getvalue(), errors.getvalue())


def numbers(folder: Path, figure: str) -> list[dict[str, str]]:
    with (folder / f"{figure}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_partial_sweep_gives_all_ten_with_missing_cells_counted(drawn: Drawn) -> None:
    """Each as SVG, PNG, PDF and CSV, even those that no run belongs to."""
    out, told = drawn.out, drawn.told
    assert sorted(path.suffix for path in out.iterdir()) == sorted(
        [".svg", ".png", ".pdf", ".csv"] * 10)
    assert all(path.stat().st_size > 0 for path in out.iterdir())
    assert drawn.errors.startswith(f"left out: {drawn.sweep / 'broken.flent.gz'}: ")
    # Only figure 10 shows the run of iperf3.
    assert f"10 figures of 7 runs in {out}; without a run: 3, 4, 5, 6, 8, 9; 1 left out" in told
    assert "probes, every 10 ms" in " ".join((out / "figure02-latency.svg").read_text().split())
    assert "; 1 left out" in told
    # sfq is missing at two rates and two directions, with cross traffic everything is.
    assert "figure  1: 6 runs; 4 cells without a value" in told
    assert "figure  5: 0 runs; 16 cells without a value" in told
    throughput = numbers(out, "figure01-throughput")
    assert {(row["rate_mbps"], row["aqm"], row["direction"]) for row in throughput} == {
        (rate, aqm, way) for rate in ("100", "900") for way in ("download", "upload")
        for aqm in ("no_aqm", "codel", "fq_codel")}
    assert {row["runs"] for row in throughput} == {"1"}
    picture = (out / "figure01-throughput.svg").read_text()
    for text in ("Figure 1: Throughput, without burst shaping, without cross traffic",
                 "link rate (Mbit/s)", "upload (Mbit/s)", "sfq"):
        assert text in picture


def test_only_runs_that_are_drawn_are_counted(
    sweep: Path, tmp_path: Path, variant: Variant, capsys: pytest.CaptureFixture[str]
) -> None:
    """None whose two rates differ, that records no queue, or, over time, that has no capture."""
    baseline: dict[str, Any] = {"burst_shaping": False, "cross_traffic": False}

    def queueless(data: dict[str, Any]) -> None:
        del data["metadata"]["AQM"]["requested"]["aqm"]

    variant("uneven", test="ndt7", aqm="codel", rate_down_mbps=100, rate_up_mbps=20,
            **baseline | {"burst_shaping": True})
    variant("queueless", test="ndt7", rate_mbps=100, change=queueless, **baseline)
    variant("uncaptured", test="ndt7", aqm="codel", rate_mbps=100,
            change=lambda data: data["raw_values"].pop("Capture"), **baseline)
    out = tmp_path / "out"
    figures = [word for number in (1, 3, 7, 10) for word in ("--figure", str(number))]
    assert main(["figures", str(sweep), "-o", str(out), "--caption-apart", *figures]) == 0
    told = capsys.readouterr().out
    for text in ("figure  1: 7 runs; ", "figure  3: 0 runs; 16 cells", "figure  7: 6 runs; ",
                 "figure 10: 5 runs; ", f"4 figures of 8 runs in {out}; without a run: 3\n"):
        assert text in told
    captions = [path.read_text() for path in sorted(out.glob("*.txt"))]
    assert "7 runs, up to 2 a cell" in captions[0]
    assert "0 runs, up to 0 a cell" in captions[1]
    assert "6 runs" in captions[2]
    assert "their median" not in captions[2]


@pytest.mark.parametrize(("spacings_ms", "text"), [
    ([9.98, 10.02], ", every 10 ms"), ([200.0, 10.0], ", every 10 to 200 ms"),
    ([100.0], ", every 100 ms"), ([numpy.inf], "")])
def test_caption_tells_the_interval_of_these_runs_probes(
        spacings_ms: list[float], text: str) -> None:
    rows = [FigureRow(path=Path("a"), settings={}, mbps={}, own_latency_ms={}, curves={},
                      loaded_ms={"upload": numpy.ones(1, numpy.float32)}, spacing_ms=spacing_ms)
            for spacing_ms in spacings_ms]
    assert _spacing_text(rows) == text


def test_numbers_are_those_of_the_runs(drawn: Drawn) -> None:
    """The latency table has the probes' own percentiles, the verdicts the metrics' values."""
    import numpy

    from flent_aqm.results.metrics.run import load_run
    from flent_aqm.results.metrics.table import METRICS

    sweep, out = drawn.sweep, drawn.out
    run = load_run(sweep / "ndt7-codel-900.flent.gz")
    row, = [row for row in numbers(out, "figure02-latency")
            if (row["rate_mbps"], row["aqm"], row["direction"]) == ("900", "codel", "upload")]
    answered = run.loaded("upload").answered_ms
    assert float(row["median_ms"]) == pytest.approx(numpy.median(answered), rel=1e-4)
    assert float(row["p99_ms"]) == pytest.approx(numpy.percentile(answered, 99), rel=1e-4)
    assert int(row["values"]) == answered.size
    assert float(row["tool_latency_median_ms"]) == pytest.approx(
        run.flows_of("upload")[0].ndt7["latency_ms"], rel=1e-4)
    verdict, = [row for row in numbers(out, "figure10-verdicts")
                if (row["metric"], row["aqm"]) == ("dslreports_rise_ms", "fq_codel")]
    value = METRICS["dslreports_rise_ms"].of(load_run(sweep / "ndt7-fq_codel-100.flent.gz"))
    assert float(verdict["value"]) == pytest.approx(value, rel=1e-4)
    assert verdict["in_words"].split()[0] in ("A+", "A", "B", "C", "D", "F")
    instant = numbers(out, "figure07-instant")
    assert {row["rate_mbps"] for row in instant} == {"100", "900"}
    assert len({row["file"] for row in instant}) == 6


@pytest.mark.parametrize(("words", "message"), [
    (["--figure", "11"], "--figure: 11; expected a number from 1 to 10"),
    (["--test", "rrul"], "no run of test 'rrul'; the files have: iperf3_upload, ndt7"),
    (["--where", "aqm"], "--where: 'aqm'; expected KEY=VALUE"),
    (["--where", ""], "--where: ''; expected KEY=VALUE"),
    (["--where", "router_model=omnia"], "none of 7 files has a run to draw"),
    (["--where", "colour=red"], "--where: no run has the setting 'colour'; known: aqm"),
    (["--where", "rate=17"],
     "--where excludes 7; give a setting and value that some of them have"),
    (["--where", "rate=17", "--where", "aqm=codel"],
     "--where excludes 7; give settings and values that some of them have together"),
])
def test_what_makes_no_sense_is_one_line(
    words: list[str], message: str, sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written."""
    assert main(["figures", str(sweep), "-o", str(tmp_path / "out"), *words]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_runs_with_two_rates_are_not_said_to_be_of_another_origin(
        tmp_path: Path, variant: Variant, capsys: pytest.CaptureFixture[str]) -> None:
    """Each records its rates, but the figures have one axis."""
    file = variant("odd", test="ndt7", aqm="codel", rate_down_mbps=100.0, rate_up_mbps=20.0)
    assert main(["figures", str(file), "-o", str(tmp_path / "out")]) == 1
    assert ("none of the runs has a link with one constant rate in Mbit/s for both directions "
            "(100/20), and these figures compare rates") in capsys.readouterr().err


def test_where_takes_the_default_of_a_setting_that_files_dont_record(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
        ) -> None:
    """Under which pages and tables show it: no file records the stock kernel."""
    rows = [SimpleNamespace(path=Path(test), samples=test, settings={"test": test, **more},
                            has=lambda **_: False)
            for test, more in (("a", {}), ("b", {"kernel": "mine"}))]
    monkeypatch.setattr("flent_aqm.show.figures.gather.gather", lambda *_: (rows, []))
    (tmp_path / "x.flent.gz").touch()
    words = ["figures", str(tmp_path / "x.flent.gz"), "-o", str(tmp_path / "out"), "--test", "c"]
    for kernel, test in (("stock", "a"), ("mine", "b")):
        assert main([*words, "--where", f"kernel={kernel}"]) == 1
        assert f"what --where leaves is of: {test}; choose" in capsys.readouterr().err


@pytest.mark.parametrize("which", [(), ("--set", "speedtests")])
def test_folder_that_is_none_is_told_of(which: tuple[str, ...], sweep: Path, tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    """Linux' words would be "File exists", which -o allows."""
    (tmp_path / "out").write_text("")
    words = ["figures", str(sweep), "-o", str(tmp_path / "out"), *which]
    assert main(words) == 1
    assert ("out is there and is no folder, or a link to one that is gone; give another name"
            ) in capsys.readouterr().err
    words[3] += "/below"
    assert main(words) == 1
    assert "/out/below can't be made: Not a directory" in capsys.readouterr().err


def test_reader_that_goes_away_is_no_fault_of_the_folder(
        sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """flent-aqm figures RESULTS -o DIR | head -n 1"""
    monkeypatch.setattr("flent_aqm.commands.figures._draw", _nobody_reads)
    words = [str(sweep), "-o", str(tmp_path / "out"), "--figure", "1"]
    with pytest.raises(BrokenPipeError):
        figures.main(fill(argparse.ArgumentParser(), "figures").parse_args(words))


def test_runs_that_cannot_be_read_may_be_of_the_test(
        sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So the message doesn't hide that there are some."""
    (sweep / "broken.flent.gz").write_bytes(b"\x1f\x8bnothing")
    assert main(["figures", str(sweep), "-o", str(tmp_path / "out"), "--test", "rrul"]) == 1
    assert "iperf3_upload, ndt7 (1 can't be used); choose" in capsys.readouterr().err


def _nobody_reads(*_: object) -> int:
    """Fail as print() does."""
    raise BrokenPipeError(32, "Broken pipe")


def test_runs_of_two_router_models_are_refused_and_can_be_chosen_from(
    sweep: Path, tmp_path: Path, variant: Variant, capsys: pytest.CaptureFixture[str]
) -> None:
    """A picture of both would compare what can't be compared."""
    variant("omnia", test="ndt7", aqm="codel", rate_mbps=900, router_model="omnia")
    out = tmp_path / "out"
    assert main(["figures", str(sweep), "-o", str(out)]) == 1
    assert "--where router_model=NAME" in capsys.readouterr().err
    variant("old", test="ndt7", aqm="codel", rate_mbps=900, router_model=None)
    assert main(["figures", str(sweep), "-o", str(out)]) == 1
    assert "1 with router_model=None, testbed=virtual" in capsys.readouterr().err
    assert main(["figures", str(sweep), "-o", str(out), "--where", "router_model=None",
                 "--figure", "1"]) == 0
    assert "figure  1: 1 run; " in capsys.readouterr().out
    assert main(["figures", str(sweep), "-o", str(out), "--where", "router_model=omnia",
                 "--figure", "1"]) == 0
    assert "figure  1: 1 run; 6 cells without a value: " in capsys.readouterr().out

def test_figures_for_a_paper_fit_a_column_with_fonts_that_publishers_take(
    sweep: Path, tmp_path: Path
) -> None:
    """As wide as asked for, without title and caption, which is in a file of its own; TrueType."""
    out = tmp_path / "out"
    assert main(["figures", str(sweep), "-o", str(out), "--jobs", "1", "--width", "3.33in",
                 "--no-title", "--caption-apart", "--figure", "1", "--figure", "10"]) == 0
    for name in ("figure01-throughput", "figure10-verdicts"):
        drawn = (out / f"{name}.svg").read_text()
        assert 'width="239.76pt"' in drawn
        assert "Figure" not in drawn
        assert "router model" not in drawn
        caption = (out / f"{name}.txt").read_text()
        assert caption.startswith("Figure ")
        assert "router model ideal, testbed virtual" in caption
        fonts = (out / f"{name}.pdf").read_bytes()
        assert b"/Type3" not in fonts
        assert b"/CIDFontType2" in fonts or b"/TrueType" in fonts


@pytest.mark.parametrize(("width", "because"), [
    ("wide", "expected a number and a unit, such as 3.33in, 8.5cm, 85mm or 240pt"),
    ("3.33em", "expected a number and a unit"), ("1mm", "'1mm'; expected 50.8mm to 1016mm"),
    ("1", "expected 2in to 40in"), ("", "--width: ''; expected a number")])
def test_width_that_is_none_is_refused(
    width: str, because: str, sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, before anything is written."""
    assert main(["figures", str(sweep), "-o", str(tmp_path / "out"), "--width", width]) == 1
    assert because in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("width", "inches"), [
    ("5.08cm", 2), ("50.8mm", 2), ("144.54pt", 2), ("101.6cm", 40), ("2890.8pt", 40)])
def test_width_at_a_limit_is_accepted_in_every_unit(width: str, inches: float) -> None:
    assert parse_inches(width) == inches


def _itself(value: Any) -> float:
    if isinstance(value, Unavailable):
        raise LostProbe(value.because)
    return float(value)


def test_cell_of_the_verdicts_is_the_median_that_score_tells() -> None:
    """Of an even number of runs half way between the middle two: of a codel once 52.24 ms, where
    the lower one, 47.60, stood; a word goes with that number."""
    metric = replace(METRICS["dslreports_rise_ms"], function=_itself)
    cases: list[list[float | Unavailable]] = [
        [40.0, 47.6, 56.88, 60.0], [3.0, 1.0, 2.0], [1.0, Unavailable("lost", lost=True)]]
    for values in cases:
        value, because = _median_or_reason(metric, values)
        assert value == ranked(middle(values))
        assert because == ""
    assert _median_or_reason(metric, [40.0, 47.6, 56.88, 60.0])[0] == pytest.approx(52.24)
    assert metric.text_with_unit(29.0).startswith("A ")
    assert _median_or_reason(metric, []) == (None, "no run")


def test_deviation_is_one_definition_in_picture_and_table() -> None:
    """That of a sample, n - 1: of 1, 2, 3 it is 1."""
    assert deviation(numpy.array([1.0, 2.0, 3.0], numpy.float32)) == 1
    assert quantiles(numpy.array([1.0, 2.0, 3.0], numpy.float32))[-1] == 1
    figure = Figure()
    curve = Curve(numpy.arange(8, dtype=numpy.float32),
                  numpy.array([0, 0, 0, 0, 0, 1, 2, 3], numpy.float32))
    _draw_panel(figure.subplots(), [curve], looks_for(["codel"])["codel"])
    assert "mean 2, sd 1.0" in [text.get_text() for text in figure.axes[0].texts]


def test_cells_of_the_verdicts_tell_their_units(drawn: Drawn) -> None:
    """A grade alone doesn't say what its number is."""
    words = {row["metric"]: row["in_words"] for row in numbers(drawn.out, "figure10-verdicts")
             if row["in_words"]}
    assert words["dslreports_rise_ms"].endswith(" ms)")
    assert words["rpm_ietf_estimate"].endswith(" RPM)")

# SPDX-License-Identifier: GPL-3.0-or-later
"""Plots over many runs: groups, order, missing cells, options; and what they cost."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

from flent_aqm.show.looks import AQM_LOOKS
from flent_aqm.show.plots import compare_metric, places
from flent_aqm.show.plots.distributions import ComparedValue, draw_side_by_side
from tests.files import at_another_time, load, save

from ...warm_flent import run_flent
from .conftest import RUNS, labels, output
from .pictures import drawn_texts, misplaced, repetitions

Draw = Callable[..., Any]
Variant = Callable[..., Path]


@pytest.fixture
def matrix(variant: Variant) -> list[Path]:
    """Two queues at four rates, each once, but for one cell."""
    return [variant(f"{aqm}-{rate}", aqm=aqm, rate_mbps=rate) for aqm in ("fq_codel", "no_aqm")
            for rate in (1000, 50, 200, 100) if (aqm, rate) != ("fq_codel", 200)]


@pytest.mark.parametrize("kind", ["box", "violin"])
def test_rates_stand_by_size_and_a_missing_cell_is_marked(
    kind: str, draw: Draw, matrix: list[Path]
) -> None:
    """As words, 1000 would come before 200."""
    plotter = draw(f"compare_latency_{kind}", matrix)
    axis, = plotter.figure.axes
    assert [text.get_text() for text in axis.get_xticklabels()] == ["50", "100", "200", "1000"]
    assert labels(plotter) == ["no_aqm", "fq_codel"]
    missing, = [text for text in axis.texts if text.get_label() == "missing"]
    assert 2 < missing.xy[0] < 2.5
    assert axis.get_yscale() == "log"


def test_throughput_of_few_runs_is_points(draw: Draw, matrix: list[Path]) -> None:
    """A box of one value would look like knowledge."""
    plotter = draw("compare_throughput_box", matrix)
    axis, = plotter.figure.axes
    values = [line for line in axis.get_lines() if line.get_label() == "_values"]
    assert len(values) == 7
    assert axis.get_ylim()[0] == 0
    assert "7 runs, 7 results of the tools" in output(plotter)


def test_group_by_names_the_settings(draw: Draw, matrix: list[Path]) -> None:
    """Any setting of the runs; the first along the axis. Others are pooled, and said."""
    plotter = draw("compare_latency_box", matrix, "--override-group-by", "aqm,rate_mbps")
    axis, = plotter.figure.axes
    assert [text.get_text() for text in axis.get_xticklabels()] == ["no_aqm", "fq_codel"]
    assert labels(plotter) == ["50 Mbit/s", "100 Mbit/s", "200 Mbit/s", "1000 Mbit/s"]
    plotter = draw("compare_latency_ecdf", matrix, "--override-group-by", "aqm")
    assert labels(plotter) == ["no_aqm", "fq_codel"]
    assert "pooled over rate_mbps" in output(plotter)
    plotter = draw("compare_latency_ecdf", matrix, "--override-group-by", "colour")
    assert "no run has the setting 'colour'; known: aqm," in output(plotter)  # in flent-gui


@pytest.mark.parametrize(("by", "named"), [
    ("groups", ["codel", "sfq", "pie"]), ("batch", ["codel", "sfq", "pie"]),
    ("series", ["Download", "Upload", "irtt"]), ("batch_series", ["Download", "Upload", "irtt"])])
def test_series_have_no_labels_and_colours_of_queues(
        by: str, named: list[str], draw: Draw, variant: Variant) -> None:
    """Of three series and as many queues. Flent can group by either."""
    files = []
    for aqm in ("codel", "sfq", "pie"):
        def name(data: dict[str, Any], aqm: str = aqm) -> None:
            data["metadata"] |= {"DATA_FILENAME": f"ndt7-{aqm}.flent.gz", "BATCH_UUID": aqm,
                                 "BATCH_TITLE": aqm}

        files.append(variant(aqm, "ndt7", aqm, change=name))
    plotter = draw("box_combine", files, "--override-group-by", by)
    assert labels(plotter) == named
    assert (plotter.colours[0] == AQM_LOOKS["codel"].colour) == (named[0] == "codel")


def test_heat_map_has_a_number_in_each_cell_but_the_missing_one(
    draw: Draw, matrix: list[Path]
) -> None:
    """Rows are queues, columns rates; --metric takes any name of the table."""
    from flent_aqm.results.metrics.run import load_run
    from flent_aqm.results.metrics.table import METRICS

    plotter = draw("heat_map", matrix, "--metric", "latency_loaded_p90_ms")
    axis = plotter.figure.axes[0]
    metric = METRICS["latency_loaded_p90_ms"]
    value = metric.of(load_run(matrix[0]))
    assert [text.get_text() for text in axis.texts].count(metric.text(value)) == 7
    assert [text.get_position() for text in axis.texts if text.get_text() == "\N{EN DASH}"] == [
        (2, 1)]
    plotter = draw("heat_map", matrix, "--metric", "speed")
    assert "unknown metric 'speed'; 'flent-aqm score --list' has all" in output(plotter)


@pytest.mark.parametrize(("plot", "option", "value", "why"), [
    ("heat_map", "--metric", "speed", "ERROR: --metric: unknown metric 'speed'"),
    ("compare_metric", "--metric", "libreqos_rise", "did you mean 'libreqos_rise_ms'? 'flent-aqm"),
    ("compare_latency_ecdf", "--override-group-by", "colour", "no run has the setting 'colour'"),
])
def test_wrong_option_on_the_command_line_is_one_line_and_no_picture(
    plot: str, option: str, value: str, why: str, matrix: list[Path], tmp_path: Path
) -> None:
    """Exit status 2: a script would take a picture of an error for one of its data."""
    picture = tmp_path / "picture.png"
    done = run_flent(*matrix[:2], "-p", plot, option, value, "-o", picture, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    line, = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
    assert why in line
    assert "Traceback" not in done.stderr
    assert not picture.exists()


def lose(share: float) -> Callable[[dict[str, Any]], None]:
    """Take so many of the answered probes out of a run, spread evenly."""
    def change(data: dict[str, Any]) -> None:
        probes = [one for one in data["raw_values"]["Ping (ms) UDP irtt"] if "val" in one]
        for place, one in enumerate(probes):
            if int(place * share) != int((place + 1) * share):
                del one["val"]
    return change


def test_lost_probes_are_at_the_edge_of_boxes_and_said(draw: Draw, variant: Variant) -> None:
    """15 % lost: the upper whisker ends among them, on a line that says so."""
    plotter = draw("compare_latency_box", [variant("clean", aqm="codel"),
                                           variant("lossy", aqm="no_aqm", change=lose(0.15))])
    axis, = plotter.figure.axes
    assert "lost" in [text.get_text() for text in axis.texts]
    edge, = [line.get_ydata()[0] for line in axis.get_lines() if line.get_label() == "_lost"]
    whiskers = [max(line.get_ydata()) for line in axis.get_lines()
                if not line.get_label().startswith("_l")]
    assert sorted(whiskers)[-1] == edge
    assert "probes lost" in output(plotter)
    assert "each slower than any" in output(plotter)
    plotter = draw("compare_latency_box", [variant("c2", aqm="codel"),
                                           variant("n2", aqm="no_aqm")])
    assert "lost" not in output(plotter)


@pytest.mark.parametrize(("plot", "note", "shorter"), [
    ("latency_tail", "codel: lost: p90, p99", "no mark: lost"),
    ("latency_percentiles_over_time", "codel: lost: the 90th percentile of every span", "")])
def test_percentile_that_is_lost_is_not_said_to_lack_samples(
        plot: str, note: str, shorter: str, draw: Draw, variant: Variant) -> None:
    """15 % lost. Four lines have no room for their names in a note."""
    files = [variant(aqm, "ndt7_upload", aqm, change=lose(0.15))
             for aqm in ("codel", "sfq", "pie", "cake")]
    for number, noted in ((2, note), (4, shorter or note)):
        words = output(draw(plot, files[:number]))
        assert noted in words
        assert "for p90" not in words
        assert "so no 90th percentile" not in words


def test_distribution_with_lost_probes_ends_below_1(draw: Draw, variant: Variant) -> None:
    """The curve keeps the share of what never came back."""
    run = variant("lossy", change=lose(0.1475))
    plotter = draw("compare_latency_ecdf", [run])
    axis, = plotter.figure.axes
    line, = [line for line in axis.get_lines() if not line.get_label().startswith("_")]
    assert line.get_ydata()[-1] == pytest.approx(1 - 0.1475, abs=0.01)
    assert "probes lost" in output(plotter)


def test_heat_map_keeps_the_run_whose_percentile_is_lost(draw: Draw, variant: Variant) -> None:
    """The worst of three can't make the median of its cell better by having no number."""
    runs = [variant(f"r{seed}", aqm="codel", seed=seed, change=lose(share))
            for seed, share in enumerate((0, 0.2, 0.2))]
    plotter = draw("heat_map", runs, "--metric", "latency_loaded_p90_ms")
    assert "lost" in [text.get_text() for text in plotter.figure.axes[0].texts]
    assert "that percentile is a lost probe" in output(plotter)


def test_glitch_plot_says_that_lost_probes_are_glitches(draw: Draw, variant: Variant) -> None:
    """A bar of 200 ms where no probe took so long."""
    plotter = draw("glitches_per_minute", [variant("lossy", change=lose(0.05))])
    assert "a lost probe is a glitch at every threshold" in output(plotter)


@pytest.mark.parametrize("plot", ["latency_tail", "glitches_per_minute",
                                  "latency_ecdf_idle_vs_loaded"])
def test_many_runs_are_not_pooled_over_what_they_differ_in(
    plot: str, draw: Draw, variant: Variant
) -> None:
    """Two queues at two rates with two tiers, thrice: a line for each of the eight."""
    runs = [variant(f"{aqm}{rate}{tiers}{seed}", aqm=aqm, rate_mbps=rate, tiers=tiers, seed=seed,
                    aqm_parameters={"limit": str(tiers)})
            for aqm in ("codel", "no_aqm") for rate in (50, 100) for tiers in (1, 3)
            for seed in (1, 2, 3)]
    plotter = draw(plot, runs)
    names = {label.partition(" #")[0] for label in labels(plotter)} - {"the same, idle"}
    # The plot of idle and loaded has room for six.
    assert len(names) == (6 if "idle" in plot else 8)
    assert "codel, 50 Mbit/s, aqm_limit 1" in names
    assert "pooled over" not in output(plotter)
    assert ("6 of 8 shown" in output(plotter)) == ("idle" in plot)
    plotter = draw(plot, runs, "--override-group-by", "aqm")
    assert {label.partition(" #")[0] for label in labels(plotter)} - {"the same, idle"} == {
        "codel", "no_aqm"}
    assert "pooled over rate_mbps, aqm_limit" in output(plotter)


def test_colour_bar_of_a_heat_map_has_plain_numbers(draw: Draw, variant: Variant) -> None:
    """At least three, of numbers that are far apart, and none as a power of ten."""
    files = [variant(str(rate), rate_mbps=rate, change=stretched(factor))
             for rate, factor in ((20, 1), (50, 0.2), (100, 0.03))]
    plotter = draw("heat_map", files, "--metric", "latency_loaded_median_ms")
    _, bar = plotter.figure.axes
    low, high = bar.get_ylim()
    shown = [text.get_text() for text, at in zip(bar.get_yticklabels(), bar.get_yticks(),
                                                 strict=True) if low <= at <= high]
    assert len(shown) >= 3
    assert all(float(text) > 0 for text in shown)
    assert not [text for text in bar.yaxis.get_minorticklabels() if text.get_text()]


def stretched(factor: float) -> Callable[[dict[str, Any]], None]:
    """Let each round trip take so many times as long."""
    def change(data: dict[str, Any]) -> None:
        probes = data["raw_values"]["Ping (ms) UDP irtt"]
        data["raw_values"]["Ping (ms) UDP irtt"] = [
            one | {"val": one["val"] * factor} if "val" in one else one for one in probes]
    return change


def test_directions_that_differ_have_a_bar_each_beside_latency(
    draw: Draw, variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mean of down and up is a number that no tool reports."""
    plotter = draw("latency_and_throughput", [RUNS / "ndt7.flent.gz"])
    assert len(plotter.axes[1].patches) == 1
    assert "above download" not in output(plotter)
    mbps = {"download": 90.0, "upload": 30.0}
    monkeypatch.setattr("flent_aqm.show.plots.latency_and_throughput.values",
                        lambda quantity, runs, way: numpy.array([mbps[way]]))
    plotter = draw("latency_and_throughput", [RUNS / "ndt7.flent.gz"])
    bars = sorted(plotter.axes[1].patches, key=lambda bar: float(bar.get_y()))
    assert [bar.get_width() for bar in bars] == [90, 30]
    assert "above download, below upload" in output(plotter)
    assert "one bar" not in output(plotter)
    monkeypatch.setattr("flent_aqm.show.plots.latency_and_throughput.values",
                        lambda quantity, runs, way: numpy.array([
                            30 if runs[0].settings["aqm"] == "codel" else mbps[way]]))
    plotter = draw("latency_and_throughput",
                   [RUNS / "ndt7.flent.gz", variant("c", "ndt7", "codel")])
    assert len(plotter.axes[1].patches) == 3
    assert "above download, below upload, one bar where they are within 1 %" in output(plotter)


@pytest.mark.parametrize(("test", "has_p99"), [
    ("ndt7", True), ("speedtest_sequential", False)])
def test_percentile_beside_throughput_is_explained_where_it_is_shown(
        test: str, has_p99: bool, draw: Draw) -> None:
    """Pings of a speed test are too few for it."""
    plotter = draw("latency_and_throughput", [RUNS / f"{test}.flent.gz"])
    labels = [label.get_text() for label in plotter.axes[1].get_yticklabels()]
    assert any("p99 " in label for label in labels) is has_p99
    assert ("p99: of all probes" in output(plotter)) is has_p99


@pytest.fixture
def rated(tmp_path: Path) -> list[Path]:
    """Two queues, a test of both directions and one of uploads, at 20 and 200 Mbit/s: twice each.
    At 20 Mbit/s the tool reports 20, else 190 and 180."""
    paths = []
    for test in ("ndt7", "iperf3_upload"):
        for aqm in ("sfq", "codel"):
            data = load(RUNS.parent / "batches" / "quick" / f"{test}-{aqm}.flent.gz")
            for rate in (20, 200):
                for seed in (1, 2):
                    data["metadata"]["AQM"]["requested"] |= {
                        "rate_up_mbps": rate, "rate_down_mbps": rate, "seed": seed}
                    for about in data["metadata"]["SERIES_META"].values():
                        if "LOAD_START" in about:
                            about["MEAN_VALUE"] = 20 if rate == 20 else 200 - 10 * seed
                    paths.append(save(tmp_path / f"{test}-{aqm}-{rate}-{seed}.flent.gz", data))
    return paths


def test_bars_are_of_runs_that_are_alike_with_a_dot_for_each(rated: list[Path], draw: Draw) -> None:
    """20 and 200 Mbit/s have no mean: each test and rate is a row, by its name."""
    plotter = draw("latency_and_throughput", rated)
    assert [axis.get_title(loc="left") for axis in plotter.axes[0::2]] == [
        "iperf3_upload, 20 Mbit/s", "iperf3_upload, 200 Mbit/s", "ndt7, 20 Mbit/s",
        "ndt7, 200 Mbit/s"]
    bars = [[round(bar.get_width(), 1) for bar in axis.patches] for axis in plotter.axes[1::2]]
    assert bars == [[20, 20], [185, 185]] * 2
    dots = [sorted(line.get_xdata()) for axis in plotter.axes[1::2] for line in axis.get_lines()
            if line.get_label() == "_runs"]
    assert dots == [*[[20, 20]] * 2, *[[180, 190]] * 2] * 2
    # All bars have one scale, on which those of 20 have no room for a white number.
    numbers = [(text.get_text().strip(), text.get_color(), text.get_position()[0] < 20)
               for axis in plotter.axes[1::2] for text in axis.texts]
    assert numbers == [*[("20.0", "black", False)] * 2, *[("185.0", "white", True)] * 2] * 2
    pooled = draw("latency_and_throughput", rated, "--override-group-by", "aqm")
    assert "pooled over" in output(pooled)


def test_titles_are_compared_where_no_queue_is_known(tmp_path: Path, draw: Draw) -> None:
    """Not pooled into one line and one bar; runs of one title are."""
    paths = []
    for at, title in enumerate(("SQM off", "SQM on", "SQM on")):
        data = at_another_time(load(RUNS / "iperf3_upload.flent.gz"), 60.0 * at)
        data["metadata"] |= {"AQM": {}, "TITLE": title}
        paths.append(save(tmp_path / f"{at}.flent.gz", data))
    plotter = draw("latency_and_throughput", paths)
    assert [key.get_label() for key in plotter.handles] == ["SQM off", "SQM on"]
    assert len(plotter.axes[1].patches) == 2
    plotter = draw("latency_and_throughput", paths[1:])
    assert [key.get_label() for key in plotter.handles] == ["not told"]


def test_no_panel_of_distributions_is_empty(rated: list[Path], draw: Draw) -> None:
    """The test of uploads has none for downloads; no title stands on its neighbour, and the
    picture is no higher than its rows."""
    with drawn_texts() as texts:
        plotter = draw("compare_latency_ecdf", rated, "--width", "3.33in", "--no-title",
                       "--caption-apart")
    titles = [axis.get_title(loc="left") for axis in plotter.axes]
    assert len(titles) == 6
    assert not [title for title in titles if "iperf3_upload, download" in title]
    assert all(axis.get_lines() for axis in plotter.axes)
    assert misplaced(plotter.figure, texts) == []
    assert plotter.figure.get_figheight() < 5


@pytest.fixture
def twelve(tmp_path: Path) -> list[Path]:
    """Four queues at three rates, six seeds each."""
    return repetitions(tmp_path)


def test_distributions_of_twelve_groups_have_a_panel_for_each_rate(
    twelve: list[Path], draw: Draw
) -> None:
    """Four lines each, thinner the later they are drawn; in a column of a paper one above the
    other. One setting to group by needs no panels."""
    plotter = draw("compare_latency_ecdf", twelve)
    assert [axis.get_title(loc="left") for axis in plotter.axes] == [
        "20 Mbit/s", "50 Mbit/s", "100 Mbit/s"]
    assert labels(plotter) == ["no_aqm", "codel", "sfq", "fq_codel"]
    for axis in plotter.axes:
        widths = [line.get_linewidth() for line in axis.get_lines()]
        assert len(widths) == 4
        assert widths == sorted(widths, reverse=True)
    assert len({axis.get_position().y0 for axis in plotter.axes}) == 1
    plotter = draw("compare_latency_ecdf", twelve, "--width", "3.33in")
    assert len({axis.get_position().y0 for axis in plotter.axes}) == 3
    plotter = draw("compare_latency_ecdf", twelve, "--override-group-by", "aqm")
    assert len(plotter.axes) == 1


def test_long_legend_of_a_narrow_picture_stands_below_and_takes_no_room_of_it(
    twelve: list[Path], draw: Draw
) -> None:
    """Where the caption isn't; a picture with its caption has the legend above."""
    for options, below in (["--caption-apart"], True), ([], False):
        plotter = draw("latency_tail", twelve, "--width", "3.33in", "--no-title", *options)
        legend, = plotter.figure.legends
        axis = plotter.axes[0].get_window_extent()
        assert len(labels(plotter)) == 12
        assert (legend.get_window_extent().y1 < axis.y0) == below
        assert axis.height > 0.3 * plotter.figure.bbox.height


def test_metric_of_many_runs_has_a_dot_for_each_and_the_interval_of_the_median(
    twelve: list[Path], draw: Draw
) -> None:
    """From six runs on; the caption says what seeds of the lab vary."""
    from flent_aqm.results.metrics.compare import median_interval
    from flent_aqm.results.metrics.run import load_run
    from flent_aqm.results.metrics.table import METRICS

    name = "latency_loaded_p90_ms"
    plotter = draw("compare_metric", twelve, "--metric", name)
    axis, = plotter.axes
    values = [line for line in axis.get_lines() if line.get_label() == "_values"]
    assert [line.get_xdata().size for line in values] == [6] * 12
    numbers = [METRICS[name].of(load_run(path)) for path in twelve
               if path.name.startswith("no_aqm-20-")]
    sure = median_interval([value for value in numbers if isinstance(value, float)])
    assert sure is not None
    interval = next(line for line in axis.get_lines() if line.get_label() == "_interval")
    assert list(interval.get_ydata()) == [sure.low, sure.high]
    assert axis.get_ylabel() == "latency under load, p90\n(ms)"
    assert "bar: its interval (97 %)" in output(plotter)
    assert "not how other hosts, routers or days would differ" in output(plotter)
    plotter = draw("compare_metric", twelve[::3], "--metric", name)
    assert "an interval needs six runs" in output(plotter)
    assert not [line for line in plotter.axes[0].get_lines() if line.get_label() == "_interval"]


def test_metric_as_boxes_says_that_a_box_is_over_runs(twelve: list[Path], draw: Draw) -> None:
    """And a name that is no metric is said, with where the names are."""
    plotter = draw("compare_metric_box", twelve, "--metric", "throughput_upload_mbps")
    assert "a number a run; box: quartiles" in output(plotter)
    assert plotter.axes[0].get_ylim()[0] == 0
    plotter = draw("compare_metric", twelve[:2], "--metric", "speed")
    assert "unknown metric 'speed'; 'flent-aqm score --list' has all" in output(plotter)
    plotter = draw("compare_metric", twelve[:2], "--metric", "video_stall_pct")
    assert "video_stall_pct: " in output(plotter)


def test_metric_that_only_runs_beyond_the_drawn_places_have_is_not_denied_to_them(
        draw: Draw, variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(data: dict[str, Any]) -> None:
        data["raw_values"]["Ping (ms) UDP irtt"] = []

    monkeypatch.setattr(compare_metric, "condition_grid",
                        lambda chart, runs: places.condition_grid(chart, runs, 1))
    files = [variant(f"{aqm}-{rate}", aqm=aqm, rate_mbps=rate,
                     change=silent if rate == 10 else None)
             for rate in (20, 10) for aqm in ("codel", "sfq")]
    shown = output(draw("compare_metric", files, "--metric", "latency_loaded_median_ms"))
    assert "none of the 2 runs has the values, the first because only 8 of" in shown


def test_metric_whose_percentile_is_lost_is_drawn_at_the_edge(draw: Draw, variant: Variant) -> None:
    """The run is not left out: its group would look better."""
    runs = [variant(f"r{seed}", aqm="codel", seed=seed, change=lose(share))
            for seed, share in enumerate((0, 0.2))]
    plotter = draw("compare_metric", runs, "--metric", "latency_loaded_p90_ms")
    assert "lost" in [text.get_text() for text in plotter.axes[0].texts]
    assert "that percentile is a lost probe" in output(plotter)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", [[-20.0, -5.0], [-5.0, 0.0], [3.0, 40.0], []])
def test_lost_probes_are_drawn_above_values_that_need_not_be_positive(
        values: list[float], log: bool) -> None:
    """As an increase of latency. A logarithmic axis shows only positive ones."""
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    draw_side_by_side(axis, ["50"], [ComparedValue("codel", AQM_LOOKS["codel"])],
                      {(0, 0): numpy.array([*values, numpy.inf])}, "dots", log)
    drawn = {line.get_label(): numpy.asarray(line.get_ydata()).tolist()
             for line in axis.get_lines()}
    edge = drawn["_lost"][0]
    assert drawn["_values"] == [*values, edge]
    assert edge > max([*values, 0] if log else values, default=0)


def test_boxes_stand_apart_for_all_in_which_runs_differ(draw: Draw, variant: Variant) -> None:
    """Rates and tiers along the axis, queues side by side, and nothing is pooled."""
    runs = [variant(f"{aqm}{rate}{tiers}", aqm=aqm, rate_mbps=rate, tiers=tiers)
            for aqm in ("codel", "no_aqm") for rate in (50, 100) for tiers in (1, 3)]
    plotter = draw("compare_latency_box", runs)
    axis, = plotter.figure.axes
    assert [text.get_text() for text in axis.get_xticklabels()] == [
        "50\ntiers 1", "50\ntiers 3", "100\ntiers 1", "100\ntiers 3"]
    assert labels(plotter) == ["no_aqm", "codel"]
    assert "pooled over" not in output(plotter)


def test_retransmits_of_a_receiver_are_not_drawn_as_none(draw: Draw) -> None:
    """NDT7's upload tells the TCP_INFO of the end that receives: 0 would be wrong."""
    plotter = draw("tcp_info", [RUNS / "ndt7_upload.flent.gz"])
    assert [axis.get_ylabel().splitlines()[0] for axis in plotter.figure.axes] == ["TCP's RTT"]
    assert "retransmits of NDT7's upload: not available" in output(plotter)


@pytest.mark.parametrize("quantity", ["latency", "throughput"])
def test_overlay_is_a_line_per_run_labelled_by_what_differs(
    quantity: str, draw: Draw, matrix: list[Path]
) -> None:
    """Queue and rate differ, the rest isn't said."""
    plotter = draw(f"overlay_{quantity}", matrix)
    assert len(plotter.figure.axes[0].get_lines()) == 7
    assert labels(plotter)[:2] == ["no_aqm, 50 Mbit/s", "no_aqm, 100 Mbit/s"]


def test_repetitions_are_numbered(draw: Draw, variant: Variant) -> None:
    """Runs that differ in nothing but the seed."""
    plotter = draw("overlay_latency", [variant(f"r{seed}", title="same", seed=seed)
                                       for seed in (1, 2, 3)])
    assert labels(plotter) == ["no_aqm #1", "no_aqm #2", "no_aqm #3"]


def test_instant_throughput_is_the_capture_beside_the_tool(draw: Draw) -> None:
    """The line has the steps of the data file; the dots are the tool's."""
    from flent_aqm.results.data_file import read_data_file

    path = RUNS / "iperf3_upload.flent.gz"
    raw = read_data_file(path).raw_values
    plotter = draw("throughput_instant", [path])
    axis, = plotter.figure.axes
    line, dots = axis.get_lines()
    assert list(line.get_ydata()) == [one["upload"] for one in raw["Capture"]]
    assert list(dots.get_ydata()) == [one["val"] for one in raw["TCP upload"]]
    assert labels(plotter) == ["upload, headers", "the tool's own"]


def test_instant_throughput_of_runs_without_any_direction_says_why(
        draw: Draw, variant: Variant) -> None:
    """The names of their flows tell none, but their packets were captured."""
    def rename(data: dict[str, Any]) -> None:
        for part in (data["raw_values"], data["results"], data["metadata"]["SERIES_META"]):
            part["TCP cubic"] = part.pop("TCP upload")

    plotter = draw("throughput_instant", [variant("a", aqm="codel", change=rename),
                                          variant("b", aqm="sfq", change=rename)])
    assert "the names of 'TCP cubic' tell no direction" in output(plotter)


@pytest.mark.parametrize(("plot", "why"), [
    ("qdisc_over_time", "sampled, but not in a direction that a test is known to load"),
    ("tcp_info", ("no RTT, window in packets or retransmits of TCP_INFO of the test's flows in the "
                  "first run of any group that is shown")),
    ("overlay_throughput", ("none of the 2 runs has the values, the first because no packets were "
                            "captured"))])
def test_reason_of_several_runs_is_true_of_each(
        plot: str, why: str, draw: Draw, variant: Variant) -> None:
    def without(data: dict[str, Any]) -> None:
        data["raw_values"] |= {"Capture": [], "Queues": [
            {"t": float(at), "up_backlog_bytes": 0, "up_backlog_packets": 0, "up_drops": 0,
             "up_marks": 0} for at in range(3)]}
        data["raw_values"]["TCP upload"] = []
        data["metadata"]["SERIES_META"]["TCP upload"] = {"RUNNER": "x", "UNITS": "Mbits/s"}

    files = [variant(aqm, aqm=aqm, change=without) for aqm in ("codel", "sfq")]
    assert why in output(draw(plot, files))


@pytest.mark.parametrize(("test", "rows"), [
    ("iperf3_upload", ["TCP's RTT", "window", "retransmits"]),
    ("ndt7", ["TCP's RTT", "retransmits"]),
])
def test_tcp_info_has_a_row_for_all_that_the_tool_tells(
    test: str, rows: list[str], draw: Draw
) -> None:
    """NDT7 tells no congestion window, and the caption says so."""
    plotter = draw("tcp_info", [RUNS / f"{test}.flent.gz"])
    assert [axis.get_ylabel().splitlines()[0] for axis in plotter.figure.axes] == rows
    assert ("not told by the tool: window" in output(plotter)) == (test == "ndt7")


@pytest.mark.parametrize("plot", ["heat_map", "compare_metric"])
def test_one_run_without_the_metric_is_one_run(plot: str, draw: Draw, variant: Variant) -> None:
    """Of two, the other has no number: a percentile that its few probes don't carry."""
    def few(data: dict[str, Any]) -> None:
        probes = data["raw_values"]["Ping (ms) UDP irtt"]
        data["raw_values"]["Ping (ms) UDP irtt"] = probes[::10]

    plotter = draw(plot, [variant("a", aqm="codel"), variant("b", aqm="no_aqm", change=few)],
                   "--metric", "latency_loaded_p90_ms")
    assert "1 run without: " in output(plotter)


def sampled(digest: str) -> Callable[[dict[str, Any]], None]:
    """Return a change that records this digit 64 times as the hash of a run's samples."""
    def change(data: dict[str, Any]) -> None:
        data["metadata"]["AQM"]["samples_sha256"] = digest * 64
    return change


@pytest.mark.parametrize("plot", ["latency_tail", "compare_throughput_box"])
def test_copies_of_a_run_are_drawn_once(plot: str, draw: Draw, variant: Variant) -> None:
    """Copies have the same samples and settings. The same samples of another queue are another
    run."""
    files = [variant(name, aqm=aqm, title="t", change=sampled(digest))
             for name, aqm, digest in (("a", "codel", "1"), ("b", "codel", "1"),
                                       ("c", "codel", "2"), ("d", "sfq", "1"))]
    words = output(draw(plot, files))
    assert "1 of 4 files repeats another one sample by sample" in words
    assert re.search(r"\b3 runs\b", words), words
    assert "another one sample by" not in output(draw(plot, [files[0], files[2], files[3]]))


@pytest.fixture
def eight(variant: Variant) -> list[Path]:
    """Two queues at four rates, each of a batch's run of its own."""
    def named(name: str) -> Callable[[dict[str, Any]], None]:
        def change(data: dict[str, Any]) -> None:
            data["metadata"]["DATA_FILENAME"] = f"{name}.flent.gz"
        return change

    return [variant(name, "ndt7", aqm=aqm, rate_mbps=rate, base_delay_ms=delay_ms,
                    change=named(name))
            for aqm in ("no_aqm", "fq_codel") for rate in (10, 100) for delay_ms in (10, 20)
            for name in (f"{aqm}-{rate}-{delay_ms}",)]


@pytest.mark.parametrize(("plot", "most"), [
    ("latency_percentiles_over_time", 4), ("latency_ecdf_idle_vs_loaded", 6),
    ("glitches_per_minute", 8)])
def test_groups_of_one_queue_are_told_apart(
        plot: str, most: int, draw: Draw, eight: list[Path]) -> None:
    """Where lines mean percentiles or idleness, and bars have none. Each queue is there."""
    plotter = draw(plot, eight)
    handles = plotter.handles[:most]
    shown = [handle.get_label() for handle in handles]
    assert sum("fq_codel" in label for label in shown) == most // 2
    colours = {str(handle[0].get_facecolor() if plot == "glitches_per_minute"
                    else handle.get_color()) for handle in handles}
    assert len(colours) == most


def test_bars_too_narrow_for_their_labels_have_none(draw: Draw, eight: list[Path]) -> None:
    for width_inches, labelled in ((2.4, False), (12, True)):
        plotter = draw("glitches_per_minute", eight, "--fig-width", str(width_inches))
        axis, = plotter.figure.axes
        assert bool(axis.texts) == labelled
        assert ("above the bars" in output(plotter)) == labelled
        assert ("longest_glitch_30ms_ms" in output(plotter)) != labelled


@pytest.mark.parametrize("plot", ["box_combine", "box_totals"])
def test_labels_that_overlap_are_left_to_the_legend(
        plot: str, draw: Draw, eight: list[Path]) -> None:
    plotter = draw(plot, eight)
    assert not any(text.get_text() for text in plotter.figure.axes[0].get_xticklabels())
    assert any("fq_codel, +20 ms" in label.replace("100 Mbit/s, ", "") for label in labels(plotter))
    plotter = draw(plot, eight[::4])
    assert any(text.get_text() for text in plotter.figure.axes[0].get_xticklabels())

# SPDX-License-Identifier: GPL-3.0-or-later
"""What is drawn can be seen and read: in narrow cells, alone among many, over runs of several
tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

from ...warm_flent import run_flent
from .conftest import RUNS, labels, output
from .pictures import drawn_texts, misplaced

Draw = Callable[..., Any]
Variant = Callable[..., Path]
PROBE = "Ping (ms) UDP irtt"


def taking(ms: float) -> Callable[[dict[str, Any]], None]:
    """All round trips take so long."""
    def change(data: dict[str, Any]) -> None:
        for sample in data["raw_values"][PROBE]:
            if "val" in sample:
                sample["val"] = ms
    return change


@pytest.fixture
def crowd(variant: Variant) -> list[Path]:
    """23 runs: of two queues at ten rates, and three more queues at one."""
    runs = [variant(f"{aqm}-{rate}", aqm=aqm, rate_mbps=rate, change=taking(96.72))
            for aqm in ("no_aqm", "fq_codel") for rate in range(100, 1100, 100)]
    return runs + [variant(aqm, aqm=aqm, rate_mbps=1234.5, change=taking(1234.5))
                   for aqm in ("codel", "sfq", "pie")]


@pytest.mark.parametrize("width", ["6.4in", "3.33in"])
def test_numbers_of_a_heat_map_stay_in_their_cells(
    crowd: list[Path], width: str, draw: Draw
) -> None:
    """Of 23 runs; nor do labels lie on each other."""
    with drawn_texts() as texts:
        plotter = draw("heat_map", crowd, "--metric", "latency_loaded_median_ms", "--width", width)
    axis = plotter.axes[0]
    across, down = (axis.bbox.width / 11, axis.bbox.height / 5)
    numbers = [text for text in axis.texts if any(one.isdigit() for one in text.get_text())]
    assert [text.get_text() for text in numbers].count("96.72") == 20
    for text in numbers:
        box = text.get_window_extent()
        assert box.width <= across, text.get_text()
        assert box.height <= down, text.get_text()
    assert misplaced(plotter.figure, texts) == []


def test_labels_of_many_settings_below_a_heat_map_are_turned(variant: Variant, draw: Draw) -> None:
    """Eighteen places, each of a rate, a burst, cross traffic and a router."""
    files = [variant(f"{number}", aqm="codel", rate_mbps=rate, burst_shaping=burst,
                     router_model=model, cross_traffic=cross)
             for number, (rate, burst, model, cross) in enumerate(
                 (rate, burst, model, cross) for rate in (100, 200, 300) for burst in (True, False)
                 for model, cross in (("omnia", "video"), ("ideal", "call"), ("ideal", False)))]
    with drawn_texts() as texts:
        plotter = draw("heat_map", files, "--metric", "latency_loaded_median_ms")
    assert misplaced(plotter.figure, texts) == []
    assert {text.get_rotation() for text in plotter.axes[0].get_xticklabels()} == {90}


def test_wide_titles_below_a_heat_map_are_turned_beside_an_empty_one(
        variant: Variant, draw: Draw) -> None:
    """The run without a title keeps its column, and each label stays below its own."""
    def untitle(data: dict[str, Any]) -> None:
        del data["metadata"]["TITLE"]

    files = [variant("none", change=untitle),
             *(variant(number, title=f"{number}, {'wide ' * 9}".strip()) for number in "123456")]
    plotter = draw("heat_map", files, "--metric", "latency_loaded_median_ms",
                   "--override-group-by", "title,aqm")
    shown = plotter.axes[0].get_xticklabels()
    assert [label.get_text()[:1] for label in shown] == [*"123456", ""]
    assert {label.get_rotation() for label in shown} == {90}


def test_heat_map_without_room_for_numbers_says_so(crowd: list[Path], draw: Draw) -> None:
    """In a picture less than two inches high, of which caption and colour bar take most."""
    plotter = draw("heat_map", crowd, "--metric", "latency_loaded_median_ms", "--width", "2.2in",
                   "--figure-height", "1.9")
    assert "cells have no room for their numbers" in output(plotter)
    assert not plotter.axes[0].texts


@pytest.mark.parametrize(("options", "inches"), [
    ("", (6.4, 4.8)), ("--width 4in", (4.0, 3.0)), ("--width 4in --width 8in", (8.0, 6.0)),
    ("--width 8in --figure-height 5", (8.0, 5.0)), ("--figure-height 5 --width 8in", (8.0, 5.0)),
    ("--width 4in --figure-height 5 --width 8in", (8.0, 5.0))])
def test_height_follows_the_last_width_unless_it_is_given(
        options: str, inches: tuple[float, float]) -> None:
    """The first of two widths, such as that of an alias, decided it."""
    from flent import settings

    read = settings.parser.parse_args(
        options.split(), namespace=settings.Settings(settings.DEFAULT_SETTINGS))
    size = read.FIG_WIDTH, read.FIG_HEIGHT
    assert size == inches


def with_drops(at: tuple[int, ...]) -> Callable[[dict[str, Any]], None]:
    """The router's queue was sampled 400 times, and one packet was dropped at some of them."""
    def change(data: dict[str, Any]) -> None:
        start_s = data["metadata"]["SERIES_META"]["TCP upload"]["LOAD_START"] - 5
        names = ("drops", "marks", "backlog_bytes", "backlog_packets", "overlimits")
        data["raw_values"]["Queues"] = [
            {"t": start_s + place * 0.1, "val": 0.0,
             **{f"{way}_{name}": 0 for way in ("up", "down") for name in names},
             "up_drops": sum(place >= one for one in at)} for place in range(400)]
        data["metadata"]["SERIES_META"]["Queues"] = {"RUNNER": "AqmQdiscRunner", "UNITS": "us"}
    return change


def test_each_drop_alone_is_seen_in_its_colour(variant: Variant, draw: Draw) -> None:
    """67 of 400 samples have one: as many marks are in the picture, not white on grey."""
    from matplotlib.colors import to_rgb

    from flent_aqm.show.looks import DROPS

    places = tuple(range(5, 5 + 67 * 5, 5))
    plotter = draw("throughput_instant", [variant("drops", change=with_drops(places))])
    assert "drops" in labels(plotter)
    below = plotter.figure.axes[1]
    plotter.figure.canvas.draw()
    picture = numpy.asarray(plotter.figure.canvas.buffer_rgba())[..., :3] / 255
    box = below.get_window_extent()
    middle = picture[int(picture.shape[0] - box.y0 - 0.4 * box.height)]
    near = numpy.abs(middle - numpy.array(to_rgb(DROPS))).max(axis=1) < 0.35
    marks, = [line for line in below.get_lines() if line.get_label() == "drops"]
    pixels = below.transData.transform(
        [(at, 0.4) for at in marks.get_xdata()])[:, 0].round().astype(int)
    assert len(pixels) == 67
    for pixel in pixels:
        assert near[pixel - 1:pixel + 2].any()
    assert near.sum() < 0.6 * near.size


def test_sum_of_directions_is_said(variant: Variant, draw: Draw) -> None:
    """Two directions at once may carry more than the link's rate; one direction doesn't."""
    both = draw("overlay_throughput", [RUNS / "iperf3_bidirectional.flent.gz"])
    assert both.axes[0].get_ylabel() == "down + up in 0.1 s (Mbit/s)"
    assert "download and upload added up" in output(both)
    mixed = draw("overlay_throughput", [RUNS / "iperf3_bidirectional.flent.gz",
                                        RUNS / "iperf3_upload.flent.gz"])
    assert "download and upload added up in 1 of 2 runs" in output(mixed)
    one = draw("overlay_throughput", [RUNS / "iperf3_upload.flent.gz"])
    assert one.axes[0].get_ylabel() == "throughput in 0.1 s (Mbit/s)"
    assert "added up" not in output(one)


@pytest.mark.parametrize("plot", ["heat_map", "totals", "all", "box_combine", "ping_cdf"])
def test_title_over_several_tests_names_them(plot: str, draw: Draw) -> None:
    """Not the first file's alone."""
    files = [RUNS / f"{name}.flent.gz" for name in ("iperf3_upload", "ndt7")]
    words = output(draw(plot, files))
    assert "iperf3_upload, ndt7" in words
    assert "iperf3 TCP upload with irtt" not in words
    assert "iperf3 TCP upload with irtt" in output(draw(plot, files[:1]))


def test_plot_that_a_test_lacks_ends_with_1_and_leaves_no_picture(tmp_path: Path) -> None:
    """A script would take an empty file for a picture."""
    picture = tmp_path / "picture.png"
    done = run_flent(RUNS / "aqm_flows.flent.gz", "-p", "throughput_instant", "-o", picture,
                     cwd=tmp_path)
    assert done.returncode == 1
    assert "the test aqm_flows has no plot 'throughput_instant'" in done.stderr
    assert not picture.exists()


@pytest.mark.parametrize(("plot", "warns"), [("latency_and_throughput", False), ("heat_map", False),
                                             ("latency_tail", True)])
def test_plot_that_compares_tests_is_drawn_without_flents_warning_of_several(
        plot: str, warns: bool, tmp_path: Path) -> None:
    """What `make demo` draws is such a plot."""
    done = run_flent(RUNS / "iperf3_upload.flent.gz", RUNS / "ndt7.flent.gz", "-p", plot,
                     "-o", tmp_path / "picture.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("not from the same test" in done.stderr) == warns


@pytest.mark.parametrize("plot", [
    ("compare_metric", "--metric", "latency_loaded_median_ms"), ("compare_latency_box",)])
def test_labels_of_many_settings_stand_upright_below_the_axis(
        plot: tuple[str, ...], variant: Variant, draw: Draw) -> None:
    """They lay on each other. Few places keep theirs level, in lines."""
    runs = [variant(f"{rate}-{delay}", aqm="codel", rate_mbps=rate,
                    router_model="omnia+rx_packet_ns=3000" if delay else "ideal")
            for rate in range(100, 600, 100) for delay in (0, 50)]
    with drawn_texts() as texts:
        plotter = draw(plot[0], runs, *plot[1:])
    axis = plotter.axes[-1]
    assert {label.get_rotation() for label in axis.get_xticklabels()} == {90}
    assert misplaced(plotter.figure, texts) == []
    axis = draw(plot[0], runs[:2], *plot[1:]).axes[-1]
    assert {label.get_rotation() for label in axis.get_xticklabels()} == {0}


def test_legend_of_long_labels_leaves_room_for_the_axes(variant: Variant, draw: Draw) -> None:
    """Beside them it would take nearly all of the width."""
    runs = [variant(f"{rate}-{delay}", aqm="codel", rate_mbps=rate,
                    shaper=shaper, link_up_loss=f"0.{delay}%")
            for rate in (100, 200) for delay in (10, 20, 30) for shaper in ("tbf", "htb")]
    plotter = draw("latency_tail", runs, "--override-group-by",
                   "rate_mbps,base_delay_ms,shaper,link_up_loss")
    width = plotter.figure.bbox.width
    assert max(len(text.get_text()) for text in plotter.legends[0].get_texts()) > 40
    assert all(axis.bbox.width > width / 2 for axis in plotter.axes)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Plots over many runs: groups, order, missing cells, options; and what they cost."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import RUNS, labels, said

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
    assert "7 runs, 7 results of the tools" in said(plotter)


def test_group_by_names_the_settings(draw: Draw, matrix: list[Path]) -> None:
    """Any setting of the runs; the first along the axis. Others are pooled, and said."""
    plotter = draw("compare_latency_box", matrix, "--override-group-by", "aqm,rate_mbps")
    axis, = plotter.figure.axes
    assert [text.get_text() for text in axis.get_xticklabels()] == ["no_aqm", "fq_codel"]
    assert labels(plotter) == ["50 Mbit/s", "100 Mbit/s", "200 Mbit/s", "1000 Mbit/s"]
    plotter = draw("compare_latency_ecdf", matrix, "--override-group-by", "aqm")
    assert labels(plotter) == ["no_aqm", "fq_codel"]
    assert "pooled over rate_mbps" in said(plotter)
    plotter = draw("compare_latency_ecdf", matrix, "--override-group-by", "colour")
    assert "can't group by 'colour'; known: aqm," in said(plotter)


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
    assert "unknown metric 'speed'; known: throughput_download_mbps" in said(plotter)


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
    assert labels(plotter) == ["all runs #1", "all runs #2", "all runs #3"]


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
    assert ("not told by the tool: window" in said(plotter)) == (test == "ndt7")


def test_packed_samples_are_the_same_after_a_trip_to_another_process() -> None:
    """Flent's own plots get its dict class, and may change what they got."""
    from flent import resultset

    from flent_aqm.results.raw_samples import packed_of

    results = resultset.ResultSet.load_file(str(RUNS / "ndt7.flent.gz"))
    before = packed_of(results).as_plain()
    moved = pickle.loads(pickle.dumps(results))
    assert packed_of(moved).as_plain() == before
    assert moved.raw_values == before
    assert isinstance(moved.raw_values["TCP upload"][0], resultset.SeparatorDict)
    moved.raw_values["TCP upload"][0]["val"] = -1.0
    moved.add_raw_values("more", [{"t": 1.0, "val": 2.0}])
    again = pickle.loads(pickle.dumps(moved))
    assert again.raw_values["TCP upload"][0]["val"] == -1.0
    assert again.raw_values["more"] == [{"t": 1.0, "val": 2.0}]
    assert results.dumps() == resultset.ResultSet.load_file(
        str(RUNS / "ndt7.flent.gz")).dumps()
    assert len(results) == len(before)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The distributions of latency under load, from real runs with losses: what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

from flent_aqm.results.metrics.run import load_run

from .conftest import RUNS, labels, output

Draw = Callable[..., Any]
Variant = Callable[..., Path]
PROBE = "Ping (ms) UDP irtt"


def losing(share: int, longest_ms: float, later_s: float = 0.0) -> Callable[[dict[str, Any]], None]:
    """Every share-th probe is lost, one took long, and the load began later."""
    def change(data: dict[str, Any]) -> None:
        meta = data["metadata"]["SERIES_META"]["TCP upload"]
        meta["LOAD_START"] += later_s
        probes = [one for one in data["raw_values"][PROBE]
                  if meta["LOAD_START"] + 0.2 < one["t"] < meta["LOAD_END"] - 0.2]
        probes[len(probes) // 2].update(val=longest_ms, t=probes[len(probes) // 2]["t"]
                                        + longest_ms / 1000)
        for one in probes[::share]:
            one.pop("val", None)
            one["lost"] = True
    return change


@pytest.fixture
def files(variant: Variant) -> list[Path]:
    """Three runs, of which the first was loaded for a shorter time."""
    return [variant("one", aqm="no_aqm", change=losing(25, 155.0, later_s=1.0)),
            variant("two", aqm="codel", change=losing(24, 198.25)),
            variant("three", aqm="sfq")]


@pytest.mark.parametrize("plot", ["ping_cdf", "ping_cdf_log", "ping_cdf_combine"])
def test_each_files_own_samples_under_its_own_load_are_drawn_with_the_lost_ones(
    plot: str, files: list[Path], draw: Draw
) -> None:
    """A curve ends at its longest probe, below 100 % by what was lost."""
    plotter = draw(plot, files)
    axis, = plotter.figure.axes
    drawn = axis.get_lines()
    runs = [load_run(path) for path in files]
    assert len(drawn) == len(runs)
    assert labels(plotter) == ["no_aqm", "codel", "sfq"]
    for line, run in zip(drawn, runs, strict=True):
        sent_ms = run.loaded().rtt_ms
        came = numpy.sort(sent_ms[numpy.isfinite(sent_ms)])
        at_ms, share = line.get_data()
        assert at_ms[-1] == came[-1]
        assert share[-1] == pytest.approx(came.size / sent_ms.size)
        middle = numpy.searchsorted(share, 0.5)
        assert at_ms[middle] == pytest.approx(numpy.quantile(came, 0.5 * share[-1] ** -1),
                                              rel=0.02)
    lost = [int(numpy.isinf(run.loaded().rtt_ms).sum()) for run in runs]
    assert lost[0] > 0 < lost[1]
    for label, count, run in zip(("no_aqm", "codel"), lost, runs, strict=False):
        assert f"{label}: {count} of {run.loaded().rtt_ms.size} probes lost" in output(plotter)


def test_runs_that_repeat_each_other_are_one_line_in_the_combined_plot(
    variant: Variant, draw: Draw
) -> None:
    """With their number; apart in the others."""
    files = [variant(f"{aqm}-{seed}", aqm=aqm, seed=seed) for aqm in ("no_aqm", "codel")
             for seed in (1, 2)]
    assert labels(draw("ping_cdf_combine", files)) == ["no_aqm (n=2)", "codel (n=2)"]
    assert len(labels(draw("ping_cdf_log", files))) == 4


def test_a_run_alone_has_all_its_latency_series(draw: Draw) -> None:
    """irtt's and ping's, on an axis from zero."""
    plotter = draw("ping_cdf", [RUNS / "iperf3_upload.flent.gz"])
    assert labels(plotter) == ["UDP irtt", "ICMP"]
    axis, = plotter.figure.axes
    assert axis.get_xscale() == "linear"
    assert axis.get_xlim()[0] == 0


@pytest.mark.parametrize("name", ["ping_exp", "tcp_compete"])
def test_other_tests_of_ours_have_it_too(name: str, draw: Draw) -> None:
    """Each series that they have."""
    run = load_run(RUNS / f"{name}.flent.gz")
    assert len(labels(draw("ping_cdf", [run.path]))) == len(run.probes)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The worked examples of docs/extend.md, two files and their lines in the tables, do what the page
says."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from flent_aqm.results.metrics import table
from flent_aqm.results.metrics.run import load_run
from flent_aqm.show.plots import all_plotters, catalogue
from flent_aqm.tools.tool import LOWER
from tests.files import ROOT

RUN = ROOT / "tests" / "golden" / "batches" / "quick" / "iperf3_upload-no_aqm.flent.gz"
PAGE = ROOT / "docs" / "extend.md"
OWN_CODE = ROOT / "tests" / "own_code"


def blocks() -> list[str]:
    """The page's pieces of Python."""
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)


def executed(source: str, **names: Any) -> Any:
    """The names that a piece of Python makes."""
    namespace: dict[str, Any] = dict(names)
    exec(compile(source, str(PAGE), "exec"), namespace)
    return SimpleNamespace(**namespace)


@pytest.fixture
def example() -> tuple[Any, Any]:
    """The metric's file, and its line in the table."""
    file = executed((OWN_CODE / "late.py").read_text("utf-8"))
    return file, executed(blocks()[0], Metric=table.Metric, LOWER=LOWER,
                          late_pct=file.late_pct).late


def test_metric_of_the_page_counts_late_and_lost_probes(example: tuple[Any, Any]) -> None:
    """Of 200 probes 3 too late and 1 lost are 2 %."""
    file, metric = example
    rtt_ms = numpy.array([5.0] * 196 + [101.0, 150.0, 300.0, numpy.inf])
    run = SimpleNamespace(loaded=lambda: SimpleNamespace(rtt_ms=rtt_ms))
    assert file.late_pct(run) == pytest.approx(2.0)
    real = load_run(RUN)
    loaded = real.loaded().rtt_ms
    assert metric.of(real) == pytest.approx(100 * (loaded > 100).sum() / loaded.size)


@pytest.fixture
def plot(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plot's file, with its lines in both tables."""
    plotter = executed((OWN_CODE / "losses.py").read_text("utf-8"),
                       __name__="flent_aqm.show.plots.losses").AqmLossesPlotter
    monkeypatch.setitem(all_plotters.PLOTTERS, "aqm_losses", plotter)
    monkeypatch.setattr(catalogue, "LATENCY",
                        {**catalogue.LATENCY, **executed(blocks()[1]).losses})


@pytest.mark.usefixtures("plot")
def test_plot_of_the_page_draws_the_lost_probes(tmp_path: Path) -> None:
    """By Flent, from a run that lost one, as a bar of one in its second."""
    import matplotlib

    matplotlib.use("agg")
    from flent import plotters, resultset, settings
    from matplotlib import pyplot

    picture = str(tmp_path / "losses.png")
    results = resultset.ResultSet.load_file(str(RUN))
    with matplotlib.rc_context():
        loaded = settings.load([str(RUN), "-p", "losses", "-o", picture])
        loaded.update(results.meta())
        loaded.load_test(informational=True)
        loaded.PLOT, loaded.OUTPUT = "losses", picture
        plotters.init_matplotlib(picture, False, True)
        plotter = plotters.draw_worker(loaded, [results])
        line, = [one for one in plotter.axes[0].get_lines()
                 if one.get_label().startswith("no_aqm")]
        assert line.get_ydata().sum() == load_run(RUN).probe.lost.sum() == 1
    assert Path(picture).stat().st_size > 5000
    pyplot.close("all")

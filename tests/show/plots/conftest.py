# SPDX-License-Identifier: GPL-3.0-or-later
"""Plots drawn by Flent in this process, so that tests can look at what was drawn."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.files import GOLDEN, load, save

RUNS = GOLDEN / "runs"


def stock_run(name: str) -> Path:
    """A data file of a stock test, that Flent brings for its own tests."""
    spec = find_spec("flent")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parents[1] / "unittests" / "test_data" / f"test-{name}.flent.gz"


def environment(home: Path) -> dict[str, str]:
    """For a Flent of its own that draws: another home, and the list of fonts that is known.

    matplotlib makes that list in each new home, and says so where it takes long.
    """
    import matplotlib
    import matplotlib.font_manager  # makes it, if it has to be made at all

    return {**os.environ, "HOME": str(home), "MPLCONFIGDIR": matplotlib.get_cachedir()}


@pytest.fixture
def draw(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """draw(plot, files, *options): the plotter after Flent has drawn and saved it."""
    import matplotlib

    matplotlib.use("agg")
    from flent import plotters, resultset, settings
    from matplotlib import pyplot

    def draw_one(plot: str, files: list[Path], *options: str) -> Any:
        results = [resultset.ResultSet.load_file(str(path)) for path in files]
        picture = str(tmp_path / f"{plot}.png")
        loaded = settings.load([str(files[0]), "-p", plot, "-o", picture, *options])
        loaded.update(results[0].meta())
        loaded.load_test(informational=True)
        loaded.PLOT, loaded.OUTPUT = plot, picture
        plotters.init_matplotlib(picture, False, True)
        # It does so once in a process, and each test begins with matplotlib's own.
        matplotlib.rcParams.update(plotters.MATPLOTLIB_STYLES)
        plotter = plotters.draw_worker(loaded, results)
        assert Path(picture).stat().st_size > 5000
        return plotter

    with matplotlib.rc_context():
        yield draw_one
    pyplot.close("all")


Change = Callable[[dict[str, Any]], None]


def variants(folder: Path) -> Callable[..., Path]:
    """variants(folder)(name, test, aqm, rate_mbps, change): a real run with other settings said."""
    loaded: dict[str, Any] = {}

    def make(name: str, test: str = "iperf3_upload", aqm: str = "", rate_mbps: float = 0,
             change: Change | None = None, title: str = "", **settings: Any) -> Path:
        if test not in loaded:
            loaded[test] = load(RUNS / f"{test}.flent.gz")
        data = copy.deepcopy(loaded[test]) if change else dict(loaded[test])
        requested = dict(data["metadata"]["AQM"]["requested"])
        if aqm:
            requested["aqm"] = aqm
        if rate_mbps:
            requested["rate_up_mbps"] = requested["rate_down_mbps"] = rate_mbps
        requested |= settings
        data["metadata"] = data["metadata"] | {
            "AQM": data["metadata"]["AQM"] | {"requested": requested}, "TITLE": title or name}
        if change:
            change(data)
        return save(folder / f"{name}.flent.gz", data)

    return make


@pytest.fixture
def variant(tmp_path: Path) -> Callable[..., Path]:
    """As variants(), in a folder of the test's own."""
    (tmp_path / "runs").mkdir()
    return variants(tmp_path / "runs")


def output(plotter: Any) -> str:
    """All words in a plot, without the line breaks of its caption."""
    from matplotlib.text import Text

    texts = plotter.figure.findobj(Text)
    return "\n".join(" ".join(text.get_text().split()) for text in texts if text.get_visible())


def labels(plotter: Any) -> list[str]:
    """What the legend names."""
    return [handle.get_label() for handle in plotter.handles]

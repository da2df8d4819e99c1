# SPDX-License-Identifier: GPL-3.0-or-later
"""Every plot of every test definition, drawn by the real Flent from data files of real runs."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from flent_aqm.show.plots.frame import EMPTY
from flent_aqm.spec.cell import PROGRAM
from flent_aqm.tools import own
from tests.files import ROOT

from .conftest import environment

RUNS = ROOT / "tests" / "golden" / "runs"
SPEEDTESTS = RUNS.parent / "speedtests"
OF_A_METRIC = {"heat_map", "compare_metric", "compare_metric_box"}
# No run of own_test or program can be kept: it is what a user's file or command says.
TESTS = sorted({path.stem for path in (ROOT / "tests_defs").glob("*.conf")} - {own.NAME, PROGRAM})

# All by forks of one process, a test each: Flent's start, and importing what the bridge imports
# when it is asked for, cost more than a plot. What goes wrong ends the fork (an error), or is
# printed (Flent's log, Python's warnings). A line of input names a folder, whether the pictures
# are wanted, and the files of one test; a line of output says that they have been drawn.
DRAW_ALL = """\
import functools, gc, json, logging, os, pickle, sys, traceback
logging.captureWarnings = lambda capture: None  # Flent would have them logged, and not show them
import flent
from flent import batch, plotters, resultset, settings
import matplotlib
matplotlib.use("svg")
import matplotlib.backends.backend_svg, matplotlib.figure, matplotlib.pyplot, matplotlib.textpath
import flent_aqm.measure.runners.all_runners, flent_aqm.show.plots.all_plotters
import scipy.stats  # which comparing a metric loads, as long as ten plots

# No fork lives long enough to collect anything, and what is shared stays so.
gc.freeze()
gc.disable()
# All plots of a test have much text in common. matplotlib remembers for one drawing how wide a
# text is, and asking the font is an eighth of all.
measured = functools.cache(matplotlib.textpath.text_to_path.get_text_width_height_descent)
matplotlib.textpath.TextToPath.get_text_width_height_descent = lambda self, *words: measured(*words)

# Each plot gets results of its own, as from flent-gui, which reads a file once and pickles what it
# read for each plot.
stock_load = resultset.load

@functools.cache
def packed(*words):
    return pickle.dumps(stock_load(*words))

resultset.load = lambda *words: pickle.loads(packed(*words))

in_figure = {}
stock_savefig = matplotlib.figure.Figure.savefig

def tell(figure, output):
    curves = [part for axes in figure.axes for part in (*axes.lines, *axes.patches)
              if part.get_visible() and part.get_clip_on() and len(part.get_path().vertices)]
    in_figure[os.path.basename(output).removesuffix(".svg")] = {
        "curves": len(curves), "refused": False}

def tell_and_save(figure, output, **more):
    if isinstance(output, str):  # Flent saves its own plots once more, to lay them out
        tell(figure, output)
    stock_savefig(figure, output, **more)

def tell_and_draw(figure, output, **_):
    tell(figure, output)
    figure.set_layout_engine("none")
    figure.draw_without_rendering()

def draw_all(folder, pictures, files):
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT), number)
    os.chdir(folder)
    matplotlib.figure.Figure.savefig = tell_and_save if pictures else tell_and_draw
    if not pictures:
        plotters.Plotter.build_tight_layout = lambda self, artists: {}
        # Ticks are a third of the drawing; nobody looks at those without a number.
        matplotlib.axis.Axis.get_minor_ticks = lambda self, numticks=None: []
    loaded = settings.load([files[0]])
    loaded.update(resultset.ResultSet.load_file(files[0]).meta())
    loaded.load_test(informational=True)
    for plot in loaded.PLOTS:
        sys.argv = ["flent", "-p", plot, "-o", f"{folder}/{plot}.svg", *files]
        status = flent.run_flent()
        in_figure.setdefault(plot, {"curves": 0, "refused": True})["status"] = status
        matplotlib.pyplot.close("all")
    with open("figures.json", "w") as file:
        json.dump(in_figure, file)

for line in sys.stdin:
    folder, pictures, *files = json.loads(line)
    child = os.fork()
    if not child:
        try:
            draw_all(folder, pictures, files)
            status = 0
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    _, status = os.waitpid(child, 0)
    print(status, flush=True)
"""
LONGEST_S = 300
SVG = "{http://www.w3.org/2000/svg}"

# Plots that a run can't give. Those of tests that aren't listed are older than the sampling of
# queues. There is no capture beside netperf, iperf3 of several kinds, and pings alone; two
# seconds are too short for glitches by a ping every 0.2 s. Computing takes no time in the lab,
# and Flent's own plots of `ss` are empty unless it is asked to run.
# The router of these runs is ideal.
_NO_MODEL = ["delay_parts"]
_NO_CAPTURE = ["overlay_throughput", *_NO_MODEL]
_NO_GLITCHES = ["glitches_per_minute"]
_NO_SS = ["tcp_cwnd", "tcp_pacing", "tcp_rtt", "tcp_rtt_box_combine", "tcp_rtt_cdf"]
_NO_CPU = ["cpu"]
REFUSED = {
    "aqm_flows": _NO_CAPTURE,
    "ping_exp": _NO_GLITCHES,
    "rrul_compete": _NO_GLITCHES,
    "tcp_compete": _NO_GLITCHES,
    "speedtest_concurrent": [*_NO_CAPTURE, *_NO_CPU],
    "speedtest_sequential": [*_NO_CAPTURE, *_NO_CPU],
    # no load at all
    "speedtest_idle": [*_NO_CAPTURE, *_NO_GLITCHES, *_NO_CPU, "throughput",
                       "latency_ecdf_idle_vs_loaded",
                       "compare_latency_box", "compare_latency_ecdf", "compare_latency_violin"],
}
# Plots that a test has from Flent's, which leaves them without a word where they are empty.
STOCK_AND_EMPTY = {"rrul_compete": set(_NO_SS)}
# All are drawn. Of each way to include what tests share, one is also laid out and saved, which
# takes thrice as long.
SAVED = ("ndt7", "iperf3_bidirectional", "webrtc_call", "rrul_compete", "ping_exp",
         "speedtest_concurrent")


@dataclass(frozen=True)
class Figure:
    """What a plot drew: how many curves, bars and boxes of data. With Flent's exit status.

    refused: no picture was saved."""

    curves: int
    refused: bool
    status: int


DrawAll = Callable[[list[Path], Path, bool], dict[str, Figure]]
OfOneFile = Callable[[str], tuple[dict[str, Figure], Path]]


@pytest.fixture(scope="module")
def draw_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrawAll]:
    """draw_all(files, folder, pictures): draw every plot that the files' test has; gives the
    figures by name, and saves pictures into the folder if asked to."""
    home = tmp_path_factory.mktemp("home")
    complaints = home / "err"
    with complaints.open("w") as err, subprocess.Popen(
            [sys.executable, "-W", "default", "-c", DRAW_ALL], cwd=home, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
            env=environment(home)) as drawing:
        assert drawing.stdin is not None
        assert drawing.stdout is not None
        requested, answers = drawing.stdin, drawing.stdout

        def draw(files: list[Path], folder: Path, pictures: bool) -> dict[str, Figure]:
            requested.write(json.dumps([str(folder), pictures, *map(str, files)]) + "\n")
            requested.flush()
            answered, _, _ = select.select([answers], [], [], LONGEST_S)
            status = answers.readline() if answered else "late"
            output = complaints.read_text() + "".join(
                path.read_text() for path in folder.glob("err"))
            assert status == "0\n", output
            figures = {name: Figure(**told) for name, told in
                       json.loads((folder / "figures.json").read_text()).items()}
            assert len(figures) > 2
            # Each says in a line why it has nothing to show, and nothing else complains.
            refused = [figure for figure in figures.values() if figure.refused]
            lines = output.splitlines()
            assert len(lines) == len(refused), output
            assert all(line.startswith(("ERROR: Nothing to plot: ", f"ERROR: {EMPTY}"))
                       for line in lines), output
            assert {name: figure.status for name, figure in figures.items()} == {
                name: int(figure.refused) for name, figure in figures.items()}
            return figures

        try:
            yield draw
        finally:
            requested.close()
            try:
                drawing.wait(LONGEST_S)
            except subprocess.TimeoutExpired:
                drawing.kill()


@pytest.fixture(scope="module")
def of_one_file(draw_all: DrawAll, tmp_path_factory: pytest.TempPathFactory) -> OfOneFile:
    """of_one_file(test): the figures of its golden run, drawn once for all that look at them, and
    the folder with the pictures, if it is one of SAVED."""
    @cache
    def draw(test: str) -> tuple[dict[str, Figure], Path]:
        folder = tmp_path_factory.mktemp(test)
        return draw_all([golden(test)], folder, test in SAVED), folder

    return draw


def golden(test: str) -> Path:
    """A run of the test."""
    run = RUNS / f"{test}.flent.gz"
    return run if run.exists() else SPEEDTESTS / run.name


def curves(picture: Path) -> int:
    """How many curves, bars and boxes of data a saved picture has."""
    axes = [group for group in ET.parse(picture).iter(f"{SVG}g")
            if group.get("id", "").startswith("axes_")]
    return sum(part.get("id", "").startswith(("line2d_", "patch_"))
               and any("clip-path" in piece.attrib for piece in part.iter())
               for group in axes for part in group)


@pytest.mark.parametrize("test", TESTS)
def test_every_plot_of_one_file_draws(test: str, of_one_file: OfOneFile) -> None:
    """Each plot has curves, and neither Flent nor matplotlib complains."""
    figures, folder = of_one_file(test)
    # A metric of one run may be refused, and a heat map of it be one colour.
    # Nor has any of them an explanation, which `why --keep` adds to a file.
    assert {name for name, figure in figures.items() if figure.refused} - {
        "why", *OF_A_METRIC} == set(
        REFUSED.get(test, ["qdisc_over_time", *_NO_MODEL] if golden(test).parent == RUNS
                    else _NO_MODEL))
    # Where there was no glitch there is no bar.
    assert ({name for name, figure in figures.items() if not figure.curves and not figure.refused}
            - {"glitches_per_minute", *OF_A_METRIC}) == STOCK_AND_EMPTY.get(test, set())
    if test in SAVED:
        assert {path.stem: curves(path) for path in folder.glob("*.svg")} == {
            name: figure.curves for name, figure in figures.items() if not figure.refused}


@pytest.mark.parametrize("test", ["ndt7", "iperf3_bidirectional"])
def test_every_plot_of_two_files_draws(
        test: str, tmp_path: Path, of_one_file: OfOneFile, draw_all: DrawAll) -> None:
    """With a second file there are more curves, except in those that say less of more."""
    run = golden(test)
    one, _ = of_one_file(test)
    two = draw_all([run, run], tmp_path, False)
    assert [name for name, figure in two.items() if not figure.curves and not figure.refused
            and name not in ("glitches_per_minute", *OF_A_METRIC)] == []
    grown = {name for name in one if two[name].curves > one[name].curves}
    assert {"totals", "throughput", "ping", "box_totals", "tcp_rtt", "all"} <= grown


def test_two_value_axes_when_saved_cover_each_other(tmp_path: Path) -> None:
    """What is drawn against the right axis stands at its time on the axis below."""
    code = """\
import sys
import flent
from flent import plotters, resultset, settings
loaded = settings.load([sys.argv[1], "-p", "totals", "-o", "totals.png"])
results = resultset.ResultSet.load_file(sys.argv[1])
loaded.update(results.meta())
loaded.load_test(informational=True)
plotters.init_matplotlib("totals.png", False, True)
plotter = plotters.draw_worker(loaded, [results])
for axes in plotter.config["axes"]:
    print(axes.get_position().bounds)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, RUNS / "ndt7_upload.flent.gz"], cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=60,
        env=environment(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    left, right = [line for line in done.stdout.splitlines() if line.startswith("(")]
    assert left == right

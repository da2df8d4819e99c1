# SPDX-License-Identifier: GPL-3.0-or-later
"""Every plot of every test definition, drawn by the real Flent from data files of real runs."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from flent_aqm.bridge.layout import EMPTY

from .conftest import environment

ROOT = Path(__file__).resolve().parents[3]
RUNS = ROOT / "tests" / "golden" / "runs"
SPEEDTESTS = RUNS.parent / "speedtests"
TESTS = sorted(path.stem for path in (ROOT / "tests_defs").glob("*.conf"))

# All by forks of one process, as many at once as there are cores: Flent's start, and importing
# what the bridge imports when it is asked for, cost more than a plot. What goes wrong ends the
# fork (an error), or is printed (Flent's log, Python's warnings). A line of input names a
# folder and the files of one test; a line of output says that they have been drawn.
DRAW_ALL = """\
import gc, json, os, sys, traceback
import flent
from flent import batch, resultset, settings
import matplotlib
matplotlib.use("svg")
import matplotlib.backends.backend_svg, matplotlib.pyplot
import flent_aqm.measure.runners.all_runners, flent_aqm.show.plots.all_plotters

# No fork lives long enough to collect anything, and what is shared stays so.
gc.freeze()
gc.disable()

def fork(work):
    child = os.fork()
    if not child:
        try:
            status = work()
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status or 0)
    return child

def draw_all(folder, files):
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT), number)
    os.chdir(folder)
    loaded = settings.load([files[0]])
    loaded.update(resultset.ResultSet.load_file(files[0]).meta())
    loaded.load_test(informational=True)
    drawing = {}

    def draw(plot):
        sys.argv = ["flent", "-p", plot, "-o", f"{folder}/{plot}.svg", *files]
        return flent.run_flent()

    def wait_for_one():
        child, status = os.wait()
        plot = drawing.pop(child)
        if status:
            sys.exit(f"plot {plot} failed")

    for plot in loaded.PLOTS:
        if len(drawing) == len(os.sched_getaffinity(0)):
            wait_for_one()
        drawing[fork(lambda: draw(plot))] = plot
    while drawing:
        wait_for_one()
    print("plots:", *loaded.PLOTS)

for line in sys.stdin:
    folder, *files = json.loads(line)
    _, status = os.waitpid(fork(lambda: draw_all(folder, files)), 0)
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
    "rrul_compete": [*_NO_GLITCHES, *_NO_SS],
    "tcp_compete": _NO_GLITCHES,
    "speedtest_concurrent": [*_NO_CAPTURE, *_NO_CPU],
    "speedtest_sequential": [*_NO_CAPTURE, *_NO_CPU],
    # no load at all
    "speedtest_idle": [*_NO_CAPTURE, *_NO_GLITCHES, *_NO_CPU, "throughput",
                       "latency_ecdf_idle_vs_loaded",
                       "compare_latency_box", "compare_latency_ecdf", "compare_latency_violin"],
}
DrawAll = Callable[[list[Path], Path], list[Path]]


@pytest.fixture(scope="module")
def draw_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrawAll]:
    """draw_all(files, folder): draw every plot that the files' test has; gives the pictures."""
    home = tmp_path_factory.mktemp("home")
    complaints = home / "err"
    with complaints.open("w") as err, subprocess.Popen(
            [sys.executable, "-W", "default", "-c", DRAW_ALL], cwd=home, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
            env=environment(home)) as drawing:
        assert drawing.stdin is not None
        assert drawing.stdout is not None
        asked, answers = drawing.stdin, drawing.stdout

        def draw(files: list[Path], folder: Path) -> list[Path]:
            folder.mkdir()
            asked.write(json.dumps([str(folder), *map(str, files)]) + "\n")
            asked.flush()
            answered, _, _ = select.select([answers], [], [], LONGEST_S)
            status = answers.readline() if answered else "late"
            said = complaints.read_text() + "".join(
                path.read_text() for path in folder.glob("err"))
            assert (status, said) == ("0\n", "")
            names = (folder / "out").read_text().splitlines()[-1].split()[1:]
            assert len(names) > 2
            return [folder / f"{name}.svg" for name in names]

        try:
            yield draw
        finally:
            asked.close()
            try:
                drawing.wait(LONGEST_S)
            except subprocess.TimeoutExpired:
                drawing.kill()


@pytest.fixture(scope="module")
def of_one_file(draw_all: DrawAll, tmp_path_factory: pytest.TempPathFactory
                ) -> Callable[[str], list[Path]]:
    """Every plot of a test's golden run, drawn once for all that look at them."""
    @cache
    def draw(test: str) -> list[Path]:
        return draw_all([golden(test)], tmp_path_factory.mktemp(test) / "plots")

    return draw


def golden(test: str) -> Path:
    """A run of the test."""
    run = RUNS / f"{test}.flent.gz"
    return run if run.exists() else SPEEDTESTS / run.name


def refused(picture: Path) -> bool:
    """Whether a plot says in words that it can't be given."""
    text = picture.read_text()
    return "This plot can't be given" in text or EMPTY in text


def curves(picture: Path) -> int:
    """How many curves, bars and boxes of data a picture has."""
    axes = [group for group in ET.parse(picture).iter(f"{SVG}g")
            if group.get("id", "").startswith("axes_")]
    return sum(part.get("id", "").startswith(("line2d_", "patch_"))
               and any("clip-path" in piece.attrib for piece in part.iter())
               for group in axes for part in group)


@pytest.mark.parametrize("test", TESTS)
def test_every_plot_of_one_file_draws(
        test: str, of_one_file: Callable[[str], list[Path]]) -> None:
    """Each plot has curves, and neither Flent nor matplotlib complains."""
    pictures = of_one_file(test)
    # A heat map of one run may be refused, or be one colour.
    assert {path.stem for path in pictures if refused(path)} - {"heat_map"} == set(
        REFUSED.get(test, ["qdisc_over_time", *_NO_MODEL] if golden(test).parent == RUNS
                    else _NO_MODEL))
    # Where there was no glitch there is no bar.
    assert ({path.stem for path in pictures if not curves(path) and not refused(path)}
            - {"glitches_per_minute", "heat_map"}) == set()


@pytest.mark.parametrize("test", ["ndt7", "iperf3_bidirectional"])
def test_every_plot_of_two_files_draws(
        test: str, tmp_path: Path, of_one_file: Callable[[str], list[Path]],
        draw_all: DrawAll) -> None:
    """With a second file there are more curves, except in those that say less of more."""
    run = golden(test)
    one = of_one_file(test)
    two = draw_all([run, run], tmp_path / "two")
    assert [path.name for path in two if not curves(path) and not refused(path)
            and path.stem not in ("glitches_per_minute", "heat_map")] == []
    grown = {a.stem for a, b in zip(one, two, strict=True) if curves(b) > curves(a)}
    assert {"totals", "throughput", "ping", "ping_cdf", "ping_cdf_log", "box_totals",
            "tcp_rtt", "all"} <= grown


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

# SPDX-License-Identifier: GPL-3.0-or-later
"""Our plots in the real flent-gui, whose pictures are drawn in another process and sent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.show.plots.catalogue import LATENCY, OURS, THROUGHPUT

from ...gui_window import WINDOW
from .conftest import RUNS, environment

pytest.importorskip("qtpy", reason="the extra 'gui' is not installed")

Variant = Callable[..., Path]
ALL = [*LATENCY, *THROUGHPUT, *OURS]

# Flent's errors are in its log, and the picture stays what it was.
DRIVE = WINDOW + """
import json, logging
from flent.loggers import add_log_handler

chosen, files = json.loads(sys.argv[1]), sys.argv[2:]
load(files)
tab = window.viewArea.widget(0)
window.viewArea.setCurrentIndex(0)
until(lambda: tab.async_fig is None)
with tab.updates_disabled():
    for number in range(1, len(files)):
        tab.add_extra(window.viewArea.widget(number).results)
told = {"listed": list(tab.settings.PLOTS), "plots": {}}

class Log(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())

lines = []
add_log_handler(Log(level=logging.WARNING))
for name in chosen:
    before = tab.plotter
    plot, _, options = name.partition(" ")
    # What the fields under "Plot settings" give.
    tab.settings.update(dict(OVERRIDE_GROUP_BY=None, METRIC=None))
    tab.settings.update(dict(one.split("=") for one in options.split()))
    tab.change_plot(plot)
    tab.dirty = True
    tab.redraw()
    until(lambda: tab.async_fig is None)
    tab.canvas.draw()
    axes = tab.canvas.figure.axes
    told["plots"][name] = {
        "new": tab.plotter is not before, "kind": type(tab.plotter).__name__,
        "texts": [text.get_text() for axis in axes for text in axis.texts],
        "shapes": sum(len(axis.lines) + len(axis.patches) + len(axis.images) for axis in axes),
        "labels": [handle.get_label() for handle in getattr(tab.plotter, "handles", [])],
        "log": lines[:]}
    lines.clear()
print(json.dumps(told))
sys.stdout.flush()
window.worker_pool.terminate()
os._exit(0)
"""


def gui(files: Sequence[Path], plots: Sequence[str], folder: Path) -> Any:
    """What flent-gui lists, and what it shows of each plot over all files.

    plots: "NAME", or "NAME SETTING=VALUE …" with names of Flent's settings.
    """
    return driven(DRIVE, folder, json.dumps(plots), *files)


def driven(code: str, folder: Path, *words: str | Path) -> Any:
    """What a program that opens the window tells at its end."""
    output, errors = folder / "told.json", folder / "errors.txt"
    # Into files: the processes that draw have their output where the window has it, and
    # would keep a pipe open if it died.
    with output.open("w") as out, errors.open("w") as err:
        ended = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=folder, stdout=out, stderr=err,
            check=False, timeout=300,
            env={**environment(folder), "QT_QPA_PLATFORM": "offscreen"})
    assert ended.returncode == 0, errors.read_text()
    return json.loads(output.read_text().splitlines()[-1])


def test_gui_lists_and_shows_every_plot_of_ours(tmp_path: Path) -> None:
    """Each picture comes over from the other process, and Flent logs nothing."""
    state = gui([RUNS / "ndt7.flent.gz"], ALL, tmp_path)
    assert set(ALL) <= set(state["listed"])
    assert set(state["plots"]) == set(ALL)
    for name, shown in state["plots"].items():
        assert (name, shown["new"], shown["log"]) == (name, True, [])
        assert shown["kind"].startswith("Aqm")
        refused = any("Nothing to plot" in text for text in shown["texts"])
        # That run is older than the sampling of queues, its router is ideal, and it keeps no
        # explanation.
        assert refused == (name in ("qdisc_over_time", "delay_parts", "why"))
        assert shown["shapes"] or refused


def test_gui_shows_plots_over_many_runs_grouped(tmp_path: Path, variant: Variant) -> None:
    """Twenty files are four groups, whatever their seeds and starts were."""
    files = [variant(f"{aqm}-{rate}-{seed}", aqm=aqm, rate_mbps=rate, seed=seed,
                     start_jitter_ms=f"{seed * 10.5}")
             for aqm in ("no_aqm", "fq_codel") for rate in (100, 900) for seed in range(5)]
    by_aqm = "compare_throughput_box OVERRIDE_GROUP_BY=aqm,rate_mbps"
    heat = "heat_map METRIC=latency_loaded_p90_ms"
    state = gui(files, ["compare_throughput_box", "latency_tail", "overlay_latency", by_aqm, heat],
                tmp_path)
    shown = state["plots"]
    assert [one["log"] for one in shown.values()] == [[]] * 5
    assert shown[by_aqm]["labels"] == ["100 Mbit/s", "900 Mbit/s"]
    assert len(shown[heat]["texts"]) == 4
    assert shown["compare_throughput_box"]["labels"] == ["no_aqm", "fq_codel"]
    assert shown["latency_tail"]["labels"] == [
        "no_aqm, 100 Mbit/s", "no_aqm, 900 Mbit/s", "fq_codel, 100 Mbit/s",
        "fq_codel, 900 Mbit/s"]


LOAD = WINDOW + """
import json
from qtpy.QtWidgets import QFormLayout
load(sys.argv[1:])
tab = window.viewArea.widget(0)
until(lambda: tab.async_fig is None)
fields = {}
for form in window.findChildren(QFormLayout):
    for row in range(form.rowCount()):
        label = form.itemAt(row, QFormLayout.ItemRole.LabelRole)
        field = form.itemAt(row, QFormLayout.ItemRole.FieldRole)
        if label and field and label.widget():
            fields[label.widget().text()] = field.widget().toolTip()
print(json.dumps(fields))
sys.stdout.flush()
window.worker_pool.terminate()
os._exit(0)
"""


def test_settings_of_ours_are_labelled_and_explained(tmp_path: Path) -> None:
    """A label of some words, the rest on pointing at the field."""
    fields = driven(LOAD, tmp_path, RUNS / "stock_ping.flent.gz")
    assert "What heat_map and compare_metric show" in fields["Metric to plot"]
    assert "such as aqm,rate_mbps" in fields["Group runs by"]
    assert not [label for label in fields if len(label) > 40]


VIEW = WINDOW + """
import json
from pathlib import Path
folder, files, *more = sys.argv[1:]
files = json.loads(files)
sys.path.insert(0, folder)
from pictures import drawn_texts, misplaced
window.resize(1142, 775)  # as it is at first
load(files)
tab = window.viewArea.widget(0)
window.viewArea.setCurrentIndex(0)
until(lambda: tab.async_fig is None)
with tab.updates_disabled():
    for number in range(1, len(files)):
        tab.add_extra(window.viewArea.widget(number).results)
told = {}
for plot in (tab.settings.PLOT, *more):
    if plot in told:
        continue
    tab.change_plot(plot)
    tab.dirty = True
    tab.redraw()
    until(lambda: tab.async_fig is None)
    with drawn_texts() as texts:
        tab.canvas.draw()
    told[plot] = [misplaced(tab.canvas.figure, texts), [text.get_text() for text in texts]]
print(json.dumps([list(tab.settings.PLOTS)[0], told]))
sys.stdout.flush()
window.worker_pool.terminate()
os._exit(0)
"""


NO_AQM = RUNS.parent / "batches" / "quick" / "ndt7-no_aqm.flent.gz"


def test_words_of_several_runs_have_room_in_the_window(tmp_path: Path, variant: Variant) -> None:
    """Its picture is made for a window of another size, before it is shown in this one."""
    files = [variant(f"{aqm}-{share}", aqm=aqm, shaper=shaper, modem_down_mbps=50, modem_up_mbps=8,
                     rate_down_mbps=50 * share, rate_up_mbps=8 * share)
             for aqm, shaper, share in (("no_aqm", "none", 1), ("cake", "cake", 0.9),
                                        ("cake", "cake", 1))]
    _, views = driven(VIEW, tmp_path, Path(__file__).parent, json.dumps([*map(str, files)]),
                      "ping_cdf", "latency_tail")
    assert [text for text in views["ping_cdf"][1] if "cake, " in text]
    assert {plot: faults for plot, (faults, _) in views.items() if faults} == {}


def test_first_view_answers_and_can_be_read(tmp_path: Path) -> None:
    """Latency beside throughput, at the window's first size; nor are words of Flent's plots cut or
    on each other in tests of ours."""
    first, views = driven(VIEW, tmp_path, Path(__file__).parent,
                          json.dumps([str(NO_AQM)]), "all", "totals", "box_totals", "ping")
    assert first == next(iter(views)) == "latency_and_throughput"
    assert {plot: faults for plot, (faults, _) in views.items() if faults} == {}
    title = next(text for text in views[first][1] if text.startswith("Latency while"))
    assert "a 100 Mbit/s link, base RTT < 1 ms" in " ".join(title.split())

# SPDX-License-Identifier: GPL-3.0-or-later
"""The explanation that a file keeps, and files that keep none or an odd one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.run import as_run
from flent_aqm.show.plots import why
from tests.files import GOLDEN, load, save

KEPT = GOLDEN / "why" / "kept.flent.gz"


def _kept() -> Any:
    return load(KEPT)["metadata"]["AQM"]["why"]


def test_what_is_written_is_what_is_read() -> None:
    explained = why.read(_kept())
    assert why.read(why.to_json(explained)) == explained or "nan" in str(explained)
    assert explained.begin_s < explained.sent_s < explained.end_s
    assert explained.runs[0].name == "nothing changed"
    assert explained.rtt_ms is not None
    assert explained.has_losses == bool(explained.drops_s)


@pytest.mark.parametrize(("factor", "scale"), [(2.0, "linear"), (40.0, "log")])
def test_one_slow_change_does_not_flatten_the_run(factor: float, scale: str) -> None:
    explained = why.read(_kept())
    own = explained.runs[0]
    slow = why.NamedCurve("aqm=pfifo", own.at_s, [value * factor for value in own.values])
    axes = Figure().subplots(4 if explained.has_losses else 3, 1)
    why.draw(axes, replace(explained, runs=[own, slow]))
    assert axes[-1].get_yscale() == scale


@pytest.mark.parametrize("change", [
    lambda one: one.clear(), lambda one: one.pop("runs"), lambda one: one.update(runs=[]),
    lambda one: one.update(runs=one["runs"] * 60), lambda one: one.update(flows={"a": 1}),
    lambda one: one.update(end_s=one["begin_s"]), lambda one: one.update(end_s=1e9),
    lambda one: one.update(sent_s="5"), lambda one: one.update(sent_s=True),
    lambda one: one.update(rtt_ms=float("inf")), lambda one: one.update(title=7),
    lambda one: one.update(stay_s=[1.0]), lambda one: one.update(stay_s=3),
    lambda one: one.update(drops_s=[[1.0]]), lambda one: one.update(drops_s="1234"),
    lambda one: one.update(marks_s=[0.0] * 200_000), lambda one: one["runs"][0].pop("at_s"),
    lambda one: one["runs"][0]["values"].pop(), lambda one: one["flows"][0]["at_s"].reverse(),
    lambda one: one.update(sentences=[None]), lambda one: one.update(window=[1, 2]),
])
def test_explanation_of_another_form_is_refused(change: Callable[[Any], Any]) -> None:
    """In a line, whatever it is."""
    kept = copy.deepcopy(_kept())
    if len(kept["flows"]) == 1:
        kept["flows"] *= 2
    change(kept)
    with pytest.raises(BadResult, match="another form than `flent-aqm why --keep` writes"):
        why.read(kept)
    others: list[object] = [None, 7, "why", []]
    for odd in others:
        with pytest.raises(BadResult, match="another form"):
            why.read(odd)


def test_damaged_explanation_is_told_with_its_file(draw: Any, tmp_path: Path) -> None:
    """Of several files, it may be any."""
    data = load(KEPT)
    data["metadata"]["AQM"]["why"] = 7
    path = save(tmp_path / "odd.flent.gz", data)
    text = draw("why", [path]).figure.axes[0].texts[0].get_text()
    assert f"{path}: its AQM.why has another form" in text


def test_file_without_packets_says_how_to_make_one_that_keeps_them(draw: Any) -> None:
    plotter = draw("why", [GOLDEN / "batches" / "quick" / "ndt7-codel.flent.gz"])
    text = plotter.figure.axes[0].texts[0].get_text()
    assert "this file keeps no packets. `flent-aqm why FILE --keep KEPT.flent.gz`" in text
    shown = draw("why", [KEPT])
    assert not shown.figure.axes[0].texts
    assert len(shown.figure.axes) == len(why.ratios(why.read(_kept())))


def test_of_several_files_the_first_that_keeps_packets_is_shown(draw: Any) -> None:
    plotter = draw("why", [GOLDEN / "batches" / "quick" / "iperf3_upload-codel.flent.gz", KEPT])
    assert any(note.startswith("1 of 2 files shown") for note in plotter.notes)
    assert not any("files shown" in note for note in draw("why", [KEPT]).notes)


def test_metrics_of_a_kept_file_are_those_of_the_run() -> None:
    """The explanation is beside the samples."""
    whole = load(KEPT)
    run = as_run(as_data_file(whole, KEPT))
    assert why.KEPT in run.aqm
    del whole["metadata"]["AQM"]["why"]
    assert as_run(as_data_file(whole, KEPT)).samples == run.samples

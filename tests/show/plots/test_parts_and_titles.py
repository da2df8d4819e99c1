# SPDX-License-Identifier: GPL-3.0-or-later
"""What a title says of the link, and plots that are a part of another plot."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.run import load_run
from flent_aqm.show.plots.chart import ChartPlotter
from flent_aqm.show.plots.latency_and_throughput import _link_text
from tests.files import RUNS


@pytest.mark.parametrize("requested", [{"base_delay_ms": "x"}, {}])
def test_base_rtt_that_is_not_recorded_is_not_told(
        requested: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as less than 1 ms, which is a line without an added delay."""
    run = load_run(RUNS / "ndt7.flent.gz")
    settings = {"testbed": "virtual", "rate_down_mbps": 50.0, "rate_up_mbps": 50.0}
    texts = []
    for more in (requested, {"base_delay_ms": 0.0}, {"base_delay_ms": 20.0}):
        monkeypatch.setitem(vars(run), "settings", settings | more)
        texts.append(_link_text([run]))
    assert texts == ["a 50 Mbit/s link", "a 50 Mbit/s link, base RTT < 1 ms",
                     "a 50 Mbit/s link, base RTT 20 ms"]


def test_reason_replaces_what_a_part_has_drawn_before() -> None:
    """The other parts of the figure stay."""
    plotter: Any = ChartPlotter.__new__(ChartPlotter)
    other, axis = Figure().subplots(2)
    for each in (other, axis):
        each.plot([1, 2])
    axis.set_title("mine")
    plotter._part_axis, plotter.config, plotter.notes = axis, {}, ["of the lines"]
    plotter._show_reason("no probe was sent")
    assert [text.get_text() for text in axis.texts] == ["Nothing to plot:\nno probe was sent"]
    assert (len(axis.lines), axis.get_title(), plotter.notes) == (0, "", [])
    assert len(other.lines) == 1


def test_part_of_another_plot_has_no_room_for_several_panels() -> None:
    """Where a user's own plot of kind `meta` names one of ours, Flent gives an axis for it."""
    plotter: Any = ChartPlotter.__new__(ChartPlotter)
    plotter._part_axis, plotter.config = "the axis", {}
    assert plotter.grid() == plotter.axes == ["the axis"]
    for rows, columns in ((2, 1), (1, 2)):
        with pytest.raises(NotAvailable, match="this plot has several panels, and a part"):
            plotter.grid(rows, columns)


@pytest.mark.parametrize(("where", "told"), [
    ({}, ["nothing here"]), ({"_part_axis": "the axis"}, []), ({"gui": True}, []),
    ({"in_worker": True}, [])])
def test_reason_of_an_empty_picture_is_told_where_nobody_looks_at_it(
        where: dict[str, Any], told: list[str], caplog: pytest.LogCaptureFixture) -> None:
    """In one line. A part of a plot has others beside it, and flent-gui shows the picture."""
    plotter: Any = ChartPlotter.__new__(ChartPlotter)
    vars(plotter).update({"_part_axis": None, "gui": False, "in_worker": False, **where})
    plotter.tell_refused("nothing\nhere")
    assert caplog.messages == told

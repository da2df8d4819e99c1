# SPDX-License-Identifier: GPL-3.0-or-later
"""Colours and lines of queues and of other things."""

from __future__ import annotations

import io

import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from flent_aqm.show.looks import AQM_LOOKS, OTHER_LOOKS, in_rows, looks_for


def test_other_names_avoid_colours_that_mean_something() -> None:
    """Those of drops, and of queues among the names. If none is left, all are used."""
    taken = [OTHER_LOOKS[0].colour, OTHER_LOOKS[2].colour]
    looks = looks_for(["aqm_limit=500", "codel", "cross_traffic=no"], avoid=taken)
    assert looks["codel"] == AQM_LOOKS["codel"]
    assert [looks[name] for name in ("aqm_limit=500", "cross_traffic=no")] == [
        OTHER_LOOKS[1], OTHER_LOOKS[3]]
    every = [look.colour for look in OTHER_LOOKS]
    assert looks_for(["x"], avoid=every) == {"x": OTHER_LOOKS[0]}


@pytest.mark.parametrize(("columns", "rows"), [
    (1, [["a"], ["b"], ["c"], ["d"], ["e"]]), (4, [["a", "b", "c", "d"], ["e"]]),
    (3, [["a", "b", "c"], ["d", "e"]]), (5, [["a", "b", "c", "d", "e"]])])
def test_legend_is_read_row_by_row(columns: int, rows: list[list[str]]) -> None:
    """By the places of matplotlib's own texts."""
    figure = Figure()
    handles = [Line2D([], [], label=label) for label in "abcde"]
    legend = figure.legend(handles=in_rows(handles, columns), ncols=columns)
    figure.savefig(io.BytesIO())
    places: dict[int, list[tuple[float, str]]] = {}
    for text in legend.get_texts():
        left, bottom = text.get_window_extent().min
        places.setdefault(-round(bottom / 10), []).append((left, text.get_text()))
    assert [[label for _, label in sorted(row)] for _, row in sorted(places.items())] == rows

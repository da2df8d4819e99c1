# SPDX-License-Identifier: GPL-3.0-or-later
"""Curves over time in a report: which value stands at which time."""

from __future__ import annotations

import numpy
import pytest

from flent_aqm.show.report.gather import STEP_S, _per_step
from flent_aqm.show.report.slices import _curve_over_runs


def test_value_of_a_step_stands_at_its_middle() -> None:
    """Probes at 0.1 s and 0.2 s are of the step from 0 to 0.25 s, whose middle is 0.125 s."""
    per_step = _per_step(numpy.array([0.1, 0.2, 0.6]), numpy.array([3.0, 5.0, 9.0]))
    curve = _curve_over_runs([per_step])
    assert curve is not None
    assert STEP_S == 0.25
    assert curve["s"] == [0.125, 0.625]
    assert curve["middle"] == [4, 9]
    assert "least" not in curve


def test_moment_on_an_edge_is_of_the_step_that_begins_there() -> None:
    per_step = _per_step(numpy.array([0.25]), numpy.array([7.0]))
    curve = _curve_over_runs([per_step])
    assert curve is not None
    assert (curve["s"], curve["middle"]) == ([0.375], [7])


@pytest.mark.parametrize(("runs", "least", "middle", "most"), [
    ([[1.0], [2.0], [9.0]], [1], [2], [9]), ([[1.0, 4.0], [3.0]], [1, 4], [2, 4], [3, 4])])
def test_curve_of_several_runs_has_least_median_and_most(
        runs: list[list[float]], least: list[int], middle: list[int], most: list[int]) -> None:
    """At each step, of the runs that have it."""
    curve = _curve_over_runs([numpy.array(run, numpy.float32) for run in runs])
    assert curve is not None
    assert (curve["least"], curve["middle"], curve["most"]) == (least, middle, most)


def test_nothing_makes_no_curve() -> None:
    assert _curve_over_runs([]) is None
    assert _curve_over_runs([numpy.array([], numpy.float32)]) is None

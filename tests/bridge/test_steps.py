# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left out before Flent puts series on steps makes no difference to it."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace

from flent import aggregators, resultset
from hypothesis import given
from hypothesis import strategies as st

from flent_aqm.bridge.aggregators_patch import _Printer, used_by_steps

VALUES = st.none() | st.floats(0, 1000, allow_nan=False)
# Gaps from none to many steps, and clocks that go back.
SERIES = st.lists(st.tuples(st.sampled_from(
    [0.0, 0.003, 0.01, 0.1, 0.2, 1 / 3, 1.5, -0.05]), VALUES), max_size=60)


def _steps(measurements: object) -> object:
    """What Flent makes of them."""
    class Some(aggregators.TimeseriesAggregator):  # type: ignore[misc]
        def __init__(self) -> None:
            self.step, self.max_distance, self.killed = 0.2, 1.0, False
            self.failed_runners, self.settings = 0, SimpleNamespace(TOTAL_LENGTH=60)

        def collect(self) -> object:
            return measurements, {"series": {}, "test_parameters": {}}, {}

    results = Some().aggregate(resultset.ResultSet(
        NAME="steps", TEST_PARAMETERS={}, TIME=datetime(2026, 1, 1)))
    return results._x_values, results._results


@given(st.dictionaries(st.sampled_from("abc"), SERIES, min_size=1))
def test_steps_of_a_part_are_those_of_the_whole(
        gaps: dict[str, list[tuple[float, float]]]) -> None:
    """Whatever the times; and of a probe that is quicker than the steps, most is left out."""
    measurements: dict[str, list[tuple[float, float]]] = {}
    for number, (name, pairs) in enumerate(gaps.items()):
        at_s, measurements[name] = 1e9 + number / 7, []
        for gap_s, value in pairs:
            at_s += gap_s
            measurements[name].append((at_s, value))
    if not any(measurements.values()):
        return
    assert _steps(used_by_steps(measurements, 0.2)) == _steps(measurements)


def test_most_of_a_quick_probe_is_left_out() -> None:
    """Of 1000 pairs in 50 steps, two for each."""
    whole = {"probe": [(number / 100, 1.0) for number in range(1000)]}
    assert len(used_by_steps(whole, 0.2)["probe"]) <= 102


def test_clock_that_jumps_is_left_to_flent() -> None:
    """Which refuses millions of steps, where this would count them."""
    whole = {"probe": [(0.0, 1.0), (1.0, 1.0), (1e15, 1.0)]}
    assert used_by_steps(whole, 0.2) == whole


def test_printed_series_have_a_pair_a_line() -> None:
    """With the name above."""
    assert _Printer.pformat({"one": [(1.0, 2.0)], "two": [(3.0, None), (4.0, 5.0)]}) == (
        "one:\n (1.0, 2.0)\ntwo:\n (3.0, None)\n (4.0, 5.0)")

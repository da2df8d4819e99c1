# SPDX-License-Identifier: GPL-3.0-or-later
"""The measure of flows that lose throughput together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.throughput import drop_correlation, synchronisation

START_S = 1_767_225_600.0
few = settings(max_examples=50, deadline=None, derandomize=True)
tables = st.tuples(st.integers(2, 5), st.integers(4, 30)).flatmap(
    lambda shape: arrays(float, shape, elements=st.integers(0, 100).map(float)))


def correlation(rates: Any) -> float:
    """Of a table for which there is one."""
    try:
        return drop_correlation(rates)
    except NotAvailable:
        assume(False)
        raise


def sawtooth(phase_s: float, step_s: float, length_s: float = 20.0) -> list[dict[str, float]]:
    """A flow as netperf has it that grows from 5 to 15 Mbit/s in 4 s, and falls back."""
    return [{"t": START_S + at_s, "val": 5 + 10 * ((at_s - step_s / 2 + phase_s) % 4) / 4,
             "dur": step_s}
            for at_s in numpy.arange(step_s, length_s + step_s / 2, step_s).tolist()]


def run_of(flows: dict[str, list[dict[str, float]]]) -> Run:
    """A run with these flows."""
    return as_run(as_data_file({
        "version": 4, "raw_values": flows,
        "metadata": {"NAME": "made", "SERIES_META": {
            name: {"RUNNER": "NetperfDemoRunner", "UNITS": "Mbits/s"} for name in flows}},
    }, Path("made.flent.gz")))


def test_synchronisation_of_drops_by_hand() -> None:
    """Drops (2, 0, 0) and (1, 0, 0) go together; with (0, 2, 0) each correlates by -1/2."""
    one, alike, other = [4, 2, 2, 3], [3, 2, 5, 9], [4, 4, 2, 7]
    assert drop_correlation(numpy.array([one, alike], float)) == pytest.approx(1)
    assert drop_correlation(numpy.array([one, other], float)) == pytest.approx(-0.5)
    assert drop_correlation(numpy.array([one, alike, other], float)) == pytest.approx(0)


def test_synchronisation_sawteeth_in_step_and_in_turn() -> None:
    """1 for sawteeth in step, though the tool's intervals differ; none for taking turns."""
    steps = (0.2, 0.25, 0.2, 0.25)
    together = run_of({f"TCP download {number}": sawtooth(0, step_s)
                       for number, step_s in enumerate(steps)})
    in_turn = run_of({f"TCP download {number}": sawtooth(number, step_s)
                      for number, step_s in enumerate(steps)})
    assert synchronisation(together, "download") > 0.8
    assert synchronisation(in_turn, "download") < 0.05


@pytest.mark.parametrize("apart", [-1, 1])
def test_synchronisation_is_the_same_when_times_are_rounded_otherwise(apart: int) -> None:
    """The last step ends with the flow; a float's rounding of that time neither adds nor takes
    one, which would be 0.01 of the result here."""
    flows = {f"TCP download {number}": sawtooth(number / 3, 0.2) for number in range(3)}
    expected = synchronisation(run_of(flows), "download")
    for flow in flows.values():
        flow[-1]["t"] += apart * float(numpy.spacing(START_S))
    assert synchronisation(run_of(flows), "download") == pytest.approx(expected, abs=1e-5)


def test_synchronisation_when_flows_hardly_overlap_has_a_reason() -> None:
    """A few steps tell nothing, nor does a flow that never loses."""
    early = [one for one in sawtooth(0, 0.2) if one["t"] < START_S + 6]
    run = run_of({"TCP upload 1": early, "TCP upload 2": sawtooth(0, 0.2)})
    with pytest.raises(NotAvailable, match="less than 7 s, of which the first 2 s are left out"):
        synchronisation(run, "upload")
    with pytest.raises(NotAvailable, match="fewer than two flows"):
        drop_correlation(numpy.array([[1.0, 2, 3], [3, 2, 1]]))


@few
@given(rates=tables, data=st.data())
def test_synchronisation_minds_neither_order_nor_scale(rates: Any, data: st.DataObject) -> None:
    """Which flow comes first, and that one is ten times as fast, changes nothing; the
    result lies between -1 and 1."""
    correlated = correlation(rates)
    order = data.draw(st.permutations(range(len(rates))))
    assert drop_correlation(rates[list(order)]) == pytest.approx(correlated)
    assert drop_correlation(rates * 10) == pytest.approx(correlated)
    assert -1 <= correlated <= 1


@few
@given(rates=tables)
def test_synchronisation_of_copies_is_1(rates: Any) -> None:
    """Flows that do all alike."""
    assert correlation(numpy.repeat(rates[:1], 3, axis=0)) == pytest.approx(1)

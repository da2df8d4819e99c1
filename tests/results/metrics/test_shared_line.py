# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that test and cross traffic share, and runs that fall into two groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.parts.kernels.verdict.decide import USUAL, judge
from flent_aqm.parts.kernels.verdict.pairs import PairedSides, Pairs
from flent_aqm.results.advice.measured import throughput
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.compare import two_groups
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.scores import scores
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.metrics.throughput import shares_line
from flent_aqm.results.score.shown import ScoredFile, score


def run_of(own_mbps: float, cross_mbps: float | None) -> Run:
    """A run of 10 s whose upload is beside cross traffic of 20 s."""
    flows = {"TCP upload": (100.0, 110.0, own_mbps)}
    if cross_mbps is not None:
        flows["Cross traffic upload"] = (95.0, 115.0, cross_mbps)
    series: dict[str, Any] = {}
    raw = {}
    for name, (begin, end, mbps) in flows.items():
        series[name] = {"RUNNER": "AqmIperf3Runner", "UNITS": "Mbits/s", "MEAN_VALUE": mbps,
                        "LOAD_START": begin, "LOAD_END": end}
        raw[name] = [{"t": begin + at, "dur": 1.0, "val": mbps}
                     for at in range(1, round(end - begin) + 1)]
    requested = {"cross_traffic": cross_mbps is not None, "aqm": "sfq"}
    return as_run(as_data_file({
        "version": 4, "raw_values": raw, "metadata": {
            "NAME": "made", "SERIES_META": series, "AQM": {"requested": requested}}}, Path("made")))


@pytest.mark.parametrize(("own", "cross", "total"), [
    (430.0, 430.0, 860.0), (838.0, 22.0, 860.0), (838.0, None, 838.0)])
def test_total_is_of_all_flows_during_the_test(own: float, cross: float | None, total: float
                                               ) -> None:
    run = run_of(own, cross)
    assert METRICS["total_upload_mbps"].of(run) == pytest.approx(total)
    assert METRICS["throughput_upload_mbps"].of(run) == own
    assert throughput(run) == {"upload": pytest.approx(total)}  # what advice calls a cost
    shared = scores(run).total_upload_mbps
    assert isinstance(shared, Unavailable) if cross is None else shared == pytest.approx(total)


@pytest.mark.parametrize(("settings", "own", "total"), [
    ({}, 14.1, 12 * 1448 / 1514), ({}, 11.0, 11.0), ({"burst_shaping": True}, 14.1, 14.1),
    ({"testbed": "ssh://router"}, 14.1, 14.1), ({"shaper": "none"}, 14.1, 14.1)])
def test_total_upload_leaves_out_what_was_never_sent(
        settings: dict[str, str | bool], own: float, total: float) -> None:
    """A client may count what it wrote to its socket. A real router's rate may not hold, and then
    the line carries more; the tool's own number stays as it is."""
    run = run_of(own, None)
    run = replace(run, settings={**run.settings, "testbed": "virtual", "rate_up_mbps": 12.0,
                                 **settings})
    assert METRICS["total_upload_mbps"].of(run) == pytest.approx(total)
    assert METRICS["throughput_upload_mbps"].of(run) == own


@pytest.mark.parametrize(("value", "shares"), [
    (True, True), ("yes", True), ("bulk", True), ("call", True), (1, True), (None, False),
    (False, False), ("no", False), ("off", False), ("", False), (0, False)])
def test_cross_traffic_shares_the_line(value: object, shares: bool) -> None:
    assert shares_line({"cross_traffic": value}) is shares


@pytest.mark.parametrize("cross", [True, False])
def test_verdict_compares_what_a_shared_line_carried(cross: bool) -> None:
    """A fair queue that halves the test's share, and none of the line's throughput."""
    def side(own: float) -> ScoredFile:
        return score(run_of(own, 860.0 - own if cross else None))

    pairs = tuple((side(838.0), side(430.0)) for _ in range(6))
    cell = Pairs("all", pairs)
    judged = {one.metric.name: one.verdict for one in judge(PairedSides({}, [cell], {}), USUAL)}
    if cross:
        assert judged["total_upload_mbps"] == "same"
        assert "throughput_upload_mbps" not in judged
    else:
        assert judged["throughput_upload_mbps"] == "worse"
        assert "total_upload_mbps" not in judged


@pytest.mark.parametrize(("values", "groups"), [
    ((172, 129, 129, 172, 129), ((129, 129, 129), (172, 172))),
    ((10, 10.2, 19, 19.5), ((10, 10.2), (19, 19.5))),
    ((129, 129, 129, 129, 172), None),  # one run that is out of line is no group
    ((129, 140, 150, 160, 172), None), ((100, 100.1, 101, 101.1), None), ((1, 1, 1, 1), None),
    ((1, 5), None), ((), None), ((1, 1, float("inf"), float("inf")), None)])
def test_two_groups_are_far_apart_and_close_within(
        values: Sequence[float], groups: tuple[Sequence[float], Sequence[float]] | None) -> None:
    found = two_groups(values)
    assert (found and (tuple(found[0]), tuple(found[1]))) == groups

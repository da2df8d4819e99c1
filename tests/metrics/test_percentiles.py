# SPDX-License-Identifier: GPL-3.0-or-later
"""Percentiles and the scores of a sweep's table."""

from __future__ import annotations

import pytest

from flent_aqm.metrics.percentiles import percentile
from flent_aqm.metrics.scores import Scores, scores


@pytest.mark.parametrize(("count", "percent", "known"), [
    (1000, 99, True), (900, 99, False), (10_000, 99.9, True), (9_000, 99.9, False),
    (20, 50, True), (15, 50, False), (0, 50, False), (1000, 1, True), (500, 1, False),
])
def test_percentile_is_refused_with_too_few_samples_beyond(
    count: int, percent: float, known: bool
) -> None:
    """Ten samples beyond it make a percentile known."""
    assert (percentile(range(count), percent) is not None) is known


def test_percentile_interpolates() -> None:
    """Between two samples, the value lies in between."""
    assert percentile(range(101), 50) == 50
    assert percentile(range(100), 50) == 49.5


def test_scores_count_probes_under_load_only() -> None:
    """Probes before and after the load, lost ones, and cross traffic don't count."""
    load = {"RUNNER": "AqmIperf3Runner", "MEAN_VALUE": 90.0, "LOAD_START": 10.0, "LOAD_END": 20.0}
    metadata = {"SERIES_META": {
        "TCP upload": load,
        "TCP upload cross traffic": {**load, "MEAN_VALUE": 5.0, "LOAD_START": 0.0},
        "Ping (ms) UDP irtt": {"RUNNER": "IrttRunner", "UNITS": "ms"},
    }}
    probes = [{"t": 5 + step / 100, "val": 100.0 if 500 <= step <= 1500 else 1.0}
              for step in range(2000)]
    probes[600] = {"t": 11.0, "lost": True}
    assert scores(metadata, {"Ping (ms) UDP irtt": probes}) == Scores(90.0, 100.0, 100.0)


def test_scores_of_a_run_without_speed_test_are_unknown() -> None:
    """A stock test has no load window of ours."""
    assert scores({"SERIES_META": {"x": {"RUNNER": "PingRunner"}}}, {}) == Scores(None, None, None)

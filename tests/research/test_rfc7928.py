# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of RFC 7928's scenarios: the page's has a row for each, the file beside it for each
run."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.results.metrics.run import Run, load_run
from research.validation import rfc7928
from tests.files import RUNS


@pytest.fixture
def rows() -> list[rfc7928.Row]:
    """A scenario with two queues, in one of which most probes were lost."""
    flows = {"1xreno": 5.04, "1xreno/dest2": 4.4}
    return [rfc7928.Row("6.2-far", "no_aqm", flows, 9.4, 59.6, 89.7, 0.38),
            rfc7928.Row("6.2-far", "pie", flows, 9.4, math.inf, None, 1.24)]


def test_page_has_goodput_by_group_and_the_median_wait_of_each_queue(
    rows: list[rfc7928.Row],
) -> None:
    """A queue without a run has an empty cell."""
    head, _, row = rfc7928.overview(rows)
    assert head == "| scenario | drop-tail | codel | fq_codel | pie |"
    assert row == "| 6.2-far | 5.0+4.4, 59.6 |  |  | 5.0+4.4, lost |"


def test_file_has_every_number_of_each_run(rows: list[rfc7928.Row]) -> None:
    """With the names of the groups."""
    _, _, first, second = rfc7928.table(rows)
    assert first == ("| 6.2-far | drop-tail | 1xreno 5.04, 1xreno/dest2 4.40 | 59.6 | 89.7 | "
                     "0.38 |")
    assert second.endswith("| lost | - | 1.24 |")


def test_run_of_another_batch_is_refused() -> None:
    """Its flows belong to no group."""
    with pytest.raises(BadResult, match="its flow 'TCP download' has no group"):
        rfc7928.row_of(load_run(RUNS / "ndt7.flent.gz"))


def test_run_through_a_queue_without_a_column_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its flows belong to groups; the message names its queue and those of the page."""
    run = load_run(RUNS / "ndt7.flent.gz")
    grouped = [replace(flow, name=f"{flow.name} group") for flow in run.speed_test]
    monkeypatch.setattr(Run, "speed_test", grouped)
    monkeypatch.setitem(vars(run), "settings", {**run.settings, "aqm": "cake"})
    with pytest.raises(BadResult, match="its queue is cake; expected no_aqm, codel, fq_codel, pie"):
        rfc7928.row_of(run)

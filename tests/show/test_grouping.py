# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in a plot: which line is whose, and what is said of how they differ."""

from __future__ import annotations

from flent_aqm.results.grouping import Settings, along_with, sorted_values
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.show.groups import by_run
from tests.files import GOLDEN

QUICK = GOLDEN / "batches" / "quick"


def run(name: str) -> Run:
    """A golden run."""
    return load_run(QUICK / f"{name}.flent.gz")


def test_lines_of_one_queue_are_all_different() -> None:
    """A run of one test, two of another: the colour is the queue's, so lines tell them apart."""
    names = ("iperf3_upload-no_aqm", "ndt7-no_aqm", "ndt7-no_aqm", "ndt7-codel")
    *groups, codel = by_run([run(name) for name in names], 10)
    assert [one.label for one in groups] == [
        "iperf3_upload, no_aqm", "ndt7, no_aqm #1", "ndt7, no_aqm #2"]
    assert codel.look.colour != groups[0].look.colour
    assert len({one.look.colour for one in groups}) == 1
    assert len({one.look.line for one in groups}) == 3


def test_settings_that_differ_only_together_with_others_are_named() -> None:
    """What is told, what is pooled, what belongs to a queue, and what one run knows is not."""
    one: Settings = {"test": "ndt7", "aqm": "codel", "aqm_target": "5ms", "rate_mbps": 10.0,
                     "router_model": "ideal", "seed": 1, "cross_traffic": False}
    other: Settings = {"test": "ndt7", "aqm": "cake", "aqm_target": "1ms", "rate_mbps": 20.0,
                       "router_model": "omnia", "seed": 2, "cross_traffic": False, "flows": "4"}
    assert along_with([one, other], ["aqm"]) == ["rate_mbps", "router_model"]
    assert along_with([one, other], ["aqm", "rate_mbps"]) == ["router_model"]
    assert along_with([one, {**other, "aqm": "codel"}], ["aqm"]) == ["router_model"]
    assert along_with([one, {**one, "seed": 3}], ["aqm"]) == []


def test_words_that_begin_with_a_number_are_sorted_by_it() -> None:
    """A line at 85, 90 and 100 % of its rate, and off."""
    assert sorted_values("title", ["SQM off", "100 % cake", "90 % cake", "85 % cake"]) == [
        "85 % cake", "90 % cake", "100 % cake", "SQM off"]

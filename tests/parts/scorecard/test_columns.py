# SPDX-License-Identifier: GPL-3.0-or-later
"""How the table of scorecards is sorted, and how its values are shown; and that the runs of an
earlier version of a test keep their folders."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.parts.scorecard.columns import (
    COLUMNS,
    COUNT,
    IN_SHORT,
    INTERVALS,
    SHARE,
    ScoreColumn,
    failed_lines,
    ordered,
    ranks,
)
from flent_aqm.parts.scorecard.runs import failures
from flent_aqm.parts.scorecard.scores import KIND, Case
from flent_aqm.parts.scorecard.steps import _move_earlier
from flent_aqm.results import status


def card(label: str, tells: float | None = None, ratio: float | None = None) -> Any:
    """A card with these two scores, without intervals."""
    named = {"tells_apart": tells, "latency_to_median": ratio}
    return SimpleNamespace(label=label, row=label, scores={
        name: SimpleNamespace(value=value, low=None, high=None)
        for name, value in named.items() if value is not None})


def test_tests_that_tell_queues_apart_come_first_then_those_near_the_truth() -> None:
    """Near as a factor: 0.9 is nearer than 1.5, and 1.5 than 0.5. Without a score last."""
    cards = [card("none"), card("half", 0.5, 1.0), card("far", 0.9, 0.5), card("above", 0.9, 1.5),
             card("near", 0.9, 0.9), card("b untold", 0.9), card("a untold", 0.9),
             card("zero", 0.9, 0.0)]
    assert [one.label for one in ordered(cards)] == [
        "near", "above", "far", "a untold", "b untold", "zero", "half", "none"]


def test_better_rank_stands_first_though_its_share_is_no_larger() -> None:
    """Few cases have a wide interval, above which fewer tests are."""
    cards = [card("many", 0.0), card("few", 0.0), card("best", 1.0), card("good", 0.9)]
    for one, (low, high) in zip(cards, ((0.0, 0.52), (0.0, 0.6), (0.7, 1.0), (0.55, 1.0)),
                                strict=True):
        one.scores["tells_apart"].low, one.scores["tells_apart"].high = low, high
    assert ranks(cards) == {"best": "1", "good": "1", "few": "2", "many": "3"}
    assert [one.label for one in ordered(cards)] == ["best", "good", "few", "many"]


@pytest.mark.parametrize(("form", "value", "text"), [
    (SHARE, 0.125, "12 %"), (SHARE, 1.0, "100 %"), (COUNT, 12.6, "13"),
    ("", 0.1, "0.10"), ("", 1.234, "1.23"), ("", -0.5, "-0.50"), ("", 9.99, "9.99"),
    ("", 0.5555, "0.56"), ("", 0.05555, "0.056"), ("", 10.0, "10.00"), ("", 123.4, "123.4")])
def test_value_is_shown_in_its_columns_form(form: str, value: float, text: str) -> None:
    column = (ScoreColumn("heading", "throughput", form) if form
              else ScoreColumn("heading", "throughput"))
    assert column._format_value(value) == text
    assert column._format_value(value, bare=True) == text.removesuffix(" %")


def test_runs_of_earlier_versions_are_kept_each_in_a_folder(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first free number; a folder whose runs all failed is left where it is."""
    for number in (1, 2, 3):
        folder = tmp_path / "mine"
        folder.mkdir()
        (folder / f"{number}.flent.gz").write_text("")
        _move_earlier(folder, "mine.test")
        assert not folder.exists()
    moved = sorted(tmp_path.rglob("*.flent.gz"))
    assert [(path.parent.name, path.name) for path in moved] == [
        ("mine-1", "1.flent.gz"), ("mine-2", "2.flent.gz"), ("mine-3", "3.flent.gz")]
    assert capsys.readouterr().err.count("the test 'mine.test' has changed") == 3
    failed = tmp_path / "failed"
    failed.mkdir()
    (failed / "run.log").write_text("")
    _move_earlier(failed, "failed.test")
    assert (failed / "run.log").is_file()


def ranked(test: str, low: float | None, high: float | None) -> Any:
    return SimpleNamespace(row=test, label=test, scores={"tells_apart": SimpleNamespace(
        value=0.5, low=low, high=high, count=9)})


def test_rank_counts_the_tests_whose_interval_is_wholly_above() -> None:
    """Of two tests whose intervals overlap, one may be behind a third. Without an interval there is
    no rank."""
    without: Any = SimpleNamespace(row="none", scores={})
    assert ranks([ranked("best", 0.8, 1.0), ranked("near", 0.6, 0.8), ranked("far", 0.3, 0.5),
                  ranked("few", None, None), without]) == {
        "best": "1", "near": "1", "far": "3", "few": "none", "none": "none"}
    overlapping = [ranked("best", 0.8, 1.0), ranked("near", 0.7, 0.85), ranked("high", 0.86, 0.9)]
    assert ranks(overlapping) == {"best": "1", "near": "2", "high": "1"}
    assert "wholly above its own" in INTERVALS
    assert "overlap" not in INTERVALS


def test_score_is_shown_with_its_interval_and_count() -> None:
    column = ScoreColumn("heading", "tells_apart", SHARE)
    score: Any = SimpleNamespace(value=0.5, low=0.25, high=0.75, count=9)
    assert column.whole(score) == "50 % [25 to 75] of 9"
    few: Any = SimpleNamespace(value=0.5, low=None, high=None, count=9)
    assert column.whole(few) == "50 % of 9"
    assert column.whole(None) == column.value(None) == column.case(None) == "none"
    assert column.case(Case("line")) == "line"
    assert ScoreColumn("heading", "throughput").case(Case("line", 0.5)) == "0.50: line"


@pytest.mark.parametrize(("number", "text"), [
    (1, "p0"), (2, "p0, p1"), (3, "p0, p1 and 1 more"), (5, "p0, p1 and 3 more")])
def test_places_that_failed_alike_are_in_one_line_which_names_two(number: int, text: str) -> None:
    one: Any = SimpleNamespace(label="Test", failed={
        **{f"p{place}": "no network" for place in range(number)}, "other": "no time"})
    assert failed_lines(one) == [f"Test: {text}: no network", "Test: other: no time"]


def test_columns_are_percentages_where_the_score_is_a_share() -> None:
    """And each has a score of its own."""
    assert len({column.kind for column in COLUMNS}) == len(COLUMNS)
    for column in COLUMNS:
        is_share = KIND[column.kind].words.startswith(("pairs", "lines", "rates", "spread"))
        assert (column.form == SHARE) is is_share, column.heading
    assert [column.heading for column in IN_SHORT] == [
        "throughput", "latency ÷ median", "tells apart", "invents", "bad is good", "good is bad",
        "MB", "s"]


@pytest.mark.parametrize(("cause", "told"), [
    ("no network", "no network"),
    ("Capture: empty; TCP upload: x ended with status 1: error: why", "why"),
    ("TCP download and TCP upload: x ended with status 1: error: why; how", "why; how"),
    ("TCP download: x ended with status 1: error: a; TCP upload: y ended with status 1: error: b",
     "a; b"),
    ("TCP download: a\nb; TCP upload: c; Capture: empty", "a\nb; c; Capture: empty"),
    ("Capture and TCP upload: no host", "no host")])
def test_runs_without_a_data_file_have_a_cause(tmp_path: Path, cause: str, told: str) -> None:
    """Those of the test itself, if they are among them; runs with a file are left out."""
    cells: list[Any] = [SimpleNamespace(name=name, data_file=tmp_path / f"{name}.flent.gz")
                        for name in ("there", "test", "unmade")]
    cells[0].data_file.touch()
    status.write(tmp_path, status.Status(["x"], 3, 0, 0.0, failed={
        "there.flent.gz": "failed once", "test.flent.gz": cause}))
    assert failures(tmp_path, cells) == {"test": told, "unmade": "it was not made"}

# SPDX-License-Identifier: GPL-3.0-or-later
"""How the table of scorecards is sorted, and how its values are shown; and that the runs of an
earlier version of a test keep their folders."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.parts.scorecard.columns import COUNT, SHARE, Column, ordered
from flent_aqm.parts.scorecard.steps import _move_earlier


def card(label: str, tells: float | None = None, ratio: float | None = None) -> Any:
    """A card with these two scores."""
    named = {"tells_apart": tells, "latency_to_median": ratio}
    return SimpleNamespace(label=label, scores={
        name: SimpleNamespace(value=value) for name, value in named.items() if value is not None})


def test_tests_that_tell_queues_apart_come_first_then_those_near_the_truth() -> None:
    """Near as a factor: 0.9 is nearer than 1.5, and 1.5 than 0.5. Without a score last."""
    cards = [card("none"), card("half", 0.5, 1.0), card("far", 0.9, 0.5), card("above", 0.9, 1.5),
             card("near", 0.9, 0.9), card("b untold", 0.9), card("a untold", 0.9),
             card("zero", 0.9, 0.0)]
    assert [one.label for one in ordered(cards)] == [
        "near", "above", "far", "a untold", "b untold", "zero", "half", "none"]


@pytest.mark.parametrize(("form", "value", "text"), [
    (SHARE, 0.125, "12 %"), (SHARE, 1.0, "100 %"), (COUNT, 12.6, "13"),
    ("", 0.1, "0.10"), ("", 1.234, "1.23"), ("", -0.5, "-0.50"), ("", 9.99, "9.99")])
def test_value_is_shown_in_its_columns_form(form: str, value: float, text: str) -> None:
    column = Column("heading", "throughput", form) if form else Column("heading", "throughput")
    assert column._format_value(value) == text
    assert column._format_value(value, bare=True) == text.removesuffix(" %")


def test_runs_of_earlier_versions_are_kept_each_in_a_folder(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first free number; a folder whose runs all failed is left where it is."""
    for number in (1, 2, 3):
        folder = tmp_path / "mine"
        folder.mkdir()
        (folder / f"{number}.flent.gz").write_text("")
        _move_earlier(folder, Path("mine.test"))
        assert not folder.exists()
    moved = sorted(tmp_path.rglob("*.flent.gz"))
    assert [(path.parent.name, path.name) for path in moved] == [
        ("mine-1", "1.flent.gz"), ("mine-2", "2.flent.gz"), ("mine-3", "3.flent.gz")]
    assert capsys.readouterr().err.count("mine.test has changed") == 3
    failed = tmp_path / "failed"
    failed.mkdir()
    (failed / "run.log").write_text("")
    _move_earlier(failed, Path("failed.test"))
    assert (failed / "run.log").is_file()

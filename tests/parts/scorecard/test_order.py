# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the order of tests holds in other runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.cli import main
from flent_aqm.parts.scorecard import card as cards
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.columns import ranks
from flent_aqm.parts.scorecard.contestant import Contestant
from flent_aqm.parts.scorecard.order import (
    Order,
    ScoreComparison,
    _compare_score,
    _intervals_disjoint,
    compare,
    compare_folders,
    read_all,
    refuse_incomparable,
)
from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues, Reading
from flent_aqm.parts.scorecard.scores import Score
from flent_aqm.parts.scorecard.steps import print_and_write_page
from flent_aqm.parts.scorecard.words import stalls_of_all
from flent_aqm.tools.tool import Shown


def card(test: str, mbps: float, *, seed: int = 1, cells: Sequence[int] = range(8),
         testbed: str = "virtual") -> Card:
    """Of cells whose rates are 0 to 7 % above the given one; 100 are possible."""
    readings = []
    for number in cells:
        way = DirectionValues(mbps * (1 + number / 100), 100.0, None, 20.0, 30.0, 20.0)
        readings.append(Reading(f"line-q{number}-seed{seed}", f"q{number}", f"line-seed{seed}",
                                f"line-q{number}", False,
                                {"download": way, "upload": DirectionValues(),
                                 WORSE: DirectionValues()}, None, 10.0,
                                20.0, 5.0))
    return Card(test, test.upper(), readings, {}, testbed=testbed)


PAGE = [card("slow", 40), card("middle", 60), card("near", 61), card("fast", 80)]


def test_order_holds_with_other_seeds() -> None:
    """The interval of middle and near overlap: five pairs are ordered. Costs are the same."""
    order = compare(PAGE, [replace(card(one.test, mbps, seed=7))
                           for one, mbps in zip(PAGE, (41, 70, 60, 79), strict=True)], "seeds")
    held = {one.kind: (one.pairs, one.same) for one in order.held}
    assert held["throughput"] == (5, 5)
    assert "lab_wall_s" not in held
    assert order.of == "32 runs of 8 cells (seed 7)"
    assert order.exceptions() == []


def test_tests_of_users_own_are_rows_of_their_own() -> None:
    """All have the name of the test definition; their labels tell them apart."""
    mine = [replace(card("own_test", mbps), label=label)
            for label, mbps in (("first", 40), ("second", 80))]
    assert [one.row for one in (*mine, PAGE[0])] == ["own_test first", "own_test second", "slow"]
    assert set(ranks([*mine, PAGE[0]])) == {"own_test first", "own_test second", "slow"}
    assert set(stalls_of_all(mine)) <= {one.row for one in mine}
    assert "32 runs of 8 cells" in compare([*mine, *PAGE[:2]], [*mine, *PAGE[:2]], "x").of


def test_tests_that_change_places_are_named() -> None:
    """In words of the score."""
    order = compare(PAGE, [card("slow", 90, testbed="netns"), card("fast", 80, testbed="netns")],
                    "real")
    (line,) = [line for line in order.exceptions() if line.startswith("throughput")]
    assert line == "throughput shown, of what is possible: SLOW and FAST"
    assert "16 runs of 8 cells (real time)" in order.sentence()


def test_only_cells_that_all_have_are_compared() -> None:
    """Six of the eight; fewer give no interval, and no order."""
    others = [card("slow", 40, cells=range(6)), card("fast", 80, cells=range(8))]
    assert "12 runs of 6 cells" in compare(PAGE, others, "x").of
    others = [card("slow", 40, cells=range(3)), card("fast", 80)]
    assert all(one.kind != "throughput" for one in compare(PAGE, others, "x").held)
    with pytest.raises(ConfigError, match=(
            r"--against: x has 1 test in common with the page \(it has slow; the page has ")):
        compare(PAGE, [card("slow", 40)], "x")
    with pytest.raises(ConfigError, match="no cell has a result of all of slow, fast both on the"):
        compare(PAGE, [card("slow", 40, cells=[9]), card("fast", 40, cells=[9])], "x")


def test_page_keeps_it(tmp_path: Path) -> None:
    """In each of its forms."""
    for one in PAGE:
        cards.write(one, tmp_path / "page" / one.test)
        cards.write(card(one.test, 50, seed=2), tmp_path / "seeds" / one.test)
    order = compare_folders(tmp_path / "page", tmp_path / "seeds")
    assert [one.sentence() for one in read_all(tmp_path / "page")] == [order.sentence()]
    print_and_write_page(tmp_path / "page")
    for kind in ("html", "md"):
        text = (tmp_path / "page" / f"scorecard.{kind}").read_text()
        assert order.sentence() in text.replace("&#39;", "'")
        assert "FAST and SLOW" in text


@pytest.mark.parametrize("change", [
    {"kind": "colour"}, {"pairs": "x"}, {"turned": 5}])
def test_damaged_comparison_is_named(change: dict[str, object], tmp_path: Path) -> None:
    """Of values that the page could not show."""
    for one in PAGE:
        cards.write(one, tmp_path / "page" / one.test)
        cards.write(card(one.test, 50, seed=2), tmp_path / "seeds" / one.test)
    compare_folders(tmp_path / "page", tmp_path / "seeds")
    file, = (tmp_path / "page").rglob("order/*.json")
    whole = json.loads(file.read_text())
    whole["held"] = [one | change for one in whole["held"]]
    file.write_text(json.dumps(whole))
    with pytest.raises(BadResult, match=rf"{file.name}: not a comparison of scorecards"):
        read_all(tmp_path / "page")


def test_pair_that_changes_places_is_one_of_three() -> None:
    """Slow and middle; the fast one stays first."""
    order = compare([card("slow", 40), card("middle", 60), card("fast", 80)],
                    [card("slow", 61), card("middle", 41), card("fast", 79)], "other")
    held = {one.kind: (one.pairs, one.same, one.turned) for one in order.held}
    assert held["throughput"] == (3, 2, [("SLOW", "MIDDLE")])


def score(low: float | None, high: float | None, value: float = 0.5) -> Score:
    return Score(value, 9, low, high)


@pytest.mark.parametrize(("first", "second", "disjoint"), [
    (score(0.1, 0.2), score(0.3, 0.4), True), (score(0.1, 0.2), score(0.2, 0.4), False),
    (score(0.1, 0.35), score(0.3, 0.4), False), (score(0.1, 0.4), score(0.2, 0.3), False),
    (score(0.1, 0.2), score(None, None), False), (score(0.1, 0.2), None, False),
    (None, None, False)])
def test_intervals_that_touch_overlap(first: Score | None, second: Score | None,
                                      disjoint: bool) -> None:
    """Whichever of two tests is named first."""
    assert _intervals_disjoint(first, second) is disjoint
    assert _intervals_disjoint(second, first) is disjoint


@pytest.mark.parametrize(("others", "counts", "turned"), [
    ((0.1, 0.9), 1, []), ((0.9, 0.1), 1, [("A", "B")]), ((0.5, 0.5), 1, [("A", "B")]),
    ((None, 0.9), 0, []), ((0.1, None), 0, []), ((None, None), 0, [])])
def test_pair_counts_if_the_other_runs_have_both_scores(
        others: tuple[float | None, float | None], counts: int,
        turned: list[tuple[str, str]]) -> None:
    """Equal scores there are another order."""
    there = [None if value is None else Score(value, 9) for value in others]
    found = _compare_score("throughput", [("A", score(0.1, 0.2, 0.15), there[0]),
                                          ("B", score(0.3, 0.4, 0.35), there[1])])
    assert (found is not None) is bool(counts)
    if found:
        assert (found.pairs, found.same, found.turned) == (counts, counts - len(turned), turned)
    other_way = _compare_score("throughput", [("B", score(0.3, 0.4, 0.35), there[1]),
                                              ("A", score(0.1, 0.2, 0.15), there[0])])
    assert (other_way and len(other_way.turned)) == (found and len(found.turned))


def test_one_cell_and_two_tests_are_enough_and_all_seeds_are_named() -> None:
    """In the order of numbers. What else the other cards hold doesn't count."""
    others = [replace(card(test, 50, seed=seed), readings=[
        *card(test, 50, seed=10, cells=[0]).readings, *card(test, 50, seed=9, cells=[0]).readings])
        for test, seed in (("slow", 9), ("fast", 10), ("unknown", 11))]
    page = [card("slow", 40, cells=[0]), card("fast", 80, cells=[0, 1])]
    assert compare(page, others, "x").of == "4 runs of 1 cell (seeds 9, 10)"
    mixed = [others[0], replace(others[1], testbed="netns")]
    assert compare(page, mixed, "x").of == "4 runs of 1 cell (real time)"
    with pytest.raises(ConfigError, match=r"0 tests in common with the page \(it has none; "):
        compare(page, [], "x")


def test_folder_without_scorecards_is_named_with_its_option(tmp_path: Path) -> None:
    """Neither a folder that isn't there nor one of other files has tests in common with any."""
    with pytest.raises(ConfigError, match=rf"^-o: {tmp_path}: it has no scorecards; give the fold"):
        compare_folders(tmp_path, tmp_path)
    (tmp_path / "ndt7").mkdir()
    (tmp_path / "ndt7" / cards.NAME).touch()
    with pytest.raises(ConfigError, match=rf"^--against: {tmp_path}/typo: No such file or direct"):
        compare_folders(tmp_path, tmp_path / "typo")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=rf"^--against: {tmp_path}/file: Not a directory; give"):
        compare_folders(tmp_path, tmp_path / "file")
    with pytest.raises(ConfigError, match=r"^--against: .*x: File name too long; give the"):
        compare_folders(tmp_path, tmp_path / ("x" * 300))


def test_search_of_a_worst_line_gives_nothing_to_compare(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was told after the search, which takes long, as a folder without scorecards."""
    for test in ("ndt7", "nuttcp"):
        cards.write(card(test, 50, seed=2), tmp_path / "other" / test)
    assert main(["scorecard", "ndt7", "nuttcp", "--worst", "latency", "--against",
                 str(tmp_path / "other"), "-o", str(tmp_path / "page")]) == 1
    assert "other has 0 tests in common with the page (it has" in capsys.readouterr().err


@pytest.mark.parametrize(("folders", "scored", "why"), [
    (["typo"], ["slow", "fast"], "typo: No such file or directory"),
    (["other"], ["slow"],
     ("other has 1 test in common with the page (it has fast, middle, near, slow; the page has "
      "slow); score two or more of the same tests in both folders")),
    (["other"], [], "other has 0 tests in common with the page"), (["other"], ["slow", "fast"], ""),
    (["other", "deeper/other"], ["slow", "fast"], "two folders are called other"),
    (["other", "deeper/../other"], ["slow", "fast"], "other is given twice; give it once")])
def test_folder_that_cannot_be_compared_is_refused_before_the_runs(
        folders: list[str], scored: list[str], why: str, tmp_path: Path) -> None:
    """A typing error was told after an hour of runs. What is on the page counts, too."""
    for one in PAGE:
        for place in ("other", "deeper/other"):
            cards.write(card(one.test, 50, seed=2), tmp_path / place / one.test)
    tests = [Contestant(test, test.upper(), Shown("")) for test in scored]

    def refuse(output: Path) -> None:
        refuse_incomparable(output, [tmp_path / name for name in folders], tests)

    if not why:
        refuse(tmp_path / "page")
        return
    with pytest.raises(ConfigError) as caught:
        refuse(tmp_path / "page")
    assert why in str(caught.value)
    if len(folders) == 1 and folders != ["typo"]:
        for one in PAGE:
            cards.write(one, tmp_path / "page" / one.test)
        refuse(tmp_path / "page")


def test_page_is_not_compared_with_itself(tmp_path: Path) -> None:
    """All of its pairs would have the same order."""
    for one in PAGE:
        cards.write(one, tmp_path / "page" / one.test)
    (tmp_path / "link").symlink_to(tmp_path / "page")
    with pytest.raises(ConfigError, match=r"^--against: .*link is the page's own folder"):
        refuse_incomparable(tmp_path / "page", [tmp_path / "link"], [])


def test_no_pair_that_can_be_compared_is_no_result() -> None:
    assert Order("x", "2 runs of 1 cell (seed 1)", []).sentence() == (
        "With 2 runs of 1 cell (seed 1) nothing can be told about the order: in these cells, no "
        "two tests have intervals that don't overlap, and scores in both.")


def test_pairs_of_all_scores_are_summed_up() -> None:
    order = Order("x", "2 runs of 1 cell (seed 1)", [
        ScoreComparison("throughput", 3, 2, [("A", "B")]),
        ScoreComparison("tells_apart", 4, 4, [])])
    assert order.sentence() == (
        "In 2 runs of 1 cell (seed 1), 6 of 7 pairs of tests whose intervals don't overlap have "
        "the same order, over all scores.")
    assert order.exceptions() == ["throughput shown, of what is possible: A and B"]

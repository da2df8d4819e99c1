# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the order of tests with that in other runs of the same cells.

The other runs have other seeds, or are in real time. For each score, only pairs of tests count
whose intervals, of the page's runs of these cells alone, don't overlap, because these runs don't
order the others. The results are stored as JSON in the page's folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import ConfigError, why_unreadable
from flent_aqm.base.json_text import json_text
from flent_aqm.base.regular_file import read_note
from flent_aqm.base.words import counted
from flent_aqm.parts.scorecard import card as cards
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.contestant import Contestant
from flent_aqm.parts.scorecard.output import refusal, write_output
from flent_aqm.parts.scorecard.scores import KIND, KINDS, Score
from flent_aqm.spec.testbeds import VIRTUAL

_FOLDER = "order"
# Kinds of score that don't depend on the test's quality.
_NO_SCORE = ("lab_wall_s", "megabytes", "seconds")
_SEED = re.compile(r"-seed(\d+)$")


@dataclass(frozen=True)
class ScoreComparison:
    """Comparison of the order of tests by one score.

    Attributes:
        kind: key of scores.KIND.
        pairs: number of pairs of tests whose intervals don't overlap, and that both have the score
            in the other runs, too. The intervals are those of the page's runs of the cells in
            common; those that are printed are of all its cells.
        same: number of these pairs with the same order in the other runs.
        turned: the others of these pairs, also those with equal scores in the other runs, each as
            the labels of its two tests.
    """

    kind: str
    pairs: int
    same: int
    turned: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Order:
    """Comparison of all scores with those of other runs.

    Attributes:
        name: name of the other runs' folder.
        of: description of the other runs, such as "208 runs of 16 cells (seed 11)".
        held: comparison of each score. Scores by which no pair of tests can be compared, and those
            of cost (MB and seconds), are left out.
    """

    name: str
    of: str
    held: Sequence[ScoreComparison]

    def sentence(self) -> str:
        """Return the result as a sentence: the number of pairs with the same order, over all
        scores, or that there are no pairs to compare."""
        pairs, same = (sum(getattr(one, name) for one in self.held) for name in ("pairs", "same"))
        if not pairs:
            return (f"With {self.of} nothing can be told about the order: in these cells, no two "
                    "tests have intervals that don't overlap, and scores in both.")
        return (f"In {self.of}, {same} of {counted(pairs, 'pair')} of tests whose intervals don't "
                "overlap have the same order, over all scores.")

    def exceptions(self) -> list[str]:
        """Return a line for each score in which pairs of tests have another order in the other
        runs: the score's description and the two tests of each such pair. Empty if there is none.
        """
        return [f"{KIND[one.kind].words}: " + ", ".join(" and ".join(pair) for pair in one.turned)
                for one in self.held if one.turned]


def compare(page: Sequence[Card], others: Sequence[Card], name: str) -> Order:
    """Compare the order of tests on the page with that in other cards, for each kind of score but
    those of cost. Only tests with a card on both sides count, and of their readings those of the
    cells (places without seed) that all of these cards have. Kinds by which no pair of tests can be
    compared are left out.

    Args:
        page: cards of the page.
        others: the other cards.
        name: name of the other cards' folder.

    Raises ConfigError if they don't have two tests and a cell in common.
    """
    ours, theirs = ({card.row: card for card in cards} for cards in (page, others))
    tests = _in_common(ours, theirs, name)
    both = [side[test] for side in (ours, theirs) for test in tests]
    cells = set.intersection(*({one.without_seed for one in card.readings} for card in both))
    if not cells:
        raise ConfigError(f"--against: no cell has a result of all of {', '.join(tests)} both on "
                          f"the page and in {name}; score them on the same cells, where none "
                          "fails")
    ours, theirs = ({test: _restrict_to(side[test], cells) for test in tests}
                    for side in (ours, theirs))
    return Order(name, _describe_runs(theirs, cells), [
        held for kind in KINDS if kind.name not in _NO_SCORE
        and (held := _compare_score(kind.name, [(ours[test].label, ours[test].scores.get(kind.name),
                                                 theirs[test].scores.get(kind.name))
                                                 for test in tests]))])


def _in_common(ours: Iterable[str], theirs: Iterable[str], name: str) -> list[str]:
    """Return the rows, Card.row, that both have. Raises ConfigError if they are fewer than two.

    Args:
        ours: rows of the page.
        theirs: rows of the other cards.
        name: name of the other cards' folder.
    """
    tests = [test for test in ours if test in theirs]
    if len(tests) < 2:
        raise ConfigError(f"--against: {name} has {counted(len(tests), 'test')} in common with the "
                          f"page (it has {', '.join(theirs) or 'none'}; the page has "
                          f"{', '.join(ours) or 'none'}); score two or more of the same tests in "
                          "both folders")
    return tests


def _restrict_to(card: Card, cells: set[str]) -> Card:
    """Return a card with the readings of these cells only, and without method, failed runs and
    worst lines."""
    return Card(card.test, card.label, [one for one in card.readings if one.without_seed in cells],
                {}, testbed=card.testbed)


def _describe_runs(theirs: Mapping[str, Card], cells: set[str]) -> str:
    """Return a description of the other runs: the number of runs of all tests together, that of
    cells, and seeds or real time. Example: "208 runs of 16 cells (seed 11)".

    Args:
        theirs: test -> card of the other runs, with the readings of these cells only.
        cells: the cells that all cards have.
    """
    readings = [one for card in theirs.values() for one in card.readings]
    if any(card.testbed != VIRTUAL for card in theirs.values()):
        how = "real time"
    else:
        seeds = sorted({int(seed[1]) for one in readings if (seed := _SEED.search(one.place))})
        how = f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
    return f"{counted(len(readings), 'run')} of {counted(len(cells), 'cell')} ({how})"


def _compare_score(kind: str,
                   scores: Sequence[tuple[str, Score | None,
                                          Score | None]]) -> ScoreComparison | None:
    """Compare the order of tests by one kind of score. A pair counts if its intervals in the page's
    runs don't overlap, and both tests have the score in the other runs. If their scores there are
    equal, this is another order.

    Args:
        kind: key of scores.KIND.
        scores: of each test its label, its score in the page's runs of the cells in common, and
            that in the other runs.

    Returns:
        The comparison, None if no pair counts.
    """
    clear = [(one, other) for one, other in combinations(scores, 2)
             if _intervals_disjoint(one[1], other[1])
             and one[2] is not None and other[2] is not None]
    turned = [(one[0], other[0]) for one, other in clear
              if _compare_values(one[1], other[1]) != _compare_values(one[2], other[2])]
    return ScoreComparison(kind, len(clear), len(clear) - len(turned), turned) if clear else None


def _intervals_disjoint(first: Score | None, second: Score | None) -> bool:
    """Return whether two scores have intervals that don't overlap. False if a score or its interval
    is missing."""
    if first is None or second is None or first.high is None or second.high is None:
        return False
    assert first.low is not None
    assert second.low is not None
    return first.high < second.low or second.high < first.low


def _compare_values(first: Score | None, second: Score | None) -> int:
    """Return 1, 0 or -1, as the first score is greater than, equal to or less than the other.
    Neither may be None."""
    assert first is not None
    assert second is not None
    return (first.value > second.value) - (first.value < second.value)


def refuse_incomparable(output: Path, folders: Sequence[Path],
                        scored: Sequence[Contestant]) -> None:
    """Raise ConfigError if one of the folders can't be compared with the page, as far as that can
    be told before runs: it is the page's own, has no scorecards, has fewer than two tests in common
    with those on the page and those to be scored, is given twice, or has the name of another one.
    Raises BadResult if a card can't be read.

    Args:
        output: the page's folder, of the option -o. It may be missing.
        folders: the folders of --against.
        scored: the tests that the command scores.
    """
    if not folders:
        return
    ours = dict.fromkeys([*(card.row for card in cards.read_all(output)),
                          *(cards.row_of(one.name, one.label) for one in scored)])
    paths: dict[str, Path] = {}
    for folder in folders:
        _refuse_without_cards("--against", folder)
        name = folder.resolve().name
        if folder.resolve() == output.resolve():
            raise ConfigError(f"--against: {folder} is the page's own folder, and runs always have "
                              "the same order as themselves; give that of other runs")
        if paths.get(name) == folder.resolve():
            raise ConfigError(f"--against: {folder} is given twice; give it once")
        if name in paths:
            raise ConfigError(f"--against: two folders are called {name}, and the page tells them "
                              "by their names; rename one")
        paths[name] = folder.resolve()
        _in_common(ours, [card.row for card in cards.read_all(folder)], name)


def _refuse_without_cards(option: str, folder: Path) -> None:
    """Raise ConfigError if a folder can't be read or has no scorecards. option: the option that
    names it."""
    why = why_unreadable(folder)
    if why or not any(folder.glob(f"*/{cards.NAME}")):
        raise ConfigError(f"{option}: {folder}: {why or 'it has no scorecards'}; give the folder "
                          "that flent-aqm scorecard, without --worst, wrote with -o")


def compare_folders(output: Path, folder: Path) -> Order:
    """Compare the page's cards with those of another folder. Return the result, and write it to
    OUTPUT/order/NAME.json, NAME being the other folder's name, in place of an existing file.

    Args:
        output: the page's folder, of the option -o. Its folders have the cards.
        folder: the other runs' folder, of the option --against: the -o of another scorecard
            command.

    Raises ConfigError if a folder has no scorecards, if the two don't have two tests and a cell in
    common, or if the result can't be written. Raises BadResult if a card, or a result of --worst
    beside it, can't be read or is damaged, or if a card has another schema.
    """
    name = folder.resolve().name
    _refuse_without_cards("-o", output)
    _refuse_without_cards("--against", folder)
    result = compare([*cards.read_all(output)], [*cards.read_all(folder)], name)
    write_output(output / _FOLDER / f"{name}.json",
                 json_text(asdict(result), indent=1) + "\n")
    return result


def read_all(output: Path) -> list[Order]:
    """Return the comparisons stored in OUTPUT/order, sorted by the names of their files. Empty if
    there is none. Raises BadResult if a file can't be read or is damaged.

    Args:
        output: the page's folder, of the option -o.
    """
    return [_read_order(path) for path in sorted((output / _FOLDER).glob("*.json"))]


def _read_order(path: Path) -> Order:
    """Return the comparison in a file. Raises BadResult if it can't be read or is damaged."""
    try:
        note: dict[str, Any] = read_note(path)
        order = Order(note["name"], note["of"], [ScoreComparison(**one) for one in note["held"]])
        _ = order.sentence(), order.exceptions()  # they fail if a value is of another kind
        return order
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as fault:
        raise refusal(path, fault, "a comparison of scorecards", "compare again") from None


# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the order of tests holds in other runs of the same cells: with seeds that the page did
not use, or in real time.

Of each score, pairs of tests are looked at whose intervals on the page don't overlap: of others the
page says no order. Kept as JSON in the folder of the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.words import counted
from flent_aqm.parts.scorecard import card as cards
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.output import write_output
from flent_aqm.parts.scorecard.scores import KIND, KINDS, Score

_FOLDER = "order"
# What a run costs the lab is no score of the test.
_NO_SCORE = ("lab_wall_s",)
_SEED = re.compile(r"-seed(\d+)$")


@dataclass(frozen=True)
class Held:
    """Of a score: how many pairs of tests the page orders, how many of them have the same order in
    the other runs, and the labels of those that don't."""

    kind: str
    pairs: int
    same: int
    turned: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Order:
    """name: of the other runs' folder; of: what they are; held: by score."""

    name: str
    of: str
    held: Sequence[Held]

    def sentence(self) -> str:
        """Return it in words."""
        pairs, same = (sum(getattr(one, name) for one in self.held) for name in ("pairs", "same"))
        return (f"In {self.of}, {same} of {counted(pairs, 'pair')} of tests whose intervals don't "
                "overlap have the same order, over all scores.")

    def exceptions(self) -> list[str]:
        """Return a line for each score in which tests change places."""
        return [f"{KIND[one.kind].words}: " + ", ".join(" and ".join(pair) for pair in one.turned)
                for one in self.held if one.turned]


def compare(page: Sequence[Card], others: Sequence[Card], name: str) -> Order:
    """Return how the order of the page holds in other cards. Raises ConfigError if they have no
    two tests in common, or no cell."""
    ours, theirs = ({card.test: card for card in cards} for cards in (page, others))
    tests = [test for test in ours if test in theirs]
    both = [side[test] for side in (ours, theirs) for test in tests]
    cells = set.intersection(*({one.without_seed for one in card.readings} for card in both)
                             ) if both else set()
    if len(tests) < 2 or not cells:
        raise ConfigError(f"--against: {name} has {counted(len(tests), 'test')} and "
                          f"{counted(len(cells), 'cell')} in common with the page; expected two "
                          "tests or more, on the same cells")
    ours, theirs = ({test: _only(side[test], cells) for test in tests}
                    for side in (ours, theirs))
    return Order(name, _what(theirs, cells), [
        held for kind in KINDS if kind.name not in _NO_SCORE
        and (held := _held(kind.name, [(ours[test].label, ours[test].scores.get(kind.name),
                                        theirs[test].scores.get(kind.name)) for test in tests]))])


def _only(card: Card, cells: set[str]) -> Card:
    return Card(card.test, card.label, [one for one in card.readings if one.without_seed in cells],
                {}, testbed=card.testbed)


def _what(theirs: Mapping[str, Card], cells: set[str]) -> str:
    readings = [one for card in theirs.values() for one in card.readings]
    if any(card.testbed != "virtual" for card in theirs.values()):
        how = "real time"
    else:
        seeds = sorted({int(seed[1]) for one in readings if (seed := _SEED.search(one.place))})
        how = f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
    return f"{counted(len(readings), 'run')} of {counted(len(cells), 'cell')} ({how})"


def _held(kind: str, scores: Sequence[tuple[str, Score | None, Score | None]]) -> Held | None:
    clear = [(one, other) for one, other in combinations(scores, 2) if _apart(one[1], other[1])
             and one[2] is not None and other[2] is not None]
    turned = [(one[0], other[0]) for one, other in clear
              if _sign(one[1], other[1]) != _sign(one[2], other[2])]
    return Held(kind, len(clear), len(clear) - len(turned), turned) if clear else None


def _apart(one: Score | None, other: Score | None) -> bool:
    if one is None or other is None or one.high is None or other.high is None:
        return False
    assert one.low is not None
    assert other.low is not None
    return one.high < other.low or other.high < one.low


def _sign(one: Score | None, other: Score | None) -> int:
    assert one is not None
    assert other is not None
    return (one.value > other.value) - (one.value < other.value)


def hold(output: Path, folder: Path) -> Order:
    """Compare the page's cards with those of a folder, and keep what is found. Raises ConfigError,
    BadResult."""
    name = folder.resolve().name
    result = compare([*cards.read_all(output)], [*cards.read_all(folder)], name)
    write_output(output / _FOLDER / f"{name}.json",
                 json.dumps(asdict(result), indent=1, allow_nan=False) + "\n")
    return result


def read_all(output: Path) -> list[Order]:
    """Return what is kept with a page. Raises BadResult for a damaged file."""
    return [_read(path) for path in sorted((output / _FOLDER).glob("*.json"))]


def _read(path: Path) -> Order:
    try:
        note: dict[str, Any] = json.loads(path.read_bytes())
        return Order(note["name"], note["of"], [Held(**one) for one in note["held"]])
    except (OSError, ValueError, LookupError, TypeError) as fault:
        raise BadResult(f"{path}: no order of tests ({fault!r}); remove it and compare again"
                        ) from None


# SPDX-License-Identifier: GPL-3.0-or-later
"""Columns and order of rows of the table of all tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flent_aqm.base.words import counted, plain
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.scores import KIND, Case, Score
from flent_aqm.results.metrics.table import digits

NONE = "none"
RATIO, SHARE, COUNT = "ratio", "share", "count"


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    heading: str
    # Key of scores.KIND.
    kind: str
    # RATIO, SHARE or COUNT: how values are written.
    form: str = RATIO
    # True: the column is also in the terminal's table, which has 80 columns.
    in_short: bool = False

    @property
    def what(self) -> str:
        """Description of the column's score, with its unit."""
        kind = KIND[self.kind]
        return f"{kind.words}{f' ({kind.unit})' if kind.unit else ''}"

    def value(self, score: Score | None) -> str:
        """Return the score's value as text, without its interval."""
        return NONE if score is None else self._one(score.value)

    def interval(self, score: Score | None) -> str:
        """Return the score's interval as text, "" if it has none."""
        if score is None or score.low is None or score.high is None:
            return ""
        return " to ".join(self._one(each, bare=True) for each in (score.low, score.high))

    def whole(self, score: Score | None) -> str:
        """Return the score's value, its interval and the number of its cases as text."""
        if score is None:
            return NONE
        between = self.interval(score)
        return f"{self.value(score)}{f' [{between}]' if between else ''} of {score.count}"

    def case(self, case: Case | None) -> str:
        """Return a case's cell as text, with its value if it has one."""
        if case is None:
            return NONE
        return case.cell if case.value is None else f"{self._one(case.value)}: {case.cell}"

    def _one(self, value: float, *, bare: bool = False) -> str:
        """Return a value in the column's form. `bare`: without a percent sign."""
        if self.form == SHARE:
            return f"{value * 100:.0f}" + ("" if bare else " %")
        # Further digits would depend on the set of cells rather than on the test.
        return f"{value:.0f}" if self.form == COUNT else (
            f"{value:.2f}" if 0.1 <= abs(value) < 10 else digits(value))


COLUMNS: Sequence[Column] = (
    Column("throughput", "throughput", in_short=True),
    Column("latency ÷ median", "latency_to_median", in_short=True),
    Column("÷ p95", "latency_to_p95"),
    Column("÷ own", "latency_to_own"),
    Column("tells apart", "tells_apart", SHARE, in_short=True),
    Column("invents", "invents_difference", SHARE, in_short=True),
    Column("bad is good", "calls_bad_good", SHARE, in_short=True),
    Column("good is bad", "calls_good_bad", SHARE, in_short=True),
    Column("hides 100 ms", "hides_100_ms", SHARE),
    Column("invents 100 ms", "invents_100_ms", SHARE),
    Column("too slow", "too_slow", SHARE),
    Column("unseen glitches", "blind_to_tail"),
    Column("spread", "repeats_throughput", SHARE),
    Column("of latency", "repeats_latency", SHARE),
    Column("MB", "megabytes", COUNT, in_short=True),
    Column("s", "seconds", COUNT, in_short=True),
    Column("lab, s", "lab_wall_s"),
)
IN_SHORT: Sequence[Column] = [column for column in COLUMNS if column.in_short]
# Columns of the table in docs/scorecard.md.
IN_DOCS: Sequence[Column] = [column for column in COLUMNS if column.in_short or column.kind in (
    "latency_to_p95", "hides_100_ms", "invents_100_ms")]
INTERVALS = ("In brackets: 95 % intervals, the wider of the exact one over cells (medians by the "
             "sign test, shares by Clopper and Pearson) and a bootstrap over whole lines; then the "
             "number of cases. Tests whose intervals of \"tells apart\" overlap share a rank.")


def ordered(cards: Sequence[Card]) -> list[Card]:
    """Return the cards in the order of the table: by the share of queues told apart, then by how
    close the latency is to the true one. Tests without these scores come last."""
    def key(card: Card) -> tuple[float, float, str]:
        """Return the sort key of a card."""
        tells, ratio = card.scores.get("tells_apart"), card.scores.get("latency_to_median")
        return (-tells.value if tells else 1.0,
                max(ratio.value, 1 / ratio.value) if ratio and ratio.value else float("inf"),
                card.label)
    return sorted(cards, key=key)


def ranks(cards: Sequence[Card]) -> Mapping[str, str]:
    """Return the rank of each test by the share of queues told apart, as text: 1 more than the
    number of tests whose interval is wholly above its own, so that tests whose intervals overlap
    with the best one's share its rank. NONE for tests without that score."""
    scores = {card.test: card.scores.get("tells_apart") for card in cards}
    bounds = {test: (score.low, score.high) for test, score in scores.items()
              if score and score.low is not None and score.high is not None}
    return {test: str(1 + sum(low > bounds[test][1] for low, _ in bounds.values()))
            if test in bounds else NONE for test in scores}


def headline(cards: Sequence[Card]) -> str:
    """Return the number of tests and runs, and their kind of time, as text."""
    runs = sum(len(card.readings) for card in cards)
    beds = sorted({card.testbed for card in cards})
    where = " and ".join("virtual time" if one == "virtual" else "real time" for one in beds)
    return f"{counted(len(cards), 'test')}, {counted(runs, 'run')}, in {where}"


def failed_lines(card: Card) -> list[str]:
    """Return a line for each cell without a number."""
    return [f"{plain(card.label)}: {plain(place)}: {plain(cause)}"
            for place, cause in card.failed.items()]

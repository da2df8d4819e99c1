# SPDX-License-Identifier: GPL-3.0-or-later
"""Columns of the table of all tests, and the order of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flent_aqm.base.words import counted, plain
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.scores import KIND, Case, Score
from flent_aqm.results.grouping import collect
from flent_aqm.results.metrics.table import digits
from flent_aqm.spec.testbeds import VIRTUAL

NONE = "none"
# Places that failed for the same reason, which a line names.
MOST_PLACES = 2
RATIO, SHARE, COUNT = "ratio", "share", "count"


@dataclass(frozen=True)
class ScoreColumn:
    """A column of the table.

    Attributes:
        heading: the column's heading.
        kind: key of scores.KIND, the score that the column shows.
        form: how values are written: SHARE in whole percent, COUNT as a whole number, RATIO as
            digits() writes it, such as 0.0012, 1.05, 24.30 or 119.5.
        in_short: True: the column is also in the terminal's table, which has 80 columns.
    """

    heading: str
    kind: str
    form: str = RATIO
    in_short: bool = False

    @property
    def what(self) -> str:
        """Description of the column's score, with its unit in brackets if it has one."""
        kind = KIND[self.kind]
        return f"{kind.words}{f' ({kind.unit})' if kind.unit else ''}"

    def value(self, score: Score | None) -> str:
        """Return the score's value as text, without its interval. "none" without a score."""
        return NONE if score is None else self._format_value(score.value)

    def interval(self, score: Score | None) -> str:
        """Return the score's interval as text, such as "0.90 to 1.20", without a percent sign. ""
        without a score, or if it has no interval."""
        if score is None or score.low is None or score.high is None:
            return ""
        return " to ".join(self._format_value(each, bare=True) for each in (score.low, score.high))

    def whole(self, score: Score | None) -> str:
        """Return the score's value, its interval if it has one, and the number of its cases as
        text, such as "1.05 [0.90 to 1.20] of 77". "none" without a score."""
        if score is None:
            return NONE
        between = self.interval(score)
        return f"{self.value(score)}{f' [{between}]' if between else ''} of {score.count}"

    def case(self, case: Case | None) -> str:
        """Return a case as text: its value and its cell, such as "1.05: 50 Mbit/s, 40 ms, CoDel",
        or the cell alone if it has no value. "none" without a case."""
        if case is None:
            return NONE
        return case.cell if case.value is None else f"{self._format_value(case.value)}: {case.cell}"

    def _format_value(self, value: float, *, bare: bool = False) -> str:
        """Return a value as text in the column's form, see ScoreColumn.

        Args:
            value: the value.
            bare: leave out the percent sign.
        """
        if self.form == SHARE:
            return f"{value * 100:.0f}" + ("" if bare else " %")
        # Further digits would depend on the set of cells rather than on the test.
        return f"{value:.0f}" if self.form == COUNT else digits(value)


COLUMNS: Sequence[ScoreColumn] = (
    ScoreColumn("throughput", "throughput", in_short=True),
    ScoreColumn("latency ÷ median", "latency_to_median", in_short=True),
    ScoreColumn("÷ p95", "latency_to_p95"),
    ScoreColumn("÷ own", "latency_to_own"),
    ScoreColumn("÷ idle", "idle_to_true"),
    ScoreColumn("rise error, ms", "rise_error_ms"),
    ScoreColumn("tells apart", "tells_apart", SHARE, in_short=True),
    ScoreColumn("by median, RPM", "orders_median", SHARE),
    ScoreColumn("by rise", "orders_rise", SHARE),
    ScoreColumn("by glitches", "orders_glitches", SHARE),
    ScoreColumn("by loss", "orders_loss", SHARE),
    ScoreColumn("by QoO", "orders_qoo", SHARE),
    ScoreColumn("invents", "invents_difference", SHARE, in_short=True),
    ScoreColumn("bad is good", "calls_bad_good", SHARE, in_short=True),
    ScoreColumn("good is bad", "calls_good_bad", SHARE, in_short=True),
    ScoreColumn("hides 100 ms", "hides_100_ms", SHARE),
    ScoreColumn("invents 100 ms", "invents_100_ms", SHARE),
    ScoreColumn("too slow", "too_slow", SHARE),
    ScoreColumn("unseen glitches", "blind_to_tail"),
    ScoreColumn("spread", "repeats_throughput", SHARE),
    ScoreColumn("of latency", "repeats_latency", SHARE),
    ScoreColumn("MB", "megabytes", COUNT, in_short=True),
    ScoreColumn("s", "seconds", COUNT, in_short=True),
    ScoreColumn("lab, s", "lab_wall_s"),
)
IN_SHORT: Sequence[ScoreColumn] = [column for column in COLUMNS if column.in_short]
_IN_DETAIL = [column for column in COLUMNS if not column.in_short]
_OF_LATENCY = [column for column in _IN_DETAIL if column.kind.startswith(("latency_", "orders_"))
               or column.kind in ("idle_to_true", "rise_error_ms")]
# Tables of the HTML page, each no wider than a window of 1200 pixels: heading -> columns.
TABLES: Mapping[str, Sequence[ScoreColumn]] = {
    "Scores": IN_SHORT,
    "Latency against other truths": _OF_LATENCY,
    "Limits, repetitions and cost": [column for column in _IN_DETAIL
                                     if column not in _OF_LATENCY]}
# Columns of the table in docs/scorecard.md.
IN_DOCS: Sequence[ScoreColumn] = [
    column for column in COLUMNS if column.in_short
    or column.kind in ("latency_to_p95", "hides_100_ms", "invents_100_ms")]
# Columns of the second table there: other truths than the round trips under load.
OTHER_TRUTHS: Sequence[ScoreColumn] = [
    column for column in COLUMNS if column.kind.startswith("orders_")
    or column.kind in ("idle_to_true", "rise_error_ms", "blind_to_tail")]
RANK = ("A test's rank is 1 more than the number of tests whose interval of \"tells apart\" is "
        "wholly above its own. Without a pair of lines of which one stalls at least twice as "
        "long, as in a set of few cells, or without a latency, there is no rank (none).")
INTERVALS = ("In brackets: 95 % intervals, the wider of the exact one over cells (medians by the "
             "sign test, shares by Clopper and Pearson) and a bootstrap over whole lines; then the "
             f"number of cases. {RANK}")


def ordered(cards: Sequence[Card]) -> list[Card]:
    """Return the cards in the order of the table: by rank, then by the share of queues told apart,
    largest first, then by how close the shown latency is to the true median, as a factor up or
    down, then by label. Tests without a rank or score come after those that have it."""
    rank = _ranks(cards)

    def key(card: Card) -> tuple[float, float, float, str]:
        """Return the sort key of a card: its rank (infinite without one), the negative share of
        queues told apart (1 without that score), the factor, 1 or more, between shown latency and
        true median (infinite without that score, or if it is 0), and the label."""
        tells, ratio = card.scores.get("tells_apart"), card.scores.get("latency_to_median")
        return (rank.get(card.row, float("inf")),
                -tells.value if tells else 1.0,
                max(ratio.value, 1 / ratio.value) if ratio and ratio.value else float("inf"),
                card.label)
    return sorted(cards, key=key)


def ranks(cards: Sequence[Card]) -> Mapping[str, str]:
    """Return row of each test (Card.row) -> its rank by the share of pairs of queues that it tells
    apart, as text. "none" for tests without that score or its interval."""
    found = _ranks(cards)
    return {card.row: str(found.get(card.row, NONE)) for card in cards}


def _ranks(cards: Sequence[Card]) -> Mapping[str, int]:
    """Return row of each test (Card.row) -> its rank by the share of pairs of queues that it tells
    apart: 1 more than the number of tests whose interval is wholly above its own. Tests without
    that score or its interval are left out."""
    scores = {card.row: card.scores.get("tells_apart") for card in cards}
    bounds = {test: (score.low, score.high) for test, score in scores.items()
              if score and score.low is not None and score.high is not None}
    return {test: 1 + sum(low > high for low, _ in bounds.values())
            for test, (_, high) in bounds.items()}


def headline(cards: Sequence[Card]) -> str:
    """Return the number of tests and of their runs with a reading, and whether they are in virtual
    time, real time or both, as text without a full stop. If not all tests have the same places
    (line, queue, bulk flow and seed), failed runs included, the text warns of that."""
    runs = sum(len(card.readings) for card in cards)
    beds = sorted({card.testbed for card in cards})
    where = " and ".join("virtual time" if one == VIRTUAL else "real time" for one in beds)
    # Failed runs belong to a test's lines, too.
    lines = {frozenset({*(one.place for one in card.readings), *card.failed}) for card in cards}
    other = "; not all tests ran on the same lines, so compare their scores with care"
    return (f"{counted(len(cards), 'test')}, {counted(runs, 'run')}, in {where}"
            + (other if len(lines) > 1 else ""))


def failed_lines(card: Card) -> list[str]:
    """Return a line for each reason why runs have no reading: test, places and reason. At most two
    places are named, further ones are only counted."""
    places_by_cause = collect(card.failed, lambda place: card.failed[place])
    return [f"{plain(card.label)}: {plain(', '.join(places[:MOST_PLACES]))}"
            + (f" and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else "")
            + f": {plain(cause)}" for cause, places in places_by_cause.items()]

# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the page in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flent_aqm.base.words import counted, plain
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.columns import (
    COLUMNS,
    INTERVALS,
    ScoreColumn,
    headline,
    ordered,
    ranks,
)
from flent_aqm.parts.scorecard.order import Order
from flent_aqm.parts.scorecard.words import sentences


def table(cards: Sequence[Card]) -> str:
    """Return the table of all tests in Markdown, with a row per test in the order of ordered(), and
    columns for its rank, its label and each score of COLUMNS."""
    rank = ranks(cards)
    lines = table_lines(ordered(cards), {"rank": lambda card: rank[card.row], "test": test_cell},
                        COLUMNS)
    return "\n".join(lines) + "\n"


def table_lines(cards: Sequence[Card], first: Mapping[str, Callable[[Card], str]],
                columns: Sequence[ScoreColumn]) -> list[str]:
    """Return the lines of a table in Markdown: two of the head, then a row for each card.

    Args:
        cards: the cards in the order of their rows.
        first: heading of each column before those of scores -> function that returns its cell,
            escaped for a table.
        columns: the columns of scores.
    """
    headings = [*first, *(column.heading for column in columns)]
    rows = [[*(cell(card) for cell in first.values()),
             *(column.whole(card.scores.get(column.kind)) for column in columns)]
            for card in cards]
    return [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings),
            *(f"| {' | '.join(row)} |" for row in rows)]


def test_cell(card: Card) -> str:
    """Return the cell with the label of a card's test, escaped for a table."""
    return escape_cell(card.label)


def page(cards: Sequence[Card], orders: Sequence[Order] = ()) -> str:
    """Return the page in Markdown: the table, the meaning of its columns, comparisons of the tests'
    order with other runs, and each card in sentences, with the number of its failed runs.

    Args:
        cards: cards of the tests, in any order.
        orders: comparisons with other runs.
    """
    lines = [table(cards), f"{headline(cards)}. {INTERVALS}", ""]
    lines += [f"- **{column.heading}**: {column.what}" for column in COLUMNS]
    lines += [text for one in orders for text in ("", one.sentence(), *(
        f"- {escape_cell(line)}" for line in one.exceptions()))]
    for card in ordered(cards):
        lines += ["", f"**{escape_cell(card.label)}.** {escape_cell(' '.join(sentences(card)))}"]
        if card.failed:
            lines.append(f"No number in {counted(len(card.failed), 'run')}.")
    return "\n".join(lines) + "\n"


def escape_cell(text: str) -> str:
    """Return a text, which may come from a file, for a cell of a Markdown table: as a single line
    that can be printed (plain()), with `|` escaped. HTML and other Markdown stay as they are."""
    return plain(text).replace("|", "\\|")

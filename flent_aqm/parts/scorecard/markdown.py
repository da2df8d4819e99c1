# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the page in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from flent_aqm.base.words import counted, plain
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.columns import COLUMNS, INTERVALS, headline, ordered, ranks
from flent_aqm.parts.scorecard.order import Order
from flent_aqm.parts.scorecard.words import sentences


def table(cards: Sequence[Card]) -> str:
    """Return the table of all tests in Markdown, with a row per test."""
    lines = ["| rank | test | " + " | ".join(column.heading for column in COLUMNS) + " |",
             "|---|---|" + "---|" * len(COLUMNS)]
    rank = ranks(cards)
    lines += [f"| {rank[card.test]} | {escape_cell(card.label)} | " + " | ".join(
        column.whole(card.scores.get(column.kind)) for column in COLUMNS) + " |"
        for card in ordered(cards)]
    return "\n".join(lines) + "\n"


def page(cards: Sequence[Card], orders: Sequence[Order] = ()) -> str:
    """Return the page in Markdown: the table, the meaning of its columns, comparisons of the tests'
    order with other runs, and each card in sentences."""
    lines = [table(cards), f"{headline(cards)}. {INTERVALS}", ""]
    lines += [f"- **{column.heading}**: {column.what}" for column in COLUMNS]
    lines += [text for one in orders for text in ("", one.sentence(), *(
        f"- {escape_cell(line)}" for line in one.exceptions()))]
    for card in ordered(cards):
        lines += ["", f"**{escape_cell(card.label)}.** {escape_cell(' '.join(sentences(card)))}"]
        if card.failed:
            lines.append(f"No number in {counted(len(card.failed), 'cell')}.")
    return "\n".join(lines) + "\n"


def escape_cell(text: str) -> str:
    """Return text that may come from a file in a form that is safe in a cell of a Markdown table:
    without control characters, and with `|` escaped."""
    return plain(text).replace("|", "\\|")

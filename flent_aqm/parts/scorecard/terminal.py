# SPDX-License-Identifier: GPL-3.0-or-later
"""Print the page on a terminal: a table for 80 columns, and sentences below."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from flent_aqm.base.words import plain
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.columns import IN_SHORT, ordered
from flent_aqm.parts.scorecard.words import sentences

# Width of the tests' names. Numbers have the rest of 80 columns.
_LABEL_WIDTH = 18


def print_page(cards: Sequence[Card], console: Console) -> None:
    """Print the short table of all tests, and below it each test's name and sentences, in the
    table's order. If the table is wider than the console, its columns are closer together. A card
    without sentences has "No run." instead."""
    made = _table(cards, narrow=False)
    if console.measure(made, options=console.options.update(width=10_000)).maximum > console.width:
        made = _table(cards, narrow=True)
    console.print(made)
    for card in ordered(cards):
        console.print()
        console.print(Text(plain(card.label), style="bold"))
        console.print(Padding(Text(" ".join(sentences(card)) or "No run."), (0, 0, 0, 2)))


def _table(cards: Sequence[Card], *, narrow: bool) -> Table:
    """Return the table of the tests' scores. narrow: one blank between columns, otherwise two."""
    made = Table(box=None, pad_edge=False, collapse_padding=narrow)
    made.add_column("test", max_width=_LABEL_WIDTH, overflow="fold")
    for column in IN_SHORT:
        # Headings may have two lines, numbers have one.
        made.add_column(column.heading.replace(" ", "\n", 1), justify="right", no_wrap=True)
    for card in ordered(cards):
        made.add_row(Text(plain(card.label)), *(column.value(card.scores.get(column.kind))
                                                for column in IN_SHORT))
    return made

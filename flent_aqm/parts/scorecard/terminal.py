# SPDX-License-Identifier: GPL-3.0-or-later
"""The page on a terminal: a table that 80 columns have room for, and sentences in lines."""

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

# The rest of 80 columns is for numbers.
_LABEL_WIDTH = 18


def show(cards: Sequence[Card], console: Console) -> None:
    """Print it."""
    made = Table(box=None, pad_edge=False)
    made.add_column("test", max_width=_LABEL_WIDTH, overflow="fold")
    for column in IN_SHORT:
        # What a column is called may need a second line, a number none.
        made.add_column(column.heading.replace(" ", "\n", 1), justify="right", no_wrap=True)
    for card in ordered(cards):
        made.add_row(Text(plain(card.label)), *(column.value(card.scores.get(column.kind))
                                                for column in IN_SHORT))
    console.print(made)
    for card in ordered(cards):
        console.print()
        console.print(Text(plain(card.label), style="bold"))
        console.print(Padding(Text(" ".join(sentences(card)) or "No run."), (0, 0, 0, 2)))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the page as HTML without external resources and scripts.

A click on a number shows its cells. Jinja2 escapes text that comes from files.
"""

from __future__ import annotations

from collections.abc import Sequence

from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.columns import (
    COLUMNS,
    INTERVALS,
    RANK,
    TABLES,
    headline,
    ordered,
    ranks,
)
from flent_aqm.parts.scorecard.order import Order
from flent_aqm.parts.scorecard.words import sentences
from flent_aqm.show.templates import environment, svg_address


def page(cards: Sequence[Card], orders: Sequence[Order], picture: bytes, caption: str) -> str:
    """Return the page as HTML: the tables of all tests, the figure, the meaning of the columns, the
    comparisons, and for each test sentences, its method and why runs failed.

    Args:
        cards: cards of the tests, in any order.
        orders: comparisons with other runs.
        picture: the figure as SVG.
        caption: the figure's caption.
    """
    return environment("flent_aqm.parts.scorecard").get_template("scorecard.html").render(
        cards=ordered(cards), ranks=ranks(cards), columns=COLUMNS, tables=TABLES,
        intervals=INTERVALS, rank=RANK,
        headline=headline(cards), sentences=sentences, orders=orders, caption=caption,
        picture=svg_address(picture))

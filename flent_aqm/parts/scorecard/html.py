# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the page as HTML without external resources and scripts.

A click on a number shows its cells. Jinja2 escapes text that comes from files.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

import jinja2

from flent_aqm.base.words import counted, plain
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.columns import COLUMNS, INTERVALS, headline, ordered, ranks
from flent_aqm.parts.scorecard.order import Order
from flent_aqm.parts.scorecard.words import sentences


def page(cards: Sequence[Card], orders: Sequence[Order], picture: bytes, caption: str) -> str:
    """Return the page as HTML.

    Args:
        cards: cards of the tests.
        orders: comparisons with other runs.
        picture: the figure as SVG.
        caption: the figure's caption.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("flent_aqm.parts.scorecard", "page"), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: plain(value) if type(value) is str else value)
    environment.filters["counted"] = counted
    return environment.get_template("scorecard.html").render(
        cards=ordered(cards), ranks=ranks(cards), columns=COLUMNS, intervals=INTERVALS,
        headline=headline(cards), sentences=sentences, orders=orders, caption=caption,
        picture=f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}") + "\n"

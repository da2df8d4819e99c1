# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the scores of all tests to one JSON document, with intervals, cells and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from flent_aqm import __version__
from flent_aqm.base.json_text import json_text
from flent_aqm.parts.scorecard.card import SCHEMA_VERSION, Card
from flent_aqm.parts.scorecard.columns import headline, ordered
from flent_aqm.parts.scorecard.order import Order
from flent_aqm.parts.scorecard.scores import KINDS
from flent_aqm.parts.scorecard.words import sentences


def text(cards: Sequence[Card], orders: Sequence[Order] = ()) -> str:
    """Return the scores of all tests as a JSON document. Its keys: "schema", "flent_aqm" (version),
    "of" (the text of columns.headline(), such as the number of tests and runs), "scores" (unit,
    words and ideal value of each kind of score), "order" (the comparisons) and "tests", with a
    record for each test, in the order of the table: test, label, method, testbed, number of runs
    with a reading, scores, failed (place -> reason), found (results of searches for the worst line)
    and words (sentences).

    Args:
        cards: the tests with their scores. Their readings are not in the document.
        orders: comparisons of the tests' order with that in other runs.
    """
    content = {
        "schema": SCHEMA_VERSION, "flent_aqm": __version__, "of": headline(cards),
        "scores": {kind.name: {"unit": kind.unit, "words": kind.words, "best": kind.best}
                   for kind in KINDS},
        "order": [asdict(one) for one in orders],
        "tests": [{"test": card.test, "label": card.label, "method": card.method,
                   "testbed": card.testbed, "runs": len(card.readings),
                   "scores": {name: asdict(score) for name, score in card.scores.items()},
                   "failed": dict(card.failed),
                   "found": [one.as_dict() for one in card.worst], "words": sentences(card)}
                  for card in ordered(cards)]}
    return json_text(content, indent=1) + "\n"

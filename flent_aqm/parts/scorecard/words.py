# SPDX-License-Identifier: GPL-3.0-or-later
"""A test's card in sentences, for readers who don't measure networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.reading import WORSE
from flent_aqm.parts.scorecard.scores import BAD_MS

# A throughput or a latency within this share of the truth is called right.
_RIGHT = 0.1
_LOADING = {"download": "while the line downloads", "upload": "while the line uploads",
            WORSE: "while the line is busy"}


def sentences(card: Card) -> list[str]:
    """Return what there is to say, the most important first."""
    found = (say(card) for say in _SENTENCES)
    return [text for text in found if text]


def _shows_no_latency(card: Card) -> str:
    if "latency_to_median" in card.scores or not card.readings:
        return ""
    return ("It shows no latency: a line on which calls break up looks like any other "
            "of the same speed.")


def _hides(card: Card) -> str:
    """The line on which it shows the smallest part of the wait."""
    waits = [(way.others_p95_ms / way.shown_ms, way, one, name) for one in card.readings
             for name, way in one.telling
             if way.shown_ms and way.others_p95_ms and (way.rise_p95_ms or 0) > BAD_MS]
    if not waits:
        return ""
    factor, way, one, name = max(waits, key=lambda each: each[0])
    if factor < 1 + _RIGHT:
        return "On no line that stalls did it show less latency than there was."
    return (f"On a line ({one.words}) where one packet in twenty of a call or game takes "
            f"{way.others_p95_ms:.0f} ms or more {_LOADING[name]}, this test says "
            f"{_ms(way.shown_ms)}.")


def _ms(value: float | None) -> str:
    return f"{value:.0f} ms" if value is not None and value >= 1 else "less than 1 ms"


def _tells_apart(card: Card) -> str:
    score = card.scores.get("tells_apart")
    if score is None:
        return ""
    return (f"Of two lines of which one waits at least twice as long, its numbers say which in "
            f"{score.value:.0%} of cases.")


def _wrong_verdicts(card: Card) -> str:
    parts = []
    for name, words in (
            ("calls_bad_good", "calls good {} of {} lines that are bad for calls"),
            ("calls_good_bad", "calls bad {} of {} lines that are good for them")):
        score = card.scores.get(name)
        if score is not None:
            parts.append(words.format(round(score.value * score.count), score.count))
    return f"In its own words, it {' and '.join(parts)}." if parts else ""


def _bead(card: Card) -> str:
    score = card.scores.get("bead_passes_bad")
    if score is None:
        return ""
    return (f"Of {score.count} lines that fail a public funder's rule for latency, "
            f"{round(score.value * score.count)} pass by its numbers.")


def _throughput(card: Card) -> str:
    score = card.scores.get("throughput")
    if score is None or score.least is None or score.most is None:
        return ""
    middle = f"Its speed is mostly {score.value:.0%} of what the line can carry"
    if min(score.least, 2 - score.most) > 1 - _RIGHT:
        return f"{middle}, and nowhere far from it."
    return f"{middle}; it goes from {score.least:.0%} to {score.most:.0%}."


def _cost(card: Card) -> str:
    megabytes, seconds = card.scores.get("megabytes"), card.scores.get("seconds")
    if megabytes is None or seconds is None:
        return ""
    return (f"A test takes {seconds.value:.0f} s and {megabytes.value:.0f} MB, at most "
            f"{megabytes.most:.0f} MB.")


_SENTENCES: Sequence[Callable[[Card], str]] = (
    _shows_no_latency, _hides, _tells_apart, _wrong_verdicts, _bead, _throughput, _cost)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe a test's card in sentences, for readers who don't measure networks.

"A line stalls for X ms" means that one packet in twenty of another flow takes X ms or longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from flent_aqm.base.words import counted
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues
from flent_aqm.parts.scorecard.scores import BAD_MS, rates
from flent_aqm.results.metrics.flows import DIRECTIONS

# A throughput or a latency counts as right if it differs from the true one by less than this share.
_RIGHT = 0.1
# Above this share of what a line can carry, a number isn't its throughput.
_IMPOSSIBLE = 1.2
# Below this share, the number is in another unit, or the test has hardly sent anything.
_NEXT_TO_NOTHING = 0.02
_LOADING = {"download": "while the line downloads", "upload": "while the line uploads",
            WORSE: "while the line is busy"}


def sentences(card: Card) -> list[str]:
    """Return the sentences about a card, the most important first, those of searches for the worst
    line last. Empty if it has nothing to tell, as without readings and results of searches."""
    texts = [text for say in _SENTENCES if (text := say(card))]
    return [*texts, *(text for one in card.worst for text in one.sentences())]


def _shows_no_latency(card: Card) -> str:
    """Return the sentence that a test shows no latency, if the card has readings, but none of them
    shows one under load. "" otherwise."""
    if not card.readings or any(one.telling for one in card.readings):
        return ""
    return ("It shows no latency: a line that stalls looks like any other of the same "
            "speed.")


@dataclass(frozen=True)
class Stall:
    """A line on which one packet in twenty of another flow takes `true_ms` or longer under load.

    Attributes:
        shown_ms: latency that the test shows.
        true_ms: 95th percentile of the other flow's round trips under load.
        where: description of the line; in results of stalls() also of the direction.
    """

    shown_ms: float
    true_ms: float
    where: str


def stalls(card: Card) -> list[Stall]:
    """Return the runs and directions in which the line stalls and the test shows a latency: the
    true 95th percentile under load is known and more than 100 ms (BAD_MS) above the median on
    the idle line. Of a run that has a shown latency, but none per direction, the worse direction
    counts. Directions in which so many probes were lost, about one in twenty or more, that the
    percentile is a lost one are left out. Empty if there is none."""
    return [stall for one in card.readings for name, way in one.telling
            if (stall := _stall(way, f"{one.words}, {_LOADING[name]}"))]


def stalls_of_all(cards: Sequence[Card]) -> Mapping[str, list[Stall]]:
    """Return row of a test (Card.row) -> the runs' places at which the line stalls, as in stalls(),
    under each of these tests: latency that the test shows, beside the true one of the worse
    direction. The shown latency is the one without a direction if the test shows such a one,
    otherwise the larger one of both directions. Tests without the score latency_to_median, such as
    those that show no latency, are left out. All tests have the same places in the same order."""
    by_test = {card.row: {one.place: stall for one in card.readings
                          if (stall := _stall(one.ways[WORSE], one.words))}
               for card in cards if "latency_to_median" in card.scores}
    common = set.intersection(*map(set, by_test.values())) if by_test else set()
    return {test: [cases[place] for place in sorted(common)] for test, cases in by_test.items()}


def _stall(way: DirectionValues, where: str) -> Stall | None:
    """Return the latency that the test shows in a direction, or in the worse one, beside the true
    one. None if it shows none or the line doesn't stall, as in stalls(). where: Stall.where."""
    if way.shown_ms is None or way.others_p95_ms is None or not math.isfinite(way.others_p95_ms) \
            or (way.rise_p95_ms or 0) <= BAD_MS:
        return None
    return Stall(way.shown_ms, way.others_p95_ms, where)


def typical(cases: Sequence[Stall]) -> tuple[str, str]:
    """Return the median of the shown latencies and that of the true ones on lines that stall, as
    texts such as "120 ms". `cases` must not be empty."""
    return (_in_ms(median(one.shown_ms for one in cases)),
            _in_ms(median(one.true_ms for one in cases)))


def _hidden_latency(card: Card) -> str:
    """Return the sentence about the latency that the test shows on lines that stall: its median
    beside the true one, and the line where it shows the smallest part of the true one, or, if the
    true one is less than 10 % larger even there, that it nowhere shows a tenth less than there was,
    or less. "" if stalls() has no line."""
    stalled = stalls(card)
    if not stalled:
        return ""
    shown, true = typical(stalled)
    worst = max(stalled, key=lambda one: one.true_ms / one.shown_ms if one.shown_ms else math.inf)
    text = f"On lines that stall for {true} this test says {shown}"
    if worst.true_ms < worst.shown_ms * (1 + _RIGHT):
        part = "" if worst.true_ms <= worst.shown_ms else "a tenth "
        return f"{text}, and nowhere {part}less than there was."
    return f"{text}; at worst {_in_ms(worst.shown_ms)} of {_in_ms(worst.true_ms)} ({worst.where})."


def _in_ms(value: float) -> str:
    """Return a time in whole ms as text, "less than 1 ms" below 1."""
    return _whole(value, "ms")


def _whole(value: float, unit: str) -> str:
    """Return a number as text without decimals and with its unit, "less than 1 UNIT" below 1."""
    return f"{value:.0f} {unit}" if value >= 1 else f"less than 1 {unit}"


def _percent(share: float) -> str:
    """Return a share (1 is all) as text in whole percent."""
    return f"{share * 100:.0f} %"


def _tells_apart(card: Card) -> str:
    """Return the sentence about the share of pairs of queues, one stalling at least twice as long
    as the other, that the test orders rightly. "" without the score tells_apart."""
    score = card.scores.get("tells_apart")
    if score is None:
        return ""
    return ("Of two lines of which one stalls at least twice as long, its numbers say which in "
            f"{_percent(score.value)} of {counted(score.count, 'case')}.")


def _wrong_verdicts(card: Card) -> str:
    """Return the sentence about lines that the test wrongly calls good or bad. If the card has only
    one of the scores calls_bad_good and calls_good_bad, it is about that one alone. "" if it has
    neither: the test gives no verdicts, or no line is clearly good or bad."""
    return _line_counts(card, "In its own words, it", {
        "calls_bad_good": "calls good {} of {} rising by more than 100 ms",
        "calls_good_bad": "calls bad {} of {} rising by less than 20 ms"})


def _wrong_side_of_100_ms(card: Card) -> str:
    """Return the sentence about lines on which the test's latency and the true 95th percentile are
    on different sides of 100 ms, "" without such a score."""
    return _line_counts(card, "It", {
        "hides_100_ms": "shows 100 ms or less on {} of {} above 100 ms (95th percentile, in the "
                        "worse direction)",
        "invents_100_ms": "shows more than 100 ms on {} of {} at 100 ms or below"})


def _line_counts(card: Card, subject: str, words_by_score: Mapping[str, str]) -> str:
    """Return a sentence that gives scores which are shares of runs as numbers of lines, or of runs
    if the test ran more than once on a line with the same queue and bulk flow. Scores that the card
    doesn't have are left out of it. "" if it has none of them.

    Args:
        card: the test's card.
        subject: beginning of the sentence.
        words_by_score: name of the score -> its part of the sentence. Its first {} becomes the
            number for which the score's case is true, the second one that of all, such as
            "8 lines".
    """
    once = len({one.without_seed for one in card.readings}) == len(card.readings)
    noun = "line" if once else "run"
    parts = [words.format(round(score.value * score.count), counted(score.count, noun))
             for name, words in words_by_score.items() if (score := card.scores.get(name))]
    return f"{subject} {' and '.join(parts)}." if parts else ""


def _throughput(card: Card) -> str:
    """Return the sentence about the throughput: its median as a share of what the line can carry,
    and the least and the greatest share, or, if both are within 10 % of 1, that it is nowhere far
    from it. If the medians of download and upload differ by more than 10 percentage points, each is
    told. If a median is above _IMPOSSIBLE, the sentence says in place of the least and the greatest
    share that it can't be; if no line's share is above _NEXT_TO_NOTHING, that it is next to
    nothing. "" without the score throughput."""
    score = card.scores.get("throughput")
    if score is None or score.least is None or score.most is None:
        return ""
    medians = {name: median(shares) for name in DIRECTIONS if (
        shares := [share for share, _, _ in rates(card.readings, [name])])}
    line = "of what the line can carry"
    if max(medians.values()) - min(medians.values()) > _RIGHT:
        (down, up), goes = map(_percent, medians.values()), "they go"
        middle = f"Its download speed is mostly {down} {line}, its upload speed {up}"
    else:
        middle, goes = f"Its speed is mostly {_percent(score.value)} {line}", "it goes"
    if max(medians.values()) > _IMPOSSIBLE:
        return f"{middle}, which can't be: look at the names and units of its numbers."
    if score.most <= _NEXT_TO_NOTHING:
        return (f"Its speed is at most {100 * score.most:.2g} % {line}, next to nothing: look at "
                "the names and units of its numbers.")
    if min(score.least, 2 - score.most) > 1 - _RIGHT:
        return f"{middle}, and nowhere far from it."
    return f"{middle}; {goes} from {_percent(score.least)} to {_percent(score.most)}."


def _time_and_traffic(card: Card) -> str:
    """Return the sentence about time and traffic of a test, "" unless both scores are there."""
    megabytes, seconds = card.scores.get("megabytes"), card.scores.get("seconds")
    if megabytes is None or seconds is None:
        return ""
    most = megabytes.most or 0.0
    return (f"A test loads the line for {_whole(seconds.value, 's')} with "
            f"{_whole(megabytes.value, 'MB')}{f', at most {most:.0f} MB' if most >= 1 else ''}.")


_SENTENCES: Sequence[Callable[[Card], str]] = (
    _shows_no_latency, _hidden_latency, _tells_apart, _wrong_verdicts, _wrong_side_of_100_ms,
    _throughput, _time_and_traffic)

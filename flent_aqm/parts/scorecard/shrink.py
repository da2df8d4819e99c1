# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a line makes a test wrong: first all that doesn't matter is as on a usual line, then one
setting is changed by as little as makes the error vanish."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from flent_aqm.parts.scorecard.places import Line, Place, drop_tail
from flent_aqm.parts.scorecard.worst import BUFFER_MS, RATE_MBPS, RTT_MS, Lines, Point

USUAL = Line(50, 50, 40)
# What a line without a queue worth the name has.
CALM_QUEUE = "fq_codel"
# An error that is at least so much of the worst one's, as a logarithm, is the same one; one within
# this factor is none.
SAME_SHARE, NONE_FACTOR = 0.8, 1.25
_HALVINGS = 4


@dataclass(frozen=True)
class Change:
    """Of one setting. before, after: in words; point: with it, where the error is none."""

    before: str
    after: str
    point: Point


@dataclass(frozen=True)
class _Setting:
    """A number of a line. of: gives it; put: a place with another; ends: the least, the most."""

    words: str
    of: Callable[[Place], float]
    put: Callable[[Place, float], Place]
    ends: tuple[float, float]


def _rate(place: Place, value: float) -> Place:
    return replace(place, line=replace(place.line, down_mbps=value, up_mbps=value))


_SETTINGS: Sequence[_Setting] = (
    _Setting("a buffer of {:g} ms", lambda place: place.buffer.buffer_ms or 0.0,
             lambda place, value: replace(place, queue=drop_tail(value)), BUFFER_MS),
    _Setting("a round trip of {:g} ms", lambda place: place.line.rtt_ms,
             lambda place, value: replace(place, line=replace(place.line, rtt_ms=value)), RTT_MS),
    _Setting("{:g} Mbit/s", lambda place: place.line.down_mbps, _rate, RATE_MBPS),
)


def simplified(lines: Lines, worst: Point) -> Point:
    """Return the line whose every setting is as usual that doesn't take the error away."""
    now = worst
    for simpler in (lambda place: replace(place, beside=False),
                    lambda place: _rate(place, USUAL.down_mbps),
                    lambda place: replace(place, line=replace(place.line, rtt_ms=USUAL.rtt_ms))):
        place = simpler(now.place)
        point = lines.point(place) if place != now.place else None
        if point is not None and point.error >= SAME_SHARE * worst.error:
            now = point
    return now


def changes(lines: Lines, wrong: Point) -> list[Change]:
    """Return the smallest change of each setting that makes the error vanish, by itself."""
    return [*_of_words(lines, wrong), *_of_numbers(lines, wrong)]


def _of_words(lines: Lines, wrong: Point) -> Iterator[Change]:
    place = wrong.place
    if place.beside and (right := _right(lines, replace(place, beside=False))):
        yield Change("a bulk flow beside", "none", right)
    if place.queue != CALM_QUEUE and (right := _right(lines, replace(place, queue=CALM_QUEUE))):
        yield Change(place.buffer.words, right.place.buffer.words, right)


def _of_numbers(lines: Lines, wrong: Point) -> Iterator[Change]:
    for setting in _SETTINGS:
        value = setting.of(wrong.place)
        for end in setting.ends:
            # Of a queue without a length in ms there is none to change.
            if not value or end == value or not (
                    right := _right(lines, setting.put(wrong.place, end))):
                continue
            near, far = value, end
            for _ in range(_HALVINGS):
                middle = float(f"{math.sqrt(near * far):.2g}")
                if middle in (near, far):
                    break
                if point := _right(lines, setting.put(wrong.place, middle)):
                    right, far = point, middle
                else:
                    near = middle
            yield Change(setting.words.format(value), setting.words.format(far), right)


def _right(lines: Lines, place: Place) -> Point | None:
    """Return what the test shows there, if that is right."""
    point = lines.point(place)
    return point if point and is_right(point.shown, point.true) else None


def is_right(shown: float, true: float) -> bool:
    """Return whether that is no error."""
    return abs(math.log(shown / true)) <= math.log(NONE_FACTOR)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the settings of a line that cause a test's error.

First, settings that don't matter get the values of a usual line. Then the smallest change of each
single setting is searched that makes the error vanish.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from flent_aqm.parts.scorecard.places import Place, drop_tail
from flent_aqm.parts.scorecard.worst import BUFFER_MS, RATE_MBPS, RTT_MS, Lines, Point

# Rate in both directions and round trip of a usual line.
USUAL_MBPS, USUAL_RTT_MS = 50, 40
# The queue of a line without considerable queueing.
CALM_QUEUE = "fq_codel"
# An error counts as the same if its logarithm is at least this share of the worst one's. A factor
# below NONE_FACTOR is no error.
SAME_SHARE, NONE_FACTOR = 0.8, 1.25
_HALVINGS = 4


@dataclass(frozen=True)
class Change:
    """A change of one setting that makes the error vanish.

    Attributes:
        before: the setting in words before the change.
        after: the setting in words after the change.
        point: the test's result with the change.
    """

    before: str
    after: str
    point: Point


@dataclass(frozen=True)
class _Setting:
    """A numeric setting of a line.

    Attributes:
        words: format of its description, in which {:g} stands for the value.
        of: function that returns the setting's value in a place, 0 if the place has no such
            setting.
        put: function that returns the place with another value of the setting.
        ends: least and greatest value.
    """

    words: str
    of: Callable[[Place], float]
    put: Callable[[Place, float], Place]
    ends: tuple[float, float]


def _with_rate(place: Place, value: float) -> Place:
    """Return the place with this rate, in Mbit/s, in both directions."""
    return replace(place, line=replace(place.line, down_mbps=value, up_mbps=value))


_SETTINGS: Sequence[_Setting] = (
    _Setting("a buffer of {:g} ms", lambda place: place.buffer.buffer_ms or 0.0,
             lambda place, value: replace(place, queue=drop_tail(value)), BUFFER_MS),
    _Setting("a round trip of {:g} ms", lambda place: place.line.rtt_ms,
             lambda place, value: replace(place, line=replace(place.line, rtt_ms=value)), RTT_MS),
    _Setting("{:g} Mbit/s", lambda place: place.line.down_mbps, _with_rate, RATE_MBPS),
)


def simplified(lines: Lines, worst: Point) -> Point:
    """Return the test's result on a line with fewer unusual settings. One after the other, the bulk
    flow is removed, and rate and round trip get usual values (50 Mbit/s both ways, 40 ms). A change
    is kept if there is a result with it whose error, a logarithm (Point.error), is at least 0.8
    (SAME_SHARE) times that of `worst`. The queue stays as it is. Without any such change, return
    `worst`.

    Args:
        lines: runs the test on lines.
        worst: the result with the largest error.
    """
    now = worst
    for simpler in (lambda place: replace(place, beside=""),
                    lambda place: _with_rate(place, USUAL_MBPS),
                    lambda place: replace(place, line=replace(place.line, rtt_ms=USUAL_RTT_MS))):
        place = simpler(now.place)
        point = lines.point(place) if place != now.place else None
        if point is not None and point.error >= SAME_SHARE * worst.error:
            now = point
    return now


def changes(lines: Lines, wrong: Point) -> list[Change]:
    """Return the changes of a single setting that make the error vanish, so that shown and true
    value differ by a factor of NONE_FACTOR (1.25) at most: no bulk flow, CALM_QUEUE (FQ-CoDel) as
    the queue, and for buffer (of a drop-tail queue with a size in ms), round trip and rate the
    smallest such change upwards and downwards that a few bisections find. Changes that don't make
    it vanish, or for which no runs are left, are left out.

    Args:
        lines: runs the test on lines.
        wrong: the result with the error.
    """
    return [*_changes_of_flow_and_queue(lines, wrong), *_changes_of_numbers(lines, wrong)]


def _changes_of_flow_and_queue(lines: Lines, wrong: Point) -> Iterator[Change]:
    """Yield each of these changes that alone makes the error vanish: the bulk flow removed; the
    queue replaced by CALM_QUEUE (FQ-CoDel)."""
    place = wrong.place
    if place.beside and (right := _result_if_right(lines, replace(place, beside=""))):
        yield Change("a bulk flow beside", "none", right)
    if place.queue != CALM_QUEUE and (right := _result_if_right(lines,
                                                                replace(place, queue=CALM_QUEUE))):
        yield Change(place.buffer.words, right.place.buffer.words, right)


def _changes_of_numbers(lines: Lines, wrong: Point) -> Iterator[Change]:
    """Yield for each numeric setting, downwards and upwards, the smallest change that makes the
    error vanish, as at most four bisections between the setting and the end of its range find it.
    Nothing if the error stays at that end or there is no result there, nor for the buffer of a
    queue without a size in ms."""
    for setting in _SETTINGS:
        value = setting.of(wrong.place)
        for end in setting.ends:
            # A value of 0 is that of a queue without a size in ms, which can't be changed.
            if not value or end == value or not (
                    right := _result_if_right(lines, setting.put(wrong.place, end))):
                continue
            near, far = value, end
            for _ in range(_HALVINGS):
                middle = float(f"{math.sqrt(near * far):.2g}")
                if middle in (near, far):
                    break
                if point := _result_if_right(lines, setting.put(wrong.place, middle)):
                    right, far = point, middle
                else:
                    near = middle
            yield Change(setting.words.format(value), setting.words.format(far), right)


def _result_if_right(lines: Lines, place: Place) -> Point | None:
    """Return the test's result at a place if it is right, see is_right(). Runs the test there if
    that is missing. None if the result is wrong, there is none, or no runs are left."""
    point = lines.point(place)
    return point if point and is_right(point.shown, point.true) else None


def is_right(shown: float, true: float) -> bool:
    """Return whether shown and true value, both above 0, differ by a factor of at most NONE_FACTOR
    (1.25)."""
    return abs(math.log(shown / true)) <= math.log(NONE_FACTOR)

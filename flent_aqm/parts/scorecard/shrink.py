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


@dataclass(frozen=True)
class _Trial:
    """A change of one setting that is tried.

    Attributes:
        place: the line with the change.
        before: the setting in words before the change.
        after: the setting in words after the change.
        words: the change in words that tell what is changed.
        setting: the setting if it is a number, else None.
        end: value of that number, an end of its range. 0 without `setting`.
    """

    place: Place
    before: str
    after: str
    words: str
    setting: _Setting | None = None
    end: float = 0.0


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


def changes(lines: Lines, wrong: Point) -> tuple[list[Change], list[str]]:
    """Return the changes of a single setting that make the error vanish, so that shown and true
    value differ by a factor of NONE_FACTOR (1.25) at most, and in words those of which it is not
    known, because no runs were left or there was no result. Tried are: no bulk flow; CALM_QUEUE
    (FQ-CoDel) as the queue; and each end of the range of buffer (of a drop-tail queue with a size
    in ms), round trip and rate. If the error vanishes at an end, the change is the smallest one
    towards it that a few bisections find.

    Args:
        lines: runs the test on lines.
        wrong: the result with the error.
    """
    found: list[Change] = []
    unknown: list[str] = []
    for trial in _trials(wrong.place):
        point = lines.point(trial.place)
        if point is None:
            unknown.append(trial.words)
        elif is_right(point.shown, point.true):
            found.append(_smallest_change(lines, wrong.place, trial, point))
    return found, unknown


def _trials(place: Place) -> Iterator[_Trial]:
    """Yield the changes that are tried, each of a single setting that the place has, and that isn't
    as changed already."""
    if place.beside:
        yield _Trial(replace(place, beside=""), "a bulk flow beside", "none", "no bulk flow beside")
    if place.queue != CALM_QUEUE:
        calm = replace(place, queue=CALM_QUEUE)
        yield _Trial(calm, place.buffer.words, calm.buffer.words, calm.buffer.words)
    for setting in _SETTINGS:
        value = setting.of(place)
        for end in setting.ends:
            # A value of 0 is that of a queue without a size in ms, which can't be changed.
            if value and end != value:
                after = setting.words.format(end)
                yield _Trial(setting.put(place, end), setting.words.format(value), after, after,
                             setting, end)


def _smallest_change(lines: Lines, place: Place, trial: _Trial, right: Point) -> Change:
    """Return the change of a trial. If it is that of a number, return the smallest one towards the
    trial's end with which the error vanishes, as at most four bisections find it. They end early if
    no runs are left, one has no result, or no value of two significant digits is left between.

    Args:
        lines: runs the test on lines.
        place: the line with the error.
        trial: the change with which the error vanishes.
        right: the test's result with it.
    """
    if trial.setting is None:
        return Change(trial.before, trial.after, right)
    near, far = trial.setting.of(place), trial.end
    for _ in range(_HALVINGS):
        middle = float(f"{math.sqrt(near * far):.2g}")
        if middle in (near, far):
            break
        point = lines.point(trial.setting.put(place, middle))
        if point is None:
            break
        if is_right(point.shown, point.true):
            right, far = point, middle
        else:
            near = middle
    return Change(trial.before, trial.setting.words.format(far), right)


def is_right(shown: float, true: float) -> bool:
    """Return whether shown and true value, both above 0, differ by a factor of at most NONE_FACTOR
    (1.25)."""
    return abs(math.log(shown / true)) <= math.log(NONE_FACTOR)

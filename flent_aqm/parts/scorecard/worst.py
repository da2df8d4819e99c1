# SPDX-License-Identifier: GPL-3.0-or-later
"""Search the line on which a test is farthest from the truth.

The search varies rate, round trip, queue, buffer and cross traffic. Runs are reproducible, so each
line is run once. Optuna's sampler (TPE) prefers lines like those with a large error. It draws lines
in rounds whose size doesn't depend on the machine, so that a search is reproducible, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from flent_aqm.base.errors import BadResult, ToolMissing
from flent_aqm.parts.scorecard.places import CUBIC, AccessLine, Place, drop_tail
from flent_aqm.parts.scorecard.reading import Reading
from flent_aqm.results.metrics.flows import DIRECTIONS

# Ranges of the search. Other values don't occur at homes, or make runs take minutes.
RATE_MBPS, RTT_MS, BUFFER_MS = (10, 300), (5, 160), (10, 1000)
DROP_TAIL = "fifo"
QUEUES = (DROP_TAIL, "red", "codel", "pie", "fq_codel", "cake")
LEAST_RUNS, MOST_RUNS, USUAL_RUNS = 10, 150, 100
# Share of the runs that is kept for shrink.py.
SHRINK_SHARE = 0.25
_ROUND, _SEED = 4, 1
# With these numbers, searches of 75 lines with six seeds found errors of 182 to 197 of at most 201,
# for a test that shows the idle round trip.
_AT_RANDOM, _CANDIDATES = 10, 64


@dataclass(frozen=True)
class Point:
    """The result of a test on one line, in the direction with the largest error.

    Attributes:
        place: the line with its queue.
        way: "download" or "upload", or "worse" for a latency that the test shows without a
            direction, which is compared with the larger one of both.
        shown: value that the test shows, in the unit of the aim.
        true: the true value.
    """

    place: Place
    way: str
    shown: float
    true: float

    @property
    def error(self) -> float:
        """Size of the error: |ln(shown / true)|."""
        return abs(math.log(self.shown / self.true))


@dataclass(frozen=True)
class Aim:
    """The quantity whose largest error is searched.

    Attributes:
        quantity: name of the quantity.
        unit: unit of the values.
        pairs: function that yields (direction, shown value, true value) of a reading. None: not
            known.
        beside: True: the true value is known on lines with cross traffic, too.
    """

    quantity: str
    unit: str
    pairs: Callable[[Reading], Iterator[tuple[str, float | None, float | None]]]
    beside: bool = True


def _latency_pairs(reading: Reading) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield (direction, latency that the test shows in ms, true median in ms) for each direction
    with a shown latency, or for "worse" if the test shows a latency, but none per direction.
    Directions in which so many probes were lost, about half or more, that the median is a lost one
    are left out. The true median is None if it isn't known."""
    for name, way in reading.telling:
        if way.others_median_ms is None or math.isfinite(way.others_median_ms):
            yield name, way.shown_ms, way.others_median_ms


def _throughput_pairs(reading: Reading) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield (direction, throughput that the test shows, possible throughput), in Mbit/s, for
    download and upload. Either throughput is None if it isn't known."""
    for name in DIRECTIONS:
        yield name, reading.ways[name].shown_mbps, reading.ways[name].possible_mbps


AIMS: Mapping[str, Aim] = {
    "latency": Aim("latency", "ms", _latency_pairs),
    "throughput": Aim("throughput", "Mbit/s", _throughput_pairs, beside=False),
}
# Function that makes the runs of places and returns their readings, None for a failed run.
Measure = Callable[[Sequence[Place]], Sequence[Reading | None]]


class Lines:
    """Runs a test on lines, each once, and remembers the results.

    Args:
        aim: the quantity to compare.
        measure: function that makes the runs of places and returns their readings in the same
            order, None for a failed run.
        most: greatest number of runs.

    Attributes:
        failed: number of lines without a reading.
    """

    def __init__(self, aim: Aim, measure: Measure, most: int) -> None:
        self.aim = aim
        self.failed = 0
        self._measure = measure
        self._most = most
        self._points: dict[str, Point | None] = {}

    @property
    def runs(self) -> int:
        """Number of lines on which the test was run, with failed runs, and with those that
        `measure` found made before."""
        return len(self._points)

    def points(self, places: Sequence[Place]) -> list[Point | None]:
        """Return the test's result at each place. Runs the test at places where it has not been
        run, as long as runs are left. None if no runs are left, the run failed, or no direction has
        both a shown and a true value other than 0."""
        new = {place.name: place for place in places if place.name not in self._points}
        selected = [*new.values()][:max(self._most - self.runs, 0)]
        readings = self._measure(selected) if selected else []
        for place, reading in zip(selected, readings, strict=True):
            self.failed += reading is None
            self._points[place.name] = self._farthest(place, reading)
        return [self._points.get(place.name) for place in places]

    def point(self, place: Place) -> Point | None:
        """Return the test's result at a place, or None, as points() does."""
        return self.points([place])[0]

    def farthest(self) -> Point | None:
        """Return the result with the largest error of all lines, None without results."""
        return max(filter(None, self._points.values()), key=lambda one: one.error, default=None)

    def _farthest(self, place: Place, reading: Reading | None) -> Point | None:
        """Return a reading's result in the direction with the largest error. None without a
        reading (the run failed), or if no direction has both a shown and a true value other than
        0."""
        points = [Point(place, name, shown, true)
                  for name, shown, true in (self.aim.pairs(reading) if reading else ())
                  if shown and true]
        return max(points, key=lambda one: one.error, default=None)


def search(lines: Lines, runs: int) -> Point:
    """Run the test on lines that Optuna draws until `lines` has run it on `runs` lines, or too many
    draws were repeated. Return the result with the largest error of all lines that `lines` knows.

    Args:
        lines: runs the test on lines. Lines on which it has run the test before count.
        runs: greatest number of lines.

    Raises ToolMissing without Optuna, BadResult if no line has a result, and errors of the runs.
    """
    optuna = _import_optuna()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(
        seed=_SEED, n_startup_trials=_AT_RANDOM, n_ei_candidates=_CANDIDATES, constant_liar=True))
    # More rounds than runs, because a line that is drawn again makes no run.
    for _ in range(0, 2 * runs, _ROUND):
        trials = [study.ask() for _ in range(min(_ROUND, runs - lines.runs))]
        if not trials:
            break
        points = lines.points([_draw_place(trial, lines.aim) for trial in trials])
        for trial, point in zip(trials, points, strict=True):
            if point is None:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, point.error)
    farthest = lines.farthest()
    if farthest is None:
        silent = lines.runs - lines.failed
        why = [f"the test failed on {lines.failed}"] * bool(lines.failed)
        if silent:
            why.append(f"it showed no {lines.aim.quantity}, or 0, on {silent}, or the true one is "
                       "not known")
        raise BadResult(f"--worst: no result on any of {lines.runs} lines: {'; '.join(why)}")
    return farthest


def _draw_place(trial: Any, aim: Aim) -> Place:
    """Return the place that an Optuna trial draws, with cross traffic only if the aim allows it."""
    rate, rtt, buffer_ms = (_round_to_two_digits(trial.suggest_float(name, *ends, log=True))
                            for name, ends in (("rate", RATE_MBPS), ("rtt", RTT_MS),
                                               ("buffer", BUFFER_MS)))
    queue = trial.suggest_categorical("queue", QUEUES)
    beside = trial.suggest_categorical("beside", ("", CUBIC)) if aim.beside else ""
    return Place(AccessLine(rate, rate, rtt), drop_tail(buffer_ms) if queue == DROP_TAIL else queue,
                 beside)


def _round_to_two_digits(value: float) -> float:
    """Round a value to two significant digits, because homes don't have lines of 47.3813 Mbit/s."""
    return float(f"{value:.2g}")


def _import_optuna() -> ModuleType:
    """Import and return Optuna. Raises ToolMissing if it can't be imported."""
    try:
        import optuna
    except ImportError as error:
        raise ToolMissing(f"--worst: the Python package optuna can't be imported ({error}); run: "
                          "pip install 'flent-aqm[scorecard]'") from None
    module: ModuleType = optuna
    return module

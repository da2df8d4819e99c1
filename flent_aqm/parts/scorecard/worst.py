# SPDX-License-Identifier: GPL-3.0-or-later
"""The line on which a test is farthest from the truth: a search over rate, round trip, queue,
buffer and cross traffic. Runs repeat, so that there is no noise: each line is run once.

Optuna's sampler (TPE) draws from what was far off before. Its asks come in rounds, whose size
doesn't depend on the machine, so that a search repeats, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from flent_aqm.base.errors import BadResult, ToolMissing
from flent_aqm.parts.scorecard.places import Line, Place, drop_tail
from flent_aqm.parts.scorecard.reading import Reading
from flent_aqm.results.metrics.flows import DIRECTIONS

# Wider ones are no lines of homes, or take minutes.
RATE_MBPS, RTT_MS, BUFFER_MS = (10, 300), (5, 160), (10, 1000)
DROP_TAIL = "fifo"
QUEUES = (DROP_TAIL, "red", "codel", "pie", "fq_codel", "cake")
LEAST_RUNS, MOST_RUNS, USUAL_RUNS = 10, 150, 100
# For shrink.py, of all runs.
SHRINK_SHARE = 0.25
_ROUND, _SEED = 4, 1
# Of a test that shows the idle round trip, 75 lines then find 182 to 197 of 201, by six seeds.
_AT_RANDOM, _CANDIDATES = 10, 64


@dataclass(frozen=True)
class Point:
    """place: a line; way: the direction of which the test is farthest off there; shown: by it;
    true: what was."""

    place: Place
    way: str
    shown: float
    true: float

    @property
    def error(self) -> float:
        """How far it is off, as the logarithm of a factor."""
        return abs(math.log(self.shown / self.true))


@dataclass(frozen=True)
class Aim:
    """What is searched for. unit: of its numbers; pairs: of a reading, by direction, what the test
    shows and what is true; beside: lines with cross traffic have a truth."""

    unit: str
    pairs: Callable[[Reading], Iterator[tuple[str, float | None, float | None]]]
    beside: bool = True


def _latencies(one: Reading) -> Iterator[tuple[str, float | None, float | None]]:
    for name, way in one.telling:
        yield name, way.shown_ms, way.others_median_ms


def _rates(one: Reading) -> Iterator[tuple[str, float | None, float | None]]:
    for name in DIRECTIONS:
        yield name, one.ways[name].shown_mbps, one.ways[name].possible_mbps


AIMS: Mapping[str, Aim] = {
    "latency": Aim("ms", _latencies),
    "throughput": Aim("Mbit/s", _rates, beside=False),
}
# Makes the runs of places, and gives their readings; None where a run has no number.
Measure = Callable[[Sequence[Place]], Sequence[Reading | None]]


class Lines:
    """Lines that were run, each once. measure: as Measure; most: no more runs are made."""

    def __init__(self, aim: Aim, measure: Measure, most: int) -> None:
        self.aim = aim
        self._measure = measure
        self._most = most
        self._points: dict[str, Point | None] = {}

    @property
    def runs(self) -> int:
        """How many were made."""
        return len(self._points)

    def points(self, places: Sequence[Place]) -> list[Point | None]:
        """Return what the test shows there; None where it shows nothing, or no run is left."""
        new = {place.name: place for place in places if place.name not in self._points}
        selected = [*new.values()][:max(self._most - self.runs, 0)]
        readings = self._measure(selected) if selected else []
        for place, reading in zip(selected, readings, strict=True):
            self._points[place.name] = self._farthest(place, reading)
        return [self._points.get(place.name) for place in places]

    def point(self, place: Place) -> Point | None:
        """Return that of one."""
        return self.points([place])[0]

    def farthest(self) -> Point | None:
        """Return that of all, None if none has a number."""
        return max(filter(None, self._points.values()), key=lambda one: one.error, default=None)

    def _farthest(self, place: Place, reading: Reading | None) -> Point | None:
        points = [Point(place, name, shown, true)
                  for name, shown, true in (self.aim.pairs(reading) if reading else ())
                  if shown and true]
        return max(points, key=lambda one: one.error, default=None)


def search(lines: Lines, runs: int) -> Point:
    """Run so many lines; return the one that is farthest off. Raises ToolMissing without Optuna,
    BadResult if no line has a number."""
    optuna = _optuna()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(
        seed=_SEED, n_startup_trials=_AT_RANDOM, n_ei_candidates=_CANDIDATES, constant_liar=True))
    # A line may be drawn twice, which makes no run.
    for _ in range(0, 2 * runs, _ROUND):
        trials = [study.ask() for _ in range(min(_ROUND, runs - lines.runs))]
        if not trials:
            break
        points = lines.points([_place(trial, lines.aim) for trial in trials])
        for trial, point in zip(trials, points, strict=True):
            if point is None:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, point.error)
    farthest = lines.farthest()
    if farthest is None:
        raise BadResult(f"--worst: on none of {lines.runs} lines does the test show what can be "
                        "compared")
    return farthest


def _place(trial: Any, aim: Aim) -> Place:
    rate, rtt, buffer_ms = (_rounded(trial.suggest_float(name, *ends, log=True))
                            for name, ends in (("rate", RATE_MBPS), ("rtt", RTT_MS),
                                               ("buffer", BUFFER_MS)))
    queue = trial.suggest_categorical("queue", QUEUES)
    beside = trial.suggest_categorical("beside", (False, True)) if aim.beside else False
    return Place(Line(rate, rate, rtt), drop_tail(buffer_ms) if queue == DROP_TAIL else queue,
                 beside)


def _rounded(value: float) -> float:
    """To two digits: nobody has a line of 47.3813 Mbit/s."""
    return float(f"{value:.2g}")


def _optuna() -> ModuleType:
    try:
        import optuna
    except ImportError:
        raise ToolMissing("--worst: the Python package optuna is not installed; run: pip install "
                          "'flent-aqm[scorecard]'") from None
    module: ModuleType = optuna
    return module

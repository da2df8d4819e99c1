# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimates how long a sweep will still take, from the runs that have ended.

A guess from the settings compares kinds of runs with each other. The durations of ended runs scale
the guess to this machine, for all kinds together and for each kind. The number of runs side by side
is observed, too, because runs may share cores, and workers may come and go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from flent_aqm.spec.cell import Cell

# From two sweeps of the study on one machine: the factor by which cross traffic makes a run longer,
# and the rate at which a run takes twice as long as at a very low rate. Both are rough. Runs that
# have ended correct them.
_CROSS_FACTOR = 1.6
_DOUBLE_AT_MBPS = 5000.0
# The estimate of all kinds has the weight of this many runs in the estimate of each kind.
_WEIGHT_OF_ALL = 1.0


@dataclass
class _Durations:
    """Sums of the guessed and of the real durations of runs that have ended successfully. In
    TimeLeft's forecast overdue runs are added, with their present duration.

    Attributes:
        guessed: sum of the guesses, in the unit of _guess().
        took_s: sum of the real durations in s.
    """

    guessed: float = 0.0
    took_s: float = 0.0


class TimeLeft:
    """Estimates the time left of a sweep, from the calls of started() and ended() for its runs. All
    times are seconds on the same clock, such as time.monotonic(). Not thread-safe.

    Args:
        cells: the runs that will be made. Their names must differ.
        now_s: time at which the sweep begins.
    """

    def __init__(self, cells: Iterable[Cell], now_s: float) -> None:
        self._began_s = now_s
        self._waiting: dict[str, Cell] = {cell.name: cell for cell in cells}
        self._running: dict[str, tuple[Cell, float]] = {}
        self._all = _Durations()
        self._kinds: dict[Hashable, _Durations] = defaultdict(_Durations)
        self._busy_s = 0.0
        self._ended = 0

    def started(self, cell: Cell, now_s: float) -> None:
        """Record that a run has started at `now_s`."""
        self._waiting.pop(cell.name, None)
        self._running[cell.name] = cell, now_s

    def ended(self, cell: Cell, now_s: float, *, learn: bool) -> None:
        """Record that a run has ended at `now_s`. A run that was not started has taken 0 s.

        Args:
            cell: the run.
            now_s: time of its end.
            learn: use the run's duration for the estimate. False for a run that failed or was not
                made, whose duration would mislead.
        """
        self._waiting.pop(cell.name, None)
        _, started_s = self._running.pop(cell.name, (cell, now_s))
        took_s = now_s - started_s
        self._busy_s += took_s
        if learn:
            self._ended += 1
            for seen in (self._all, self._kinds[_kind(cell)]):
                seen.guessed += _guess(cell)
                seen.took_s += took_s

    def left_s(self, now_s: float) -> float | None:
        """Return the estimated time in s from `now_s` until all runs have ended, 0 if they have.
        None before any run has ended successfully. now_s: the present time, on the constructor's
        clock."""
        if not self._all.guessed:
            return None
        ages_s = [(cell, now_s - started_s) for cell, started_s in self._running.values()]
        busy_s = self._busy_s + sum(age_s for _, age_s in ages_s)
        side_by_side = max(busy_s / max(now_s - self._began_s, 1e-9), 0.1)
        factors = self._factors_with_running(ages_s)
        work_s = sum(_expected_s(cell, factors) for cell in self._waiting.values())
        rests_s = [max(_expected_s(cell, factors) - age_s, 0.0) for cell, age_s in ages_s]
        return max((work_s + sum(rests_s)) / side_by_side, max(rests_s, default=0.0))

    def _factors_with_running(self, ages_s: Sequence[tuple[Cell, float]]) -> dict[Hashable, float]:
        """Return the expected seconds per unit of _guess(): for all kinds of runs together under
        the key None, and for each kind of which a run has ended successfully or is overdue. Other
        kinds have no key. A run, of any kind, must have ended successfully before.

        Overdue runs, which have been on for longer than expected, count with their present
        duration, because among runs side by side the short ones end first.

        Args:
            ages_s: running cells, each with the seconds since its start.
        """
        factors = self._factors_from_sums({None: self._all, **self._kinds})
        seen = {None: replace(self._all),
                **{kind: replace(durations) for kind, durations in self._kinds.items()}}
        for cell, age_s in ages_s:
            if age_s > _expected_s(cell, factors):
                for durations in (seen[None], seen.setdefault(_kind(cell), _Durations())):
                    durations.guessed += _guess(cell)
                    durations.took_s += age_s
        return self._factors_from_sums(seen)

    def _factors_from_sums(self, seen: Mapping[Hashable, _Durations]) -> dict[Hashable, float]:
        """Compute the expected seconds per unit of _guess(): for all kinds of runs together under
        the key None, and for each other kind in `seen`. A run must have ended successfully before.

        Args:
            seen: guessed and real durations, by the same keys. None must be one of them.
        """
        of_all = seen[None].took_s / seen[None].guessed
        weight = _WEIGHT_OF_ALL * self._all.guessed / self._ended
        return {None: of_all, **{
            kind: (durations.took_s + weight * of_all) / (durations.guessed + weight)
            for kind, durations in seen.items() if kind is not None}}


def _expected_s(cell: Cell, factors: Mapping[Hashable, float]) -> float:
    """Return the expected duration of a run in s.

    Args:
        factors: seconds per unit of _guess(), by kind. None is the key for kinds without a factor.
    """
    return _guess(cell) * factors.get(_kind(cell), factors[None])


def _kind(cell: Cell) -> Hashable:
    """Return the kind of a run, a hashable pair of test and cross traffic. Runs of a kind take a
    similar multiple of their guess."""
    return cell.test_name, cell.scenario.hosts.cross_traffic


def _guess(cell: Cell) -> float:
    """Return a guess of a run's duration from its length, rate and cross traffic. Only ratios of
    guesses have a meaning."""
    scenario = cell.scenario
    rate_mbps = max(scenario.router.rate_up_mbps, scenario.router.rate_down_mbps)
    return (cell.length_s * (_CROSS_FACTOR if scenario.hosts.cross_traffic else 1.0)
            * (1 + rate_mbps / _DOUBLE_AT_MBPS))

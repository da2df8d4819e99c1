# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a sweep will still take, told from the runs that have ended.

Runs differ by their kind: a guess says how one compares with another, and runs that have
ended say what it is worth on this machine, for all kinds together and for each by itself. How
many really go side by side is observed, too: they may share cores, or workers may come and go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from flent_aqm.spec.cell import Cell

# Of two sweeps of the study on one machine: what cross traffic adds, and at what rate a run
# takes twice as long as at none. Both are weak; runs that have ended tell more.
_CROSS_FACTOR = 1.6
_DOUBLE_AT_MBPS = 5000.0
# What is known of all kinds counts as so many runs of each.
_WEIGHT_OF_ALL = 1.0


@dataclass
class _Seen:
    """Sums over runs that have ended."""

    guessed: float = 0.0
    took_s: float = 0.0


class TimeLeft:
    """Times are seconds on any clock that runs evenly."""

    def __init__(self, cells: Iterable[Cell], now_s: float) -> None:
        self._began_s = now_s
        self._waiting: dict[str, Cell] = {cell.name: cell for cell in cells}
        self._running: dict[str, tuple[Cell, float]] = {}
        self._all = _Seen()
        self._kinds: dict[Hashable, _Seen] = defaultdict(_Seen)
        self._busy_s = 0.0
        self._ended = 0

    def started(self, cell: Cell, now_s: float) -> None:
        """A run begins."""
        self._waiting.pop(cell.name, None)
        self._running[cell.name] = cell, now_s

    def ended(self, cell: Cell, now_s: float, *, learn: bool) -> None:
        """A run has ended; learn: whether it tells how long others take, which a failed
        one doesn't."""
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
        """Return seconds until the end; None while nothing is known."""
        if not self._all.guessed:
            return None
        ages_s = [(cell, now_s - started_s) for cell, started_s in self._running.values()]
        busy_s = self._busy_s + sum(age_s for _, age_s in ages_s)
        side_by_side = max(busy_s / max(now_s - self._began_s, 1e-9), 0.1)
        factors = self._factors(ages_s)
        work_s = sum(_expected_s(cell, factors) for cell in self._waiting.values())
        rests_s = [max(_expected_s(cell, factors) - age_s, 0.0) for cell, age_s in ages_s]
        return max((work_s + sum(rests_s)) / side_by_side, max(rests_s, default=0.0))

    def _factors(self, ages_s: Sequence[tuple[Cell, float]]) -> dict[Hashable, float]:
        """Return seconds for each unit of a guess, by kind; of all together under None. Runs that
        have been on for longer than expected count as they are now: of many side by side the short
        ones end first."""
        factors = self._factors_of({None: self._all, **self._kinds})
        seen = {None: replace(self._all),
                **{kind: replace(one) for kind, one in self._kinds.items()}}
        for cell, age_s in ages_s:
            if age_s > _expected_s(cell, factors):
                for one in (seen[None], seen.setdefault(_kind(cell), _Seen())):
                    one.guessed += _guess(cell)
                    one.took_s += age_s
        return self._factors_of(seen)

    def _factors_of(self, seen: Mapping[Hashable, _Seen]) -> dict[Hashable, float]:
        of_all = seen[None].took_s / seen[None].guessed
        weight = _WEIGHT_OF_ALL * self._all.guessed / self._ended
        return {None: of_all, **{
            kind: (one.took_s + weight * of_all) / (one.guessed + weight)
            for kind, one in seen.items() if kind is not None}}


def _expected_s(cell: Cell, factors: Mapping[Hashable, float]) -> float:
    return _guess(cell) * factors.get(_kind(cell), factors[None])


def _kind(cell: Cell) -> Hashable:
    return cell.test_name, cell.scenario.hosts.cross_traffic


def _guess(cell: Cell) -> float:
    scenario = cell.scenario
    rate_mbps = max(scenario.router.rate_up_mbps, scenario.router.rate_down_mbps)
    return (cell.length_s * (_CROSS_FACTOR if scenario.hosts.cross_traffic else 1.0)
            * (1 + rate_mbps / _DOUBLE_AT_MBPS))

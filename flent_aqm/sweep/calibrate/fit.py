# SPDX-License-Identifier: GPL-3.0-or-later
"""The timer latency with which the lab's router comes closest to the measured points."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flent_aqm.sweep.calibrate.points import Point

# Latencies whose error is within this much of the best one's explain the points as well.
_AS_GOOD = 0.005

# latencies in ns -> goodput in Mbit/s of each point, for each latency
Simulate = Callable[[Sequence[int]], Mapping[int, Sequence[float]]]


@dataclass(frozen=True)
class Fit:
    """The result.

    latency_ns: the best; lowest_ns, highest_ns: between them the points are explained as
    well; table: latency -> goodput of each point in Mbit/s, in the order of the points.
    """

    points: Sequence[Point]
    latency_ns: int
    lowest_ns: int
    highest_ns: int
    table: Mapping[int, Sequence[float]]

    def deviations(self) -> list[float]:
        """The best model's goodput against each point, as a share of it: 0.02 is 2 % more."""
        return _deviations(self.points, self.table[self.latency_ns])


def fit(points: Sequence[Point], highest_ns: int, step_ns: int, finer_ns: int,
        simulate: Simulate) -> Fit:
    """Try 0 to highest_ns in steps, then finer ones around the best of them.

    The best is the one with the least root mean square of the relative deviations, and
    the least latency among equals.
    """
    table = dict(simulate(range(0, highest_ns + 1, step_ns)))
    best = _best(points, table)
    near = range(max(0, best - step_ns), min(highest_ns, best + step_ns) + 1, finer_ns)
    table |= simulate([latency for latency in near if latency not in table])
    best = _best(points, table)
    bound = _error(points, table[best]) + _AS_GOOD
    lowest = highest = best
    tried = sorted(table)
    for latency in reversed(tried[:tried.index(best)]):
        if _error(points, table[latency]) > bound:
            break
        lowest = latency
    for latency in tried[tried.index(best) + 1:]:
        if _error(points, table[latency]) > bound:
            break
        highest = latency
    return Fit(points, best, lowest, highest, dict(sorted(table.items())))


def _best(points: Sequence[Point], table: Mapping[int, Sequence[float]]) -> int:
    return min(table, key=lambda latency: (round(_error(points, table[latency]), 4), latency))


def _error(points: Sequence[Point], goodputs: Sequence[float]) -> float:
    deviations = _deviations(points, goodputs)
    return math.sqrt(sum(one * one for one in deviations) / len(deviations))


def _deviations(points: Sequence[Point], goodputs: Sequence[float]) -> list[float]:
    return [goodput / point.goodput_mbps - 1
            for point, goodput in zip(points, goodputs, strict=True)]

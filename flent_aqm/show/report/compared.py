# SPDX-License-Identifier: GPL-3.0-or-later
"""Which queues of a condition differ: the tests that each sentence of a report's headline rests on.

A difference counts where people would notice it, and where it is unlikely to be chance: by Mann
and Whitney's test, its limit divided by the number of comparisons, or, of runs that are too few for
it, where none of one queue's overlaps with one of the other's. Of one run each, their order is all
that is known; the headline says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.show.report.findings import FALSE_SHARE, Condition, Line

# Latencies that differ by less than both are called alike: no user can tell.
ALIKE_SHARE, ALIKE_MS = 0.1, 0.5
SAME_THROUGHPUT_SHARE = 0.01
LEAST_LOST_PCT = 0.5


class Outcome(Enum):
    """DIFFER: some are faster than others; ALIKE: none; UNTOLD: the medians differ, and the runs
    overlap; LOST: with each, at least half of the probes were lost."""

    DIFFER = "differ"
    ALIKE = "alike"
    UNTOLD = "untold"
    LOST = "lost"


@dataclass(frozen=True)
class Standing:
    """best: those that none is faster than; worst: those that are slower than each of the best,
    and that none is slower than. Both are empty unless the outcome is DIFFER."""

    condition: Condition
    outcome: Outcome
    best: Sequence[Line]
    worst: Sequence[Line]

    @property
    def percent(self) -> float:
        """Return the percentile of the comparison."""
        return self.condition.tail_pct


def is_more(less: Sequence[float], more: Sequence[float], room: float,
            p_limit: float = FALSE_SHARE) -> bool:
    """Return whether one queue's runs have more than another's: their medians by over room, and
    unlikely by chance, below p_limit. An infinite number is a lost probe."""
    if not of_any(more, 50) > of_any(less, 50) + room:
        return False
    # The least p that so many runs can have.
    if 2 / math.comb(len(less) + len(more), len(less)) >= p_limit:
        return max(less) < min(more)
    from scipy import stats

    return float(stats.mannwhitneyu(less, more).pvalue) < p_limit


def is_slower(fast: Line, slow: Line, percent: float) -> bool:
    """Return whether round trips took longer with a queue than with another."""
    return is_more(fast.latency_ms[percent], slow.latency_ms[percent],
                   _room_ms(fast.within_ms(percent)), fast.p_limit)


def standing(condition: Condition) -> Standing:
    """Return how a condition's queues compare in latency under load."""
    percent = condition.tail_pct
    returned = [line for line in condition.lines if not line.is_lost]
    if not returned:
        return Standing(condition, Outcome.LOST, (), ())
    fastest = min(returned, key=lambda line: line.within_ms(percent))
    slower = [line for line in condition.lines if is_slower(fastest, line, percent)]
    if slower:
        best = [line for line in returned if line not in slower]
        slowest = max(condition.lines, key=lambda line: line.within_ms(percent))
        worst = [line for line in condition.lines
                 if all(is_slower(one, line, percent) for one in best)
                 and not is_slower(line, slowest, percent)]
        return Standing(condition, Outcome.DIFFER, best, worst)
    least = fastest.within_ms(percent)
    alike = all(line.within_ms(percent) <= least + _room_ms(least) for line in condition.lines)
    return Standing(condition, Outcome.ALIKE if alike else Outcome.UNTOLD, (), ())


def lose_alike(lines: Sequence[Line]) -> bool:
    """Return whether none of the queues lost more of the probes than another; of those whose
    probes tell losses."""
    told = [line for line in lines if line.lost_pct]
    least = min(told, key=lambda line: line.middle_lost_pct or 0.0, default=None)
    return least is None or not any(
        is_more(least.lost_pct, line.lost_pct, LEAST_LOST_PCT, line.p_limit) for line in told)


def is_less_mbps(less: Line, more: Line, way: str) -> bool:
    """Return whether a queue carried less than another."""
    return is_more(less.mbps[way], more.mbps[way],
                   SAME_THROUGHPUT_SHARE * more.middle_mbps(way), less.p_limit)


def _room_ms(least_ms: float) -> float:
    return max(least_ms * ALIKE_SHARE, ALIKE_MS)

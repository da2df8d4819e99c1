# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the queues of a condition, as the basis of the sentences in the report's headline.

A difference counts if people would notice it and if it is unlikely to be chance. It is unlikely to
be chance if the p-value of Mann and Whitney's test is below a limit, divided by the number of
comparisons. For runs that are too few for the test, the values of the two queues must not overlap.
With one run each, only their order is known, which the headline says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.show.report.findings import FALSE_SHARE, Condition, QueueRuns

# Latencies that differ by less than the larger of these count as alike, because no user would
# notice.
ALIKE_SHARE, ALIKE_MS = 0.1, 0.5
SAME_THROUGHPUT_SHARE = 0.01
LEAST_LOST_PCT = 0.5


class Outcome(Enum):
    """Result of comparing the queues of a condition in latency under load.

    Attributes:
        DIFFER: some queues are faster than others.
        ALIKE: the medians of all queues are alike.
        UNTOLD: the medians differ, but the runs overlap.
        LOST: with every queue, at least half of the probes were lost.
    """

    DIFFER = "differ"
    ALIKE = "alike"
    UNTOLD = "untold"
    LOST = "lost"


@dataclass(frozen=True)
class Standing:
    """Result of the comparison of a condition's queues.

    Attributes:
        condition: the condition.
        outcome: whether queues differ.
        best: queues than which no queue is faster. Empty unless the outcome is DIFFER.
        worst: queues that are slower than each of the best, and than which no queue is slower.
            Empty unless the outcome is DIFFER, and possibly then.
    """

    condition: Condition
    outcome: Outcome
    best: Sequence[QueueRuns]
    worst: Sequence[QueueRuns]

    @property
    def percent(self) -> float:
        """Percentile of the latency that is compared, such as 99."""
        return self.condition.tail_pct


def is_more(less: Sequence[float], more: Sequence[float], room: float,
            p_limit: float = FALSE_SHARE) -> bool:
    """Return whether the values of one queue's runs are larger than another's: their median by more
    than `room`, and with a p-value below the limit. With too few runs for such a p-value, all
    values must be larger.

    Args:
        less: a value of each run of the queue with the smaller values. Infinity is a lost probe.
        more: a value of each run of the other queue.
        room: a difference of the medians that users don't notice, in the unit of the values.
        p_limit: limit of the p-value.
    """
    if not of_any(more, 50) > of_any(less, 50) + room:
        return False
    # The least p that so many runs can have.
    if 2 / math.comb(len(less) + len(more), len(less)) >= p_limit:
        return max(less) < min(more)
    from scipy import stats

    return float(stats.mannwhitneyu(less, more).pvalue) < p_limit


def is_slower(fast: QueueRuns, slow: QueueRuns, percent: float) -> bool:
    """Return whether a percentile of latency is higher with the queue `slow` than with `fast`, see
    is_more().

    Args:
        fast: a queue and its runs.
        slow: another queue of the same condition.
        percent: the percentile, such as 99.
    """
    return is_more(fast.latency_ms[percent], slow.latency_ms[percent],
                   _unnoticed_ms(fast.within_ms(percent)), fast.p_limit)


def standing(condition: Condition) -> Standing:
    """Return how the queues of a condition compare in latency under load, at its tail
    percentile."""
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
    alike = all(line.within_ms(percent) <= least + _unnoticed_ms(least) for line in condition.lines)
    return Standing(condition, Outcome.ALIKE if alike else Outcome.UNTOLD, (), ())


def lose_alike(lines: Sequence[QueueRuns]) -> bool:
    """Return whether no queue lost a noticeably larger share of the probes than another. Queues
    whose probe can't tell losses are left out. True if none can."""
    told = [line for line in lines if line.lost_pct]
    least = min(told, key=lambda line: line.middle_lost_pct or 0.0, default=None)
    return least is None or not any(
        is_more(least.lost_pct, line.lost_pct, LEAST_LOST_PCT, line.p_limit) for line in told)


def is_less_mbps(less: QueueRuns, more: QueueRuns, way: str) -> bool:
    """Return whether the throughput of a queue is lower than that of another by more than
    SAME_THROUGHPUT_SHARE, see is_more(). way: "download" or "upload"."""
    return is_more(less.mbps[way], more.mbps[way],
                   SAME_THROUGHPUT_SHARE * more.middle_mbps(way), less.p_limit)


def _unnoticed_ms(least_ms: float) -> float:
    """Return the difference in ms that users don't notice, for a latency of `least_ms`."""
    return max(least_ms * ALIKE_SHARE, ALIKE_MS)

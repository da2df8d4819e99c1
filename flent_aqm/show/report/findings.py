# SPDX-License-Identifier: GPL-3.0-or-later
"""Group runs by condition and queue, and compare queues; headline.py puts this into sentences.

A condition has runs that differ only in their queue. Values are never pooled over conditions. All
values are metrics. A lost probe counts as later than any other, so a percentile is infinite if more
probes were lost than lie beyond it.

A difference counts if people would notice it and if it is unlikely to be chance. It is unlikely to
be chance if the p-value of Mann and Whitney's test is below a limit, divided by the number of
comparisons. For runs that are too few for the test, the values of the two queues must not overlap.
With one run each, only their order is known, which the headline says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from flent_aqm.results.advice.measured import Configuration, tried
from flent_aqm.results.grouping import NOT_TOLD, RATE, collect, setting_text
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.throughput import shares_line
from flent_aqm.show.looks import looks_for
from flent_aqm.show.report.gather import ReportRow
from flent_aqm.show.report.slices import (
    Dimension,
    key_of,
    queue_of,
    queues,
    rate_of,
    rates,
)

MIDDLE_PCT = 50.0
# Share of sentences that may be false by chance.
FALSE_SHARE = 0.05
# Percentiles of latency under load that may be compared, the highest first -> metric.
LATENCIES: Mapping[float, str] = {
    99.0: "latency_loaded_p99_ms", 95.0: "latency_loaded_p95_ms", 90.0: "latency_loaded_p90_ms",
    MIDDLE_PCT: "latency_loaded_median_ms"}


@dataclass(frozen=True)
class QueueRuns:
    """The runs of a queue in a condition. Sequences have a value for each run that has the metric.
    Percentiles and directions that no run has are missing.

    Attributes:
        queue: name of the queue, or of the configuration if these are compared.
        colour: colour of the queue on the page.
        runs: number of runs.
        latency_ms: percentile (a key of LATENCIES) -> that of each run's latency under load,
            infinite if it is a lost probe.
        lost_pct: share of lost probes under load in percent. Empty if no run's probe can tell
            losses.
        mbps: "download" and "upload" -> throughput in Mbit/s that the line carried (total_mbps()),
            of all flows together if the line is shared.
        is_shared: whether cross traffic was on the line in any run.
        own_mbps: direction -> throughput of the test's own flows in Mbit/s, as the test reports it.
        fairness: direction -> Jain's index over all flows of test and cross traffic. Empty if the
            line is not shared.
        p_limit: limit of a difference's p-value: 0.05, divided by the number of comparisons on the
            page.
    """

    queue: str
    colour: str
    runs: int
    latency_ms: Mapping[float, Sequence[float]]
    lost_pct: Sequence[float]
    mbps: Mapping[str, Sequence[float]]
    is_shared: bool = False
    own_mbps: Mapping[str, Sequence[float]] = field(default_factory=dict)
    fairness: Mapping[str, Sequence[float]] = field(default_factory=dict)
    p_limit: float = FALSE_SHARE

    def within_ms(self, percent: float) -> float:
        """Return the median over runs of a percentile of latency under load, in ms. Infinite if, in
        at least half of the runs, the percentile is a lost probe. percent: a key of latency_ms."""
        return of_any(self.latency_ms[percent], 50)

    @property
    def is_lost(self) -> bool:
        """Whether the median over runs of each run's median latency is infinite: in at least half
        of the runs, at least half of the probes under load were lost."""
        return math.isinf(self.within_ms(MIDDLE_PCT))

    @property
    def middle_lost_pct(self) -> float | None:
        """Median over runs of the share of lost probes in percent. None if no run's probe can tell
        losses."""
        return of_any(self.lost_pct, 50) if self.lost_pct else None

    def middle_mbps(self, direction: str) -> float:
        """Return the median over runs of the throughput in a direction, in Mbit/s. direction: a
        key of mbps."""
        return of_any(self.mbps[direction], 50)


@dataclass(frozen=True)
class Condition:
    """Runs that differ only in their queue, or configuration if these are compared.

    Attributes:
        title: the settings that its runs share, as far as conditions differ in them, else the test.
        tail_pct: percentile of latency at which its queues are compared: the highest that every run
            has, and whose median over runs is finite for each queue that is not lost
            (QueueRuns.is_lost). The median if there is no such percentile, or if all queues are
            lost.
        lines: the queues with their runs, in the order of legends.
        tried: the queues in the form that advice needs, in the order of `lines`.
    """

    title: str
    tail_pct: float
    lines: Sequence[QueueRuns]
    tried: Sequence[Configuration] = ()


def conditions(rows: Sequence[ReportRow], dimensions: Sequence[Dimension]) -> list[Condition]:
    """Return the conditions that have latency under load, in the order of their settings: each has
    the runs of a slice and a rate. Runs without such a latency, or with a reason in `no_latency`,
    are left out.

    Args:
        rows: the runs.
        dimensions: settings that distinguish slices, with their values in order.
    """
    rates_in_order = rates(rows)
    several = len(rates_in_order) > 1
    places = {one.name: {value: at for at, value in enumerate(one.values)} for one in dimensions}
    groups = collect([row for row in rows
                      if LATENCIES[MIDDLE_PCT] in row.metrics and not row.no_latency],
                     lambda row: (key_of(row, dimensions), rate_of(row)))
    ordered = sorted(groups.items(), key=lambda pair: (
        [places[one.name][value] for one, value in zip(dimensions, pair[0][0], strict=True)],
        rates_in_order.index(pair[0][1])))
    colours = {name: look.colour for name, look in looks_for(queues(rows)).items()}
    made = [_condition(_condition_title(key, rate if several else None, dimensions), members,
                       colours)
            for (key, rate), members in ordered]
    # Bonferroni: each queue against the best of its condition.
    p_limit = FALSE_SHARE / max(1, sum(len(one.lines) - 1 for one in made))
    return [replace(one, lines=[replace(line, p_limit=p_limit) for line in one.lines])
            for one in made]


def _condition(title: str, rows: Sequence[ReportRow], colours: Mapping[str, str]) -> Condition:
    """Return the condition of runs: its queues, and the percentile at which they are compared. The
    limit of p-values is not yet divided by the page's comparisons, which conditions() does.

    Args:
        title: title of the condition.
        rows: its runs, all with a median latency under load.
        colours: queue -> colour, in the order of legends. Queues without runs in `rows` are left
            out.
    """
    members = collect(rows, queue_of)
    lines = [_queue_runs(queue, colour, members[queue]) for queue, colour in colours.items()
             if queue in members]
    percentiles = [percent for percent, name in LATENCIES.items()
                   if all(name in row.metrics for row in rows)]
    returned = [line for line in lines if not line.is_lost] or lines
    return Condition(title, next(
        (percent for percent in percentiles if all(
            math.isfinite(line.within_ms(percent)) for line in returned)), MIDDLE_PCT), lines,
        [tried(line.queue, [(row.settings, row.measured) for row in members[line.queue]])
         for line in lines])


def _queue_runs(queue: str, colour: str, rows: Sequence[ReportRow]) -> QueueRuns:
    """Return a queue with the values of its runs. Its p_limit is the default.

    Args:
        queue: name of the queue.
        colour: colour of the queue on the page.
        rows: its runs.
    """
    def values_of(name: str) -> list[float]:
        """Return the metric `name` of those runs that have it."""
        return [row.metrics[name] for row in rows if name in row.metrics]

    def by_direction(form: str) -> dict[str, list[float]]:
        """Return direction -> values of a metric. Directions without a value are left out. form:
        name of the metric, with {} for "download" or "upload"."""
        return {direction: values for direction in DIRECTIONS
                if (values := values_of(form.format(direction)))}

    shared = any(shares_line(row.settings) for row in rows)
    return QueueRuns(queue, colour, len(rows),
                     {percent: values for percent, name in LATENCIES.items()
                      if (values := values_of(name))},
                     values_of("loss_loaded_pct"),
                     by_direction("total_{}_mbps"), shared, by_direction("throughput_{}_mbps"),
                     by_direction("fairness_{}") if shared else {})


def _condition_title(key: Sequence[Setting], rate: Setting | None,
                     dimensions: Sequence[Dimension]) -> str:
    """Return the title of a condition: the settings in which conditions differ, as far as its runs
    record them. If there is none, return the value of the first dimension (the test), or "all runs"
    without dimensions.

    Args:
        key: values of the dimensions.
        rate: rate of the link, None if all conditions have the same.
        dimensions: settings that distinguish slices.
    """
    words = [setting_text(one.name, value) for one, value in zip(dimensions, key, strict=True)
             if len(one.values) > 1 and value != NOT_TOLD]
    if rate is not None and rate != NOT_TOLD:
        words.append(setting_text(RATE, rate))
    return ", ".join(words) or (str(key[0]) if key else "all runs")


# Latencies that differ by less than the larger of these count as alike, because no user would
# notice.
ALIKE_SHARE, ALIKE_MS = 0.1, 0.5
SAME_THROUGHPUT_SHARE = 0.01
LEAST_LOST_PCT = 0.5


class Outcome(Enum):
    """Result of comparing the queues of a condition in latency under load, each by the median over
    its runs.

    Attributes:
        DIFFER: some queues are slower than the fastest, as is_slower() decides it.
        ALIKE: no median differs from the lowest by more than users notice, or there is one queue
            only.
        UNTOLD: medians differ by more, but perhaps by chance.
        LOST: every queue is lost (QueueRuns.is_lost).
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
        best: the fastest queue, and those that are not slower than it, without queues that lost at
            least half of the probes. Empty unless the outcome is DIFFER.
        worst: queues that are slower than each of the best, and than which the queue with the
            highest median is not slower. Empty unless the outcome is DIFFER, and possibly then.
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
    """Return whether the values in `more` are larger than those in `less`: their median by more
    than `room`, and with a p-value of Mann and Whitney's test below the limit. With too few runs
    for such a p-value, each value in `more` must be larger than all in `less`.

    Args:
        less: a value of each run of one queue, at least one. Infinity is a lost probe.
        more: a value of each run of the other queue, at least one.
        room: a difference of the medians that users don't notice, in the unit of the values.
        p_limit: limit of the p-value.
    """
    if not of_any(more, 50) > of_any(less, 50) + room:
        return False
    if least_p(len(less), len(more)) >= p_limit:
        return max(less) < min(more)
    from scipy import stats

    return float(stats.mannwhitneyu(less, more).pvalue) < p_limit


def least_p(runs: int, others: int) -> float:
    """Return the least p-value that Mann and Whitney's test can have with so many runs of two
    queues: that of runs which all lie on one side of all others."""
    return 2 / math.comb(runs + others, runs)


def is_slower(fast: QueueRuns, slow: QueueRuns, percent: float) -> bool:
    """Return whether a percentile of latency is higher with the queue `slow` than with `fast`, as
    is_more() decides it: by more than users notice, and not by chance.

    Args:
        fast: a queue and its runs.
        slow: another queue of the same condition.
        percent: the percentile, such as 99, a key of latency_ms of both.
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
    """Return whether no queue lost a larger share of the probes than the queue that lost least, as
    is_more() decides it: by more than LEAST_LOST_PCT, and not by chance. Queues whose probe can't
    tell losses are left out. True if none can."""
    told = [line for line in lines if line.lost_pct]
    least = min(told, key=lambda line: line.middle_lost_pct or 0.0, default=None)
    return least is None or not any(
        is_more(least.lost_pct, line.lost_pct, LEAST_LOST_PCT, line.p_limit) for line in told)


def is_less_mbps(less: QueueRuns, more: QueueRuns, direction: str) -> bool:
    """Return whether the throughput of the queue `less` is lower than that of `more`, as is_more()
    decides it: the medians differ by more than SAME_THROUGHPUT_SHARE of the larger, and not by
    chance. direction: "download" or "upload", a key of mbps of both."""
    return is_more(less.mbps[direction], more.mbps[direction],
                   SAME_THROUGHPUT_SHARE * more.middle_mbps(direction), less.p_limit)


def _unnoticed_ms(least_ms: float) -> float:
    """Return the difference in ms that users don't notice, for a latency of `least_ms`: ALIKE_SHARE
    of it, but at least ALIKE_MS."""
    return max(least_ms * ALIKE_SHARE, ALIKE_MS)

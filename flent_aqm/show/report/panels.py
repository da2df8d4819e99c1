# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the picture of the findings: a scale that all panels share, and positions on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.words import counted
from flent_aqm.results.metrics.compare import two_groups
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.show.looks import DASH
from flent_aqm.show.report.findings import MIDDLE_PCT, Condition, QueueRuns
from flent_aqm.show.report.words import ms, number, percentile

# Further panels are shown only after a click.
MOST_PANELS = 8


@dataclass(frozen=True)
class Scale:
    """A logarithmic scale of latencies that all panels share. Positions are in percent of its
    width.

    Attributes:
        low_ms: latency at 0 %.
        high_ms: latency at 100 %.
    """

    low_ms: float
    high_ms: float

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Powers of ten in ms within the scale, with its ends, each as (position in percent, text
        without a unit), the lowest first."""
        first, last = math.ceil(math.log10(self.low_ms) - 1e-9), math.floor(
            math.log10(self.high_ms) + 1e-9)
        return [(self.position(10.0 ** at), number(10.0 ** at)) for at in range(first, last + 1)]

    def position(self, value_ms: float) -> float:
        """Return the position of a latency in percent, 0 to 100. Latencies beyond an end of the
        scale are at that end, a lost probe (infinite) at 100."""
        if math.isinf(value_ms):
            return 100.0
        inside = min(max(value_ms, self.low_ms), self.high_ms)
        return round(100 * math.log(inside / self.low_ms)
                     / math.log(self.high_ms / self.low_ms), 2)


def scale(conditions: Sequence[Condition]) -> Scale:
    """Return the scale that fits the medians and tail percentiles of all conditions: from the
    power of ten at or below the lowest to that at or above the highest, at least one decade. 0 and
    lost probes don't count. 1 to 10 ms if no latency is left."""
    values_ms = [value for one in conditions for line in one.lines
                 for percent in (MIDDLE_PCT, one.tail_pct)
                 if 0 < (value := line.within_ms(percent)) < math.inf]
    low, high = min(values_ms, default=1.0), max(values_ms, default=10.0)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return Scale(10.0 ** first, 10.0 ** max(last, first + 1))


def panels(conditions: Sequence[Condition]) -> Mapping[str, Any]:
    """Return the data for the template: `first` (up to MOST_PANELS panels, which are shown at
    once), `more` (the others, behind a click), `ticks` (those of the scale), `any_shared` (whether
    cross traffic was on the line in any run), and `any_lost` (whether the tail percentile of any
    queue is a lost probe). There is a panel for each condition: a mapping with title, tail (name of
    its tail percentile) and lines, one for each queue (see _queue_data())."""
    common = scale(conditions)
    drawn = [{"title": one.title, "tail": percentile(one.tail_pct),
              "lines": [_queue_data(line, one.tail_pct, common) for line in one.lines]}
             for one in conditions]
    return {"first": drawn[:MOST_PANELS], "more": drawn[MOST_PANELS:], "ticks": common.ticks,
            "any_shared": any(line.is_shared for one in conditions for line in one.lines),
            "any_lost": any(math.isinf(line.within_ms(one.tail_pct))
                            for one in conditions for line in one.lines)}


def _queue_data(line: QueueRuns, tail_pct: float, common: Scale) -> dict[str, Any]:
    """Return the data of a queue in a panel, for the template. Its values are medians over runs.
    Keys:

    - queue: its name.
    - colour: as CSS has it.
    - runs: number of its runs.
    - from, to: positions of the median and of the tail percentile of its latency, in percent of the
      scale's width.
    - lost: whether the tail percentile is a lost probe.
    - middle, latency: these two latencies as text, "12 ms", or "lost".
    - lost_pct: share of lost probes in percent as text, "" if it is 0 or not known.
    - throughput: text with the throughput of each direction, " / " between them, "" without any.

    Args:
        line: the queue with its runs.
        tail_pct: the tail percentile, such as 99.
        common: the scale.
    """
    tail_ms = line.within_ms(tail_pct)
    return {
        "queue": line.queue, "runs": line.runs,
        # Black would not be seen on dark ground.
        "colour": "var(--ink)" if line.colour == "#000000" else line.colour,
        "from": common.position(line.within_ms(MIDDLE_PCT)), "to": common.position(tail_ms),
        "lost": math.isinf(tail_ms), "middle": ms(line.within_ms(MIDDLE_PCT)),
        "latency": ms(tail_ms),
        "lost_pct": number(line.middle_lost_pct, 2) if line.middle_lost_pct else "",
        "throughput": " / ".join(_throughput_text(line, direction) for direction in line.mbps)}


def _throughput_text(line: QueueRuns, direction: str) -> str:
    """Return a direction's median throughput in Mbit/s, as the test reports it, as text: "95", or
    "19 (3 runs) or 95 (2)" if the runs fall into two groups. If the line is shared with cross
    traffic, that of all flows follows: "43 of 86". Without a value of its own, DASH stands in its
    place.

    direction: a key of line.mbps.
    """
    values = line.own_mbps.get(direction, ())
    if groups := two_groups(values):
        low, high = groups
        text = (f"{number(of_any(low, 50))} ({counted(len(low), 'run')}) or "
                f"{number(of_any(high, 50))} ({len(high)})")
    else:
        text = number(of_any(values, 50)) if values else DASH
    return f"{text} of {number(line.middle_mbps(direction))}" if line.is_shared else text

# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report says first: which queue keeps latency low under load, at what cost, from how
many runs. A condition is all that runs are alike in but their queue; nothing is pooled over
conditions.

Latencies are of all probes that a run sent under load. A lost probe counts as later than any
other, so that a percentile may be infinite: more were lost than lie beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from flent_aqm.results.grouping import RATE, collect
from flent_aqm.results.metrics.percentiles import (
    SAMPLES_BEYOND,
    of_any,
    of_sorted,
    samples_beyond,
)
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.show.grouping import word
from flent_aqm.show.looks import looks_for
from flent_aqm.show.report.gather import ReportRow
from flent_aqm.show.report.slices import (
    NOT_TOLD,
    Dimension,
    key_of,
    queue_of,
    queues,
    rate_of,
    rates,
)

# The tail that is told: the furthest that every run of a condition has samples for.
TAILS_PCT = (99.0, 95.0, 90.0, 75.0)
MIDDLE_PCT = 50.0


@dataclass(frozen=True)
class Line:
    """A queue in a condition: medians over its runs. middle_ms, tail_ms: of probes under
    load; infinite where too many were lost, None where none were sent. mbps: throughput by
    direction. lost_pct: of the run that lost most."""

    queue: str
    colour: str
    runs: int
    middle_ms: float | None
    tail_ms: float | None
    lost_pct: float
    mbps: dict[str, float]

    @property
    def total_mbps(self) -> float | None:
        """Mean of the directions, which compares queues of one condition."""
        return sum(self.mbps.values()) / len(self.mbps) if self.mbps else None


@dataclass(frozen=True)
class Condition:
    """title: what its runs are alike in. tail_pct: which percentile tail_ms is."""

    title: str
    tail_pct: float
    lines: Sequence[Line]


def conditions(rows: Sequence[ReportRow], found: Sequence[Dimension]) -> list[Condition]:
    """Return every condition that has latency under load, in the order of their settings."""
    known = rates(rows)
    several = len(known) > 1
    places = {one.name: {value: at for at, value in enumerate(one.values)} for one in found}
    groups = collect([row for row in rows if row.loaded_ms],
                     lambda row: (key_of(row, found), rate_of(row)))
    ordered = sorted(groups.items(), key=lambda pair: (
        [places[one.name][value] for one, value in zip(found, pair[0][0], strict=True)],
        known.index(pair[0][1])))
    colours = {name: look.colour for name, look in looks_for(queues(rows)).items()}
    return [_condition(_title(key, rate if several else None, found), members, colours)
            for (key, rate), members in ordered]


def _condition(title: str, rows: Sequence[ReportRow], colours: dict[str, str]) -> Condition:
    sent = {id(row): numpy.sort(numpy.concatenate(list(row.loaded_ms.values()))) for row in rows}
    fewest = min(one.size for one in sent.values())
    tail_pct = next((one for one in TAILS_PCT if samples_beyond(fewest, one) >= SAMPLES_BEYOND),
                    MIDDLE_PCT)
    members = collect(rows, queue_of)
    lines = []
    for queue in [name for name in colours if name in members]:
        mine = [sent[id(row)] for row in members[queue]]
        ways = [name for name in ("download", "upload")
                if any(f"throughput_{name}_mbps" in row.metrics for row in members[queue])]
        lines.append(Line(
            queue=queue, colour=colours[queue], runs=len(mine),
            middle_ms=of_any([of_sorted(one, MIDDLE_PCT) for one in mine], 50),
            tail_ms=of_any([of_sorted(one, tail_pct) for one in mine], 50),
            lost_pct=max(100 * float(numpy.isinf(one).mean()) for one in mine),
            mbps={way: float(numpy.median([row.metrics[f"throughput_{way}_mbps"]
                                           for row in members[queue]
                                           if f"throughput_{way}_mbps" in row.metrics]))
                  for way in ways}))
    return Condition(title, tail_pct, lines)


def _title(key: Sequence[Setting], rate: Setting | None, found: Sequence[Dimension]) -> str:
    words = [word(one.name, value) for one, value in zip(found, key, strict=True)
             if len(one.values) > 1 and value != NOT_TOLD]
    if rate is not None and rate != NOT_TOLD:
        words.append(word(RATE, rate))
    return ", ".join(words) or (str(key[0]) if key else "all runs")


def is_lost(value_ms: float | None) -> bool:
    """Return whether a percentile lies among the lost probes."""
    return value_ms is not None and math.isinf(value_ms)

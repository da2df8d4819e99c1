# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report keeps of each data file: settings, metrics, latencies, curves, proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import DataFile, a_number
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.table import ranked, values
from flent_aqm.show.plots.observed import captured
from flent_aqm.show.report.facts import Facts, facts_of

# Half the memory; seven digits are more than a latency has.
Floats = NDArray[numpy.float32]
Found = TypeVar("Found")
# Of curves over time.
STEP_S = 0.25
MOST_STEPS = 240
# The most text of a data file that the page takes over as one value.
LONGEST = 200


@dataclass(frozen=True, eq=False)
class Row:
    """A run. metrics: those that are known, in the order of METRICS; infinite where a
    percentile is a lost probe. By direction: sent_ms,
    probes under load, infinite where lost; mbps: payload in captured headers per STEP_S since
    the transfer's start; rtt_ms: median of probes per STEP_S. errors: what the run's tools
    said of their failures. side: what it is compared as, where that isn't its queue."""

    path: Path
    settings: Mapping[str, Setting]
    metrics: Mapping[str, float]
    sent_ms: Mapping[str, Floats]
    mbps: Mapping[str, Floats]
    rtt_ms: Mapping[str, Floats]
    facts: Facts
    errors: tuple[str, ...]
    side: str = ""


def row_of(data: DataFile) -> Row:
    """A data file's row. Raises BadResult."""
    run = as_run(data)
    ways = [way for way in DIRECTIONS
            if any(flow.direction == way for flow in run.speed_test)]
    loaded = {way: found for way in ways
              if (found := _known(lambda way=way: run.loaded(way))) is not None}  # type: ignore[misc]
    return Row(
        path=data.path,
        settings={name[:LONGEST]: short(value) for name, value in run.settings.items()},
        metrics={name: value for name, one in values(run).items()
                 if (value := ranked(one)) is not None},
        sent_ms={way: one.rtt_ms.astype(numpy.float32) for way, one in loaded.items()},
        mbps=_curves(run, data, ways),
        rtt_ms={way: _per_step(one.sent_s - run_start(run, way), one.rtt_ms)
                for way, one in loaded.items()},
        facts=facts_of(data, run),
        errors=_errors(data))


def short(value: Any) -> Any:
    """A setting that isn't too long for a table."""
    return value[:LONGEST] if isinstance(value, str) else value


def run_start(run: Run, way: str) -> float:
    """The start of the first of a direction's flows, in epoch seconds."""
    return min(flow.start_s for flow in run.way(way))


def _curves(run: Run, data: DataFile, ways: list[str]) -> dict[str, Floats]:
    """Means of captured throughput; without a capture, of what the tool reported."""
    seen = captured(data.raw_values)
    found = {}
    for way in ways:
        start_s, end_s = run_start(run, way), max(flow.end_s for flow in run.way(way))
        if seen and way in seen.mbps:
            inside = (seen.at_s > start_s) & (seen.at_s <= end_s)
            # A sample's time is the end of its interval.
            found[way] = _per_step(seen.at_s[inside] - start_s - 1e-6, seen.mbps[way][inside],
                                   numpy.mean)
    return found


def _per_step(at_s: Any, values: Any, middle: Callable[[Any], Any] = numpy.median) -> Floats:
    """One number for each step; not a number where there is none."""
    steps = numpy.floor(at_s / STEP_S).astype(int)
    count = min(int(steps.max()) + 1, MOST_STEPS) if steps.size else 0
    found = numpy.full(max(count, 0), numpy.nan, numpy.float32)
    for step in range(count):
        inside = values[steps == step]
        if inside.size:
            found[step] = middle(inside)
    return found


def _errors(data: DataFile) -> tuple[str, ...]:
    lines = [f"{name}: {line}"[:2 * LONGEST] for name, meta in data.series_meta.items()
             if isinstance(meta.get("ERROR"), list) for line in meta["ERROR"][:3]]
    failed = a_number(data.metadata.get("FAILED_RUNNERS"))
    if failed and not lines:
        lines = [f"{failed:g} of the test's tools gave no data"]
    return tuple(lines)


def _known(function: Callable[[], Found]) -> Found | None:
    try:
        return function()
    except NotAvailable:
        return None

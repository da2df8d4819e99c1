# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report keeps of each data file: settings, metrics, latencies, curves, proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from flent_aqm.results.advice.measured import Measured, measured, stood_still
from flent_aqm.results.data_file import DataFile, a_number
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.table import Unavailable, ranked, values
from flent_aqm.show.plots.observed import captured
from flent_aqm.show.report.facts import Facts, facts_of
from flent_aqm.show.row import (
    Floats,
    Row,
    captured_curve,
    directions,
    loaded,
    loaded_ms,
    start_s,
)

# Of curves over time.
STEP_S = 0.25
MOST_STEPS = 240
# The most text of a data file that the page takes over as one value.
LONGEST = 200


@dataclass(frozen=True, eq=False)
class ReportRow(Row):
    """A run on the page. metrics: those that are known, in the order of METRICS; infinite where
    a percentile is a lost probe. By direction: mbps: payload in captured headers per STEP_S
    since the transfer's start; rtt_ms: median of probes per STEP_S. errors: what the run's
    tools said of their failures. side: what it is compared as, where that isn't its queue.
    measured: what advice rests on, None where the run can't carry any. notes: what a reader has to
    know of how the numbers came about. no_latency: why nothing can be said of the latency under
    load, "" where something can."""

    metrics: Mapping[str, float]
    mbps: Mapping[str, Floats]
    rtt_ms: Mapping[str, Floats]
    facts: Facts
    errors: tuple[str, ...]
    side: str = ""
    measured: Measured | None = None
    notes: tuple[str, ...] = ()
    no_latency: str = ""


def row_of(data: DataFile) -> ReportRow:
    """Return a data file's row. Raises BadResult."""
    run = as_run(data)
    seen = captured(data.raw_values)
    curves = {way: curve for way in directions(run)
              if (curve := captured_curve(run, way, seen)) is not None}
    probes = loaded(run)
    metrics = values(run)
    return ReportRow(
        path=data.path,
        settings={name[:LONGEST]: short(value)
                  for name, value in run.settings.items()},
        loaded_ms=loaded_ms(probes),
        metrics={name: value for name, one in metrics.items()
                 if (value := ranked(one)) is not None},
        # A sample's time is the end of its interval, which is much longer than what is taken off.
        mbps={way: _per_step(curve.at_s - 1e-4, curve.mbps, numpy.mean)
              for way, curve in curves.items()},
        rtt_ms={way: _per_step(one.sent_s - start_s(run, way), one.rtt_ms)
                for way, one in probes.items()},
        facts=facts_of(data, run),
        errors=_errors(data), measured=measured(run), notes=tuple(run.notes),
        no_latency=_why_no_latency(run, metrics["latency_loaded_median_ms"]))


def _why_no_latency(run: Run, median_ms: float | Unavailable) -> str:
    """Return why nothing can be said of a run's latency under load; "" where something can."""
    if isinstance(median_ms, Unavailable) and not median_ms.lost:
        return median_ms.because
    return run.notes[0] if stood_still(run.loaded()) else ""


def short(value: Any) -> Any:
    """Return a setting that isn't too long for a table."""
    return value[:LONGEST] if isinstance(value, str) else value


def _per_step(at_s: Any, values: Any, middle: Callable[[Any], Any] = numpy.median) -> Floats:
    """Return one number for each step; not a number where there is none."""
    steps = numpy.floor(at_s / STEP_S).astype(int)
    count = min(int(steps.max()) + 1, MOST_STEPS) if steps.size else 0
    steps_values = numpy.full(max(count, 0), numpy.nan, numpy.float32)
    for step in range(count):
        inside = values[steps == step]
        if inside.size:
            steps_values[step] = middle(inside)
    return steps_values


def _errors(data: DataFile) -> tuple[str, ...]:
    lines = [f"{name}: {line}"[:2 * LONGEST] for name, meta in data.series_meta.items()
             if isinstance(meta.get("ERROR"), list) for line in meta["ERROR"][:3]]
    failed = a_number(data.metadata.get("FAILED_RUNNERS"))
    if failed and not lines:
        lines = [f"{failed:g} of the test's tools gave no data"]
    return tuple(lines)

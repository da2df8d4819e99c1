# SPDX-License-Identifier: GPL-3.0-or-later
"""Extract from a data file everything that a report shows of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy

from flent_aqm.results.advice.measured import Measured, measured, stood_still
from flent_aqm.results.data_file import DataFile, a_number
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.latency import LISTED_GLITCH_MS, bad_probes, glitches, idle_median_ms
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.table import Unavailable, ranked, values
from flent_aqm.results.metrics.throughput import PAYLOAD_SHARE, link_rate_mbps, payload_share
from flent_aqm.results.reading.series import series_by_error
from flent_aqm.show.plots.observed import captured
from flent_aqm.show.report.facts import RunFacts, facts_of
from flent_aqm.show.row import (
    Floats,
    Row,
    captured_curve,
    directions,
    loaded,
    loaded_ms,
    or_none,
    start_s,
)

# Width of a step in curves over time, and the largest number of steps.
STEP_S = 0.25
MOST_STEPS = 240
# Longest text of a data file that the page takes over, in characters.
LONGEST = 200


@dataclass(frozen=True)
class RunGlitch:
    """A glitch of a run: bad probes under load in short succession. A probe is bad if it was lost,
    or took more than LISTED_GLITCH_MS longer than the median before the load. Good ones may lie
    between them.

    Attributes:
        number: its number in the run, in the order of time, counted from 1.
        start_s: when its first bad probe was sent, in seconds since the run's first probe.
        length_ms: time from then until the probe after its last bad one was due.
        slowest_ms: longest RTT of its answered bad probes, None if all bad ones were lost.
        lost: number of its probes that were lost.
    """

    number: int
    start_s: float
    length_ms: float
    slowest_ms: float | None
    lost: int


@dataclass(frozen=True, eq=False)
class ReportRow(Row):
    """A run on the report's page.

    Attributes:
        metrics: name -> value of each metric that has one, in the order of METRICS. Infinite if a
            percentile is a lost probe.
        mbps: direction -> array of the throughput of captured packets' payload in Mbit/s, a value
            for each STEP_S since the transfer's start, NaN for a step without values. Directions
            that were not captured are missing.
        rtt_ms: direction -> array of the median RTT of the probes under its load, for the same
            steps, NaN for a step without probes, infinite if half of them or more were lost.
            Directions without probes are missing.
        facts: testbed, versions, and the router's settings.
        errors: errors of the run's tools as lines, see _errors().
        side: name of the configuration, or the user's title, as which the run is compared, "" if
            the name of its queue tells that (see slices.with_sides()).
        measured: measurements for advice, or the reason why the run has none.
        notes: notes on how values were measured.
        no_latency: reason why the latency under load is not known or can't be trusted, see
            _why_no_latency(). "" if there is none.
        samples: SHA-256 of its samples, "" if it has none.
        glitches: its glitches in the order of time. Empty if it has none or they can't be found.
        possible_mbps: direction -> throughput in Mbit/s that TCP can carry at the link's rate.
            Directions for which that is not known are missing.
    """

    metrics: Mapping[str, float]
    mbps: Mapping[str, Floats]
    rtt_ms: Mapping[str, Floats]
    facts: RunFacts
    errors: tuple[str, ...]
    side: str = ""
    measured: Measured | Unavailable = field(default_factory=lambda: Unavailable("not measured"))
    notes: tuple[str, ...] = ()
    no_latency: str = ""
    samples: str = ""
    glitches: tuple[RunGlitch, ...] = ()
    possible_mbps: Mapping[str, float] = field(default_factory=dict)


def row_of(data: DataFile) -> ReportRow:
    """Return what a report shows of the run in a data file. Raises BadResult if a value is damaged,
    or if the run exceeds the limits, see as_run()."""
    run = as_run(data)
    seen = captured(data.raw_values)
    curves = {direction: curve for direction in directions(run)
              if (curve := captured_curve(run, direction, seen)) is not None}
    probes = loaded(run)
    metrics = values(run)
    return ReportRow(
        path=data.path,
        settings={name[:LONGEST]: _cut(value)
                  for name, value in run.settings.items()},
        loaded_ms=loaded_ms(probes),
        metrics={name: value for name, one in metrics.items()
                 if (value := ranked(one)) is not None},
        # A little is subtracted, because a sample's time is the end of its interval, which may be
        # the beginning of the next step.
        mbps={direction: _per_step(curve.at_s - 1e-4, curve.mbps, numpy.mean)
              for direction, curve in curves.items()},
        rtt_ms={direction: _per_step(one.sent_s - start_s(run, direction), one.rtt_ms)
                for direction, one in probes.items()},
        facts=facts_of(data, run),
        errors=_errors(data), measured=measured(run), notes=tuple(run.notes),
        no_latency=_why_no_latency(run, metrics["latency_loaded_median_ms"]),
        samples=run.samples, glitches=or_none(partial(_glitches, run)) or (),
        possible_mbps={direction: mbps for direction in DIRECTIONS if (
            mbps := or_none(partial(_possible_mbps, run, direction))) is not None})


def _possible_mbps(run: Run, direction: str) -> float:
    """Return the throughput in Mbit/s that TCP can carry at the link's rate: the modem's if there
    is a modem, as in the setting RATE, else the shaper's. direction: "download" or "upload". Raises
    NotAvailable if the rate is not known, or changes during the run."""
    limited_mbps = link_rate_mbps(run, direction)
    modem_mbps = a_number(run.settings.get(
        "modem_down_mbps" if direction == "download" else "modem_up_mbps"))
    return (limited_mbps * payload_share(run, direction) if modem_mbps is None
            else modem_mbps * PAYLOAD_SHARE)


def _glitches(run: Run) -> tuple[RunGlitch, ...]:
    """Return a run's glitches in the order of time, empty if it has none. Raises NotAvailable if
    they can't be found, for the reasons told in glitches()."""
    probe, listed = run.probe, []
    limit_ms = idle_median_ms(run) + LISTED_GLITCH_MS
    for number, one in enumerate(glitches(run, LISTED_GLITCH_MS), 1):
        inside = probe.rtt_ms[bad_probes(probe, one, limit_ms)]
        answered = inside[numpy.isfinite(inside)]
        listed.append(RunGlitch(
            number, one.start_s - float(probe.sent_s[0]), one.length_ms,
            float(answered.max()) if answered.size else None, int(inside.size - answered.size)))
    return tuple(listed)


def _why_no_latency(run: Run, median_ms: float | Unavailable) -> str:
    """Return the reason why a run's latency under load is not known, or can't be trusted because
    the probe was stopped for too long (see stood_still()). Otherwise "", also if the median is a
    lost probe.

    Args:
        run: the run.
        median_ms: median latency under load, or Unavailable, with `lost` for a lost probe.
    """
    if isinstance(median_ms, Unavailable) and not median_ms.lost:
        return median_ms.because
    return run.notes[0] if stood_still(run.loaded()) else ""


def _cut(value: Any) -> Any:
    """Return the value of a setting, cut to LONGEST characters if it is text."""
    return value[:LONGEST] if isinstance(value, str) else value


def _per_step(at_s: Any, values: Any, middle: Callable[[Any], Any] = numpy.median) -> Floats:
    """Return one value for each step of STEP_S from 0 to the last value, at most MOST_STEPS, NaN
    for a step without values. Values before 0, and those after MOST_STEPS, are left out. Empty if
    no value is left.

    Args:
        at_s: times of the values, an array in s since the start.
        values: array of the values.
        middle: computes a step's value from the array of its values.
    """
    steps = numpy.floor(at_s / STEP_S).astype(int)
    count = min(int(steps.max()) + 1, MOST_STEPS) if steps.size else 0
    steps_values = numpy.full(max(count, 0), numpy.nan, numpy.float32)
    for step in range(count):
        inside = values[steps == step]
        if inside.size:
            steps_values[step] = middle(inside)
    return steps_values


def _errors(data: DataFile) -> tuple[str, ...]:
    """Return the errors of the run's tools as "SERIES: LINE", with several series that have the
    same line as "SERIES and SERIES: LINE", cut to twice LONGEST characters, at most three of each
    series. If no tool reported any but some gave no data, return one text with their number. Empty
    without either."""
    lines = [f"{' and '.join(names)}: {line}"[:2 * LONGEST]
             for line, names in series_by_error(data.series_meta, most=3).items()]
    failed = a_number(data.metadata.get("FAILED_RUNNERS"))
    if failed and not lines:
        lines = [f"{failed:g} of the test's tools gave no data"]
    return tuple(lines)

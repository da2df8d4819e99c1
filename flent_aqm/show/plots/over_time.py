# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws latency over time as percentiles of short spans, which show the worst moments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import counted
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.percentiles import SAMPLES_BEYOND, of_sorted, samples_beyond
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.window import Window
from flent_aqm.show.looks import QUIET, style_key
from flent_aqm.show.plots.axes import name_latency_axis
from flent_aqm.show.plots.chart import ChartPlotter, about
from flent_aqm.show.plots.series import lines

# Probes that a span needs for its 90th percentile.
SPAN_PROBES = SAMPLES_BEYOND * 10
# Spans last whole seconds, or SHORTEST_S. If probes are so far apart that there would be fewer than
# FEWEST_SPANS, spans are shorter and have a median only.
SHORTEST_S = 0.5
FEWEST_SPANS = 8
MOST_RUNS = 4
STYLES: dict[str, dict[str, Any]] = {
    "median": {"linewidth": 2.2, "drawstyle": "steps-mid"},
    "90th percentile": {"linewidth": 0.9, "drawstyle": "steps-mid"},
    "slowest": {"linestyle": "none", "marker": "o", "markersize": 3},
}


class AqmPercentilesOverTimePlotter(ChartPlotter):
    """Median, 90th percentile and slowest probe of each span, on a logarithmic axis."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        drawn = lines(self, runs, MOST_RUNS)
        drawn = self.first(drawn, MOST_RUNS)
        axis, = self.grid()
        if any(len(line.members) > 1 for line in drawn):
            self.note("of each group one run: " + ", ".join(
                f"{line.label}, of {len(line.members)}" for line in drawn))
        for line in drawn:
            run, probe = line.members[0]
            length_s = span_s(probe)
            begin_s = 0.0 if self.absolute_time else start_s(run)
            at_s, statistics = spans(probe, length_s, run.load_window)
            for name, options in STYLES.items():
                if name not in statistics:
                    self.note(f"{line.label}: probes {probe.spacing_ms:.0f} ms apart, "
                              "so no 90th percentile")
                    continue
                points = axis.plot(
                    at_s - begin_s, statistics[name], color=line.look.colour,
                    **(options | {"marker": line.look.marker} if "marker" in options else options),
                    label=line.label if name == "median" else f"_{line.label}, {name}")
                if name == "median":
                    self.handles += points
            lost = int(probe.lost.sum())
            if lost:
                self.note(f"{line.label}: {counted(lost, 'probe')} lost")
                axis.plot(probe.sent_s[probe.lost] - begin_s, numpy.full(lost, 0.99), "x",
                          color=line.look.colour, markersize=4, label=f"{line.label}, lost",
                          transform=axis.get_xaxis_transform())
            self.note(f"spans of {length_s:g} s")
        self.handles += [style_key(name, **options) for name, options in STYLES.items()]
        shade_load(axis, runs, absolute=bool(self.absolute_time))
        axis.set_yscale("log")
        name_latency_axis(axis, "y")
        axis.set_xlabel("time (s)")
        axis.set_ylabel("round-trip time (ms)")
        self.note(about(runs, sum(probe.rtt_ms.size for line in drawn
                                  for _, probe in line.members[:1]), "probes"))


def span_s(probe: Probe) -> float:
    """Return the length of the spans into which a series is divided, in s. Raises NotAvailable if
    it has fewer than two probes."""
    spacing_s = probe.spacing_ms / 1000
    lasts_s = float(probe.sent_s[-1] - probe.sent_s[0])
    if not spacing_s > 0 or not math.isfinite(spacing_s) or not lasts_s > 0:
        raise NotAvailable(f"{probe.name} has fewer than two probes")
    # A little longer, because probes are not sent at exact times.
    wanted_s = 1.02 * SPAN_PROBES * spacing_s
    length_s = SHORTEST_S if wanted_s <= SHORTEST_S else float(math.ceil(wanted_s / 1.1))
    if lasts_s / length_s < FEWEST_SPANS:
        length_s = max(lasts_s / FEWEST_SPANS, 2 * SAMPLES_BEYOND * spacing_s)
        length_s = math.ceil(length_s * 10) / 10
    return length_s


def spans(probe: Probe, length_s: float, load: Window | None = None
          ) -> tuple[Numbers, dict[str, Numbers]]:
    """Return the middle of each span in epoch seconds, and its statistics by name, NaN if unknown.

    Spans are counted from the load's start, backwards and forwards, and again from its end, because
    a span with both would show the load's effect before it began. The 90th percentile is left out
    if spans have too few probes. A lost probe is slower than any other. A percentile that is a lost
    probe is NaN.

    Args:
        probe: the latency series.
        length_s: length of a span.
        load: time of the load, None without load.
    """
    number = numpy.searchsorted(_cut(probe, load, length_s), probe.sent_s, side="right")
    middles, medians, tails, slowest = [], [], [], []
    for span in numpy.unique(number):
        inside = number == span
        latencies = numpy.sort(probe.rtt_ms[inside])
        finite = latencies[numpy.isfinite(latencies)]
        middles.append(float(probe.sent_s[inside][[0, -1]].mean()))
        medians.append(_at(latencies, 50))
        tails.append(_at(latencies, 90))
        slowest.append(finite[-1] if finite.size else numpy.nan)
    statistics = {"median": numpy.array(medians), "slowest": numpy.array(slowest)}
    if not numpy.isnan(tails).all():
        statistics["90th percentile"] = numpy.array(tails)
    return numpy.array(middles), statistics


def _cut(probe: Probe, load: Window | None, length_s: float) -> Numbers:
    """Return the times at which spans begin. The load's start and end are among them. Arguments: as
    for spans()."""
    first_s, last_s = float(probe.sent_s[0]), float(probe.sent_s[-1])
    start_s, end_s = (max(load.start_s, first_s), load.end_s) if load else (first_s, math.inf)
    before = numpy.arange(start_s, first_s - length_s, -length_s)
    # A short rest at the end of the load belongs to the span before it.
    during = numpy.arange(start_s, min(end_s - length_s / 2, last_s), length_s)
    after = numpy.arange(end_s, last_s, length_s) if end_s < last_s else numpy.empty(0)
    return numpy.unique(numpy.concatenate((before, during, after)))


def start_s(run: Run) -> float:
    """Return the time at which a run's time axis begins, in epoch seconds."""
    starts = [float(probe.sent_s[0]) for probe in run.probes]
    starts += [flow.start_s for flow in run.flows]
    return min(starts, default=0.0)


def shade_load(axis: Any, runs: Sequence[Run], absolute: bool = False) -> None:
    """Shade the time of the load, if it is the same in all runs. absolute: the time axis has epoch
    seconds."""
    spans_s = {(round(run.load_window.start_s - start_s(run), 0),
                round(run.load_window.end_s - start_s(run), 0))
               for run in runs if run.load_window}
    if len(spans_s) != 1:
        return
    window = next(run.load_window for run in runs if run.load_window)
    begin_s = 0.0 if absolute else start_s(next(run for run in runs if run.load_window))
    axis.axvspan(window.start_s - begin_s, window.end_s - begin_s, color=QUIET, alpha=0.10,
                 linewidth=0, zorder=0)
    axis.annotate("load", (window.start_s - begin_s, 1), (3, -3), color=QUIET,
                  xycoords=axis.get_xaxis_transform(), textcoords="offset points",
                  fontsize="x-small", va="top")


def _at(latencies: Numbers, percent: float) -> float:
    """Return a percentile of sorted latencies, NaN if it is a lost probe or if there are too few
    samples."""
    if samples_beyond(latencies.size, percent) < SAMPLES_BEYOND:
        return math.nan
    value = of_sorted(latencies, percent)
    return value if math.isfinite(value) else math.nan

# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws glitches per minute: how often somebody in a call would have noticed the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.latency import (
    GLITCH_THRESHOLDS_MS,
    Glitch,
    find_glitches,
    idle_median_ms,
)
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.plots.chart import ChartPlotter, about
from flent_aqm.show.plots.series import Line, lines, pooled

# With more bars per inch, the labels above them are turned upright.
MOST_PER_INCH = 3.2


class AqmGlitchesPlotter(ChartPlotter):
    """A bar for each threshold and series, with the longest glitch above it."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        drawn, reasons = [], []
        for line in lines(self, runs):
            try:
                drawn.append((line, [_glitches(line, threshold_ms)
                                     for threshold_ms in GLITCH_THRESHOLDS_MS]))
            except NotAvailable as reason:
                reasons.append(f"{line.label}: {reason}")
        if not drawn:
            raise NotAvailable("\n".join(reasons))
        axis, = self.grid()
        width = 0.8 / len(drawn)
        bars_drawn = len(drawn) * len(GLITCH_THRESHOLDS_MS)
        crowded = bars_drawn > MOST_PER_INCH * self.figure.get_figwidth()
        for place, (line, counted) in enumerate(drawn):
            at = numpy.arange(len(counted)) + (place - (len(drawn) - 1) / 2) * width
            bars = axis.bar(at, [per_minute for per_minute, _ in counted], width * 0.92,
                            color=line.look.colour, hatch=line.look.hatch, edgecolor="white",
                            label=line.label)
            axis.bar_label(bars, [f"longest\n{longest:.0f} ms" if longest and len(drawn) < 4
                                  else f"{longest:.0f} ms" if longest else "0"
                                  for _, longest in counted],
                           fontsize="xx-small", padding=1, rotation=90 if crowded else 0)
            self.handles.append(bars)
        axis.set_xticks(range(len(GLITCH_THRESHOLDS_MS)),
                        [f"{threshold_ms} ms" for threshold_ms in GLITCH_THRESHOLDS_MS])
        axis.set_xlabel("glitch: slower than the idle median by more than")
        axis.set_ylabel("glitches per minute under load")
        axis.set_ylim(0, max(1.0, max(high for _, counted in drawn for high, _ in counted)) * 1.15)
        for line, _ in drawn:
            latencies = pooled(line.loaded())
            self.note_lost(line.label, latencies)
            if numpy.isinf(latencies).any():
                self.note("a lost probe is a glitch at every threshold")
        self.note(about(runs, sum(one.rtt_ms.size for line, _ in drawn for one in line.loaded()),
                        "probes under load"))
        if len(drawn) >= 4:
            self.note("above the bars: the longest glitch")
        for text in reasons:
            self.note(f"left out: {text}")


def _glitches(line: Line, threshold_ms: float) -> tuple[float, float]:
    """Return glitches per minute over all runs of a line, and the longest glitch in ms. Raises
    NotAvailable if the load had no duration, or if there are no probes."""
    events: list[Glitch] = []
    length_s = 0.0
    for run, probe in line.members:
        loaded = run.loaded(None, probe)
        find_glitches(loaded, 0, threshold_ms)  # its error is clearer than the next call's
        events += find_glitches(loaded, idle_median_ms(run, probe), threshold_ms)
        length_s += loaded.length_s
    if not length_s > 0:
        raise NotAvailable("the load lasted 0 s")
    return len(events) * 60 / length_s, max((one.length_ms for one in events), default=0.0)

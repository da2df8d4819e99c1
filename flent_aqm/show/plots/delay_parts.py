# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw the parts of latency under load: queue, router's processor and network cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import significant
from flent_aqm.results.metrics.delay_parts import ELSEWHERE, DelayParts, delay_parts
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.result_set import once, samples_of
from flent_aqm.show.plots.axes import shade_load, start_s
from flent_aqm.show.plots.chart import MOST_LINES, ChartPlotter, about, probes_of

COLOURS: Mapping[str, str] = {
    "queue": "#004488", "processor": "#BB5566", "cards": "#997700", ELSEWHERE: "#BBBBBB"}
BIN_S = 0.1
# Share of the probes under load that count as the slowest.
SLOWEST = 0.01
_NO_PROBE = ("no probe came back under load whose way there and back through the router was "
             "recorded")


def parts_in(result: Any) -> DelayParts:
    """Return the parts of the RTT (queue, processor, cards, elsewhere) of a run's answered probes,
    of a result set of Flent. They are computed once. Raises NotAvailable if the file has no records
    of the parts, or no probe with them, and BadResult if its samples are damaged."""
    return once(result, "delay parts", lambda: delay_parts(samples_of(result)))


class AqmDelayPartsPlotter(ChartPlotter):
    """Parts of the probes' RTT: their means under load and in the slowest probes, of at most
    MOST_LINES runs. Above these, if only one run is left to draw and the plot is not a part of
    another one, the parts over time. Runs without records of the parts, without answered probes
    that have them, or whose samples are damaged, are left out, with a note. If no run is left, the
    picture shows the reason instead."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        drawn = self.read_each(runs, results, parts_in)
        if len(drawn) > MOST_LINES:
            self.note(f"{MOST_LINES} of {len(drawn)} runs shown")
            drawn = drawn[:MOST_LINES]
        if len(drawn) == 1 and self._part_axis is None:
            over_time, bars = self.grid(2, 1, height_ratios=(2, 1))
            self._draw_over_time(over_time, *drawn[0])
        else:
            bars, = self.grid()
        self._draw_bars(bars, drawn)
        self.note(about([run for run, _ in drawn],
                        sum(parts.sent_s.size for _, parts in drawn), "probes",
                        probes_of(run for run, _ in drawn)))

    def _draw_over_time(self, axis: Any, run: Run, parts: DelayParts) -> None:
        """Draw the mean parts in ms over time, stacked, in bins of BIN_S by the time at which
        probes were sent. Bins without probes are left out. The load's time is shaded.

        Args:
            axis: matplotlib axes, whose time is in seconds since the run's start, or in epoch
                seconds with --absolute-time.
            run: the run, for its start and load.
            parts: parts of its probes.
        """
        begin_s = 0.0 if self.absolute_time else start_s(run)
        number = ((parts.sent_s - parts.sent_s[0]) / BIN_S).astype(int)
        bins, place, counted = numpy.unique(number, return_inverse=True, return_counts=True)
        at_s = parts.sent_s[0] + (bins + 0.5) * BIN_S - begin_s
        axis.stackplot(at_s, *(numpy.bincount(place, weights=ms) / counted
                               for ms in parts.ms.values()),
                       colors=[COLOURS[name] for name in parts.ms], linewidth=0)
        shade_load(axis, [run], absolute=bool(self.absolute_time))
        axis.set_xlabel("time (s)")
        axis.set_ylabel("round-trip time (ms)")
        axis.set_ylim(bottom=0)
        self.note(f"means of {1000 * BIN_S:g} ms")

    def _draw_bars(self, axis: Any, drawn: Sequence[tuple[Run, DelayParts]]) -> None:
        """Draw two stacked horizontal bars for each run: the mean parts in ms of its probes under
        load (of a test without load, of all its probes), and of the slowest 1 % of these. Runs
        without such probes are left out with a note. Raises NotAvailable if none is left. The parts
        are added to the legend (self.handles).

        Args:
            axis: matplotlib axes.
            drawn: each run with its parts, which are those of answered probes only.
        """
        labels: list[str] = []
        widest = 0.0
        for run, parts in drawn:
            window = run.load_window
            loaded = parts.subset(window.holds(parts.sent_s)) if window else parts
            if not loaded.sent_s.size:
                self.note(f"left out: {run.path.name}: {_NO_PROBE}")
                continue
            slow = loaded.subset(loaded.whole_ms >= of_any(loaded.whole_ms, 100 * (1 - SLOWEST)))
            for what, one in (("under load", loaded), ("slowest 1 %", slow)):
                name = what if len(drawn) == 1 else f"{run.title}, {what}"
                left = 0.0
                for part, ms in one.means_ms().items():
                    bar = axis.barh(len(labels), ms, left=left, color=COLOURS[part], label=part)
                    left += ms
                    if not labels:
                        self.handles.append(bar[0])
                        bar[0].set_label(part)
                axis.text(left, len(labels), f" {significant(left)} ms", va="center",
                          fontsize="small")
                widest = max(widest, left)
                labels.append(name)
        if not labels:
            raise NotAvailable(_NO_PROBE)
        axis.set_yticks(range(len(labels)), labels, fontsize="small")
        axis.invert_yaxis()
        axis.set_xlim(0, 1.15 * widest)
        axis.set_xlabel("mean round-trip time (ms)")

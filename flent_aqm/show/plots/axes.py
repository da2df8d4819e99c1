# SPDX-License-Identifier: GPL-3.0-or-later
"""Set ranges and ticks of value axes, from zero or logarithmic, and shade the load over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy
from matplotlib.ticker import Locator, MaxNLocator, NullFormatter, NullLocator, StrMethodFormatter

from flent_aqm.results.metrics.run import Run
from flent_aqm.show.looks import QUIET

# End of an axis, as a multiple of the highest value, so that a marker on this value is drawn whole.
ROOM = 1.06
# With fewer ticks, the range of a logarithmic axis can't be seen.
FEWEST_TICKS = 3
# Scales are logarithmic if the largest value is more than so many times the smallest.
LOG_FROM = 20
# Ticks within a decade, the fewest first.
_WITHIN_DECADE = ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5, 7))


def from_zero(axes: Sequence[Any], which: str = "y", room: float = ROOM) -> None:
    """Let value axes begin at zero, and end above the highest value on any of them, at 1 if none
    has a value above zero.

    Call it when all axes are drawn, because setting a range ends matplotlib's automatic scaling,
    also of axes that share it.

    Args:
        axes: matplotlib axes of the plot.
        which: "x" or "y".
        room: end of the axis as a multiple of the highest value.
    """
    highest = max((_highest(axis, which) for axis in axes), default=0.0)
    for axis in axes:
        set_range = axis.set_xlim if which == "x" else axis.set_ylim
        set_range(0, highest * room if highest > 0 else 1)


def _highest(axis: Any, which: str) -> float:
    """Return the highest value drawn on an axis, 0 without any. which: "x" or "y"."""
    high = axis.dataLim.x1 if which == "x" else axis.dataLim.y1
    return float(high) if math.isfinite(high) else 0.0


def spans_decades(values: Any) -> bool:
    """Return whether an array of values needs a logarithmic scale: all are above zero, and the
    largest is more than LOG_FROM times the smallest. NaN and infinite values, which are lost
    probes, don't count. False without values."""
    finite = values[numpy.isfinite(values)]
    return bool(finite.size and finite.min() > 0 and finite.max() > LOG_FROM * finite.min())


def name_latency_axis(axis: Any, which: str = "x") -> None:
    """Label a logarithmic axis with plain numbers, at least three if its range allows (see
    LogTicks).

    Args:
        axis: matplotlib axes.
        which: "x" or "y".
    """
    part = axis.xaxis if which == "x" else axis.yaxis
    part.set_major_locator(LogTicks())
    part.set_major_formatter(StrMethodFormatter("{x:g}"))
    part.set_minor_locator(NullLocator())
    part.set_minor_formatter(NullFormatter())


class LogTicks(Locator):
    """Locator of ticks on a logarithmic axis: powers of ten. If fewer than FEWEST_TICKS are in
    range, numbers between them, and at last even steps.

    A class and not a function, because flent-gui gets its pictures pickled from another process.
    """

    def __call__(self) -> Any:
        assert self.axis is not None  # matplotlib sets it before it calls this method
        low, high = sorted(self.axis.get_view_interval())
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks from vmin to vmax as an array, ascending. Empty if vmin is not above
        zero and below vmax, or if vmax is not finite. Called by matplotlib."""
        if not 0 < vmin < vmax or not math.isfinite(vmax):
            return numpy.array([])
        decades = 10.0 ** numpy.arange(math.floor(math.log10(vmin)),
                                       math.ceil(math.log10(vmax)) + 1)
        for parts in _WITHIN_DECADE:
            ticks = numpy.outer(decades, parts).ravel()
            ticks = ticks[(ticks >= vmin * 0.9999) & (ticks <= vmax * 1.0001)]
            if ticks.size >= FEWEST_TICKS:
                return ticks
        for steps in (4, 6, 8):
            even = MaxNLocator(steps, steps=[1, 2, 2.5, 5, 10]).tick_values(vmin, vmax)
            ticks = numpy.array([tick for tick in even if vmin <= tick <= vmax])
            if ticks.size >= FEWEST_TICKS:
                break
        return ticks


def start_s(run: Run) -> float:
    """Return the time at which a run's time axis begins, in epoch seconds: the earliest probe or
    start of a flow, cross traffic included. 0 without both."""
    starts = [float(probe.sent_s[0]) for probe in run.probes]
    starts += [flow.start_s for flow in run.flows]
    return min(starts, default=0.0)


def shade_load(axis: Any, runs: Sequence[Run], absolute: bool = False) -> None:
    """Shade the time of the load of the first run that has one, and label it, if the load's start
    and end, in whole seconds since the run's start, are the same in all runs with a load. Otherwise
    do nothing.

    Args:
        axis: matplotlib axes over time.
        runs: runs of the plot.
        absolute: the time axis has epoch seconds, and not seconds since the run's start.
    """
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

# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw distributions side by side: positions along an axis, with a box or violin for each queue.

Only draws arrays of values. The caller explains them in labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.compare import median_interval
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.show.looks import DASH, MISSING, QUIET, Look

# Fewer values are drawn as points, because quartiles of so few would mean nothing.
FEWEST_FOR_BOX = 5
WHISKERS_PCT = (5, 95)
# A violin is computed from at most so many values. More would not change the visible shape.
MOST_FOR_VIOLIN = 2000


@dataclass(frozen=True)
class ComparedValue:
    """One value of the compared setting, such as a queue. All of them stand side by side at each
    position of the axis.

    Attributes:
        label: text for the legend.
        look: colour, marker and hatch.
    """

    label: str
    look: Look


def draw_side_by_side(
    axis: Any, positions: Sequence[str], compared: Sequence[ComparedValue],
    values: Mapping[tuple[int, int], Numbers], kind: str = "box", log: bool = False,
) -> list[Any]:
    """Draw distributions side by side, and return a legend handle for each compared value: a mark
    if some cells are points or dots, else a patch. Set the labels and limits of the axis of
    positions.

    Cells without values get a grey stripe with a dash. An infinite value is a lost probe. Where the
    drawing of a cell has such a value or percentile, it is at the upper edge, above the others, on
    a line with the label "lost". The shape of a violin leaves them out.

    Args:
        axis: matplotlib axes to draw on.
        positions: labels of the positions along the axis.
        compared: the compared values, at least one, at each position.
        values: (index of position, index of compared value) -> values. Missing keys are empty
            cells.
        kind: "box" (quartiles, whiskers at p5 and p95, a mark at p99 for 1,000 values or more, each
            value for 30 or fewer), "violin" (a box where there are too few different values), or
            "dots" (each value, the median, and its interval for six or more). Boxes and violins of
            fewer than FEWEST_FOR_BOX values are drawn as points.
        log: whether to make the value axis logarithmic.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    width = 0.86 / len(compared)
    points = False
    if log:
        axis.set_yscale("log")
    edge = _lost_edge(values, log)
    if math.isfinite(edge):
        axis.axhline(edge, color=QUIET, linewidth=0.6, linestyle=(0, (1, 2)), label="_lost")
        axis.annotate("lost", (1, edge), (2, 0), xycoords=axis.get_yaxis_transform(),
                      textcoords="offset points", fontsize="x-small", color=QUIET, va="center")
    for number, entry in enumerate(compared):
        for place in range(len(positions)):
            at = place + (number - (len(compared) - 1) / 2) * width
            cell = values.get((place, number), numpy.empty(0))
            if not cell.size:
                axis.axvspan(at - width / 2, at + width / 2, color=MISSING, linewidth=0, zorder=0)
                axis.annotate(DASH, (at, 0.02), xycoords=axis.get_xaxis_transform(), ha="center",
                              fontsize="x-small", color=QUIET, label="missing")
            elif kind == "dots":
                points = True
                _draw_dots(axis, at, width, cell, entry.look, edge)
            elif cell.size < FEWEST_FOR_BOX:
                points = True
                _draw_points(axis, at, numpy.minimum(cell, edge), entry.look)
            elif kind == "violin" and _differ(cell):
                _draw_violin(axis, at, width, cell, entry.look, log, edge)
            else:
                _draw_box(axis, at, width, cell, entry.look, edge)
    axis.set_xticks(range(len(positions)), positions)
    axis.set_xlim(-0.5, len(positions) - 0.5)
    axis.tick_params(axis="x", length=0)
    axis.grid(visible=False, axis="x")
    for border in range(1, len(positions)):
        axis.axvline(border - 0.5, color=QUIET, linewidth=0.4, alpha=0.4, label="_border")
    if points:  # markers distinguish them in a grey print
        return [Line2D([], [], linestyle="none", marker=entry.look.marker, markersize=6,
                       color=entry.look.colour, label=entry.label) for entry in compared]
    return [Patch(facecolor=entry.look.colour, hatch=entry.look.hatch, edgecolor="white",
                  label=entry.label) for entry in compared]


def _draw_points(axis: Any, at: float, values: Numbers, look: Look) -> None:
    """Draw few values as points.

    Args:
        axis: matplotlib axes to draw on.
        at: position on the axis.
        values: the values, all finite.
        look: colour and marker.
    """
    axis.plot(numpy.full(values.size, at), values, linestyle="none", marker=look.marker,
              color=look.colour, markersize=6, markeredgecolor="white", markeredgewidth=0.4,
              label="_values")


def _draw_dots(axis: Any, at: float, width: float, values: Numbers, look: Look, edge: float
               ) -> None:
    """Draw values in their order from left to right, with their median and, for six values or more,
    its confidence interval.

    Args:
        axis: matplotlib axes to draw on.
        at: position of the cell's middle along the axis.
        width: width of the cell on this axis.
        values: the values, infinite for a lost probe.
        look: colour and marker.
        edge: value at which lost probes are drawn.
    """
    places = at + (numpy.arange(1, values.size + 1) / (values.size + 1) - 0.5) * width * 0.9
    axis.plot(places, numpy.minimum(values, edge), linestyle="none", marker="o", color=look.colour,
              markersize=2.5, alpha=0.6, markeredgewidth=0, label="_values")
    if (sure := median_interval(values)) is not None:
        ends = [min(sure.low, edge), min(sure.high, edge)]
        axis.plot([at, at], ends, color="black", linewidth=1, marker="_", markersize=6,
                  label="_interval", zorder=4)
    axis.plot([at], [min(of_any(values, 50), edge)], linestyle="none", marker=look.marker,
              color=look.colour, markersize=4.5, markeredgewidth=0, label="_median", zorder=3)


def _lost_edge(values: Mapping[tuple[int, int], Numbers], log: bool) -> float:
    """Return the value at which lost probes are drawn: above all others, and above 0 on a
    logarithmic axis. A little above 1 if all probes were lost, infinite if none was.

    Args:
        values: values of each cell, infinite for a lost probe.
        log: the value axis is logarithmic.
    """
    together = numpy.concatenate([numpy.empty(0), *values.values()])
    came = together[numpy.isfinite(together)]
    if came.size == together.size:
        return math.inf
    highest = float(came.max()) if came.size else 1.0
    return (max(0.0, highest) * 1.5 or 1.0) if log else highest + (0.1 * abs(highest) or 1.0)


def _differ(values: Numbers) -> bool:
    """Return whether there are enough different values for a violin: more than FEWEST_FOR_BOX
    finite ones that are not all equal."""
    came = values[numpy.isfinite(values)]
    return came.size > FEWEST_FOR_BOX and bool(numpy.ptp(came) > 0)


def _draw_box(axis: Any, at: float, width: float, values: Numbers, look: Look, edge: float) -> None:
    """Draw a box from the lower to the upper quartile, with the median and whiskers at p5 and p95.
    For 1,000 values or more, p99 is marked; for 30 or fewer, each value. A percentile that is a
    lost probe is drawn at `edge`. Arguments: as for _draw_dots(), but of `look`, colour and hatch
    are used."""
    low, first, median, third, high, tail = (min(of_any(values, percent), edge) for percent in (
        WHISKERS_PCT[0], 25, 50, 75, WHISKERS_PCT[1], 99))
    box = {"med": median, "q1": first, "q3": third, "whislo": low, "whishi": high, "fliers": []}
    axis.bxp([box], positions=[at], widths=width * 0.8, showfliers=False, patch_artist=True,
             manage_ticks=False,
             boxprops={"facecolor": look.colour, "edgecolor": look.colour, "hatch": look.hatch,
                       "alpha": 0.85},
             medianprops={"color": "black", "linewidth": 1.4},
             whiskerprops={"color": look.colour}, capprops={"color": look.colour})
    # If the quartiles are close together, only the median's line can be seen of the box. A thick
    # line in the queue's colour is drawn below it.
    axis.plot([at - width * 0.4, at + width * 0.4], [median, median], color=look.colour,
              linewidth=4.5, solid_capstyle="butt", zorder=1.9, label="_thin box")
    if values.size >= 1000:
        axis.plot([at], [tail], marker="_", color="black", markersize=4,
                  linestyle="none", label="_p99")
    elif values.size <= 30:
        axis.plot(numpy.full(values.size, at), numpy.minimum(values, edge), "o", color="white",
                  markersize=2.5, markeredgecolor="black", markeredgewidth=0.4, label="_values",
                  zorder=3)


def _draw_violin(axis: Any, at: float, width: float, values: Numbers, look: Look, log: bool,
            edge: float) -> None:
    """Draw a violin with marks for quartiles and median, or a box if all answered probes have the
    same value. The shape is that of the probes that were answered, at least one. Quartiles and
    median count lost probes, too, and are at `edge` if they are lost. Arguments: as for
    _draw_dots(), but of `look`, colour and hatch are used. log: the value axis is logarithmic;
    values below 0.001 count as 0.001."""
    from matplotlib.mlab import GaussianKDE

    came = drawn = values[numpy.isfinite(values)]
    if came.size > MOST_FOR_VIOLIN:  # evenly spaced quantiles: the same shape
        places = (numpy.arange(MOST_FOR_VIOLIN) + 0.5) / MOST_FOR_VIOLIN * came.size
        drawn = numpy.sort(came)[places.astype(int)]
    scale = numpy.log10(numpy.maximum(drawn, 1e-3)) if log else drawn
    if not numpy.ptp(scale) > 0:
        _draw_box(axis, at, width, values, look, edge)
        return
    # The density is drawn only between the lowest and the highest value.
    spots = numpy.linspace(scale.min(), scale.max(), 120)
    density = GaussianKDE(scale)(spots)
    half = density / density.max() * width * 0.45
    heights = 10**spots if log else spots
    axis.fill_betweenx(heights, at - half, at + half, facecolor=look.colour, alpha=0.85,
                       edgecolor=look.colour, hatch=look.hatch, linewidth=0.6)
    first, median, third = (min(of_any(values, percent), edge) for percent in (25, 50, 75))
    axis.plot([at, at], [first, third], color="black", linewidth=2, label="_quartiles")
    axis.plot([at], [median], marker="o", color="white", markersize=3, label="_median",
              markeredgecolor="black", markeredgewidth=0.6)

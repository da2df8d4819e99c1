# SPDX-License-Identifier: GPL-3.0-or-later
"""Distributions side by side: groups along an axis, and in each a box or violin per queue.

Drawing alone, on numbers; who calls says what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from flent_aqm.results.data_file import Numbers
from flent_aqm.show.looks import DASH, MISSING, QUIET, Look

# Fewer values than this are drawn as they are: quartiles of four would look like knowledge.
FEWEST_FOR_BOX = 5
WHISKERS_PCT = (5, 95)
# So many points a violin is computed from: all in what the eye sees of its shape.
MOST_FOR_VIOLIN = 2000


@dataclass(frozen=True)
class Side:
    """One of the things that stand side by side in each place of the axis."""

    label: str
    look: Look


def draw_side_by_side(
    axis: Any, places: Sequence[str], sides: Sequence[Side],
    values: Mapping[tuple[int, int], Numbers], kind: str = "box", log: bool = False,
) -> list[Any]:
    """Draw values[place, side]; gives a legend handle for each side: a mark where some cells
    are points, else a patch.

    kind: "box" (quartiles, whiskers at p5 and p95, a mark at p99 of 1,000 values or more),
    or "violin". Cells with no values get a grey stripe, if others of their place have some.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    width = 0.86 / len(sides)
    points = False
    if log:
        axis.set_yscale("log")
    for number, side in enumerate(sides):
        for place in range(len(places)):
            at = place + (number - (len(sides) - 1) / 2) * width
            found = values.get((place, number), numpy.empty(0))
            if not found.size:
                axis.axvspan(at - width / 2, at + width / 2, color=MISSING, linewidth=0, zorder=0)
                axis.annotate(DASH, (at, 0.02), xycoords=axis.get_xaxis_transform(), ha="center",
                              fontsize="x-small", color=QUIET, label="missing")
            elif found.size < FEWEST_FOR_BOX:
                points = True
                _points(axis, at, found, side.look)
            elif kind == "violin" and numpy.ptp(found) > 0:
                _violin(axis, at, width, found, side.look, log)
            else:
                _box(axis, at, width, found, side.look)
    axis.set_xticks(range(len(places)), places)
    axis.set_xlim(-0.5, len(places) - 0.5)
    axis.tick_params(axis="x", length=0)
    axis.grid(visible=False, axis="x")
    for border in range(1, len(places)):
        axis.axvline(border - 0.5, color=QUIET, linewidth=0.4, alpha=0.4, label="_border")
    if points:  # by which a grey print tells them apart
        return [Line2D([], [], linestyle="none", marker=side.look.marker, markersize=8,
                       color=side.look.colour, label=side.label) for side in sides]
    return [Patch(facecolor=side.look.colour, hatch=side.look.hatch, edgecolor="white",
                  label=side.label) for side in sides]


def _points(axis: Any, at: float, found: Numbers, look: Look) -> None:
    axis.plot(numpy.full(found.size, at), found, linestyle="none", marker=look.marker,
              color=look.colour, markersize=6, markeredgecolor="white", markeredgewidth=0.4,
              label="_values")


def _box(axis: Any, at: float, width: float, found: Numbers, look: Look) -> None:
    low, first, median, third, high = numpy.percentile(
        found, (WHISKERS_PCT[0], 25, 50, 75, WHISKERS_PCT[1]))
    box = {"med": median, "q1": first, "q3": third, "whislo": low, "whishi": high, "fliers": []}
    axis.bxp([box], positions=[at], widths=width * 0.8, showfliers=False, patch_artist=True,
             manage_ticks=False,
             boxprops={"facecolor": look.colour, "edgecolor": look.colour, "hatch": look.hatch,
                       "alpha": 0.85},
             medianprops={"color": "black", "linewidth": 1.4},
             whiskerprops={"color": look.colour}, capprops={"color": look.colour})
    if found.size >= 1000:
        axis.plot([at], [numpy.percentile(found, 99)], marker="_", color="black", markersize=4,
                  linestyle="none", label="_p99")
    elif found.size <= 30:
        axis.plot(numpy.full(found.size, at), found, ".", color="black", markersize=2.5,
                  label="_values", zorder=3)


def _violin(axis: Any, at: float, width: float, found: Numbers, look: Look, log: bool) -> None:
    from matplotlib.mlab import GaussianKDE

    chosen = found
    if found.size > MOST_FOR_VIOLIN:  # evenly spaced quantiles: the same shape
        places = (numpy.arange(MOST_FOR_VIOLIN) + 0.5) / MOST_FOR_VIOLIN * found.size
        chosen = numpy.sort(found)[places.astype(int)]
    scale = numpy.log10(numpy.maximum(chosen, 1e-3)) if log else chosen
    if not numpy.ptp(scale) > 0:
        _box(axis, at, width, found, look)
        return
    # Within the values: there are no latencies below the least that was seen.
    spots = numpy.linspace(scale.min(), scale.max(), 120)
    density = GaussianKDE(scale)(spots)
    half = density / density.max() * width * 0.45
    heights = 10**spots if log else spots
    axis.fill_betweenx(heights, at - half, at + half, facecolor=look.colour, alpha=0.85,
                       edgecolor=look.colour, hatch=look.hatch, linewidth=0.6)
    first, median, third = numpy.percentile(found, (25, 50, 75))
    axis.plot([at, at], [first, third], color="black", linewidth=2, label="_quartiles")
    axis.plot([at], [median], marker="o", color="white", markersize=3, label="_median",
              markeredgecolor="black", markeredgewidth=0.6)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Throughput and loaded latency of many runs, grouped by what was varied.

Side by side stand the queues, along the axis all else in which the runs differ (the rate
first). --override-group-by "first,second" names two settings instead, any that the runs know:
then the rest is pooled, and the caption says so. A lost probe is slower than any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.grouping import RATE, setting
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.grouping import Value, axes_of, key_of, sorted_keys, sorted_values, word
from flent_aqm.show.looks import looks_for
from flent_aqm.show.plots.axes import from_zero, name_latency_axis
from flent_aqm.show.plots.chart import ChartPlotter, about
from flent_aqm.show.plots.distributions import Side, draw_side_by_side
from flent_aqm.show.plots.idle_loaded import ecdf
from flent_aqm.show.plots.values import QUANTITIES, directions, values

# More places than this along an axis have no room for their labels.
MOST_PLACES = 20


class ComparePlotter(ChartPlotter):
    """What the two sorts below share."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        ways = directions(runs)
        if not ways:
            raise NotAvailable("none of the runs loads the link")
        self.quantity = QUANTITIES[self.config.get("quantity", "latency")]
        self.counted = 0
        self._draw(runs, ways)
        if not self.counted:
            raise NotAvailable(f"none of the runs has a {self.quantity.label}")
        self.note(about(runs, self.counted, self.quantity.what))

    def _draw(self, runs: Sequence[Run], ways: Sequence[str]) -> None:
        raise NotImplementedError


class AqmCompareSidesPlotter(ComparePlotter):
    """Boxes or violins, by the key `kind`; a row for each direction."""

    def _draw(self, runs: Sequence[Run], ways: Sequence[str]) -> None:
        along, beside = axes_of(runs, self.group_names(runs))
        places = self.first(sorted_keys(runs, along), MOST_PLACES)
        sides_are = sorted_values(beside, [setting(run.settings, beside) for run in runs])
        looks = looks_for([word(beside, value) for value in sides_are])
        sides = [Side(word(beside, value), looks[word(beside, value)]) for value in sides_are]
        axes = self.grid(len(ways), 1, sharex=True, sharey=True)
        for axis, way in zip(axes, ways, strict=True):
            cells = {}
            for place, key in enumerate(places):
                for number, side in enumerate(sides_are):
                    members = [run for run in runs if key_of(run, along) == key
                               and setting(run.settings, beside) == side]
                    cells[place, number] = values(self.quantity, members, way)
            self.counted += sum(found.size for found in cells.values())
            self.note_lost(way, numpy.concatenate(list(cells.values())))
            self.handles = draw_side_by_side(
                axis, short_labels(along, places), sides, cells,
                self.config.get("kind", "box"), self.quantity.log)
            axis.set_ylabel(f"{way}\n{'RTT ' * self.quantity.log}({self.quantity.unit})")
            if self.quantity.log:
                name_latency_axis(axis, "y")
        if not self.quantity.log:
            from_zero(axes)
        axes[-1].set_xlabel(axis_label(along))
        self.note("from left to right as above")
        self.note("box: quartiles; whiskers: p5, p95; dash: p99"
                  if self.config.get("kind", "box") == "box" else "bar: quartiles; dot: median")
        self.note_pooled(runs, (*along, beside))


class AqmCompareEcdfPlotter(ComparePlotter):
    """A line for each group; a panel for each direction."""

    def _draw(self, runs: Sequence[Run], ways: Sequence[str]) -> None:
        found = self.groups_of(runs, together=True)
        axes = self.grid(1, len(ways), sharey=True, sharex=True)
        for axis, way in zip(axes, ways, strict=True):
            drawn = []
            # Each thinner than the one below: equal ones lie on top of each other.
            widths = numpy.linspace(3, 1.5, len(found))
            for group, width in zip(found, widths, strict=True):
                at = numpy.sort(values(self.quantity, group.runs, way))
                if not at.size:
                    continue
                self.counted += at.size
                self.note_lost(f"{group.label}, {way}", at)
                drawn += axis.plot(*ecdf(at), drawstyle="steps-post", color=group.look.colour,
                                   linestyle=group.look.line, linewidth=width, label=group.label)
            self.handles = max(self.handles, drawn, key=len)
            axis.set_title(way, fontsize="medium")
            if self.quantity.log:
                axis.set_xscale("log")
                name_latency_axis(axis)
            label = self.quantity.label if len(ways) == 1 else self.quantity.short
            axis.set_xlabel(f"{label} ({self.quantity.unit})")
            axis.set_ylim(0, 1.02)
        if not self.quantity.log:
            from_zero(axes, "x")
        axes[0].set_ylabel("share of probes" if self.quantity.unit == "ms" else "share of runs")


def axis_label(along: Sequence[str]) -> str:
    """Return what stands below an axis of places: the names of their settings."""
    return ", ".join({RATE: "link rate (Mbit/s)"}.get(name, name.replace("_", " "))
                     for name in along)


def short_labels(along: Sequence[str], places: Sequence[Sequence[Value | None]]) -> list[str]:
    """Return the places of an axis: a line for each of their settings."""
    return ["\n".join(word(name, value).removesuffix(" Mbit/s")
                      for name, value in zip(along, key, strict=True)) for key in places]

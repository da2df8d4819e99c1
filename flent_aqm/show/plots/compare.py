# SPDX-License-Identifier: GPL-3.0-or-later
"""Throughput and loaded latency of many runs, grouped by what was varied.

Along the axis stands what the runs differ in first (the rate, if that), side by side the
queues. --override-group-by "first,second" names others: any setting that the runs know.
The rest is pooled, and the caption says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.grouping import AQM, RATE, Value, factors, groups, sorted_values, word
from flent_aqm.show.looks import looks_for
from flent_aqm.show.plots.chart import ChartPlotter, about
from flent_aqm.show.plots.distributions import Side, draw_side_by_side
from flent_aqm.show.plots.idle_loaded import ecdf
from flent_aqm.show.plots.tail import name_latency_axis
from flent_aqm.show.plots.values import QUANTITIES, directions, values

# In this order settings are chosen for the axis.
ALONG = (RATE, "burst_shaping", "cross_traffic", "test", "base_delay_ms", "router_model")


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

    def pool_note(self, runs: Sequence[Run], used: Sequence[str]) -> None:
        """Say which differences are not shown."""
        rest = [name for name in factors(runs) if name not in used]
        if rest:
            self.note(f"pooled over {', '.join(rest)}")


class AqmCompareSidesPlotter(ComparePlotter):
    """Boxes or violins, by the key `kind`; a row for each direction."""

    def _draw(self, runs: Sequence[Run], ways: Sequence[str]) -> None:
        along, beside = axis_names(runs, self.group_names(runs))
        places = sorted_values(along, [run.settings.get(along) for run in runs])
        sides_are = sorted_values(beside, [run.settings.get(beside) for run in runs])
        looks = looks_for([word(beside, value) for value in sides_are])
        sides = [Side(word(beside, value), looks[word(beside, value)]) for value in sides_are]
        axes = self.grid(len(ways), 1, sharex=True, sharey=True)
        for axis, way in zip(axes, ways, strict=True):
            cells = {}
            for place, value in enumerate(places):
                for number, side in enumerate(sides_are):
                    members = [run for run in runs if run.settings.get(along) == value
                               and run.settings.get(beside) == side]
                    cells[place, number] = values(self.quantity, members, way)
            self.counted += sum(found.size for found in cells.values())
            self.handles = draw_side_by_side(
                axis, _short([word(along, value) for value in places]), sides, cells,
                self.config.get("kind", "box"), self.quantity.log)
            axis.set_ylabel(f"{way}\n{'RTT ' * self.quantity.log}({self.quantity.unit})")
            if self.quantity.log:
                name_latency_axis(axis, "y")
            else:
                axis.set_ylim(bottom=0)
        axes[-1].set_xlabel({RATE: "link rate (Mbit/s)"}.get(along, along.replace("_", " ")))
        self.note("from left to right as above")
        self.note("box: quartiles; whiskers: p5, p95; dash: p99"
                  if self.config.get("kind", "box") == "box" else "bar: quartiles; dot: median")
        self.pool_note(runs, (along, beside))


class AqmCompareEcdfPlotter(ComparePlotter):
    """A line for each group; a panel for each direction."""

    def _draw(self, runs: Sequence[Run], ways: Sequence[str]) -> None:
        names = self.group_names(runs) or ([AQM] if AQM in factors(runs) else factors(runs)[:1])
        found = groups(runs, names)
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
                drawn += axis.plot(*ecdf(at), drawstyle="steps-post", color=group.look.colour,
                                   linestyle=group.look.line, linewidth=width, label=group.label)
            self.handles = max(self.handles, drawn, key=len)
            axis.set_title(way, fontsize="medium")
            if self.quantity.log:
                axis.set_xscale("log")
                name_latency_axis(axis)
            else:
                axis.set_xlim(left=0)
            axis.set_xlabel(f"{self.quantity.label} ({self.quantity.unit})")
            axis.set_ylim(0, 1.02)
        axes[0].set_ylabel("share of probes" if self.quantity.unit == "ms" else "share of runs")
        self.pool_note(runs, names)


def axis_names(runs: Sequence[Run], wanted: Sequence[str]) -> tuple[str, str]:
    """The settings along the axis and side by side."""
    differing = factors(runs)
    if wanted:
        along = wanted[0]
        rest = [*wanted[1:], AQM, *differing]
    else:
        along = next((name for name in ALONG if name in differing),
                     RATE if any(RATE in run.settings for run in runs) else "test")
        rest = [AQM, *differing]
    beside = next((name for name in rest if name != along and name in differing), "")
    if not beside:
        beside = AQM if along != AQM and any(AQM in run.settings for run in runs) else "test"
    return along, beside


def _short(labels: Sequence[str]) -> list[str]:
    return [label.removesuffix(" Mbit/s") for label in labels]


def cell_runs(runs: Sequence[Run], **settings: Value) -> list[Run]:
    """The runs that have these settings."""
    return [run for run in runs
            if all(run.settings.get(name) == value for name, value in settings.items())]

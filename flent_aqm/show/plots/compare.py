# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare throughput and latency under load of many runs, grouped by their settings.

A lost probe is slower than any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.plots.axes import from_zero, name_latency_axis
from flent_aqm.show.plots.chart import ChartPlotter, about, probes_of
from flent_aqm.show.plots.distributions import FEWEST_FOR_BOX, draw_side_by_side
from flent_aqm.show.plots.places import axis_label, condition_grid, fit_labels, short_labels
from flent_aqm.show.plots.values import (
    QUANTITIES,
    directions,
    values,
    why_no_direction,
    why_no_value,
)

# Directions whose largest throughputs differ by a larger factor, as on an asymmetric line, don't
# share a scale: in the slower one nothing could be told apart.
MOST_APART = 3


class ComparePlotter(ChartPlotter):
    """Base class of boxes, violins and distributions. The plot's key `quantity` is "latency" or
    "throughput". draw() raises NotAvailable if no run has values.

    Attributes:
        quantity: what is drawn, see QUANTITIES. Set by draw() before _draw().
        counted: number of samples that _draw() has drawn.
    """

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        ways = directions(runs)
        if not ways:
            raise NotAvailable(why_no_direction(runs))
        self.quantity = QUANTITIES[self.config.get("quantity", "latency")]
        self.counted = 0
        self._draw(runs, ways)
        if not self.counted:
            which = "the run has no" if len(runs) == 1 else "none of the runs to draw has a"
            raise NotAvailable(f"{which} {self.quantity.label}: "
                               f"{why_no_value(self.quantity, runs)}")
        self.note(about(runs, self.counted, self.quantity.what,
                        probes_of(runs) if self.quantity.unit == "ms" else ()))

    def shares_scale(self, runs: Sequence[Run], ways: Sequence[str]) -> bool:
        """Return whether the panels of all directions have one scale: those of latency, and those
        of throughput unless the largest values of two directions differ by more than a factor of
        MOST_APART (3). Otherwise say so in the caption.

        Args:
            runs: the runs.
            ways: directions that the tests load, "download", "upload" or both.
        """
        if self.quantity.log:
            return True
        highest = [found.max() for way in ways if (found := values(self.quantity, runs, way)).size]
        shared = max(highest, default=0.0) <= MOST_APART * min(highest, default=0.0)
        if not shared:
            self.note("a scale for each direction")
        return shared

    def begin_at_zero(self, axes: Sequence[Any], which: str, *, shared: bool) -> None:
        """Let the scales of a throughput begin at zero. Latency has a logarithmic one.

        Args:
            axes: the panels.
            which: axis of the values, "x" or "y".
            shared: whether all panels have one scale, see shares_scale().
        """
        if not self.quantity.log:
            for panels in [axes] if shared else [[axis] for axis in axes]:
                from_zero(panels, which)

    def _draw(self, runs: Sequence[Run], ways: Sequence[str]) -> None:
        """Draw self.quantity of the runs for each direction, and add the number of samples to
        self.counted. To be implemented by subclasses.

        Args:
            runs: the runs.
            ways: directions that the tests load, "download", "upload" or both.
        """
        raise NotImplementedError


class AqmCompareSidesPlotter(ComparePlotter):
    """Boxes or violins (the plot's key `kind` is "box" or "violin") for each condition and value of
    the compared setting, see condition_grid(), with a panel for each direction, one below the
    other."""

    def _draw(self, runs: Sequence[Run], ways: Sequence[str]) -> None:
        conditions = condition_grid(self, runs)
        kind = self.config.get("kind", "box")
        shared = self.shares_scale(runs, ways)
        axes = self.grid(len(ways), 1, sharex=True, sharey=shared)
        sizes: list[int] = []
        for axis, direction in zip(axes, ways, strict=True):
            cells = {at: values(self.quantity, members, direction)
                     for at, members in conditions.runs.items()}
            sizes += [cell.size for cell in cells.values() if cell.size]
            self.note_lost(direction, numpy.concatenate(list(cells.values())))
            self.handles = draw_side_by_side(
                axis, short_labels(conditions.along, conditions.keys), conditions.compared, cells,
                kind, self.quantity.log)
            axis.set_ylabel(f"{direction}\n{'RTT ' * self.quantity.log}({self.quantity.unit})")
            if self.quantity.log:
                name_latency_axis(axis, "y")
        self.counted += sum(sizes)
        self.begin_at_zero(axes, "y", shared=shared)
        axes[-1].set_xlabel(axis_label(conditions.along))
        fit_labels(self, axes[-1])
        self.note("from left to right as above")
        if max(sizes, default=0) >= FEWEST_FOR_BOX:
            self.note("box: quartiles; whiskers: p5, p95; dash: p99" if kind == "box"
                      else "bar: quartiles; dot: median")
        if min(sizes, default=FEWEST_FOR_BOX) < FEWEST_FOR_BOX:
            self.note("a mark a value where there are few")
        self.note_pooled(runs, conditions.used)

# SPDX-License-Identifier: GPL-3.0-or-later
"""When probes were lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.plots.axes import from_zero, shade_load, start_s
from flent_aqm.show.plots.chart import MOST_LINES, ChartPlotter, about


class AqmLossesPlotter(ChartPlotter):
    """A line for each group of runs: lost probes of each second, all of its runs together."""

    def draw(self, runs: Sequence[Run], results: Sequence[Any]) -> None:
        measured = [run for run in runs if run.probes]
        if not measured:
            raise NotAvailable("none of the runs has a latency series")
        axis, = self.grid()
        for group in self.groups_of(measured, MOST_LINES):
            at_s = numpy.concatenate([run.probe.sent_s[run.probe.lost] - start_s(run)
                                      for run in group.runs])
            lasts_s = max(float(run.probe.sent_s[-1]) - start_s(run) for run in group.runs)
            counts, edges = numpy.histogram(at_s, numpy.arange(0, lasts_s + 1))
            self.handles += axis.plot(edges[:-1], counts, color=group.look.colour,
                                      linestyle=group.look.line, drawstyle="steps-post",
                                      label=group.label)
        shade_load(axis, measured)
        from_zero([axis])
        axis.set_xlabel("time (s)")
        axis.set_ylabel("lost probes in a second")
        self.note(about(measured))

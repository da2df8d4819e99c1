# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw figures 7 to 9: captured upload throughput over time, with a panel for each queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.words import counted
from flent_aqm.results.grouping import AQM, RATE
from flent_aqm.show.figures.gather import FigureRow
from flent_aqm.show.figures.numbers import Table, deviation
from flent_aqm.show.figures.study import Figure, Grid, nearest
from flent_aqm.show.looks import DASH, QUIET, looks_for
from flent_aqm.show.row import Curve

WAY = "upload"


def draw(figure: Figure, rows: Sequence[FigureRow], grid: Grid, canvas: Any, title: str
         ) -> tuple[Table, list[str]]:
    """Draw one of figures 7 to 9 at the rates of the grid that are nearest to the figure's. Return
    its values, with a row for each step of each run, and the parts of its caption. Runs without
    captured upload are left out.

    Args:
        figure: the row of FIGURES.
        rows: runs of the figure.
        grid: rates and queues that all figures share.
        canvas: matplotlib figure to draw on.
        title: title of the figure, "" for none.
    """
    rates = list(dict.fromkeys(nearest(grid.rates_mbps, rate) for rate in figure.rates_mbps))
    table = Table([RATE, AQM, "file", "time_s", "throughput_mbps"])
    looks = looks_for(grid.aqms)
    repeated = False
    panels = canvas.subplots(len(grid.aqms), len(rates), sharex=True, sharey="col", squeeze=False)
    for column, rate in enumerate(rates):
        for panel, aqm in zip(panels[:, column], grid.aqms, strict=True):
            members = [row for row in rows
                       if row.has(rate_mbps=rate, aqm=aqm) and WAY in row.curves]
            table.runs += len(members)
            repeated |= len(members) > 1
            for row in members:
                curve = row.curves[WAY]
                table.rows += [[rate, aqm, row.path.name, float(at), float(mbps)]
                               for at, mbps in zip(curve.at_s, curve.mbps, strict=True)]
            _draw_panel(panel, [row.curves[WAY] for row in members], looks[aqm])
            if not members:
                table.missing.append(f"{rate:g} Mbit/s, {aqm}")
            panel.set_ylim(0, rate * 1.15)
            if column == 0:
                panel.set_ylabel(f"{aqm}\n(Mbit/s)")
        panels[0, column].set_title(f"{rate:g} Mbit/s", fontsize="medium")
        panels[-1, column].set_xlabel("time since the upload's start (s)")
    canvas.suptitle(title, fontsize="large")
    return table, [f"{counted(table.runs, 'run')}; TCP payload per 100 ms in captured headers",
                   *(["thin: each run; bold: their median"] if repeated else [])]


def _draw_panel(panel: Any, curves: Sequence[Curve], look: Any) -> None:
    """Draw the curves of one queue at one rate, and of several also their median, up to the end of
    the shortest. Write the mean and the standard deviation of all steps but the first five of each
    curve, unless fewer than two steps are left. Without curves, "no run" is written.

    Args:
        panel: matplotlib axes.
        curves: a curve of each run.
        look: look of the queue.
    """
    panel.grid(visible=True, alpha=0.3)
    if not curves:
        panel.text(0.5, 0.5, f"{DASH} no run {DASH}", ha="center", va="center", color=QUIET,
                   transform=panel.transAxes, label="missing")
        return
    alone = len(curves) == 1
    for curve in curves:
        panel.plot(curve.at_s, curve.mbps, color=look.colour, linewidth=1.3 if alone else 0.5,
                   alpha=1 if alone else 0.5, drawstyle="steps-pre")
    if not alone:
        shortest = min(curve.mbps.size for curve in curves)
        middle = numpy.median([curve.mbps[:shortest] for curve in curves], axis=0)
        panel.plot(curves[0].at_s[:shortest], middle, color=look.colour, linewidth=1.8)
    # The figure is about the standard deviation over time. It is printed for all runs together.
    values = numpy.concatenate([curve.mbps[5:] for curve in curves])
    if values.size < 2:
        return
    panel.annotate(f"mean {values.mean():.0f}, sd {deviation(values):.1f}", (0.99, 0.05),
                   xycoords="axes fraction", ha="right", fontsize="small", color=QUIET)

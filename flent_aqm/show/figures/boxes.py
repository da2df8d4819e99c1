# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw figures 1 to 6: distributions for each queue and rate, with a panel for each direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.words import counted, significant
from flent_aqm.results.grouping import AQM, RATE
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.throughput import PAYLOAD_SHARE
from flent_aqm.show.figures.gather import FigureRow
from flent_aqm.show.figures.numbers import QUANTILES, Table, quantiles
from flent_aqm.show.figures.study import Figure, Grid
from flent_aqm.show.looks import QUIET, in_rows, legend_columns, looks_for, style_key
from flent_aqm.show.plots.axes import from_zero, name_latency_axis
from flent_aqm.show.plots.distributions import FEWEST_FOR_BOX, ComparedValue, draw_side_by_side
from flent_aqm.show.plots.latency import LEAST_MS
from flent_aqm.show.plots.paper import PAPER_INCHES
from flent_aqm.show.row import Floats

STATISTICS = [*QUANTILES, "mean", "sd"]


def draw(figure: Figure, rows: Sequence[FigureRow], grid: Grid, canvas: Any, title: str
         ) -> tuple[Table, list[str]]:
    """Draw one of figures 1 to 6: a distribution of the runs' throughputs, or of the latencies of
    all their probes under load, for each rate and queue of the grid. There is a panel for each
    direction in which a run has a throughput or probes, whichever of them is drawn, and for both
    directions if there is none.

    Return its values, with a row for each distribution that has values, and the parts of its
    caption. The other distributions are listed in the table's `missing`.

    Args:
        figure: the row of FIGURES.
        rows: runs of the figure, each with a rate and queue of the grid.
        grid: rates and queues that all figures share.
        canvas: matplotlib figure to draw on.
        title: title of the figure, "" for none.
    """
    ways = [direction for direction in DIRECTIONS
            if any(direction in row.mbps or direction in row.loaded_ms for row in rows)] \
        or list(DIRECTIONS)
    latency = figure.kind == "latency"
    table = Table(["direction", RATE, AQM, "runs", "values", *(["lost"] if latency else []), *(
        f"{name}_{'ms' if latency else 'mbps'}" for name in STATISTICS),
        *(["tool_latency_median_ms"] if latency else [])], runs=len(rows))
    looks = looks_for(grid.aqms)
    sides = [ComparedValue(aqm, looks[aqm]) for aqm in grid.aqms]
    axes = canvas.subplots(len(ways), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    handles: list[Any] = []
    narrow = canvas.get_figwidth() < PAPER_INCHES
    for axis, direction in zip(axes, ways, strict=True):
        cells: dict[tuple[int, int], Any] = {}
        for place, rate in enumerate(grid.rates_mbps):
            for number, aqm in enumerate(grid.aqms):
                members = [row for row in rows if row.has(rate_mbps=rate, aqm=aqm)]
                cell = _cell_values(members, direction, latency)
                cells[place, number] = cell
                own = [row.own_latency_ms[direction] for row in members
                       if direction in row.own_latency_ms]
                if cell.size:
                    table.rows.append([direction, rate, aqm, len(members), cell.size,
                                       *([int(numpy.isinf(cell).sum())] if latency else []),
                                       *quantiles(cell), *(_median_cell(own) if latency else [])])
                else:
                    table.missing.append(f"{direction}, {rate:g} Mbit/s, {aqm}")
                if latency and own:
                    at = place + (number - (len(sides) - 1) / 2) * 0.86 / len(sides)
                    axis.plot([at], [max(LEAST_MS, float(numpy.median(own)))], "d",
                              color="white", markeredgecolor="black", markersize=3.5, zorder=4)
        handles = draw_side_by_side(axis, [f"{rate:g}" for rate in grid.rates_mbps], sides,
                                    cells, log=latency)
        if latency:
            name_latency_axis(axis, "y")
            axis.set_ylabel(f"{direction}\nRTT (ms)" if narrow else f"RTT in {direction} (ms)")
        else:
            _draw_ideal_throughput(axis, grid)
            axis.set_ylabel(f"{direction}\n(Mbit/s)" if narrow else f"{direction} (Mbit/s)")
        axis.set_axisbelow(True)
        axis.grid(visible=True, axis="y", alpha=0.3)
    if not latency:
        from_zero(axes)
    axes[-1].set_xlabel("link rate (Mbit/s)")
    if latency:
        handles.append(style_key("the tool's own: TCP's smallest RTT", linestyle="none",
                                 marker="d", markerfacecolor="white", markeredgecolor="black"))
    else:
        handles.append(style_key("what TCP can carry at that rate", linewidth=1,
                                 linestyle=(0, (4, 2))))
    columns = legend_columns([handle.get_label() for handle in handles], canvas.get_figwidth())
    canvas.legend(handles=in_rows(handles, columns), loc="outside upper center", frameon=False,
                  title=title, ncols=columns,
                  title_fontsize="large", handlelength=2.4)
    values = sum(int(str(row[4])) for row in table.rows)
    lost = sum(int(str(row[5])) for row in table.rows) if latency else 0
    most = max((int(str(row[3])) for row in table.rows), default=0)
    return table, [
        f"{counted(len(rows), 'run')}, up to {most} a cell", f"{values:,} "
        + (f"probes{_spacing_text(rows)}" if latency else "results of the tool"),
        *([f"{lost:,} of the probes were lost: slower than any, at the upper edge"]
          if lost else []),
        "box: quartiles; whiskers: 5th and 95th percentile" + ("; dash: 99th" if latency else
        f"; fewer than {FEWEST_FOR_BOX} values are shown as points"),
        "from left to right as above", "grey stripe with a dash: no run"]


def _spacing_text(rows: Sequence[FigureRow]) -> str:
    """Return the median time between two successive probes as the end of a text, with two
    significant digits: ", every 10 ms", or ", every 10 to 200 ms" if the rounded times of runs
    differ. "" if no run with probes under load has a known one."""
    texts = list(dict.fromkeys(significant(spacing_ms, 2) for spacing_ms in sorted(
        row.spacing_ms for row in rows if row.loaded_ms and numpy.isfinite(row.spacing_ms))))
    if not texts:
        return ""
    return f", every {texts[0]}" + (f" to {texts[-1]}" if len(texts) > 1 else "") + " ms"


def _cell_values(members: Sequence[FigureRow], direction: str, latency: bool) -> Floats:
    """Return the values of a cell's runs in a direction as one array: RTTs of all probes under its
    load in ms, infinite if lost, or each run's throughput in Mbit/s. Runs without values are left
    out. Empty if no run has any.

    Args:
        members: runs of the cell.
        direction: "download" or "upload".
        latency: return RTTs, and not throughput.
    """
    if latency:
        values = [row.loaded_ms[direction] for row in members if direction in row.loaded_ms]
        return numpy.concatenate(values) if values else numpy.empty(0, numpy.float32)
    return numpy.array([row.mbps[direction] for row in members if direction in row.mbps],
                       numpy.float32)


def _median_cell(own: Sequence[float]) -> list[float | str]:
    """Return a list of one table cell: the median of the runs' own_latency_ms in a direction, ""
    without any.

    own: the latencies in ms, one for each run that has one.
    """
    return [float(numpy.median(own)) if own else ""]


def _draw_ideal_throughput(axis: Any, grid: Grid) -> None:
    """Draw dashed lines at the throughput that TCP can carry at each rate."""
    for place, rate in enumerate(grid.rates_mbps):
        axis.plot([place - 0.46, place + 0.46], [rate * PAYLOAD_SHARE] * 2, color=QUIET,
                  linewidth=1, linestyle=(0, (4, 2)), zorder=1)

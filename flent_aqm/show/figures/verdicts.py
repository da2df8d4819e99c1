# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw figure 10: results of speed tests and scores on the same link, for each queue.

A cell is the darker the worse it is than the best of its row. A row of one shade is a test that
sees no difference between the queues.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from flent_aqm.base.words import counted
from flent_aqm.results.grouping import AQM
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import (
    LOST,
    METRICS,
    Metric,
    Unavailable,
    middle,
    ranked,
)
from flent_aqm.show.figures.gather import FigureRow
from flent_aqm.show.figures.numbers import Table
from flent_aqm.show.figures.study import Figure, Grid
from flent_aqm.show.looks import DASH, MISSING, QUIET
from flent_aqm.show.plots.paper import PAPER_INCHES
from flent_aqm.tools.tool import HIGHER

# Rows of the figure: label, test ("" for the test of the other figures), metric.
VERDICTS = (
    ("NDT7, download", "", "ndt7_throughput_download_mbps"),
    ("NDT7, upload", "", "ndt7_throughput_upload_mbps"),
    ("iperf3, upload", "iperf3_upload", "throughput_upload_mbps"),
    ("NDT7's latency in upload (MinRTT)", "", "ndt7_latency_upload_ms"),
    ("Ookla-style latency in upload (IQM)", "", "ookla_style_iqm_upload_ms"),
    ("Cloudflare's latency in upload", "", "aim_loaded_latency_upload_ms"),
    ("AIM, streaming", "", "aim_streaming"),
    ("AIM, gaming", "", "aim_gaming"),
    ("AIM, calls", "", "aim_rtc"),
    ("RPM by the IETF's draft (estimate)", "", "rpm_ietf_estimate"),
    ("RPM by goresponsiveness (estimate)", "", "rpm_goresponsiveness_estimate"),
    ("DSLReports' grade", "", "dslreports_rise_ms"),
    ("LibreQoS' grade", "", "libreqos_rise_ms"),
    ("QoO, by p99 alone", "", "qoo_p99"),
    ("median under load", "", "latency_loaded_median_ms"),
    ("99th percentile under load", "", "latency_loaded_p99_ms"),
    ("99.9th percentile under load", "", "latency_loaded_p99_9_ms"),
    ("slowest probe under load", "", "latency_loaded_max_ms"),
    ("glitches of 30 ms", "", "glitches_per_minute_30ms"),
    ("glitches of 100 ms", "", "glitches_per_minute_100ms"),
)
# Caveat on the estimates from docs/reference/metrics.md.
RPM_CAVEAT = ("RPM: estimates of the run's own samples; live tests said half to two thirds of "
              "them, less where senders buffer")
# A cell that is so many times worse than the best of its row has the darkest shade.
DARKEST_FACTOR = 100.0
# Smaller values count as these, in the metric's unit, so that differences below them don't count.
_LEAST = {"ms": 1.0, "1/min": 1.0, "points": 1.0, "%": 0.1}


def draw(figure: Figure, rows: Sequence[FigureRow], grid: Grid, canvas: Any, title: str,
         rate_mbps: float, test: str) -> tuple[Table, list[str]]:
    """Draw the figure, and return its values, with a row for each verdict of VERDICTS and queue,
    also without a run or value, and the parts of its caption.

    The data files of the runs that are drawn are read again, because all of their probes are
    needed. Raises BadResult if one can't be read.

    Args:
        figure: the row of FIGURES.
        rows: runs of all tests and rates, each with a queue of the grid. Drawn are those with the
            figure's burst shaping and cross traffic.
        grid: queues of all figures.
        canvas: matplotlib figure to draw on.
        title: title of the figure, "" for none.
        rate_mbps: draw the runs at this rate.
        test: name of the test for the rows of VERDICTS that name none.
    """
    table = Table(["verdict", "metric", "test", AQM, "runs", "value", "unit", "in_words",
                   "not_available_because"])
    selected = [row for row in rows if row.has(
        rate_mbps=rate_mbps, burst_shaping=figure.burst, cross_traffic=figure.cross)]
    tests = {test_of or test for _, test_of, _ in VERDICTS}
    runs = {row.path: load_run(row.path) for row in selected if row.settings["test"] in tests}
    shades = numpy.full((len(VERDICTS), len(grid.aqms)), numpy.nan)
    texts = {}
    for line, (label, test_of, name) in enumerate(VERDICTS):
        metric = METRICS[name]
        values = []
        for place, aqm in enumerate(grid.aqms):
            members = [runs[row.path] for row in selected
                       if row.has(aqm=aqm, test=test_of or test)]
            value, because = _median_or_reason(metric, members)
            values.append(value)
            text = (DASH if value is None else LOST if math.isinf(value)
                    else metric.text_with_unit(value))
            texts[line, place] = text
            table.rows.append([label, name, test_of or test, aqm, len(members),
                               "" if value is None else value, metric.unit,
                               text if metric.word and text != DASH else "", because])
            if not members:
                table.missing.append(f"{label}, {aqm}")
        shades[line] = shade(metric, values)
    table.runs = len(runs)
    _draw_cells(canvas, grid, shades, texts)
    canvas.suptitle(title, fontsize="large")
    return table, [
        f"{counted(table.runs, 'run')} at {rate_mbps:g} Mbit/s, {figure.conditions}",
        "medians over a cell's runs",
        RPM_CAVEAT,
        "the darker, the worse than the best of its row, on a logarithmic scale",
        f"{DASH}: no run, or too few samples to know it"]


def shade(metric: Metric, values: Sequence[float | None]) -> list[float]:
    """Return the shade of each cell in a row: 0 for the best, 1 for DARKEST_FACTOR times worse or
    more, and for a lost probe, NaN for a missing value. It is logarithmic. Values below that of
    _LEAST for the metric's unit count as this.

    Args:
        metric: the metric of the row.
        values: value of each cell, infinite for a lost probe, None for a missing one.
    """
    present = [value for value in values if value is not None]
    if not present:
        return [math.nan] * len(values)
    least = _LEAST.get(metric.unit, 1e-9)
    better_first = sorted(present, reverse=metric.better == HIGHER)
    best = max(better_first[0], least)
    factors = [math.nan if value is None else
               math.inf if math.isinf(value) else  # also beside other lost probes alone
               best / max(value, least) if metric.better == HIGHER else max(value, least) / best
               for value in values]
    return [math.nan if math.isnan(factor) else
            min(1.0, max(0.0, math.log(factor) / math.log(DARKEST_FACTOR))) for factor in factors]


def _median_or_reason(metric: Metric, runs: Sequence[Any]) -> tuple[float | None, str]:
    """Return the median of a metric over the runs that have it and "", or None and the reason why
    there is none. Lost probes count as slower than any other: the median is infinite if it is a
    lost probe, or lies between a number and one."""
    if not runs:
        return None, "no run"
    median = middle([metric.of(run) for run in runs])
    value = ranked(median)
    return value, median.because if value is None and isinstance(median, Unavailable) else ""


def _draw_cells(canvas: Any, grid: Grid, shades: Any, texts: Any) -> None:
    """Draw a table of coloured cells with their texts: a row for each of VERDICTS, a column for
    each queue.

    Args:
        canvas: matplotlib figure to draw on.
        grid: its queues are the columns.
        shades: array of rows by columns: 0 is the lightest shade, 1 the darkest, NaN a missing
            value.
        texts: (row, column) -> text.
    """
    from matplotlib import colormaps

    axis = canvas.subplots()
    narrow = canvas.get_figwidth() < PAPER_INCHES
    colours = colormaps["Oranges"].with_extremes(bad=MISSING)
    axis.imshow(numpy.ma.masked_invalid(shades * 0.85), cmap=colours, vmin=0, vmax=1,
                aspect="auto")
    for (line, place), text in texts.items():
        # In a narrow figure the number goes below the word.
        show = text.replace(" (", "\n(") if narrow else text
        axis.text(place, line, show, ha="center", va="center",
                  fontsize="xx-small" if narrow else "small",
                  color=QUIET if text == DASH else "black" if not shades[line, place] > 0.7
                  else "white")
    axis.set_yticks(range(len(VERDICTS)), [label for label, _, _ in VERDICTS],
                    fontsize="x-small" if narrow else "medium")
    axis.set_xticks(range(len(grid.aqms)), grid.aqms)
    axis.xaxis.tick_top()
    axis.tick_params(length=0)
    for line in range(1, len(VERDICTS)):
        axis.axhline(line - 0.5, color="white", linewidth=1.5)


# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw a figure that compares all speed tests on the same line, with a row for each test.

Left: the throughput, as a share of the one that TCP can carry. Middle: the latency under load that
the test shows, over that of the run's own probe. Right: the test's verdict for each queue. Its
colour shows whether the verdict agrees with the measured latency.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.base.words import counted
from flent_aqm.results.data_file import DataFile
from flent_aqm.results.grouping import AQM
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.results.metrics.queue_samples import queues
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.metrics.throughput import link_rate_mbps, payload_share
from flent_aqm.show.figures.numbers import Cell, Table
from flent_aqm.show.looks import DASH, MISSING, QUIET, looks_for, order
from flent_aqm.show.plots.axes import name_latency_axis
from flent_aqm.tools.table import TOOLS
from flent_aqm.tools.tool import Shown, Tool

TITLE = "What each speed test says of the same line"
# Settings that all runs of a page share.
PAGE = ("rate_down_mbps", "rate_up_mbps", "base_delay_ms", "cross_traffic")
# A latency below half of the measured mean hides it. The median would be that of the test's quieter
# half: NDT7's download uses BBR, which keeps the queue short. The upload fills it.
HIDES_BELOW, ADDS_ABOVE = 0.5, 2.0
NOTHING, HIDES, TELLS, ADDS = "nothing", "hides", "tells", "adds"
COLOURS = {NOTHING: "#DDDDDD", HIDES: "#F4B6A6", TELLS: "#FFFFFF", ADDS: "#B8D4EC"}
WORDS = {NOTHING: "shows no latency", HIDES: "shows less than half of it",
         TELLS: "shows latency under load", ADDS: "shows more than twice of it"}
TRUTH = {"p5": 5, "median": 50, "p95": 95}
SIZE_INCH = (15.0, 8.6)
# Height for fewer tests: around the rows, and of each row.
_AROUND_INCH, _ROW_INCH = 1.9, 0.6
# Larger shares are drawn at this value.
_MOST_SHARE_PCT = 125.0


@dataclass(frozen=True, eq=False)
class SpeedtestRow:
    """A run of a speed test.

    Attributes:
        path: its data file.
        settings: its settings by name.
        test: name of the test.
        share_pct: "download" and "upload" -> throughput that the test shows, in percent of the one
            that TCP can carry. Directions in which it or the link's rate is not known are missing.
        shown_ms: latency under load that the test shows, the highest of its metrics of latency.
            None if it shows none, or if none of them is known.
        truth_ms: each of TRUTH -> that percentile of the latency under load of the run's own probe,
            infinite if it is a lost probe; "mean" -> the mean of the answered probes. None if no
            probe under load was answered.
        queue_ms: 95th percentile of the backlog under load, as time at the link's rate, in the
            router's queue of the direction in which this is longer. None if it is not known.
        verdict: the verdict as the test's user sees it, see _verdict_text(). It may have several
            lines.
    """

    path: Path
    settings: Mapping[str, Setting]
    test: str
    share_pct: Mapping[str, float]
    shown_ms: float | None
    truth_ms: Mapping[str, float] | None
    queue_ms: float | None
    verdict: str

    @property
    def judged(self) -> str:
        """How the latency that the test shows compares with the measured mean: NOTHING if either is
        missing, HIDES (less than half), TELLS, or ADDS (more than twice)."""
        if self.shown_ms is None or self.truth_ms is None:
            return NOTHING
        share = self.shown_ms / self.truth_ms["mean"]
        return HIDES if share < HIDES_BELOW else ADDS if share > ADDS_ABOVE else TELLS


def value_of(run: Run, name: str) -> float | None:
    """Return the value of the metric `name` of a run. None if it isn't available, or is a
    percentile that is a lost probe."""
    value = METRICS[name].of(run)
    return None if isinstance(value, Unavailable) else value


def _metric_text(run: Run, name: str, form: str) -> str:
    """Return the metric `name` of a run as text, DASH if it isn't available, or is a percentile
    that is a lost probe.

    Args:
        run: the run.
        name: name of the metric.
        form: format string. One with "{:", such as "{:.0f} ms", gets the number. Another one, such
            as "grade {}", gets the metric's word, or the number if the metric has no words.
    """
    value = METRICS[name].of(run)
    if isinstance(value, Unavailable):
        return DASH
    word = METRICS[name].word
    return form.format(word(value) if word and "{:" not in form else value)


def _verdict_text(run: Run, shown: Shown) -> str:
    """Return the verdict that a speed test's user sees: its parts with shown.between between them.
    A part whose metric is missing is DASH alone, without the words around it. "a rate, no more" for
    a test without a verdict.

    Args:
        run: the run.
        shown: what the test shows.
    """
    parts = [_metric_text(run, name, form) for name, form in shown.verdict]
    return shown.between.join(parts) or "a rate, no more"


def _with_whole_names(tool: Tool, shown: Shown) -> Shown:
    """Return a copy of the record of what a test shows, with the names of metrics as in METRICS:
    each with the tool's prefix if METRICS has that name, else unchanged.

    Args:
        tool: the tool of the test.
        shown: what the test shows, with the tool's names of metrics.
    """
    def whole_name(name: str) -> str:
        """Return a metric's name with the prefix of `tool` if METRICS has that, else unchanged."""
        return own if (own := tool.metric(name)) in METRICS else name

    return replace(
        shown, latency=tuple(map(whole_name, shown.latency)),
        verdict=tuple((whole_name(name), form) for name, form in shown.verdict),
        rates=(whole_name(shown.rates[0]), whole_name(shown.rates[1])) if shown.rates else ())


# Test -> what it shows, in the order of rows.
SHOWN: Mapping[str, Shown] = {tool.shown.test or name: _with_whole_names(tool, tool.shown)
                              for name, tool in TOOLS.items() if tool.shown}


# Runs by test and AQM.
Cells = Mapping[tuple[str, str], "SpeedtestRow"]


def row_of(data: DataFile) -> SpeedtestRow | None:
    """Return the row of a data file, None if its test is not one of SHOWN. Raises BadResult if
    as_run() refuses the file. For a test of SHOWN, raises it also if the file does not record its
    queue, if its samples of queues are damaged, or if one of its rates or its base delay is text.
    """
    run = as_run(data)
    about = SHOWN.get(run.test)
    if about is None:
        return None
    _refuse_missing_settings(run)
    share = {}
    for direction, name in zip(DIRECTIONS, about.rates, strict=bool(about.rates)):
        rate, value = _link_rate_mbps(run, direction), value_of(run, name)
        if rate is not None and value is not None:
            share[direction] = value / (rate * payload_share(run, direction)) * 100
    try:
        loaded = run.loaded()
        truth = {"mean": float(loaded.answered_ms.mean()),
                 **{name: float(of_any(loaded.rtt_ms, percent))
                    for name, percent in TRUTH.items()}}
    except NotAvailable:
        truth = None
    return SpeedtestRow(data.path, run.settings, run.test, share, _shown_ms(run, about), truth,
               _queue_ms(run, data), _verdict_text(run, about))


def _refuse_missing_settings(run: Run) -> None:
    """Raise BadResult if the file doesn't record its queue, or if one of the rates or the base
    delay is text. They may be missing."""
    if AQM not in run.settings:
        raise BadResult(f"{run.path}: the file does not record its queue (AQM.requested.aqm); give "
                        "runs of flent-aqm's batches or lab, which do")
    odd = [name for name in PAGE[:3] if isinstance(run.settings.get(name), str)]
    if odd:
        raise BadResult(f"{run.path}: its {odd[0]} is {str(run.settings[odd[0]])[:40]!r}, not a "
                        "number")


def _link_rate_mbps(run: Run, direction: str) -> float | None:
    """Return the link's rate in a direction, "download" or "upload", in Mbit/s. None if a share of
    it would have no meaning: with several bottlenecks or none, or a rate that changed or isn't
    recorded."""
    try:
        return link_rate_mbps(run, direction)
    except NotAvailable:
        return None


def _shown_ms(run: Run, shown: Shown) -> float | None:
    """Return the latency under load that the test shows, the highest one of the metrics in
    shown.latency, in ms. RPM are converted to ms; 0 RPM is no latency. None if none of them is
    known.

    Args:
        run: the run.
        shown: which metrics the test shows.
    """
    times_ms = []
    for name in shown.latency:
        value = value_of(run, name)
        if value is not None and METRICS[name].unit == "RPM":
            value = 60_000 / value if value else None
        if value is not None:
            times_ms.append(value)
    return max(times_ms) if times_ms else None


def _queue_ms(run: Run, data: DataFile) -> float | None:
    """Return the 95th percentile of the backlog under load as time in ms at the link's rate, the
    longer one of both directions. A direction doesn't count if its queue was not sampled under
    load, or if its rate is not known. None if neither counts. Raises BadResult if the samples are
    damaged."""
    window = run.load_window
    queues_ms = []
    by_way = queues(data.raw_values)
    for direction in DIRECTIONS:
        rate, queue = _link_rate_mbps(run, direction), by_way.get(direction)
        if rate is not None and queue is not None and window is not None:
            inside = window.holds(queue.at_s)
            if inside.any():
                queues_ms.append(float(numpy.percentile(
                    queue.backlog_bytes[inside], 95)) * 8e-3 / rate)
    return max(queues_ms) if queues_ms else None


def page_of(row: SpeedtestRow) -> tuple[Setting, ...]:
    """Return the key of the page on which a row is shown: its values of PAGE, 0 for a missing
    one."""
    return tuple(row.settings.get(name, 0) for name in PAGE)


def in_order(page: tuple[Setting, ...]) -> tuple[list[float], str]:
    """Return the sort key of a page: its rates and base delay as numbers, then its cross traffic as
    text, because that may be a word, such as call.

    Args:
        page: key of the page, as page_of() returns it.
    """
    return [float(value) for value in page[:3]], str(page[3])


def draw(rows: Sequence[SpeedtestRow], canvas: Any, title: str) -> tuple[Table, list[str]]:
    """Draw one page, set the canvas' height by the number of tests, and return the page's values
    and the parts of its caption.

    Of several runs of one test and queue, the first is shown. Tests without a run are left out.

    Args:
        rows: runs of the page.
        canvas: matplotlib figure to draw on.
        title: title of the page, "" for none.
    """
    tests = [one for one in SHOWN if any(row.test == one for row in rows)]
    canvas.set_figheight(min(SIZE_INCH[1], _AROUND_INCH + _ROW_INCH * len(tests)))
    aqms = order([str(row.settings[AQM]) for row in rows])
    cells: dict[tuple[str, str], SpeedtestRow] = {}
    for row in rows:
        cells.setdefault((row.test, str(row.settings[AQM])), row)
    shares, latency, verdicts = canvas.subplots(
        1, 3, sharey=True, gridspec_kw={"width_ratios": [1, 1.5, max(1.2, 0.52 * len(aqms))]})
    _draw_shares(shares, cells, tests, aqms)
    _draw_latencies(latency, cells, tests, aqms)
    _draw_verdicts(verdicts, cells, tests, aqms)
    shares.set_yticks(range(len(tests)), [SHOWN[one].label for one in tests])
    shares.set_ylim(len(tests) - 0.5, -0.5)
    for axis in (shares, latency):
        for line in range(1, len(tests)):
            axis.axhline(line - 0.5, color=MISSING, linewidth=1)
    _draw_legend(canvas, aqms, title)
    lost = any(row.truth_ms and not numpy.isfinite(row.truth_ms.get("p95", 0.0))
               for row in cells.values())
    return _page_table(cells, tests, aqms), [
        counted(len(cells), "run"),
        ("bar: the run's own probe under load, 5th to 95th percentile, dash: its mean; cross: "
        "what stood in the router's queue, 95th percentile"),
        ("diamond: latency under load as the test shows it (the worse direction; RPM as 60000 / "
        "RPM); of NDT7, LibreSpeed, nuttcp and ethr the latency that they show at all"),
        "no diamond: it shows none", *(
            ["arrow: the 95th percentile is a lost probe"] if lost else [])]


def _offsets(aqms: Sequence[str]) -> dict[str, float]:
    """Return queue -> vertical offset from the middle of a test's row, which is 1 high. Offsets
    ascend in the order of `aqms`. The first one is negative, 0 if it is alone."""
    return {aqm: (number - (len(aqms) - 1) / 2) * 0.78 / len(aqms)
            for number, aqm in enumerate(aqms)}


def _draw_shares(axis: Any, cells: Cells, tests: Sequence[str], aqms: Sequence[str]) -> None:
    """Draw the left panel: throughput in percent of the one that TCP can carry. Values above
    _MOST_SHARE_PCT are drawn there.

    Args:
        axis: matplotlib axes.
        cells: (test, queue) -> row. Cells without a run are missing.
        tests: names of the tests, from top to bottom.
        aqms: names of the queues.
    """
    looks, offsets = looks_for(aqms), _offsets(aqms)
    for line, test in enumerate(tests):
        for aqm in aqms:
            row = cells.get((test, aqm))
            for direction, marker in (("download", "v"), ("upload", "^")):
                if row is not None and direction in row.share_pct:
                    share = min(row.share_pct[direction], _MOST_SHARE_PCT)
                    axis.plot([share], [line + offsets[aqm]], marker, markersize=5,
                              color=looks[aqm].colour,
                              markerfacecolor=("none" if direction == "upload"
                                               else looks[aqm].colour))
    axis.axvline(100, color=QUIET, linewidth=1, linestyle=(0, (4, 2)))
    axis.set_xlim(0, _MOST_SHARE_PCT + 3)
    axis.set_xlabel("throughput (% of what TCP can carry)")
    axis.grid(visible=True, axis="x", alpha=0.3)


def _draw_latencies(axis: Any, cells: Cells, tests: Sequence[str], aqms: Sequence[str]) -> None:
    """Draw the middle panel, in ms: the probe's latency as a bar from the 5th to the 95th
    percentile, with its mean, then the 95th percentile of the router's queue, and on top the
    latency that the test shows. If the 95th percentile of the probe is lost, the bar ends at the
    highest of the other values, with an arrow. A queue of less than 0.1 ms and a shown latency of 0
    are not drawn. Arguments: as for _draw_shares()."""
    looks, offsets = looks_for(aqms), _offsets(aqms)
    axis.set_xscale("log")
    for line, test in enumerate(tests):
        for aqm in aqms:
            row = cells.get((test, aqm))
            if row is None:
                continue
            at, colour = line + offsets[aqm], looks[aqm].colour
            if row.truth_ms:
                truth = {name: value for name, value in row.truth_ms.items()
                         if numpy.isfinite(value)}
                end = truth.get("p95", max(truth.values()))
                axis.plot([truth.get("p5", min(truth.values())), end], [at, at],
                          color=colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
                if "p95" not in truth:
                    axis.plot([end], [at], ">", color=colour, markersize=7)
                if "mean" in truth:
                    axis.plot([truth["mean"]], [at], "|", color=colour, markersize=9,
                              markeredgewidth=2)
            if row.queue_ms and row.queue_ms >= 0.1:
                axis.plot([row.queue_ms], [at], "x", color=colour, markersize=4)
            if row.shown_ms:
                axis.plot([row.shown_ms], [at], "D", markersize=5, color="white",
                          markeredgecolor="black", zorder=4)
    name_latency_axis(axis, "x")
    axis.set_xlabel("latency under load (ms)")
    axis.grid(visible=True, axis="x", alpha=0.3)


def _draw_verdicts(axis: Any, cells: Cells, tests: Sequence[str], aqms: Sequence[str]) -> None:
    """Draw the right panel: the verdict of each test for each queue, on a colour for how the
    latency that it shows compares with the measured one. Cells without a run say "no run".
    Arguments: as for _draw_shares()."""
    from matplotlib.patches import Rectangle

    for line, test in enumerate(tests):
        for place, aqm in enumerate(aqms):
            row = cells.get((test, aqm))
            colour = MISSING if row is None else COLOURS[row.judged]
            axis.add_patch(Rectangle((place - 0.5, line - 0.5), 1, 1, facecolor=colour,
                                     edgecolor="white", linewidth=2))
            axis.text(place, line, "no run" if row is None else row.verdict, ha="center",
                      va="center", fontsize="small", color=QUIET if row is None else "black")
    axis.set_xlim(-0.5, len(aqms) - 0.5)
    axis.set_xticks(range(len(aqms)), aqms)
    axis.xaxis.tick_top()
    axis.tick_params(length=0)
    axis.set_xlabel("its verdict, as its users see it")
    for side in axis.spines.values():
        side.set_visible(False)


def _draw_legend(canvas: Any, aqms: Sequence[str], title: str) -> None:
    """Draw the figure's legend for queues, directions, the latency that a test shows, and the
    colours of verdicts, with the title, "" for none, above it. aqms: names of the queues."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    looks = looks_for(aqms)
    handles: list[Any] = [Line2D([], [], label=aqm, color=looks[aqm].colour, linewidth=5, alpha=0.6)
                          for aqm in aqms]
    handles += [
        Line2D([], [], label="download", color=QUIET, marker="v", linestyle="none"),
        Line2D([], [], label="upload", color=QUIET, marker="^", markerfacecolor="none",
               linestyle="none"),
        Line2D([], [], label="as the test shows it", color="white", marker="D",
               markeredgecolor="black", linestyle="none"),
        *(Patch(facecolor=COLOURS[one], edgecolor="#BBBBBB", label=WORDS[one])
          for one in (TELLS, HIDES, ADDS, NOTHING))]
    canvas.legend(handles=handles, loc="outside upper center", frameon=False, title=title,
                  ncols=len(handles), title_fontsize="large", fontsize="small",
                  columnspacing=1.1, handletextpad=0.5)


def _page_table(cells: Cells, tests: Sequence[str], aqms: Sequence[str]) -> Table:
    """Return the values of the page, with a row for each test and queue that has a run. The others
    are listed as missing."""
    table = Table(["test", AQM, *(f"share_{direction}_pct" for direction in DIRECTIONS), "shown_ms",
                   *(f"truth_{name}_ms" for name in ("mean", *TRUTH)), "queue_p95_ms", "judged",
                   "verdict"], runs=len(cells))
    for test in tests:
        for aqm in aqms:
            row = cells.get((test, aqm))
            if row is None:
                table.missing.append(f"{test}, {aqm}")
                continue
            numbers: list[Cell] = [_cell(value) for value in (
                *(row.share_pct.get(direction) for direction in DIRECTIONS), row.shown_ms,
                *((row.truth_ms or {}).get(name) for name in ("mean", *TRUTH)), row.queue_ms)]
            table.rows.append([test, aqm, *numbers, row.judged,
                               row.verdict.replace("\n", "; ")])
    return table


def _cell(value: float | None) -> Cell:
    """Return a value as a cell, "" for None."""
    return "" if value is None else value

# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the table and the picture of docs/results/rfc7928.md, from runs of batches/rfc7928.batch.

A line for each scenario, a file with every number, and the picture of delay and goodput (RFC 7928,
section 2.7). research/validation/numbers.py runs the batch and writes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from flent_aqm.base.errors import BadResult, LostProbe, NotAvailable
from flent_aqm.results.grouping import collect
from flent_aqm.results.metrics.latency import idle_ms, loaded_ms
from flent_aqm.results.metrics.queue import drop_pct
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import LOST
from flent_aqm.show.looks import AQM_LOOKS

PICTURE = Path("img") / "rfc7928.png"
AQMS = ("no_aqm", "codel", "fq_codel", "pie")
NAMES = {"no_aqm": "drop-tail"}
WAY = "upload"
# Scenarios with TCP load all the time and a constant rate.
IN_PICTURE = re.compile(r"5\.1|5\.2|8\.2\.[2-5]")


@dataclass(frozen=True)
class Row:
    """The numbers of one run. A wait is a probe's round-trip time under load minus the median of
    the idle ones, infinite for a lost probe.

    Attributes:
        scenario: number of the section in the RFC with the scenario's name, such as
            "5.1.1-same-window".
        aqm: the queue.
        flows: group of flows as the batch writes it, such as "1xreno" -> its Mbit/s while it ran.
        goodput_mbps: goodput of all flows, over the whole load. 0 without a load.
        median_ms: median wait of a probe, None if it isn't available, as with too few probes.
        p99_ms: 99th percentile of the waits, None if it isn't available.
        dropped_pct: share of packets that the upload's queue dropped, in %, None if the run has no
            counters, or no packet.
    """

    scenario: str
    aqm: str
    flows: dict[str, float]
    goodput_mbps: float
    median_ms: float | None
    p99_ms: float | None
    dropped_pct: float | None


def lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of a Markdown table of runs of batches/rfc7928.batch: a row for each
    scenario, with the goodput by group and a probe's median wait in each queue, see overview().
    Raises BadResult if a run's flows or queue are not those of that batch."""
    yield from overview(rows_of(runs))


def every_number(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of a Markdown table of runs of batches/rfc7928.batch: a row for each run with
    goodput by group, median and 99th percentile of waits, and drops, see table(). Raises BadResult
    if a run's flows or queue are not those of that batch."""
    yield from table(rows_of(runs))


def picture(runs: Sequence[Run], folder: Path) -> None:
    """Write the picture of these runs, which are of batches/rfc7928.batch, to img/rfc7928.png in
    `folder`, which is the page's and has a folder img. Raises OSError if it can't be written,
    BadResult if a run's flows or queue are not those of that batch."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    draw(figure, rows_of(runs))
    figure.savefig(folder / PICTURE, dpi=110)


def rows_of(runs: Sequence[Run]) -> list[Row]:
    """Return the rows of runs of batches/rfc7928.batch, sorted by scenario, as text, and queue, in
    the order of AQMS. Raises BadResult if a run's flows or queue are not those of that batch."""
    return sorted(map(row_of, runs), key=lambda row: (row.scenario, AQMS.index(row.aqm)))


def row_of(run: Run) -> Row:
    """Return the row of a run of batches/rfc7928.batch. The first word of the run's title is taken
    for the scenario. Raises BadResult if its queue is not one of AQMS, or a flow of the test has no
    group, the third word of a flow's name in that batch."""
    other = next((flow.name for flow in run.speed_test if flow.name.count(" ") < 2), None)
    if other is not None:
        raise BadResult(f"{run.path}: not a run of batches/rfc7928.batch: its flow {other!r} has "
                        "no group; expected a third word in its name")
    aqm = str(run.settings["aqm"])
    if aqm not in AQMS:
        raise BadResult(f"{run.path}: not a run of batches/rfc7928.batch: its queue is {aqm}; "
                        f"expected {', '.join(AQMS)}")
    requested = run.title.split(" ")
    flows = {flow.name.split(" ", 2)[2]: flow.mean_mbps or 0.0 for flow in run.speed_test}
    load = run.load_window
    megabits = sum((flow.mean_mbps or 0.0) * (flow.end_s - flow.start_s)
                   for flow in run.speed_test)
    return Row(requested[0], aqm, flows,
               megabits / load.length_s if load else 0,
               _or_none(lambda: _wait_ms(run, "median")), _or_none(lambda: _wait_ms(run, "p99")),
               _or_none(lambda: drop_pct(run, WAY)))


def _wait_ms(run: Run, statistic: str) -> float:
    # Subtract the idle median: a second of idle probes has no 99th percentile.
    return loaded_ms(run, statistic) - idle_ms(run, "median")


def _or_none(number: Callable[[], float]) -> float | None:
    try:
        return number()
    except LostProbe:
        return math.inf
    except NotAvailable:
        return None


def overview(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a Markdown table: a row for each scenario, with the goodput by group in
    Mbit/s and a probe's median wait in ms in each queue. The wait is "-" if the run doesn't have
    it, LOST if it is infinite. A queue without a run has an empty cell. Of several runs of a
    scenario and queue the last one counts."""
    yield f"| scenario | {' | '.join(NAMES.get(aqm, aqm) for aqm in AQMS)} |"
    yield "|" + "---|" * (len(AQMS) + 1)
    for scenario, of_scenario in collect(rows, lambda row: row.scenario).items():
        by_queue = {row.aqm: row for row in of_scenario}
        cells = [f"{'+'.join(f'{mbps:.1f}' for mbps in row.flows.values())}, "
                 f"{_text(row.median_ms, 1)}" if (row := by_queue.get(aqm)) else ""
                 for aqm in AQMS]
        yield f"| {scenario} | {' | '.join(cells)} |"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a Markdown table, a row for each run with scenario, queue, goodput by
    group, median and 99th percentile of waits, and drops. "-" stands for a number that the run
    doesn't have, LOST for an infinite wait."""
    yield "| scenario | queue | goodput by group, Mbit/s | wait, median ms | p99 ms | dropped % |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        flows = ", ".join(f"{name} {mbps:.2f}" for name, mbps in row.flows.items())
        yield (f"| {row.scenario} "
               f"| {NAMES.get(row.aqm, row.aqm)} | {flows} | {_text(row.median_ms, 1)} "
               f"| {_text(row.p99_ms, 1)} | {_text(row.dropped_pct, 2)} |")


def draw(figure: Figure, rows: Sequence[Row]) -> None:
    """Draw goodput over delay, a point for each run of the scenarios in IN_PICTURE (TCP load all
    the time, constant rate) with a finite median: the upper left corner is best."""
    axis = figure.subplots()
    for aqm in AQMS:
        points = [(row.median_ms, row.goodput_mbps) for row in rows
                  if row.aqm == aqm and IN_PICTURE.match(row.scenario)
                  and row.median_ms is not None and math.isfinite(row.median_ms)]
        look = AQM_LOOKS[aqm]
        axis.plot([ms for ms, _ in points], [mbps for _, mbps in points], look.marker,
                  color=look.colour, label=NAMES.get(aqm, aqm), markersize=8, alpha=0.8)
    axis.set_xlabel("median wait of a probe under load (ms)")
    axis.set_ylabel("goodput of all flows (Mbit/s)")
    axis.set_xlim(left=0)
    axis.grid(visible=True, color="#dddddd")
    axis.legend(frameon=False)


def _text(value: float | None, digits: int) -> str:
    return "-" if value is None else LOST if math.isinf(value) else f"{value:.{digits}f}"

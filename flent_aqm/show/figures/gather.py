# SPDX-License-Identifier: GPL-3.0-or-later
"""Read data files side by side, and keep about 20 kB of each, which the figures need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import plain
from flent_aqm.results.data_file import DataFile, a_number
from flent_aqm.results.many_files import each_file
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.throughput import throughput_mbps
from flent_aqm.show.plots.observed import captured
from flent_aqm.show.row import (
    Curve,
    Row,
    captured_curve,
    directions,
    loaded,
    loaded_ms,
    or_none,
)

BASE_DELAY = "base_delay_ms"


@dataclass(frozen=True, eq=False)
class FigureRow(Row):
    """A run in the study's figures, with the fields of Row.

    Attributes:
        mbps: "download" and "upload" -> throughput of the test, see throughput_mbps(). Directions
            without one are missing.
        own_latency_ms: direction -> latency that NDT7's client reports. Empty for other tools.
        curves: direction -> throughput of captured packets' payload over time. Directions that were
            not captured are missing.
        samples: hash of its samples, "" if its file has none.
        spacing_ms: median time between two successive probes, infinite if it is not known, or if
            there are no probes under load.
    """

    mbps: Mapping[str, float]
    own_latency_ms: Mapping[str, float]
    curves: Mapping[str, Curve]
    samples: str = ""
    spacing_ms: float = math.inf


def gather(paths: Sequence[Path], jobs: int | None) -> tuple[list[FigureRow], list[str]]:
    """Return a row for each usable file, in the order of `paths`, and a line, with its path and the
    reason, for each file that can't be read, that row_of() refuses, or in which another error
    occurs, which the line calls a bug. Progress is shown on a terminal.

    Args:
        paths: data files.
        jobs: largest number of processes, None for one per core.
    """
    rows: list[FigureRow] = []
    faults: list[str] = []
    for path, row in each_file(paths, row_of, jobs):
        if isinstance(row, FigureRow):
            rows.append(row)
        else:
            text = str(row)
            faults.append(text if plain(path) in text else f"{plain(path)}: {text}")
    return rows, faults


def row_of(data: DataFile) -> FigureRow:
    """Return the row of a data file. Raises BadResult if as_run() refuses the file, if its capture
    is damaged, if it has no flow of the test in a known direction, or if its base delay is text."""
    run = as_run(data)
    ways = directions(run)
    if not ways:
        raise BadResult(f"{data.path}: {run.why_no_flow()}")
    delay = run.settings.get(BASE_DELAY, 0)
    if isinstance(delay, str):
        raise BadResult(f"{data.path}: its {BASE_DELAY} is {delay[:40]!r}, not a number of ms")
    seen, under_load = captured(data.raw_values), loaded(run)
    return FigureRow(
        path=data.path, settings=run.settings, loaded_ms=loaded_ms(under_load),
        mbps={direction: mbps for direction in ways
              if (mbps := or_none(partial(throughput_mbps, run, direction))) is not None},
        own_latency_ms=_reported_latencies_ms(run, ways),
        curves={direction: curve for direction in ways
                if (curve := captured_curve(run, direction, seen)) is not None},
        samples=run.samples,
        spacing_ms=min((one.spacing_ms for one in under_load.values()), default=math.inf))


def _reported_latencies_ms(run: Run, ways: Sequence[str]) -> dict[str, float]:
    """Return direction -> latency in ms that NDT7's client reports. Directions without one are
    missing. Empty for other tools.

    ways: directions in which the test has flows.
    """
    by_way = {direction: a_number(flow.ndt7.get("latency_ms")) for direction in ways
              for flow in run.flows_of(direction) if flow.ndt7}
    return {direction: value for direction, value in by_way.items() if value is not None}

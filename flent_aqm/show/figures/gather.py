# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads data files side by side, and keeps of each what the figures need: some 20 kB."""

from __future__ import annotations

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
    """What the figures need of a run. By direction: mbps, as the tool reports it;
    own_latency_ms, as the tool reports it; curves, payload in captured headers."""

    mbps: Mapping[str, float]
    own_latency_ms: Mapping[str, float]
    curves: Mapping[str, Curve]


def gather(paths: Sequence[Path], jobs: int | None) -> tuple[list[FigureRow], list[str]]:
    """Return a row for each usable file, in order, and a line for each that isn't."""
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
    """Return a file's row. Raises BadResult."""
    run = as_run(data)
    ways = directions(run)
    if not ways:
        raise BadResult(f"{data.path}: the test doesn't load the link")
    delay = run.settings.get(BASE_DELAY, 0)
    if isinstance(delay, str):
        raise BadResult(f"{data.path}: its {BASE_DELAY} is {delay[:40]!r}, not a number of ms")
    seen = captured(data.raw_values)
    return FigureRow(
        path=data.path, settings=run.settings, loaded_ms=loaded_ms(loaded(run)),
        mbps={way: mbps for way in ways
              if (mbps := or_none(partial(throughput_mbps, run, way))) is not None},
        own_latency_ms=_own_latency(run, ways),
        curves={way: curve for way in ways
                if (curve := captured_curve(run, way, seen)) is not None})


def _own_latency(run: Run, ways: Sequence[str]) -> dict[str, float]:
    by_way = {way: a_number(flow.ndt7.get("latency_ms")) for way in ways
              for flow in run.way(way) if flow.ndt7}
    return {way: value for way, value in by_way.items() if value is not None}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads data files side by side, and keeps of each what the figures need: some 20 kB."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.base.words import plain
from flent_aqm.results.data_file import DataFile, Numbers, a_number
from flent_aqm.results.many_files import each_file
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.throughput import throughput_mbps
from flent_aqm.show.grouping import Value
from flent_aqm.show.plots.observed import captured

# Half the memory; seven digits are more than a latency has.
Floats = NDArray[numpy.float32]
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Curve:
    """Throughput in Mbit/s of steps that end at_s seconds after the transfer's start."""

    at_s: Floats
    mbps: Floats


@dataclass(frozen=True, eq=False)
class Row:
    """What the figures need of a run. By direction: mbps, as the tool reports it;
    own_latency_ms, as the tool reports it; loaded_ms, probes sent under load, infinite where lost;
    curves, payload in captured headers."""

    path: Path
    settings: Mapping[str, Value]
    mbps: Mapping[str, float]
    own_latency_ms: Mapping[str, float]
    loaded_ms: Mapping[str, Floats]
    curves: Mapping[str, Curve]

    def has(self, **wanted: Value) -> bool:
        """Whether the run has these settings."""
        return all(self.settings.get(name) == value for name, value in wanted.items())


def gather(paths: Sequence[Path], jobs: int | None, each: Callable[[], None] = lambda: None
           ) -> tuple[list[Row], list[str]]:
    """A row for each usable file, in order, and a line for each that isn't.

    each: called when another file has been read.
    """
    rows: list[Row] = []
    faults: list[str] = []
    for path, row in each_file(paths, row_of, jobs):
        each()
        if isinstance(row, Row):
            rows.append(row)
        else:
            text = str(row)
            faults.append(text if plain(path) in text else f"{plain(path)}: {text}")
    return rows, faults


def row_of(data: DataFile) -> Row:
    """A file's row. Raises BadResult."""
    run = as_run(data)
    seen = captured(data.raw_values)
    ways = [way for way in DIRECTIONS if any(flow.direction == way for flow in run.speed_test)]
    if not ways:
        raise BadResult(f"{data.path}: the test doesn't load the link")
    curves = {}
    for way in ways:
        if seen and way in seen.mbps:
            start_s = min(flow.start_s for flow in run.way(way))
            end_s = max(flow.end_s for flow in run.way(way))
            inside = (seen.at_s > start_s) & (seen.at_s <= end_s)
            curves[way] = Curve((seen.at_s[inside] - start_s).astype(numpy.float32),
                                seen.mbps[way][inside].astype(numpy.float32))
    return Row(
        path=data.path, settings=run.settings,
        mbps=_known({way: partial(throughput_mbps, run, way) for way in ways}),
        own_latency_ms=_own_latency(run, ways),
        loaded_ms={way: found.astype(numpy.float32) for way, found in _known(
            {way: partial(_loaded_ms, run, way) for way in ways}).items()},
        curves=curves)


def _known(functions: Mapping[str, Callable[[], Found]]) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for name, function in functions.items():
        try:
            found[name] = function()
        except NotAvailable:
            continue
    return found


def _loaded_ms(run: Run, way: str) -> Numbers:
    return run.loaded(way).rtt_ms


def _own_latency(run: Run, ways: Sequence[str]) -> dict[str, float]:
    found = {way: a_number(flow.ndt7.get("latency_ms")) for way in ways
             for flow in run.way(way) if flow.ndt7}
    return {way: value for way, value in found.items() if value is not None}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Define the parts of a run that all pictures and pages need.

Each of them adds fields of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.run import Run, Samples
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.show.plots.observed import Captured

# float32 takes half the memory of float64, and has more digits than a latency.
Floats = NDArray[numpy.float32]
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Row:
    """One run, with the values of it that every picture and page needs.

    Attributes:
        path: its data file.
        settings: its settings by name.
        loaded_ms: direction -> RTTs of the probes sent under its load, infinite for a lost probe.
            Directions without probes are missing.
    """

    path: Path
    settings: Mapping[str, Setting]
    loaded_ms: Mapping[str, Floats]

    def has(self, **wanted: Setting) -> bool:
        """Return whether the run has these values of settings: NAME=VALUE for each. A setting that
        it doesn't record is None."""
        return all(self.settings.get(name) == value for name, value in wanted.items())


@dataclass(frozen=True, eq=False)
class Curve:
    """Throughput over time.

    Attributes:
        at_s: end of each step, in s since the transfer's start.
        mbps: throughput in each step.
    """

    at_s: Floats
    mbps: Floats


def directions(run: Run) -> list[str]:
    """Return the directions that the test loads, "download" before "upload". Empty if it has no
    flow, or if the names of its flows tell no direction."""
    return [direction for direction in DIRECTIONS
            if any(flow.direction == direction for flow in run.speed_test)]


def start_s(run: Run, direction: str) -> float:
    """Return the start of a direction's first flow, in epoch seconds. Raises NotAvailable if the
    test has none.

    direction: "download" or "upload".
    """
    return min(flow.start_s for flow in run.flows_of(direction))


def loaded(run: Run) -> dict[str, Samples]:
    """Return direction -> probes sent under its load. Directions without probes are left out."""
    return {direction: samples for direction in directions(run)
            if (samples := or_none(partial(run.loaded, direction))) is not None}


def loaded_ms(by_way: Mapping[str, Samples]) -> dict[str, Floats]:
    """Return direction -> RTTs in ms, infinite for a lost probe, as Row has them.

    Args:
        by_way: the result of loaded().
    """
    return {direction: one.rtt_ms.astype(numpy.float32) for direction, one in by_way.items()}


def captured_curve(run: Run, direction: str, seen: Captured | None) -> Curve | None:
    """Return the throughput of captured packets' payload in the steps that end after the start of a
    direction's first flow, and not after the end of its last. Times count from that start. None if
    there is no capture, or if it lacks the direction. Raises NotAvailable if the capture has the
    direction, but the test has no flow in it.

    Args:
        run: the run.
        direction: "download" or "upload".
        seen: the capture, None without one.
    """
    if not seen or direction not in seen.mbps:
        return None
    begin_s, end_s = start_s(run, direction), max(flow.end_s for flow in run.flows_of(direction))
    inside = (seen.at_s > begin_s) & (seen.at_s <= end_s)
    return Curve((seen.at_s[inside] - begin_s).astype(numpy.float32),
                 seen.mbps[direction][inside].astype(numpy.float32))


def or_none(function: Callable[[], Value]) -> Value | None:
    """Return the result of `function`, None if it raises NotAvailable."""
    try:
        return function()
    except NotAvailable:
        return None

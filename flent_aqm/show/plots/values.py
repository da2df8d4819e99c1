# SPDX-License-Identifier: GPL-3.0-or-later
"""What distributions over many runs are made of: a number a run, or all probes of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy

from flent_aqm.base.errors import ConfigError, NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import METRICS, Metric
from flent_aqm.results.metrics.throughput import throughput_mbps

DEFAULT_METRIC = "latency_loaded_p99_ms"


@dataclass(frozen=True)
class Quantity:
    """of: the values of a run in a direction; raises NotAvailable. log: its axis is
    logarithmic. what: what its values are called in a caption."""

    label: str
    short: str
    unit: str
    log: bool
    what: str
    of: Callable[[Run, str], Numbers]


def _throughput(run: Run, way: str) -> Numbers:
    return numpy.array([throughput_mbps(run, way)])


def _latency(run: Run, way: str) -> Numbers:
    """Lost probes too, as infinite."""
    return run.loaded(way).rtt_ms


QUANTITIES = {
    "throughput": Quantity("throughput", "throughput", "Mbit/s", False,
                           "results of the tools", _throughput),
    "latency": Quantity("round-trip time under load", "RTT under load", "ms", True, "probes",
                        _latency),
}


def directions(runs: Sequence[Run]) -> list[str]:
    """Return the directions that any of the tests loads."""
    return [way for way in DIRECTIONS
            if any(flow.direction == way for run in runs for flow in run.speed_test)]


def values(quantity: Quantity, runs: Sequence[Run], way: str) -> Numbers:
    """Return all values of some runs in a direction; runs that have none are left out."""
    of_runs = []
    for run in runs:
        try:
            of_runs.append(quantity.of(run, way))
        except NotAvailable:
            continue
    return numpy.concatenate(of_runs) if of_runs else numpy.empty(0)


def metric_named(name: str | None) -> Metric:
    """Return what --metric names, the default without it. Raises ConfigError."""
    if (name := name or DEFAULT_METRIC) not in METRICS:
        raise ConfigError(f"--metric: unknown metric {name!r}; 'flent-aqm score --list' has all")
    return METRICS[name]

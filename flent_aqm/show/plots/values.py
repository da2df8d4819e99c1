# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects values for distributions over many runs: one per run, or all probes of a run."""

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
    """A quantity that plots compare, such as latency: its names and unit on an axis, and `of`,
    which returns the values of a run in a direction."""

    # Name on an axis, and a shorter one for narrow plots.
    label: str
    short: str
    unit: str
    # Whether its axis is logarithmic.
    log: bool
    # Name of its values in a caption.
    what: str
    # Returns the values of a run in a direction. Raises NotAvailable.
    of: Callable[[Run, str], Numbers]


def _throughput(run: Run, way: str) -> Numbers:
    """Return the throughput that a run's tool reports for a direction, in Mbit/s, as an array of
    one value."""
    return numpy.array([throughput_mbps(run, way)])


def _latency(run: Run, way: str) -> Numbers:
    """Return the RTTs in ms of all probes under a direction's load, infinite for a lost probe."""
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
    """Return all values of runs in a direction. Runs without a value are left out."""
    of_runs = []
    for run in runs:
        try:
            of_runs.append(quantity.of(run, way))
        except NotAvailable:
            continue
    return numpy.concatenate(of_runs) if of_runs else numpy.empty(0)


def metric_named(name: str | None) -> Metric:
    """Return the metric that --metric names, or the default metric. Raises ConfigError if it is
    unknown."""
    if (name := name or DEFAULT_METRIC) not in METRICS:
        raise ConfigError(f"--metric: unknown metric {name!r}; 'flent-aqm score --list' has all")
    return METRICS[name]

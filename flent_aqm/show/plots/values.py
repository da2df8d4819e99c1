# SPDX-License-Identifier: GPL-3.0-or-later
"""Collect values for distributions over many runs: one per run, or all probes of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy

from flent_aqm.base.errors import ConfigError, NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import METRICS, Metric, unknown_metric
from flent_aqm.results.metrics.throughput import throughput_mbps

DEFAULT_METRIC = "latency_loaded_p99_ms"


@dataclass(frozen=True)
class Quantity:
    """A quantity that plots compare, such as latency.

    Attributes:
        label: name on an axis.
        short: shorter name for narrow plots.
        unit: unit of the values.
        log: whether its axis is logarithmic.
        what: name of its values in a caption, plural.
        of: returns an array of a run's values, one or many, in a direction, "download" or "upload".
            Raises NotAvailable if there are none.
    """

    label: str
    short: str
    unit: str
    log: bool
    what: str
    of: Callable[[Run, str], Numbers]


def _throughput(run: Run, direction: str) -> Numbers:
    """Return an array of one value: the throughput of the test's flows in a direction together, in
    Mbit/s, see throughput_mbps(). direction: "download" or "upload". Raises NotAvailable if it is
    not known."""
    return numpy.array([throughput_mbps(run, direction)])


def _latency(run: Run, direction: str) -> Numbers:
    """Return the RTTs in ms of the probes of the run's best latency series while the test loaded a
    direction, infinite for a lost probe. direction: "download" or "upload". Raises NotAvailable if
    there are none."""
    return run.loaded(direction).rtt_ms


QUANTITIES = {
    "throughput": Quantity("throughput", "throughput", "Mbit/s", False,
                           "results of the tools", _throughput),
    "latency": Quantity("round-trip time under load", "RTT under load", "ms", True, "probes",
                        _latency),
}


def directions(runs: Sequence[Run]) -> list[str]:
    """Return the directions that any of the tests loads, "download" before "upload". Empty if no
    flow of a test is in a known direction."""
    return [direction for direction in DIRECTIONS
            if any(flow.direction == direction for run in runs for flow in run.speed_test)]


def why_no_direction(runs: Sequence[Run]) -> str:
    """Return the message that no run has a download or an upload of the test, with the reason of
    the first run in which a flow of the test failed, or else of the first run. runs: runs without
    directions()."""
    run = next((run for run in runs if run.why_failed(None, cross=False)), runs[0])
    return f"no run has a download or an upload of the test: {run.why_no_flow()}"


def values(quantity: Quantity, runs: Sequence[Run], direction: str) -> Numbers:
    """Return the values of all runs in a direction in one array, in the unit of the quantity. Runs
    without a value are left out, lost probes are infinite. Empty if no run has a value.

    direction: "download" or "upload"."""
    of_runs = []
    for run in runs:
        try:
            of_runs.append(quantity.of(run, direction))
        except NotAvailable:
            continue
    return numpy.concatenate(of_runs) if of_runs else numpy.empty(0)


def why_no_value(quantity: Quantity, runs: Sequence[Run]) -> str:
    """Return the reason why the first run that lacks a value of the quantity, in a direction that
    it loads, has none: "the test doesn't load the link" if there is no such run."""
    for run in runs:
        for direction in directions([run]):
            try:
                quantity.of(run, direction)
            except NotAvailable as reason:
                return str(reason)
    return "the test doesn't load the link"


def metric_named(name: str | None) -> Metric:
    """Return the metric that --metric names, or DEFAULT_METRIC for None or "". Raises ConfigError
    if it is unknown."""
    if (name := name or DEFAULT_METRIC) not in METRICS:
        raise ConfigError(f"--metric: {unknown_metric(name)}")
    return METRICS[name]

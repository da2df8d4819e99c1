# SPDX-License-Identifier: GPL-3.0-or-later
"""Define the values that a condition can use: metrics by name, and functions of raw traces."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy

from flent_aqm.base.errors import ConfigError, NotAvailable
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics import latency
from flent_aqm.results.metrics.percentiles import percentile
from flent_aqm.results.metrics.run import Run, Samples
from flent_aqm.results.metrics.table import METRICS, Unavailable


class NumberKind(Enum):
    """Kind of a number: TIME in ms, RATE in Mbit/s, SHARE in %, or NUMBER without a unit. The value
    is its name in messages."""

    TIME = "a time"
    RATE = "a rate"
    SHARE = "a share"
    NUMBER = "a number without unit"


_KINDS = {"ms": NumberKind.TIME, "Mbit/s": NumberKind.RATE, "%": NumberKind.SHARE}
UNITS = {NumberKind.TIME: " ms", NumberKind.RATE: " Mbit/s", NumberKind.SHARE: " %",
         NumberKind.NUMBER: ""}


@dataclass(frozen=True)
class Leaf:
    """A value of a run that a condition uses: a metric, or a function of a trace or of a threshold.

    Attributes:
        text: its text in the condition, with a threshold in ms.
        kind: kind of its value.
        function: name of the metric or function.
        trace: name of the trace, "" for others.
        threshold_ms: excess over the idle median above which an RTT is part of a glitch, 0 for
            others.
    """

    text: str
    kind: NumberKind
    function: str
    trace: str = ""
    threshold_ms: float = 0.0

    def of(self, run: Run) -> float | Unavailable:
        """Return the value for a run, in the unit of `kind`, or Unavailable with the reason why
        there is none."""
        try:
            if self.trace:
                return _trace_value(self, run)
            if self.function in GLITCHES:
                return GLITCHES[self.function][0](run, self.threshold_ms)
        except NotAvailable as error:
            return Unavailable.of(error)
        return METRICS[self.function].of(run)


def _rates_mbps(run: Run, direction: str) -> Numbers:
    """Return the throughput of a direction's single flow over time, in Mbit/s. Raises NotAvailable
    if there is no flow or several. direction: "download" or "upload"."""
    flows = run.flows_of(direction)
    if len(flows) > 1:
        raise NotAvailable(f"the run has {len(flows)} {direction} flows, and samples of "
                           "throughput are compared for a single flow only")
    return flows[0].mbps


def _tcp_rtts_ms(run: Run) -> Numbers:
    """Return TCP_INFO's RTTs of all flows of the test, without cross traffic, in ms, one flow after
    the other. Flows without TCP_INFO are left out. Raises NotAvailable if none has it, or if there
    is no flow."""
    if not run.speed_test:
        raise NotAvailable(run.why_no_flow())
    rtts_ms = [flow.tcp["tcp_rtt"].values for flow in run.speed_test if "tcp_rtt" in flow.tcp]
    if not rtts_ms:
        raise NotAvailable("the file has no RTT of TCP_INFO of the loading flows")
    return numpy.concatenate(rtts_ms)


# Traces of latency, including lost probes.
LATENCIES: dict[str, Callable[[Run], Samples]] = {
    "latency_loaded": lambda run: run.loaded(),
    "latency_idle": lambda run: run.idle(),
    "latency_download": lambda run: run.loaded("download"),
    "latency_upload": lambda run: run.loaded("upload"),
}
SERIES: dict[str, tuple[NumberKind, Callable[[Run], Numbers]]] = {
    "throughput_download": (NumberKind.RATE, partial(_rates_mbps, direction="download")),
    "throughput_upload": (NumberKind.RATE, partial(_rates_mbps, direction="upload")),
    "tcp_rtt": (NumberKind.TIME, _tcp_rtts_ms),
}
STATISTICS: dict[str, Callable[[Numbers], float]] = {
    "median": lambda values: percentile(values, 50),
    "mean": lambda values: float(_answered(values).mean()),
    "min": lambda values: float(_answered(values).min()),
    "max": lambda values: float(_answered(values).max()),
    "count": lambda values: float(values.size),
}
OF_LATENCIES: dict[str, tuple[NumberKind, Callable[[Samples], float]]] = {
    "loss": (NumberKind.SHARE, latency.loss_pct),
    "jitter": (NumberKind.TIME, latency.mean_jitter_ms),
}
GLITCHES: dict[str, tuple[Callable[[Run, float], float], NumberKind]] = {
    "glitches_per_minute": (latency.glitches_per_minute, NumberKind.NUMBER),
    "longest_glitch": (latency.longest_glitch_ms, NumberKind.TIME),
    "glitch_time": (latency.glitch_time_pct, NumberKind.SHARE),
}
_PERCENTILE = re.compile(r"p(\d{1,2}(?:[._]\d+)?)$")
TRACES = (*LATENCIES, *SERIES)
FUNCTIONS = ("pN (N above 0 and below 100)", *STATISTICS, *OF_LATENCIES, *GLITCHES)


def metric_leaf(name: str) -> Leaf:
    """Return the leaf of a metric. Raises ConfigError if the name is unknown, or is that of a trace
    or of a function that needs an argument."""
    if name in METRICS:
        return Leaf(name, _KINDS.get(METRICS[name].unit, NumberKind.NUMBER), name)
    if name in TRACES:
        raise ConfigError(f"{name} has many samples; name a statistic of them, as in "
                          f"p99({name})")
    if name in GLITCHES:
        raise ConfigError(f"{name} needs a threshold, as in {name}(100ms)")
    if _is_statistic(name):
        raise ConfigError(f"{name} is a function of a trace: name the trace, as in "
                          f"{name}(latency_loaded); traces are {', '.join(_traces_of(name))}")
    known = (*METRICS, *TRACES, *STATISTICS, *OF_LATENCIES, *GLITCHES)
    raise ConfigError(f"unknown name {name!r}{did_you_mean(name, known) or ';'} 'flent-aqm score "
                      f"--list' has all metrics, and functions are {', '.join(FUNCTIONS)}")


def function_leaf(function: str, argument: str, number: float | None, kind: NumberKind) -> Leaf:
    """Return the leaf of a function of a trace or of a threshold.

    Args:
        function: name of the function.
        argument: name of a trace, or text of a threshold with its unit.
        number: value of a threshold in ms, or in Mbit/s or % if that is its kind, which is refused.
            None for a name, or a number without a unit.
        kind: kind of the threshold. Of no meaning without `number`.

    Raises ConfigError if function or argument is unknown, or if they don't fit.
    """
    if function in GLITCHES:
        if number is None or kind is not NumberKind.TIME:
            raise ConfigError(f"{function}({argument}): expected a time with its unit as "
                              f"threshold, as in {function}(100ms)")
        return Leaf(f"{function}({number:g}ms)", GLITCHES[function][1], function,
                    threshold_ms=number)
    if function in METRICS:
        raise ConfigError(f"{function} is a metric, not a function; leave ({argument}) out")
    if function in TRACES:
        raise ConfigError(f"{function} is a trace, not a function; write a function with the trace "
                          f"as its argument, as in p99({function})")
    if not _is_statistic(function):
        raise ConfigError(f"unknown function {function!r}; known: {', '.join(FUNCTIONS)}")
    if argument not in TRACES:
        known = _traces_of(function)
        near = did_you_mean(argument, known)
        raise ConfigError(f"unknown trace {argument!r}{f'{near} K' if near else '; k'}nown: "
                          f"{', '.join(known)}")
    if function in OF_LATENCIES and argument not in LATENCIES:
        raise ConfigError(f"{function} needs a trace of latency; expected {' or '.join(LATENCIES)}")
    if function in OF_LATENCIES:
        result_kind = OF_LATENCIES[function][0]
    elif function == "count":
        result_kind = NumberKind.NUMBER
    else:
        result_kind = SERIES[argument][0] if argument in SERIES else NumberKind.TIME
    return Leaf(f"{function}({argument})", result_kind, function, argument)


def _traces_of(function: str) -> Sequence[str]:
    """Return the names of the traces that a function can have as its argument."""
    return (*LATENCIES,) if function in OF_LATENCIES else TRACES


def _is_statistic(name: str) -> bool:
    """Return whether a name is that of a function of a trace, such as median, loss, or a percentile
    above p0 and below p100."""
    return name in STATISTICS or name in OF_LATENCIES or _percent_of(name) is not None


def _percent_of(function: str) -> float | None:
    """Return the percent in the name of a percentile, such as 99.9 for p99.9 and p99_9. None for
    other names, and if the percent is 0, or is 100 when read as a float."""
    match = _PERCENTILE.match(function)
    percent = float(match[1].replace("_", ".")) if match else 0.0
    # p99.9 with many more nines is read as 100.
    return percent if 0 < percent < 100 else None


def _trace_value(leaf: Leaf, run: Run) -> float:
    """Return the value of a function of a trace for a run, in the unit of the leaf's kind.

    Raises NotAvailable if the run doesn't have the trace or has too few samples, if its losses are
    not known for "loss", if it has interpolated steps only for "jitter", or if the trace is the
    throughput of several flows. Raises LostProbe, which is a NotAvailable, if a percentile or the
    median is a lost probe.

    leaf: a leaf with a trace.
    """
    if leaf.function in OF_LATENCIES:
        return OF_LATENCIES[leaf.function][1](LATENCIES[leaf.trace](run))
    values = (LATENCIES[leaf.trace](run).rtt_ms if leaf.trace in LATENCIES
              else SERIES[leaf.trace][1](run))
    if leaf.function in STATISTICS:
        return STATISTICS[leaf.function](values)
    percent = _percent_of(leaf.function)
    assert percent is not None  # function_leaf() has looked
    return percentile(values, percent)


def _answered(values: Numbers) -> Numbers:
    """Return the finite values. Raises NotAvailable if there are none."""
    finite = values[numpy.isfinite(values)]
    if not finite.size:
        raise NotAvailable("all of the trace's probes were lost" if values.size
                           else "the trace has no samples")
    return finite

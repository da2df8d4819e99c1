# SPDX-License-Identifier: GPL-3.0-or-later
"""Round trips per minute under load, estimated from a run's own samples.

Sources: draft-ietf-ippm-responsiveness-09 (formula, classes), and goresponsiveness,
rpm/calculations.go and utilities/math.go.

A responsiveness test opens HTTP/2 connections and measures on them. A run has not done
that, so this is an estimate: foreign times (new connections beside the load) are those of
the latency probe, one round trip each, in place of TCP's and HTTP's; self times (requests
on the loading connections) are TCP_INFO's smoothed round-trip times of the loading flows.
Both are of the last four intervals of 1 s under load. What TLS and servers add is missing,
and a buffer in the sender's kernel is, too.
"""

from __future__ import annotations

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.steps import step
from flent_aqm.results.metrics.trimmed import trimmed_mean

INTERVALS = 4
INTERVAL_S = 1.0
FEWEST_SAMPLES = 10
_CUTS, _CLASSES = (300, 1000, 6000), ("poor", "fair", "good", "excellent")


def ietf_rpm(foreign_ms: float, self_ms: float) -> float:
    """(60000 / foreign + 60000 / self) / 2, of times in ms."""
    return (60_000 / _positive(foreign_ms) + 60_000 / _positive(self_ms)) / 2


def goresponsiveness_rpm(foreign_ms: float, self_ms: float) -> float:
    """60 / ((self + foreign) / 2), of times in seconds there and in ms here."""
    return 60_000 / _positive((foreign_ms + self_ms) / 2)


def rpm_class(rpm: float) -> str:
    """The draft's word: poor below 300, fair below 1000, good below 6000, else excellent."""
    return step(rpm, _CUTS, _CLASSES)


def trimmed_mean_ms(samples_ms: Numbers) -> float:
    """One-sided: the mean without the slowest 5 %."""
    return trimmed_mean(samples_ms, highest=0.05)


def p90_ms(samples_ms: Numbers) -> float:
    """The sample at 90 % of the sorted ones, as goresponsiveness picks it."""
    return float(numpy.sort(samples_ms)[int(0.9 * samples_ms.size)])


def foreign_ms(run: Run) -> Numbers:
    """Answered probes of the last four seconds under load. Raises NotAvailable."""
    window = run.loaded()
    end_s = _end_s(run)
    late = window.sent_s > end_s - INTERVALS * INTERVAL_S
    return _enough(window.rtt_ms[late & numpy.isfinite(window.rtt_ms)], "answered probes")


def self_ms(run: Run) -> Numbers:
    """TCP_INFO's round-trip times in the same time, of all loading flows together. Raises
    NotAvailable."""
    found = []
    end_s = _end_s(run)
    for flow in run.speed_test:
        rtt = flow.tcp.get("tcp_rtt")
        if rtt is not None:
            found.append(rtt.values[(rtt.at_s > end_s - INTERVALS * INTERVAL_S)
                                    & (rtt.at_s <= end_s)])
    if not found:
        raise NotAvailable("the file has no TCP_INFO of the loading flows")
    return _enough(numpy.concatenate(found), "samples of TCP_INFO")


def foreign_rpm(run: Run) -> float:
    """60000 / TM(foreign), the draft's Foreign. Raises NotAvailable."""
    return 60_000 / _positive(trimmed_mean_ms(foreign_ms(run)))


def loaded_rpm(run: Run) -> float:
    """60000 / TM(self), the draft's Loaded. Raises NotAvailable."""
    return 60_000 / _positive(trimmed_mean_ms(self_ms(run)))


def ietf_estimate(run: Run) -> float:
    """The draft's RPM. Raises NotAvailable."""
    return ietf_rpm(trimmed_mean_ms(foreign_ms(run)), trimmed_mean_ms(self_ms(run)))


def goresponsiveness_estimate(run: Run) -> float:
    """goresponsiveness' RPM of trimmed means. Raises NotAvailable."""
    return goresponsiveness_rpm(trimmed_mean_ms(foreign_ms(run)), trimmed_mean_ms(self_ms(run)))


def goresponsiveness_p90_estimate(run: Run) -> float:
    """goresponsiveness' RPM of 90th percentiles. Raises NotAvailable."""
    return goresponsiveness_rpm(p90_ms(foreign_ms(run)), p90_ms(self_ms(run)))


def _end_s(run: Run) -> float:
    if run.load_window is None:
        raise NotAvailable("the test doesn't load the link")
    return run.load_window.end_s


def _enough(samples_ms: Numbers, what: str) -> Numbers:
    if samples_ms.size < FEWEST_SAMPLES:
        raise NotAvailable(f"the last {INTERVALS * INTERVAL_S:g} s under load have "
                           f"{samples_ms.size} {what}, and {FEWEST_SAMPLES} are needed")
    return samples_ms


def _positive(milliseconds: float) -> float:
    if not milliseconds > 0:
        raise NotAvailable("round trips took no time")
    return milliseconds

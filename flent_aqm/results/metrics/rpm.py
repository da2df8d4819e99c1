# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimate round trips per minute (RPM) under load from a run's own samples.

Sources: draft-ietf-ippm-responsiveness-09 (formula, classes, trimming, intervals of 5 s), and
goresponsiveness at commit 3439542 (rpm/calculations.go, utilities/math.go; its defaults in
constants/constants.go: intervals of 1 s, tmp = 5).

A responsiveness test opens HTTP/2 connections and measures on them. A run has not done so, and
therefore this is an estimate. Foreign times (new connections beside the load) are those of the
latency probe, one RTT each, instead of TCP's and HTTP's. Self times (requests on the loading
connections) are TCP_INFO's smoothed RTTs of the loading flows. Both are from the last four
intervals in which the flows that end last ran. The times that TLS, servers and a buffer in the
sender's kernel add are missing.
"""

from __future__ import annotations

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import counted, significant
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.grades import step
from flent_aqm.results.metrics.percentiles import trimmed_mean
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.window import Window

# Number of intervals (MAD) of both sources, and their durations.
INTERVALS = 4
IETF_INTERVAL_S, GO_INTERVAL_S = 5.0, 1.0
# The draft leaves out the slowest 5 %. The program keeps only the fastest 5 %.
IETF_LEFT_OUT, GO_KEPT = 0.05, 0.05
FEWEST_SAMPLES = 10
_CUTS, _CLASSES = (300, 1000, 6000), ("poor", "fair", "good", "excellent")


def ietf_rpm(foreign_ms: float, self_ms: float) -> float:
    """Return the draft's RPM from foreign and self times in ms: (60000 / foreign + 60000 / self) /
    2. Raises NotAvailable if a time is not above 0."""
    return (60_000 / _require_positive(foreign_ms) + 60_000 / _require_positive(self_ms)) / 2


def goresponsiveness_rpm(foreign_ms: float, self_ms: float) -> float:
    """Return goresponsiveness' RPM from foreign and self times in ms: 60000 / ((self + foreign) /
    2). Raises NotAvailable if their mean is not above 0."""
    return 60_000 / _require_positive((foreign_ms + self_ms) / 2)


def rpm_class(rpm: float) -> str:
    """Return the draft's word for an RPM: poor below 300, fair below 1000, good below 6000, else
    excellent."""
    return step(rpm, _CUTS, _CLASSES)


def ietf_mean_ms(samples_ms: Numbers) -> float:
    """Return the draft's one-sided trimmed mean in ms of at least one sample: without the slowest
    5 %, rounded down to whole samples."""
    return trimmed_mean(samples_ms, highest=IETF_LEFT_OUT)


def go_mean_ms(samples_ms: Numbers) -> float:
    """Return goresponsiveness' trimmed mean in ms with its default settings: of the fastest 5 % of
    the samples.

    Source: TrimBy() keeps `tmp` percent of the sorted samples, and tmp is 5 where the draft says
    95. Raises NotAvailable with fewer than 20 samples, of which it would keep none.
    """
    kept = int(GO_KEPT * samples_ms.size)
    if not kept:
        raise NotAvailable(f"goresponsiveness keeps {GO_KEPT:.0%} of the samples, rounded "
                           f"down, which leaves none of {samples_ms.size}")
    return float(numpy.sort(samples_ms)[:kept].mean())


def p90_ms(samples_ms: Numbers) -> float:
    """Return the 90th percentile in ms of at least one sample, as goresponsiveness computes it: the
    sorted sample with index 0.9 n, from 0 and rounded down, without interpolation."""
    return float(numpy.sort(samples_ms)[int(0.9 * samples_ms.size)])


def foreign_ms(run: Run, interval_s: float) -> Numbers:
    """Return the RTTs in ms of the answered probes sent in the last four intervals under load. That
    time is shorter if the flows that end last started later, see last_intervals(). interval_s:
    duration of an interval. Raises NotAvailable with fewer than 10 RTTs, or without load."""
    late = last_intervals(run, interval_s)
    probes = run.loaded()
    inside = late.holds_behind_start(probes.sent_s) & numpy.isfinite(probes.rtt_ms)
    return _require_enough(probes.rtt_ms[inside], "answered probe", "answered probes", late)


def self_ms(run: Run, interval_s: float) -> Numbers:
    """Return TCP_INFO's RTTs in ms in the last four intervals under load (last_intervals()), of all
    flows of the test that have them. interval_s: duration of an interval. Raises NotAvailable with
    fewer than 10 RTTs, or without load."""
    late = last_intervals(run, interval_s)
    rtts_ms = [rtt.values[late.holds_behind_start(rtt.at_s)]
               for flow in run.speed_test if (rtt := flow.tcp.get("tcp_rtt")) is not None]
    if not rtts_ms:
        raise NotAvailable("the file has no RTT of TCP_INFO of the loading flows")
    return _require_enough(numpy.concatenate(rtts_ms), "sample of TCP_INFO", "samples of TCP_INFO",
                           late)


def last_intervals(run: Run, interval_s: float) -> Window:
    """Return the time of the last four intervals under load. It is shorter if all flows that end
    within 1 s (GO_INTERVAL_S) of the load's end started later, as NDT7's upload does. interval_s:
    duration of an interval. Raises NotAvailable without load."""
    if run.load_window is None:
        raise NotAvailable(run.why_no_flow())
    end_s = run.load_window.end_s
    began_s = min(flow.start_s for flow in run.speed_test if flow.end_s > end_s - GO_INTERVAL_S)
    return Window(max(end_s - INTERVALS * interval_s, began_s), end_s)


def foreign_rpm(run: Run) -> float:
    """Return the draft's Foreign in RPM: 60000 / the mean in ms of the RTTs of answered probes in
    at most the last 20 s under load, without the slowest 5 %. Raises NotAvailable with fewer than
    10 such RTTs, without load, or if the mean is 0 ms."""
    return 60_000 / _require_positive(ietf_mean_ms(foreign_ms(run, IETF_INTERVAL_S)))


def loaded_rpm(run: Run) -> float:
    """Return the draft's Loaded in RPM: 60000 / the mean in ms of TCP_INFO's RTTs in at most the
    last 20 s under load, without the largest 5 %. Raises NotAvailable with fewer than 10 such RTTs,
    without load, or if the mean is 0 ms."""
    return 60_000 / _require_positive(ietf_mean_ms(self_ms(run, IETF_INTERVAL_S)))


def ietf_estimate(run: Run) -> float:
    """Return an estimate of the draft's RPM of a run: the mean of foreign_rpm() and loaded_rpm(),
    by the probes' RTTs and TCP_INFO's RTTs in at most the last 20 s under load. Raises NotAvailable
    with fewer than 10 RTTs of either kind, without load, or if a mean is 0 ms."""
    return ietf_rpm(ietf_mean_ms(foreign_ms(run, IETF_INTERVAL_S)),
                    ietf_mean_ms(self_ms(run, IETF_INTERVAL_S)))


def goresponsiveness_estimate(run: Run) -> float:
    """Return an estimate of goresponsiveness' RPM of a run, from the means of the fastest 5 % of
    the probes' RTTs and of TCP_INFO's RTTs in at most the last 4 s under load. Raises NotAvailable
    with fewer than 20 RTTs of either kind, without load, or if the means are 0 ms."""
    return goresponsiveness_rpm(go_mean_ms(foreign_ms(run, GO_INTERVAL_S)),
                                go_mean_ms(self_ms(run, GO_INTERVAL_S)))


def goresponsiveness_p90_estimate(run: Run) -> float:
    """Return an estimate of goresponsiveness' RPM of a run, from the 90th percentiles of the
    probes' RTTs and of TCP_INFO's RTTs in at most the last 4 s under load. Raises NotAvailable with
    fewer than 10 RTTs of either kind, without load, or if the percentiles are 0 ms."""
    return goresponsiveness_rpm(p90_ms(foreign_ms(run, GO_INTERVAL_S)),
                                p90_ms(self_ms(run, GO_INTERVAL_S)))


def _require_enough(samples_ms: Numbers, one: str, several: str, late: Window) -> Numbers:
    """Return the samples unchanged. Raises NotAvailable if there are fewer than 10.

    Args:
        samples_ms: RTTs.
        one: name of a sample, for the message.
        several: its plural.
        late: time in which they were taken, for the message.
    """
    if samples_ms.size < FEWEST_SAMPLES:
        raise NotAvailable(f"the last {significant(late.length_s)} s under load have "
                           f"{counted(samples_ms.size, one, several)}, and {FEWEST_SAMPLES} are "
                           "needed")
    return samples_ms


def _require_positive(milliseconds: float) -> float:
    """Return the time unchanged. Raises NotAvailable if it is not above 0."""
    if not milliseconds > 0:
        raise NotAvailable(f"the round trips took {significant(milliseconds)} ms; expected more "
                           "than 0")
    return milliseconds

# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute metrics of latency: statistics of probes, jitter, loss, round trips, glitches.

probes.py reads the probes, and says which of them can't count losses.

Statistics of raw latency probes, idle or under load: common practice. Percentiles count a lost
probe as slower than any other. Mean, minimum and maximum can't, and are those of the answered
probes.

Jitter is the difference in latency between successive probes. Only answered probes count. A lost
probe between two others makes jitter neither smaller nor larger.

Round trips of flows are those of the load's own packets, from the capture on the client. They show
the effect of a queue on the flow that fills it. Probes show the effect on other flows. Source:
measure/parsers/round_trips.py. A percentile is the mean of each connection's.

Glitches are moments in which somebody in a call or a game would have noticed the network. Own
definition, because the term is used in public without one. A probe is bad if it is lost, or if it
takes longer than the idle median and a threshold. A glitch is a sequence of bad probes. Sequences
less than 100 ms apart are one glitch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import LostProbe, NotAvailable, TooFewSamples
from flent_aqm.base.switch import switch
from flent_aqm.base.words import significant
from flent_aqm.measure.parsers.round_trips import FEWEST
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.percentiles import SAMPLES_BEYOND, percentile, samples_beyond
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.run import Run, Samples
from flent_aqm.results.metrics.window import no_time

STATISTICS: dict[str, Callable[[Samples], float]] = {
    "min": lambda samples: float(samples.answered_ms.min()),
    "median": lambda samples: percentile(samples.rtt_ms, 50),
    "mean": lambda samples: float(samples.answered_ms.mean()),
    "p90": lambda samples: percentile(samples.rtt_ms, 90),
    "p95": lambda samples: percentile(samples.rtt_ms, 95),
    "p99": lambda samples: percentile(samples.rtt_ms, 99),
    "p99_9": lambda samples: percentile(samples.rtt_ms, 99.9),
    "max": lambda samples: float(samples.answered_ms.max()),
}


def idle_ms(run: Run, statistic: str) -> float:
    """Return a statistic of the RTTs in ms of the probes before the load, of all probes in a run
    without flows. A lost probe counts as slower than any other in percentiles, and not at all in
    minimum, mean and maximum. statistic: a key of STATISTICS, such as "min", "mean" or "p99_9".
    Raises NotAvailable if there are no probes, too few for a percentile, or no answered one for the
    others, and LostProbe if a percentile is a lost probe."""
    return STATISTICS[statistic](run.idle())


def loaded_ms(run: Run, statistic: str) -> float:
    """Return a statistic of the RTTs in ms of the probes under load. A lost probe counts as slower
    than any other in percentiles, and not at all in minimum, mean and maximum. statistic: a key of
    STATISTICS, such as "min", "mean" or "p99_9". Raises NotAvailable if there is no load, or if
    there are no probes under it, too few for a percentile, or no answered one for the others, and
    LostProbe if a percentile is a lost probe."""
    return STATISTICS[statistic](run.loaded())


def increase_ms(run: Run, statistic: str) -> float:
    """Return the increase of latency under load in ms: the statistic of RTTs under load less that
    of RTTs before the load.

    There is no standard, so the statistic, a key of STATISTICS such as "median" or "p99", is part
    of the metric's name. Raises NotAvailable if either can't be computed, and LostProbe if the
    statistic under load is a lost probe.
    """
    loaded = run.loaded()  # its reason is better if there is no load
    before_ms = _told_as_idle(partial(idle_ms, run, statistic))
    return STATISTICS[statistic](loaded) - before_ms


def _told_as_idle(idle: Callable[[], float]) -> float:
    """Return a statistic of the probes before the load. Raises TooFewSamples if they are too few
    for it, NotAvailable if it is a lost probe, with a reason that names the phase.

    idle: returns the statistic. Raises TooFewSamples or LostProbe.
    """
    try:
        return idle()
    except TooFewSamples as few:
        raise TooFewSamples(f"before the load {few}") from None
    except LostProbe as lost:
        raise NotAvailable(f"before the load {lost}") from None


def mean_jitter_ms(samples: Samples) -> float:
    """Return the mean absolute difference in ms between successive RTTs of answered probes. Source:
    Cloudflare's speed test calls this jitter. Raises NotAvailable with fewer than two answered
    probes, or if the file has interpolated steps only."""
    return float(_jitter_differences_ms(samples).mean())


def smoothed_jitter_ms(samples: Samples) -> float:
    """Return the last value of the smoothed jitter in ms: J += (|D| - J) / 16 for each pair of
    successive answered probes, starting at 0.

    Source: RFC 3550, 6.4.1 and A.8, there for one-way transit times, here for RTTs. Raises
    NotAvailable with fewer than two answered probes, or if the file has interpolated steps only.
    """
    jitter_ms = 0.0
    for difference_ms in _jitter_differences_ms(samples).tolist():
        jitter_ms += (difference_ms - jitter_ms) / 16
    return jitter_ms


def _jitter_differences_ms(samples: Samples) -> Numbers:
    """Return the absolute differences between successive RTTs of answered probes, in ms. Lost
    probes between them are skipped. Raises NotAvailable with fewer than two answered probes, or if
    the file has interpolated steps only."""
    if samples.of_steps:
        raise NotAvailable("the file has Flent's interpolated steps only, which are smoother than "
                           "the probes were")
    answered_ms = samples.answered_ms
    if answered_ms.size < 2:
        raise NotAvailable(f"only one probe {samples.phase} came back")
    return numpy.abs(numpy.diff(answered_ms))


def loss_pct(samples: Samples) -> float:
    """Return the share of lost probes in percent. A probe is lost if it or its reply was.

    Source: RFC 7680 calls this the loss ratio, for one direction. Raises NotAvailable if the probe
    can't tell losses.
    """
    if samples.loss_unknown:
        raise NotAvailable(samples.loss_unknown)
    return float(numpy.isinf(samples.rtt_ms).mean()) * 100


def udp_loss_pct(run: Run, direction: str) -> float:
    """Return the share in % of a direction's UDP packets that the receiver missed, by their
    numbers, over all of the test's flows with counts. direction: "download" or "upload". Source:
    RFC 7680, one way. Raises NotAvailable if no such flow has counts, if no packet was sent, or if
    the counts are impossible: fewer than 0 lost, or more than were sent."""
    counts = [(flow.packets, flow.lost_packets) for flow in run.flows_of(direction)
              if flow.packets is not None and flow.lost_packets is not None]
    if not counts:
        raise NotAvailable(f"the file has no count of lost packets of a UDP {direction}, which "
                           "iperf3's receiver reports")
    sent = sum(packets for packets, _ in counts)
    lost = sum(missed for _, missed in counts)
    if not 0 <= lost <= sent:
        raise NotAvailable(f"the UDP receiver reports {lost:,.15g} lost packets of {sent:,.15g}, "
                           "which is impossible")
    if not sent:
        raise NotAvailable(f"the UDP {direction} sent no packet")
    return 100 * lost / sent


# Name -> percentile.
FLOW_RTT_PERCENTILES = {"min": 0, "median": 50, "p90": 90, "p95": 95, "p99": 99, "max": 100}


def flow_rtt_ms(run: Run, direction: str, statistic: str) -> float:
    """Return a statistic in ms of the RTTs of the packets of the test's flows in a direction: the
    mean over connections of each connection's percentile. Connections with fewer than 20 RTTs
    (FEWEST), and flows without RTTs of packets, are left out.

    Args:
        run: the run.
        direction: "download" or "upload".
        statistic: "min", "median", "p90", "p95", "p99" or "max".

    Raises NotAvailable without a flow in that direction, if the capture failed, if no connection
    has 20 RTTs from it, or if fewer than 10 samples of all these connections together lie beyond
    the percentile. "min" and "max" need no such samples.
    """
    trips = [flow.trips for flow in run.flows_of(direction) if flow.trips is not None]
    if not trips and run.capture_failure:
        raise NotAvailable(f"the packets of the {direction} flows were not captured: "
                           f"{run.capture_failure}")
    if not trips and run.is_captured and switch(run.settings.get("round_trips")):
        raise NotAvailable(f"no TCP connection of the {direction} flows has {FEWEST} round trips "
                           "of packets, which percentiles need; packets of TCP with time stamps "
                           "have them")
    if not trips:
        raise NotAvailable(f"the file has no round trips of the {direction} flows' packets, which "
                           "take a test of flent-aqm with the parameter round_trips=yes, and TCP "
                           "with time stamps")
    percent = FLOW_RTT_PERCENTILES[statistic]
    samples = sum(one.samples for one in trips)
    if 0 < percent < 100 and samples_beyond(samples, percent) < SAMPLES_BEYOND:
        raise NotAvailable(f"{samples} round trips are too few for p{percent}: {SAMPLES_BEYOND} "
                           "have to lie beyond it")
    return float(numpy.average([one.percentiles_ms[percent] for one in trips],
                               weights=[one.connections for one in trips]))


GLITCH_THRESHOLDS_MS = (30, 60, 100, 200)
# Threshold of the glitches that reports list. `why --glitch` counts the same ones.
LISTED_GLITCH_MS = GLITCH_THRESHOLDS_MS[0]
# Probes further apart would miss glitches, or make them too long.
_WIDEST_SPACING_MS = 20.0
_GLITCHES_APART_S = 0.1


@dataclass(frozen=True)
class Glitch:
    """A glitch: probes in short succession that were lost or too slow. Good ones may lie between
    them.

    Attributes:
        start_s: when its first bad probe was sent, in epoch seconds.
        length_ms: time from then until the probe after the last bad one was due.
    """

    start_s: float
    length_ms: float


def find_glitches(samples: Samples, idle_median_ms: float,
                  threshold_ms: float) -> Sequence[Glitch]:
    """Return the glitches among probes, in the order of time. Empty if no probe is bad. Bad probes
    with a pause of less than 100 ms between them are of one glitch, even if good ones came between.
    A pause begins when the probe after a bad one was due.

    Args:
        samples: the probes.
        idle_median_ms: median RTT without load.
        threshold_ms: a probe is bad if its RTT exceeds the median by more than this, or if it is
            lost.

    Raises NotAvailable if the probes are usually more than 20 ms apart (rounded to three digits),
    if the series has a single probe, or if it can't tell losses.
    """
    if samples.loss_unknown:
        raise NotAvailable(samples.loss_unknown)
    spacing = significant(samples.spacing_ms)  # compared as shown
    if float(spacing) > _WIDEST_SPACING_MS:
        raise NotAvailable(f"probes are {spacing} ms apart, and glitches need "
                           f"{_WIDEST_SPACING_MS:g} ms at most" if math.isfinite(samples.spacing_ms)
                           else "the latency series has a single probe")
    bad_s = samples.sent_s[samples.rtt_ms > idle_median_ms + threshold_ms]
    if not bad_s.size:
        return []
    # The usual distance between two probes does not count as a pause.
    pause_s = _GLITCHES_APART_S + samples.spacing_ms / 1000
    breaks = numpy.flatnonzero(numpy.diff(bad_s) >= pause_s)
    first = numpy.concatenate(([0], breaks + 1))
    last = numpy.concatenate((breaks, [bad_s.size - 1]))
    return [Glitch(float(start), float(end - start) * 1000 + samples.spacing_ms)
            for start, end in zip(bad_s[first], bad_s[last], strict=True)]


def glitches(run: Run, threshold_ms: float) -> Sequence[Glitch]:
    """Return the glitches while the test loaded the link, in the order of time, empty if there is
    none. They consist of bad probes: lost, or with an RTT above the idle median plus threshold_ms.
    Raises NotAvailable without probes under load, with too few probes before the load or half of
    these or more lost, or if probes are usually more than 20 ms apart or can't tell losses."""
    return find_glitches(run.loaded(), idle_median_ms(run), threshold_ms)


def bad_probes(probe: Probe, glitch: Glitch, limit_ms: float) -> NDArray[numpy.bool_]:
    """Return a mask of a series' probes: True for those that were bad and sent from the glitch's
    start to before its end.

    Args:
        probe: the series.
        glitch: one of its glitches.
        limit_ms: RTT above which a probe is bad: the idle median plus the glitches' threshold.
    """
    bad: NDArray[numpy.bool_] = (
        (probe.rtt_ms > limit_ms) & (probe.sent_s >= glitch.start_s)
        & (probe.sent_s < glitch.start_s + glitch.length_ms / 1000))
    return bad


def idle_median_ms(run: Run, probe: Probe | None = None) -> float:
    """Return the median RTT in ms of the probes before the load, lost ones included, or of all
    probes in a run without flows. Glitches are measured from it. Raises NotAvailable if there are
    too few probes, or if half or more of them were lost.

    Args:
        run: the run.
        probe: a latency series of the run, None for the best one.
    """
    return _told_as_idle(lambda: percentile(run.idle(probe).rtt_ms, 50))


def glitches_per_minute(run: Run, threshold_ms: float) -> float:
    """Return the number of glitches per minute of load. threshold_ms: a probe is bad, and part of a
    glitch, if it is lost or its RTT exceeds the idle median by more than this. Raises NotAvailable
    as glitches() does, or if the load lasted 0 s."""
    events = glitches(run, threshold_ms)
    length_s = run.loaded().length_s
    if not length_s > 0:
        raise NotAvailable(no_time("load"))
    return len(events) * 60 / length_s


def longest_glitch_ms(run: Run, threshold_ms: float) -> float:
    """Return the length of the longest glitch under load in ms, 0 without any. It lasts from its
    first bad probe until the probe after its last bad one was due. Bad probes with a pause of less
    than 100 ms between them are of one glitch, even if good ones came between.

    threshold_ms: a probe is bad if it is lost, or its RTT exceeds the idle median by more than
    this.

    Raises NotAvailable without probes under load, with too few probes before it or half or more of
    these lost, or if probes are more than 20 ms apart or can't tell losses.
    """
    return max((one.length_ms for one in glitches(run, threshold_ms)), default=0.0)


def glitch_time_pct(run: Run, threshold_ms: float) -> float:
    """Return the share of the load's time inside glitches, in %, at most 100. It is better for
    comparisons than the number, which decreases if two glitches grow into one. threshold_ms: a
    probe is bad, and part of a glitch, if it is lost or its RTT exceeds the idle median by more
    than this. Raises NotAvailable as glitches() does, or if the load lasted 0 s."""
    length_s = run.loaded().length_s
    if not length_s > 0:
        raise NotAvailable(no_time("load"))
    spent_ms = sum(one.length_ms for one in glitches(run, threshold_ms))
    return min(spent_ms / (length_s * 10), 100.0)

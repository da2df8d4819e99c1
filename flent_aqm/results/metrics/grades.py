# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute scores and grades that other projects define, from a run's samples.

AIM: Cloudflare's points for streaming, gaming and calls. Source: cloudflare/speedtest 1.13,
src/config/internalConfig.ts and src/Results/. Latency and jitter are those of the idle link. Loaded
latency is the median of the last 20 probes that are at least 400 ms apart. Its increase is that of
the worse direction. Cloudflare's loss test runs apart from the load. Here it is the probes' loss
under load.

DSLReports: a grade of buffer bloat. Source: dslreports.com/faq/17930.

LibreQoS: a grade of buffer bloat, for a single user. Source: LibreQoE/bufferbloat_test at commit
4bb15b5 (June 2025): client/results.js and client/shared/gradeCalculations.js for the formulas. The
limits of its grades are those of its README, of the test's page "Bufferbloat & QoO Test" and of
gradeCalculations.js. A settings file of that commit still has the older limits of 25, 50, 75 and
100 ms. Each phase of a test has a grade: download, upload, and both at once. All phases have the
same weight in the total, which can't be better than the grade of the idle link.

Quality of Outcome (QoO): how well the network serves an application, 0 to 100. Source:
draft-ietf-ippm-qoo. The score is the lowest of those for latency, loss and throughput. Each
application has its requirements. Here they are those of the draft's worked example.

Ookla's style: loaded latency as iqm, low, high and jitter for each direction. Source: names of the
fields in the JSON of Ookla's command-line client. It sends probes of its own, over TCP and at times
of its choice. Here all probes of the run count.

Responsiveness (RPM) has a file of its own, rpm.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.latency import loss_pct, mean_jitter_ms
from flent_aqm.results.metrics.percentiles import of_answered, percentile_or_lost, trimmed_mean
from flent_aqm.results.metrics.run import Run, Samples
from flent_aqm.results.metrics.throughput import SHORTEST_S, throughput_mbps

# Rises of latency in ms from which DSLReports and LibreQoS give the next grade.
_CUTS, _GRADES = (5, 30, 60, 200, 400), ("A+", "A", "B", "C", "D", "F")
Result = TypeVar("Result")


def step(value: float, cuts: Sequence[float], results: Sequence[Result]) -> Result:
    """Return the result for a value: results[0] below the first threshold, results[1] from it on,
    and so on.

    Args:
        value: the value.
        cuts: thresholds, ascending.
        results: results, one more than thresholds.
    """
    return results[bisect_right(cuts, value)]


def bufferbloat_grade(rise: float) -> str:
    """Return the grade of DSLReports and LibreQoS for a rise of latency in ms: A+ below 5, A below
    30, B below 60, C below 200, D below 400, else F."""
    return step(rise, _CUTS, _GRADES)


AIM_LAST_PROBES = 20
_AIM_APART_S = 0.4
# Probes every 400 ms are rarely sent at exactly this distance.
_AIM_SLACK_S = 0.005
_AIM_LATENCY = ((10, 20, 50, 100, 500), (20, 10, 5, 0, -10, -20))
_AIM_JITTER = ((10, 20, 100, 500), (10, 5, 0, -10, -20))
_AIM_LOSS = ((0.01, 0.05, 0.25, 0.5), (10, 5, 0, -10, -20))
_AIM_MBPS = ((1, 10, 50, 100), (0, 5, 10, 20, 30))
AIM_WORDS = ("bad", "poor", "average", "good", "great")
_AIM_CUTS = {"streaming": (15, 20, 40, 60), "gaming": (5, 15, 25, 30), "rtc": (5, 15, 25, 40)}


def aim_loaded_latency_ms(run: Run, direction: str) -> float:
    """Return the median RTT in ms of the last 20 (AIM_LAST_PROBES) of the answered probes that are
    about 400 ms or more apart (thinned_ms()), or of all of these if there are fewer, while the test
    loaded `direction` ("download" or "upload"). Raises NotAvailable without such probes, or if the
    test doesn't load that direction."""
    return float(numpy.median(thinned_ms(run.loaded(direction))[-AIM_LAST_PROBES:]))


def thinned_ms(samples: Samples) -> Numbers:
    """Return the RTTs in ms of answered probes at least 400 ms apart, with a tolerance of 5 ms, in
    the order of sending, beginning with the first answered one. Raises NotAvailable if none was
    answered."""
    answered = numpy.isfinite(samples.rtt_ms)
    sent_s, rtt_ms = samples.sent_s[answered], samples.rtt_ms[answered]
    if not sent_s.size:
        raise NotAvailable("none of the probes of this phase came back")
    kept = [0]
    while (following := int(numpy.searchsorted(
            sent_s, sent_s[kept[-1]] + _AIM_APART_S - _AIM_SLACK_S))) < sent_s.size:
        kept.append(following)
    return rtt_ms[kept]


def aim_increase_ms(run: Run) -> float:
    """Return AIM's increase of latency under load in ms: aim_loaded_latency_ms() of the direction
    in which it is higher, less the median RTT of the answered probes before the load. Raises
    NotAvailable if the test doesn't load both directions, or if no probe was answered before the
    load or under the load of a direction."""
    return (max(aim_loaded_latency_ms(run, "download"), aim_loaded_latency_ms(run, "upload"))
            - aim_idle_latency_ms(run))


def aim_idle_latency_ms(run: Run) -> float:
    """Return the median RTT in ms of the answered probes before the load, of all answered probes in
    a run without flows. Raises NotAvailable if there are none."""
    return float(numpy.median(run.idle().answered_ms))


def aim_streaming_points(run: Run) -> float:
    """Return AIM's points for streaming: the sum of those for idle latency, its increase under
    load, the download's throughput, and loss under load, which gets 0 points if it is not known. At
    least 0. Raises NotAvailable if latency, increase or throughput is not known."""
    return aim_points(aim_idle_latency_ms(run), aim_increase_ms(run), _loss_share(run),
                  download_mbps=throughput_mbps(run, "download"))


def aim_gaming_points(run: Run) -> float:
    """Return AIM's points for gaming: the sum of those for idle latency, its increase under load
    and loss under load, which gets 0 points if it is not known. At least 0. Raises NotAvailable if
    latency or increase is not known."""
    return aim_points(aim_idle_latency_ms(run), aim_increase_ms(run), _loss_share(run))


def aim_rtc_points(run: Run) -> float:
    """Return AIM's points for calls: the sum of those for idle latency and jitter, the increase of
    latency under load, and loss under load, which gets 0 points if it is not known. At least 0.
    Raises NotAvailable if latency, increase or jitter (see mean_jitter_ms()) is not known."""
    return aim_points(aim_idle_latency_ms(run), aim_increase_ms(run), _loss_share(run),
                  jitter_ms=mean_jitter_ms(run.idle()))


def _loss_share(run: Run) -> float | None:
    """Return the share of probes lost under load, 0 to 1. None if the probe can't tell losses.
    Raises NotAvailable without probes under load."""
    loaded = run.loaded()
    return None if loaded.loss_unknown else loss_pct(loaded) / 100


def aim_points(latency_ms: float, increase_ms: float, loss: float | None, *,
           download_mbps: float | None = None, jitter_ms: float | None = None) -> float:
    """Return the sum of the points for the given values, at least 0.

    Args:
        latency_ms: idle latency.
        increase_ms: increase of latency under load.
        loss: share of lost packets, 0 to 1. None if it was not measured, which counts 0 points.
        download_mbps: given for streaming only.
        jitter_ms: given for calls only.
    """
    return max(0.0, step(latency_ms, *_AIM_LATENCY) + step(increase_ms, *_AIM_LATENCY)
               + (0 if loss is None else step(loss, *_AIM_LOSS))
               + (0 if download_mbps is None else step(download_mbps, *_AIM_MBPS))
               + (0 if jitter_ms is None else step(jitter_ms, *_AIM_JITTER)))


def aim_word(experience: str, points: float) -> str:
    """Return AIM's word for points: bad, poor, average, good or great. experience: "streaming",
    "gaming" or "rtc"."""
    return step(points, _AIM_CUTS[experience], AIM_WORDS)


def dslreports_rise_ms(run: Run) -> float:
    """Return the mean RTT under load less the mean RTT before it, in ms, of answered probes. Under
    load it is the mean of both directions' means. Raises NotAvailable if the test doesn't load both
    directions, or if no probe was answered before the load or under the load of a direction."""
    idle_ms = float(run.idle().answered_ms.mean())
    loaded_ms = [float(run.loaded(direction).answered_ms.mean()) for direction in DIRECTIONS]
    return sum(loaded_ms) / 2 - idle_ms


_BOTH = "bidirectional"
LIBREQOS_PHASES = (*DIRECTIONS, _BOTH)
_LIBREQOS_IDLE_CUTS = (75, 100, 125, 150, 175)
_LIBREQOS_POINTS = dict(zip(_GRADES, (6.0, 5.0, 4.0, 3.0, 2.0, 1.0), strict=True))
_LIBREQOS_POINT_CUTS = (1.5, 2.5, 3.5, 4.5, 5.5)


def libreqos_phase_rise_ms(run: Run, phase: str) -> float:
    """Return the mean RTT of the answered probes in a phase less the lower quartile of those before
    the load, in ms. phase: "download" or "upload" for the time in which the test loads one
    direction alone, "bidirectional" for that in which it loads both. Raises NotAvailable if the
    test has no such phase, if the phase's probes cover less than 1 s (their number times their
    usual distance), or if none was answered in the phase or before the load."""
    rises_ms = _libreqos_rises_ms(run)
    if phase not in rises_ms:
        for direction in DIRECTIONS if phase == _BOTH else (phase,):
            run.flows_of(direction)  # its reason is better
        load = "both directions at once" if phase == _BOTH else f"the {phase} alone"
        raise NotAvailable(f"the test doesn't load {load} for {SHORTEST_S:g} s in which probes "
                           "were sent and answered")
    return rises_ms[phase]


def libreqos_rise_ms(run: Run) -> float:
    """Return the mean of libreqos_phase_rise_ms() over the phases that the test has, in ms, with
    equal weights. Phases without 1 s of probes don't count. Raises NotAvailable if no phase is
    left, if the flows' names tell no direction, or if no probe was answered before the load."""
    return fmean(_libreqos_rises_ms(run).values())


def libreqos_points(run: Run) -> float:
    """Return LibreQoS' total, 1 to 6: the mean of the grades of the phases' rises (see
    bufferbloat_grade()) as numbers, from 6 for A+ to 1 for F, but not more than the number of the
    idle link's grade, which is that of the lower quartile of the idle latency. Raises NotAvailable
    as libreqos_rise_ms() does."""
    phases = fmean(_LIBREQOS_POINTS[bufferbloat_grade(rise)]
                   for rise in _libreqos_rises_ms(run).values())
    return min(phases, _LIBREQOS_POINTS[step(_libreqos_idle_ms(run), _LIBREQOS_IDLE_CUTS, _GRADES)])


def libreqos_grade(points: float) -> str:
    """Return LibreQoS' grade for a total: A+ from 5.5 points, A from 4.5, B from 3.5, C from 2.5, D
    from 1.5, else F."""
    return step(points, _LIBREQOS_POINT_CUTS, _GRADES[::-1])


def _libreqos_idle_ms(run: Run) -> float:
    """Return the lower quartile in ms of the RTTs of the answered probes before the load. Raises
    NotAvailable if no probe was answered before the load."""
    return of_answered(run.idle().answered_ms, 25)


def _libreqos_rises_ms(run: Run) -> Mapping[str, float]:
    """Return phase (of LIBREQOS_PHASES) -> mean RTT of its answered probes less the lower quartile
    of the idle RTTs, in ms. A phase is left out if none of its probes was answered, or if their
    number times their usual distance is less than 1 s. Raises NotAvailable if no phase is left, if
    the flows' names tell no direction, if there is no load or no probe under it, or if no probe was
    answered before the load."""
    probes = run.loaded()
    if not any(flow.direction for flow in run.speed_test):
        raise NotAvailable(run.why_no_flow(DIRECTIONS[0]))
    loading = {}
    for direction in DIRECTIONS:
        spans = [(flow.start_s, flow.end_s) for flow in run.speed_test
                 if flow.direction == direction]
        loading[direction] = numpy.zeros(probes.sent_s.size, dtype=bool)
        if spans:
            loading[direction] |= ((probes.sent_s >= min(start for start, _ in spans))
                             & (probes.sent_s <= max(end for _, end in spans)))
    down, up = (loading[direction] for direction in DIRECTIONS)
    idle_ms = _libreqos_idle_ms(run)
    rises_ms = {}
    for phase, inside in zip(LIBREQOS_PHASES, (down & ~up, up & ~down, down & up), strict=True):
        answered_ms = probes.rtt_ms[inside & numpy.isfinite(probes.rtt_ms)]
        # Not the spacing of all probes: a tool that waits for replies sends fewer under load.
        gaps_ms = numpy.diff(probes.sent_s[inside]) * 1000
        spacing_ms = float(numpy.median(gaps_ms)) if gaps_ms.size else probes.spacing_ms
        if answered_ms.size and inside.sum() * spacing_ms >= SHORTEST_S * 1000:
            rises_ms[phase] = float(answered_ms.mean()) - idle_ms
    if not rises_ms:
        raise NotAvailable(f"no phase of the load has {SHORTEST_S:g} s in which probes were sent "
                           "and answered")
    return rises_ms


@dataclass(frozen=True)
class QooRequirements:
    """Requirements of an application.

    Attributes:
        latency_ms: percentile -> (latency in ms for optimal performance, latency at which the
            application is unusable).
        loss_pct: loss in percent, as such a pair.
        throughput_mbps: throughput in Mbit/s needed in each direction that the test loads.
    """

    latency_ms: Mapping[float, tuple[float, float]]
    loss_pct: tuple[float, float]
    throughput_mbps: float


QOO_EXAMPLE = QooRequirements({99: (200, 500), 99.9: (300, 600)}, (1, 5), 4)
# Most runs are too short for p99.9.
QOO_EXAMPLE_P99 = QooRequirements({99: (200, 500)}, (1, 5), 4)


def qoo(run: Run, requirements: QooRequirements = QOO_EXAMPLE,
        direction: str | None = None) -> float:
    """Return the QoO score of a run, 0 to 100: the lowest of the scores of latency and loss under
    load, and 0 if the throughput of the slower direction that the test loads is too low. It is 0 if
    no flow's name tells its direction, and if a lost probe is at a percentile.

    Args:
        run: the run.
        requirements: requirements of the application.
        direction: "download" or "upload", for the time and the throughput of that load alone. None
            for both.

    Raises NotAvailable if the test loads nothing, if probes under load are missing, too few for a
    percentile, or can't tell losses, or if a direction's throughput is not known.
    """
    samples = run.loaded(direction)
    latency_ms = {percent: percentile_or_lost(samples.rtt_ms, percent)
                  for percent in requirements.latency_ms}
    directions = sorted({flow.direction for flow in run.speed_test
                         if flow.direction and direction in (None, flow.direction)})
    return qoo_score(requirements, latency_ms, loss_pct(samples),
                     min((throughput_mbps(run, one) for one in directions), default=0.0))


def qoo_score(needs: QooRequirements, latency_ms: Mapping[float, float], loss: float,
          mbps: float) -> float:
    """Return the QoO score, 0 to 100, of measured values: the lowest of the scores of loss and of
    the latency at each percentile, which fall linearly from 100 (optimal) to 0 (unusable). It is 0
    if the throughput is below the needed one.

    Args:
        needs: requirements of the application.
        latency_ms: percentile -> latency, infinite for a lost probe. It must have the percentiles
            of `needs`.
        loss: lost packets in percent.
        mbps: throughput in the slower direction, in Mbit/s.
    """
    parts = [_qoo_share(latency_ms[percent], *needs.latency_ms[percent])
             for percent in needs.latency_ms]
    enough = 1.0 if mbps >= needs.throughput_mbps else 0.0
    return 100 * min([*parts, _qoo_share(loss, *needs.loss_pct), enough])


def _qoo_share(measured: float, optimal: float, unusable: float) -> float:
    """Return the position of a value between unusable (0) and optimal (1), limited to 0 and 1."""
    return min(max(1 - (measured - optimal) / (unusable - optimal), 0.0), 1.0)


def ookla_iqm_ms(run: Run, direction: str) -> float:
    """Return Ookla's latency under load: the interquartile mean in ms of the RTTs of answered
    probes while the test loaded `direction` ("download" or "upload"). Raises NotAvailable without
    such probes."""
    return trimmed_mean(run.loaded(direction).answered_ms, lowest=0.25, highest=0.25)


def ookla_low_ms(run: Run, direction: str) -> float:
    """Return the lowest RTT in ms of the answered probes while the test loaded `direction`
    ("download" or "upload"). Raises NotAvailable without such probes."""
    return float(run.loaded(direction).answered_ms.min())


def ookla_high_ms(run: Run, direction: str) -> float:
    """Return the highest RTT in ms of the answered probes while the test loaded `direction`
    ("download" or "upload"). Raises NotAvailable without such probes."""
    return float(run.loaded(direction).answered_ms.max())


def ookla_jitter_ms(run: Run, direction: str) -> float:
    """Return the mean absolute difference in ms between successive RTTs of the answered probes
    while the test loaded `direction` ("download" or "upload"). Raises NotAvailable with fewer than
    two such probes, or if the file has interpolated steps only."""
    return mean_jitter_ms(run.loaded(direction))

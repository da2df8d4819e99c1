# SPDX-License-Identifier: GPL-3.0-or-later
"""Define all metrics by name, for `score`, `assert`, plots, reports and export."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy

from flent_aqm.base.errors import LostProbe, NotAvailable, TooFewSamples
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.results.metrics import cross, grades, latency, queue, rpm, speedtests, throughput
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.percentiles import of_sorted
from flent_aqm.results.metrics.run import Run
from flent_aqm.tools.table import SPEED_TESTS
from flent_aqm.tools.tool import HIGHER, LOWER, NEITHER

# Resolution of TCP_INFO: shorter times are reported as 1 us.
KERNEL_LEAST_MS = 0.001
# Beginning of a metric's name -> beginning of its label.
_LABELS = {"latency_loaded_": "latency under load, ", "latency_idle_": "idle latency, ",
           "latency_increase_": "latency added by load, ", "jitter_loaded": "jitter under load",
           "loss_loaded": "loss under load", "total_": "total throughput, "}
# Shown in tables for a percentile that is a lost probe.
LOST = "lost"


@dataclass(frozen=True)
class Unavailable:
    """Replaces a value that is not available.

    Attributes:
        because: the reason, shown to the user.
        lost: whether the value is a percentile that is a lost probe, which is worse than any
            number.
        too_few: whether the value is a percentile that needs more samples than the run has.
    """

    because: str
    lost: bool = False
    too_few: bool = False

    @classmethod
    def of(cls, error: NotAvailable) -> Unavailable:
        """Return what replaces the value whose computation raised `error`."""
        return cls(str(error), lost=isinstance(error, LostProbe),
                   too_few=isinstance(error, TooFewSamples))


@dataclass(frozen=True)
class Metric:
    """A value that can be computed for a run, with its unit, description and source.

    Attributes:
        name: name for users. It ends with "_ms", "_mbps" or "_bytes" if that is the unit, and
            mostly with "_pct" if the unit is %.
        function: computes the value. Raises NotAvailable if it can't.
        unit: "ms", "Mbit/s", "%", "RPM", "1/min", "1/s", "points", "packets", "bytes", or "" for a
            mere number.
        better: "lower", "higher" or "neither".
        description: one line for users.
        source: source of the formula.
        word: returns the source's word for a value, such as a grade. None if it has no words.
        least: smallest value that the source can report, None for any.
    """

    name: str
    function: Callable[[Run], float]
    unit: str
    better: str
    description: str
    source: str
    word: Callable[[float], str] | None = None
    least: float | None = None

    @property
    def label(self) -> str:
        """Name for an axis, in words: "latency under load, p99". A unit at the name's end ("_ms",
        "_mbps", "_pct", "_bytes") is left out."""
        name = self.name
        for suffix in ("_ms", "_mbps", "_pct", "_bytes"):
            name = name.removesuffix(suffix)
        for start, words in _LABELS.items():
            if name.startswith(start):
                name = f"{words}{name.removeprefix(start)}"
        return name.replace("p99_9", "p99.9").replace("_", " ")

    def of(self, run: Run) -> float | Unavailable:
        """Return the value for a run, or Unavailable with the reason why there is none."""
        try:
            return self.function(run)
        except NotAvailable as error:
            return Unavailable.of(error)

    def is_of_probe(self, run: Run) -> bool:
        """Return whether the run has a value that is from its latency probe: without the probe,
        there would be no value. A percentile that is a lost probe counts as a value."""
        return (ranked(self.of(run)) is not None
                and ranked(self.of(replace(run, probes=()))) is None)

    def text(self, value: float | Unavailable) -> str:
        """Return a value as text without its unit, with digits(), after its word if the metric has
        words: "95.60", "B 47.10". A value that is not above the smallest one that the source can
        report (`least`) becomes "≤" and `least`. Unavailable becomes LOST if it is a lost probe,
        else "-", without a word."""
        if isinstance(value, Unavailable):
            return LOST if value.lost else "-"
        number = digits(value)
        if self.least is not None and value <= self.least:
            number = f"≤ {digits(self.least)}"
        return f"{self.word(value)} {number}" if self.word else number

    def text_with_unit(self, value: float) -> str:
        """Return a value as text with its unit: "95.60 Mbit/s", "B (47.10 ms)" if the metric has
        words. The number is that of digits(), LOST for infinity. A value that is not above the
        smallest one that the source can report (`least`) becomes "≤" and `least`."""
        number = replace(self, word=None).text(value)
        text = f"{number} {self.unit}" if self.unit else number
        return f"{self.word(value)} ({text})" if self.word else text


def digits(value: float) -> str:
    """Return a number as text for tables: 2811, 119.5, 95.60, 1.05, and below 1 with two
    significant digits, but at most six decimals: 0.24, 0.0012. 0 is "0.00". LOST for infinity,
    which is a lost probe."""
    if math.isinf(value):
        return LOST
    size = abs(value)
    if not size or size >= 1:
        return f"{value:.{0 if size >= 1000 else 1 if size >= 100 else 2}f}"
    return f"{value:.{min(max(2, 1 - math.floor(math.log10(size))), 6)}f}"


def ranked(value: float | Unavailable) -> float | None:
    """Return the number by which a value is ranked: infinity for a lost probe, which is slower than
    any other. None if the value is not available."""
    if isinstance(value, Unavailable):
        return math.inf if value.lost else None
    return value


def middle(numbers: Sequence[float | Unavailable]) -> float | Unavailable:
    """Return the median over runs. Lost probes count as slower than any other: if the median is
    one, or lies between a number and one, return Unavailable with `lost`. Runs without a value are
    left out. If no run has a value, return the first Unavailable, or one with the reason "there is
    no run" if `numbers` is empty."""
    ranks = sorted(value for one in numbers if (value := ranked(one)) is not None)
    if not ranks:
        return next((one for one in numbers if isinstance(one, Unavailable)),
                    Unavailable("there is no run"))
    value = of_sorted(numpy.array(ranks), 50)
    if math.isinf(value):
        return Unavailable(next(one.because for one in numbers
                                if isinstance(one, Unavailable) and one.lost), lost=True)
    return value


def unknown_metric(name: str) -> str:
    """Return the message for a name that is no metric's, with the nearest metric if there is one,
    and the command that lists all."""
    near = did_you_mean(name, METRICS)
    return f"unknown metric {name[:60]!r}{near or ';'} 'flent-aqm score --list' has all"


def values(run: Run) -> dict[str, float | Unavailable]:
    """Return every metric of a run: name -> value, or the reason why there is none."""
    return {name: metric.of(run) for name, metric in METRICS.items()}


_STATISTIC_NAMES = {
    "min": "shortest", "median": "median", "mean": "mean", "p90": "90th percentile",
    "p95": "95th percentile", "p99": "99th percentile", "p99_9": "99.9th percentile",
    "max": "longest"}
_LIBREQOS = "LibreQoE/bufferbloat_test, 4bb15b5"
_OURS, _COMMON = "own definition", "common practice"
_AIM, _RPM = "cloudflare/speedtest 1.13", "draft-ietf-ippm-responsiveness-09"
_GO = "goresponsiveness 3439542, rpm/calculations.go"


def _latency() -> Iterator[Metric]:
    """Yield metrics of latency: under load, idle, and its increase."""
    for statistic, name in _STATISTIC_NAMES.items():
        yield Metric(f"latency_loaded_{statistic}_ms", partial(latency.loaded_ms,
                     statistic=statistic), "ms", LOWER,
                     f"round-trip time of the probe under load, {name}", _COMMON)
    for statistic, name in _STATISTIC_NAMES.items():
        yield Metric(f"latency_idle_{statistic}_ms", partial(latency.idle_ms,
                     statistic=statistic), "ms", LOWER,
                     f"round-trip time of the probe before the load, {name}", _COMMON)
    for statistic in ("median", "mean", "p95", "p99"):
        yield Metric(f"latency_increase_{statistic}_ms", partial(latency.increase_ms,
                     statistic=statistic), "ms", LOWER,
                     "increase of latency under load over idle latency, "
                     f"{_STATISTIC_NAMES[statistic]}", _COMMON)


def _own_packets_and_queue() -> Iterator[Metric]:
    """Yield metrics of the RTT of the load's own packets, and of the queue's delay and backlog."""
    for direction in DIRECTIONS:
        for statistic in latency.FLOW_RTT_PERCENTILES:
            yield Metric(f"flow_rtt_{direction}_{statistic}_ms", partial(
                         latency.flow_rtt_ms, direction=direction, statistic=statistic),
                         "ms", LOWER,
                         f"round-trip time of the {direction}'s own packets, "
                         f"{_STATISTIC_NAMES[statistic]}", "RFC 7323, pping")
        for statistic in queue.STATISTICS:
            yield Metric(f"queue_delay_{direction}_{statistic}_ms", partial(
                         queue.delay_ms, direction=direction, statistic=statistic), "ms", LOWER,
                         f"time that the {direction}'s queue needs to send its backlog, "
                         f"{_STATISTIC_NAMES[statistic]}", _OURS)
        for statistic in ("mean", "max"):
            yield Metric(f"queue_standing_{direction}_{statistic}_bytes", partial(
                         queue.standing_bytes, direction=direction, statistic=statistic),
                         "bytes", LOWER,
                         f"backlog of the {direction}'s queue, "
                         f"{'largest' if statistic == 'max' else 'mean'}", "tc(8)")


def _jitter_loss_glitches() -> Iterator[Metric]:
    """Yield metrics of jitter, loss (of probes and of UDP flows) and glitches."""
    yield Metric("jitter_loaded_ms", lambda run: latency.mean_jitter_ms(run.loaded()),
                 "ms", LOWER, "mean difference of successive round-trip times under load", _AIM)
    yield Metric("jitter_idle_ms", lambda run: latency.mean_jitter_ms(run.idle()),
                 "ms", LOWER, "mean difference of successive round-trip times before the "
                              "load", _AIM)
    yield Metric("jitter_rfc3550_loaded_ms", lambda run: latency.smoothed_jitter_ms(run.loaded()),
                 "ms", LOWER, "smoothed jitter at the end of the load", "RFC 3550, 6.4.1")
    yield Metric("loss_loaded_pct", lambda run: latency.loss_pct(run.loaded()),
                 "%", LOWER, "probes lost under load", "RFC 7680")
    yield Metric("loss_idle_pct", lambda run: latency.loss_pct(run.idle()),
                 "%", LOWER, "probes lost before the load", "RFC 7680")
    for direction in DIRECTIONS:
        yield Metric(f"udp_loss_{direction}_pct", partial(
                     latency.udp_loss_pct, direction=direction), "%", LOWER,
                     f"share of the UDP {direction}'s packets that were lost", "RFC 7680")
    for threshold_ms in latency.GLITCH_THRESHOLDS_MS:
        beyond = f"glitches of more than {threshold_ms} ms above the idle median"
        yield Metric(f"glitches_per_minute_{threshold_ms}ms", partial(
                     latency.glitches_per_minute, threshold_ms=threshold_ms), "1/min", LOWER,
                     beyond, _OURS)
        yield Metric(f"longest_glitch_{threshold_ms}ms_ms", partial(
                     latency.longest_glitch_ms, threshold_ms=threshold_ms), "ms", LOWER,
                     f"the longest of the {beyond}", _OURS)
        yield Metric(f"glitch_time_{threshold_ms}ms_pct", partial(
                     latency.glitch_time_pct, threshold_ms=threshold_ms), "%", LOWER,
                     f"share of the load's time inside {beyond}", _OURS)


def _throughput() -> Iterator[Metric]:
    """Yield metrics of throughput, utilisation, fairness and synchronisation."""
    for direction in DIRECTIONS:
        yield Metric(f"throughput_{direction}_mbps", partial(throughput.throughput_mbps,
                     direction=direction), "Mbit/s", HIGHER,
                     f"throughput of the {direction}, as the tool reports it, else as captured",
                     "the tool")
    for direction in DIRECTIONS:
        yield Metric(f"total_{direction}_mbps", partial(
                     throughput.total_mbps, direction=direction), "Mbit/s", HIGHER,
                     f"throughput of all {direction} flows during the test, with cross traffic",
                     "arithmetic; with cross traffic, and uploads in the lab, at most what TCP can "
                     "carry at the link's rate, as senders count what is in their buffers")
    for direction in DIRECTIONS:
        yield Metric(f"utilisation_{direction}_pct", partial(throughput.utilisation_pct,
                     direction=direction), "%", HIGHER,
                     f"throughput of all {direction} flows as a share of what TCP can carry at the "
                     "link's rate",
                     "rate x 1448/1514")
        yield Metric(f"fairness_{direction}", partial(throughput.fairness, direction=direction), "",
                     HIGHER, f"Jain's fairness index of the {direction} flows, while all run; "
                     "parallel connections of one tool count as one flow",
                     "Jain et al., 1984")
        yield Metric(f"host_fairness_{direction}", partial(
                     throughput.host_fairness, direction=direction), "", HIGHER,
                     f"Jain's fairness index over each host's {direction}, while all flows run",
                     "Jain et al., 1984")
        for name, function, what in (("least", throughput.least_host_mbps, "least"),
                                     ("most", throughput.most_host_mbps, "most")):
            yield Metric(f"host_{name}_{direction}_mbps", partial(function, direction=direction),
                         "Mbit/s", HIGHER if name == "least" else NEITHER,
                         f"{direction} of the host with the {what} throughput", _OURS)
        yield Metric(f"synchronisation_{direction}", partial(throughput.synchronisation,
                     direction=direction), "", NEITHER,
                     f"correlation of drops in throughput between the {direction} flows", _OURS)


def _speed_tests() -> Iterator[Metric]:
    """Yield metrics of NDT7, and latency of the run's probes in the style of Ookla's Speedtest."""
    for direction in DIRECTIONS:
        for field, unit, better, what in (
            ("throughput_mbps", "Mbit/s", HIGHER, "throughput"),
            ("latency_ms", "ms", LOWER, "latency (TCP's MinRTT)"),
            ("retransmission_pct", "%", LOWER, "retransmitted bytes"),
        ):
            name, _, suffix = field.rpartition("_")
            yield Metric(f"ndt7_{name}_{direction}_{suffix}", partial(
                         speedtests.ndt7, direction=direction, field=field), unit, better,
                         f"{what} of the {direction}, as NDT7 reports it", "ndt7 protocol v0.11",
                         least=KERNEL_LEAST_MS if unit == "ms" else None)
        yield Metric(f"ndt7_rtt_{direction}_ms",
                     partial(speedtests.ndt7_archived_rtt_ms, direction=direction), "ms", LOWER,
                     f"median RTT (TCPInfo.RTT) of the {direction} in NDT7's archive, which its "
                     "clients don't show", "ndt7 protocol v0.11", least=KERNEL_LEAST_MS)
    for direction in DIRECTIONS:
        for what, function, description in (
            ("iqm", grades.ookla_iqm_ms, "interquartile mean"),
            ("low", grades.ookla_low_ms, "lowest"),
            ("high", grades.ookla_high_ms, "highest"),
            ("jitter", grades.ookla_jitter_ms, "jitter"),
        ):
            yield Metric(f"ookla_style_{what}_{direction}_ms",
                         partial(function, direction=direction), "ms", LOWER,
                         f"loaded latency of the {direction}, {description}",
                         "fields of Ookla's command-line client")


def _reported_by_clients() -> Iterator[Metric]:
    """Yield metrics of the values that speed tests' clients report themselves, and Cloudflare's AIM
    scores of them."""
    for client, about in SPEED_TESTS.items():
        for number in about.numbers:
            yield Metric(about.metric(number.name),
                         partial(speedtests.reported, client=client, name=number.name),
                         number.unit, number.better, f"{client}: {number.description}",
                         about.source, _WORDS.get((client, number.unit)))
    for experience in ("streaming", "gaming", "rtc"):
        yield Metric(f"cloudflare_aim_{experience}",
                     partial(speedtests.cloudflare_points, experience=experience), "points",
                     HIGHER, f"cloudflare: AIM score for {experience}, from the client's own "
                             "numbers", _AIM,
                     partial(grades.aim_word, experience))


# (client, unit) -> function that returns the client's word for a value.
_WORDS: Mapping[tuple[str, str], Callable[[float], str]] = {
    ("responsiveness", "RPM"): rpm.rpm_class}


def _scores() -> Iterator[Metric]:
    """Yield scores and grades that are computed from a run's samples: RPM, AIM, DSLReports,
    LibreQoS, QoO."""
    for name, function, what, source in (
        ("rpm_ietf_estimate", rpm.ietf_estimate, "the IETF's formula", _RPM),
        ("rpm_foreign_estimate", rpm.foreign_rpm, "the part measured on new connections", _RPM),
        ("rpm_loaded_estimate", rpm.loaded_rpm, "the part measured on the loading flows", _RPM),
        ("rpm_goresponsiveness_estimate", rpm.goresponsiveness_estimate,
         "goresponsiveness' formula, trimmed means", _GO),
        ("rpm_goresponsiveness_p90_estimate", rpm.goresponsiveness_p90_estimate,
         "goresponsiveness' formula, 90th percentiles", _GO),
    ):
        yield Metric(name, function, "RPM", HIGHER, f"round trips per minute, {what}", source,
                     rpm.rpm_class)
    for experience, points in (("streaming", grades.aim_streaming_points),
                               ("gaming", grades.aim_gaming_points),
                               ("rtc", grades.aim_rtc_points)):
        yield Metric(f"aim_{experience}", points, "points", HIGHER,
                     f"Cloudflare's AIM score for {experience}", _AIM,
                     partial(grades.aim_word, experience))
    for direction in DIRECTIONS:
        yield Metric(f"aim_loaded_latency_{direction}_ms", partial(grades.aim_loaded_latency_ms,
                     direction=direction), "ms", LOWER,
                     f"latency under {direction}, by Cloudflare's method", _AIM)
    yield Metric("dslreports_rise_ms", grades.dslreports_rise_ms, "ms", LOWER,
                 "mean rise of latency in both directions, with DSLReports' grade",
                 "dslreports.com/faq/17930", grades.bufferbloat_grade)
    for phase in grades.LIBREQOS_PHASES:
        yield Metric(f"libreqos_rise_{phase}_ms", partial(
                     grades.libreqos_phase_rise_ms, phase=phase), "ms", LOWER,
                     f"mean latency of the {phase} phase less the lower quartile of idle latency, "
                     "with LibreQoS' grade", _LIBREQOS, grades.bufferbloat_grade)
    yield Metric("libreqos_rise_ms", grades.libreqos_rise_ms, "ms", LOWER,
                 "mean of the phases' rises of latency, with LibreQoS' grade",
                 _LIBREQOS, grades.bufferbloat_grade)
    yield Metric("libreqos_total", grades.libreqos_points, "points", HIGHER,
                 "LibreQoS' total grade: mean of the phases' grades, limited by that of idle "
                 "latency",
                 _LIBREQOS, grades.libreqos_grade)
    yield Metric("qoo", grades.qoo, "points", HIGHER,
                 "Quality of Outcome for the draft's example application",
                 "draft-ietf-ippm-qoo")
    yield Metric("qoo_p99", lambda run: grades.qoo(run, grades.QOO_EXAMPLE_P99), "points", HIGHER,
                 "Quality of Outcome for the draft's example application, without its limit for "
                 "p99.9", "draft-ietf-ippm-qoo")


def _cross_traffic() -> Iterator[Metric]:
    """Yield metrics of cross traffic: calls, video, web pages."""
    for direction in DIRECTIONS:
        yield Metric(f"call_lost_frames_{direction}_pct", partial(
                     cross.lost_frames_pct, direction=direction), "%", LOWER,
                     f"share of frames of the call's {direction} that lost a packet", _OURS)
        yield Metric(f"call_late_frames_{direction}_pct", partial(
                     cross.late_frames_pct, direction=direction), "%", LOWER,
                     f"share of frames of the call's {direction} that arrived more "
                     f"than {cross.PLAYOUT_MS:g} ms later than the fastest packet would "
                     "have", "ITU-T G.114")
    yield Metric("video_bitrate_mbps", cross.video_bitrate_mbps, "Mbit/s", HIGHER,
                 "mean bit rate that the adaptive video played", _OURS)
    yield Metric("video_stall_pct", cross.video_stall_pct, "%", LOWER,
                 "share of time in which the adaptive video was stalled", _OURS)
    for statistic in ("median", "max"):
        yield Metric(f"page_time_{statistic}_ms", partial(cross.page_time_ms, statistic=statistic),
                     "ms", LOWER, f"load time of a web page, {_STATISTIC_NAMES[statistic]}",
                     "Web Almanac 2024")


def _queue() -> Iterator[Metric]:
    """Yield metrics from the counters of the router's queue."""
    for direction in DIRECTIONS:
        for name, function, unit, better, description in (
            ("drops", queue.drops, "packets", NEITHER, "packets dropped"),
            ("drop_pct", queue.drop_pct, "%", NEITHER, "share of packets dropped"),
            ("marks", queue.marks, "packets", NEITHER, "packets marked (ECN)"),
            ("requeues", queue.requeues, "packets", NEITHER, "packets requeued"),
            ("backlog_bytes", queue.backlog_bytes, "bytes", NEITHER, ("bytes left in the queue "
                                                                     "after the run")),
        ):
            stem, _, suffix = name.partition("_")
            yield Metric("_".join(filter(None, ("queue", stem, direction, suffix))),
                         partial(function, direction=direction), unit, better,
                         f"{description}, router's {direction} queue", "tc(8)")


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for part in (_throughput, _latency, _own_packets_and_queue, _jitter_loss_glitches,
                 _speed_tests, _reported_by_clients, _scores, _cross_traffic, _queue)
    for metric in part()}

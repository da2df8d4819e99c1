# SPDX-License-Identifier: GPL-3.0-or-later
"""All metrics by name: what `score`, `assert`, plots, reports and export share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics import (
    aim,
    dslreports,
    glitches,
    jitter,
    latency,
    libreqos,
    loss,
    ookla_style,
    qoo,
    queue,
    rpm,
    synchronisation,
    throughput,
)
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.ndt7 import ndt7
from flent_aqm.results.metrics.run import Run

LOWER, HIGHER, NEITHER = "lower", "higher", "neither"


@dataclass(frozen=True)
class Unavailable:
    """In place of a number: "not available, because ..."."""

    because: str


@dataclass(frozen=True)
class Metric:
    """A number of a run.

    unit: "ms", "Mbit/s", "%", "RPM", "1/min", "points", "packets", "bytes", or "" for a
    mere number. better: "lower", "higher" or "neither". description: one line. word: what
    its source calls a value, such as a grade; None where it has no words. source: where
    the formula comes from.
    """

    name: str
    function: Callable[[Run], float]
    unit: str
    better: str
    description: str
    source: str
    word: Callable[[float], str] | None = None

    def of(self, run: Run) -> float | Unavailable:
        """The number of a run: finite, or why there is none."""
        try:
            return self.function(run)
        except NotAvailable as error:
            return Unavailable(str(error))

    def text(self, value: float | Unavailable) -> str:
        """A value as people read it, without its unit; a dash for none."""
        if isinstance(value, Unavailable):
            return "-"
        digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
        number = f"{value:.{digits}f}"
        return f"{self.word(value)} {number}" if self.word else number


def values(run: Run) -> dict[str, float | Unavailable]:
    """Every metric of a run."""
    return {name: metric.of(run) for name, metric in METRICS.items()}


_STATISTIC_NAMES = {
    "min": "shortest", "median": "median", "mean": "mean", "p90": "90th percentile",
    "p95": "95th percentile", "p99": "99th percentile", "p99_9": "99.9th percentile",
    "max": "longest"}
_OURS, _COMMON = "own definition", "common practice"
_AIM, _RPM = "cloudflare/speedtest 1.13", "draft-ietf-ippm-responsiveness-09"
_GO = "goresponsiveness, rpm/calculations.go"


def _latency() -> Iterator[Metric]:
    for statistic, name in _STATISTIC_NAMES.items():
        yield Metric(f"latency_loaded_{statistic}_ms", partial(latency.loaded_ms,
                     statistic=statistic), "ms", LOWER,
                     f"round trips under load, {name}", _COMMON)
    for statistic, name in _STATISTIC_NAMES.items():
        yield Metric(f"latency_idle_{statistic}_ms", partial(latency.idle_ms,
                     statistic=statistic), "ms", LOWER,
                     f"round trips before the load, {name}", _COMMON)
    for statistic in ("median", "mean", "p95", "p99"):
        yield Metric(f"latency_increase_{statistic}_ms", partial(latency.increase_ms,
                     statistic=statistic), "ms", LOWER,
                     f"{_STATISTIC_NAMES[statistic]} under load less that before", _COMMON)


def _steadiness() -> Iterator[Metric]:
    yield Metric("jitter_loaded_ms", lambda run: jitter.mean_difference_ms(run.loaded()),
                 "ms", LOWER, "mean difference of neighbouring probes under load", _AIM)
    yield Metric("jitter_idle_ms", lambda run: jitter.mean_difference_ms(run.idle()),
                 "ms", LOWER, "mean difference of neighbouring probes before the load", _AIM)
    yield Metric("jitter_rfc3550_loaded_ms", lambda run: jitter.smoothed_ms(run.loaded()),
                 "ms", LOWER, "smoothed jitter at the end of the load", "RFC 3550, 6.4.1")
    yield Metric("loss_loaded_pct", lambda run: loss.loss_pct(run.loaded()),
                 "%", LOWER, "probes lost under load", "RFC 7680")
    yield Metric("loss_idle_pct", lambda run: loss.loss_pct(run.idle()),
                 "%", LOWER, "probes lost before the load", "RFC 7680")
    for threshold_ms in glitches.THRESHOLDS_MS:
        beyond = f"glitches of more than {threshold_ms} ms above the idle median"
        yield Metric(f"glitches_per_minute_{threshold_ms}ms", partial(
                     glitches.glitches_per_minute, threshold_ms=threshold_ms), "1/min", LOWER,
                     beyond, _OURS)
        yield Metric(f"longest_glitch_{threshold_ms}ms_ms", partial(
                     glitches.longest_glitch_ms, threshold_ms=threshold_ms), "ms", LOWER,
                     f"the longest of the {beyond}", _OURS)
        yield Metric(f"glitch_time_{threshold_ms}ms_pct", partial(
                     glitches.glitch_time_pct, threshold_ms=threshold_ms), "%", LOWER,
                     f"share of time in {beyond}", _OURS)


def _throughput() -> Iterator[Metric]:
    for way in DIRECTIONS:
        yield Metric(f"throughput_{way}_mbps", partial(throughput.throughput_mbps,
                     direction=way), "Mbit/s", HIGHER,
                     f"{way} as the test's tool reports it", "the tool")
    for way in DIRECTIONS:
        yield Metric(f"utilisation_{way}_pct", partial(throughput.utilisation_pct,
                     direction=way), "%", HIGHER,
                     f"{way} of all flows, of what TCP can carry at the link's rate",
                     "rate x 1448/1514")
        yield Metric(f"fairness_{way}", partial(throughput.fairness, direction=way), "",
                     HIGHER, f"Jain's index over the flows of {way}", "Jain et al., 1984")
        yield Metric(f"synchronisation_{way}", partial(synchronisation.synchronisation,
                     direction=way), "", NEITHER,
                     f"correlation of the throughput drops of the flows of {way}", _OURS)


def _speed_tests() -> Iterator[Metric]:
    for way in DIRECTIONS:
        for field, unit, better, what in (
            ("throughput_mbps", "Mbit/s", HIGHER, "throughput"),
            ("latency_ms", "ms", LOWER, "latency (TCP's MinRTT)"),
            ("retransmission_pct", "%", LOWER, "retransmission"),
        ):
            name, _, suffix = field.rpartition("_")
            yield Metric(f"ndt7_{name}_{way}_{suffix}", partial(ndt7, direction=way, field=field),
                         unit, better, f"NDT7's {what} of the {way}", "ndt7 protocol v0.11")
    for way in DIRECTIONS:
        for what, function, description in (
            ("iqm", ookla_style.iqm_ms, "interquartile mean"),
            ("low", ookla_style.low_ms, "lowest"),
            ("high", ookla_style.high_ms, "highest"),
            ("jitter", ookla_style.jitter_ms, "jitter"),
        ):
            yield Metric(f"ookla_style_{what}_{way}_ms", partial(function, direction=way), "ms",
                         LOWER, f"loaded latency of the {way}, {description}",
                         "fields of Ookla's command-line client")


def _scores() -> Iterator[Metric]:
    for name, function, what, source in (
        ("rpm_ietf_estimate", rpm.ietf_estimate, "the IETF's formula", _RPM),
        ("rpm_foreign_estimate", rpm.foreign_rpm, "its part of new connections", _RPM),
        ("rpm_loaded_estimate", rpm.loaded_rpm, "its part of the loading flows", _RPM),
        ("rpm_goresponsiveness_estimate", rpm.goresponsiveness_estimate,
         "goresponsiveness' formula, trimmed means", _GO),
        ("rpm_goresponsiveness_p90_estimate", rpm.goresponsiveness_p90_estimate,
         "goresponsiveness' formula, 90th percentiles", _GO),
    ):
        yield Metric(name, function, "RPM", HIGHER, f"round trips per minute, {what}", source,
                     rpm.rpm_class)
    for experience, points in (("streaming", aim.streaming_points),
                               ("gaming", aim.gaming_points), ("rtc", aim.rtc_points)):
        yield Metric(f"aim_{experience}", points, "points", HIGHER,
                     f"Cloudflare's AIM score for {experience}", _AIM,
                     partial(aim.word, experience))
    for way in DIRECTIONS:
        yield Metric(f"aim_loaded_latency_{way}_ms", partial(aim.loaded_latency_ms,
                     direction=way), "ms", LOWER,
                     f"latency under {way} as Cloudflare has it", _AIM)
    yield Metric("dslreports_rise_ms", dslreports.rise_ms, "ms", LOWER,
                 "mean rise of both directions, with DSLReports' grade",
                 "dslreports.com/faq/17930", dslreports.grade)
    yield Metric("libreqos_rise_ms", libreqos.rise_ms, "ms", LOWER,
                 "mean less idle's lower quartile, with LibreQoS' grade",
                 "LibreQoE/bufferbloat_test", libreqos.grade)
    yield Metric("qoo", qoo.qoo, "points", HIGHER,
                 "Quality of Outcome for the draft's example application",
                 "draft-ietf-ippm-qoo")
    yield Metric("qoo_p99", lambda run: qoo.qoo(run, qoo.EXAMPLE_P99), "points", HIGHER,
                 "the same without p99.9", "draft-ietf-ippm-qoo")


def _queue() -> Iterator[Metric]:
    for way in DIRECTIONS:
        for name, function, unit, better, description in (
            ("drops", queue.drops, "packets", NEITHER, "dropped"),
            ("drop_pct", queue.drop_pct, "%", NEITHER, "dropped"),
            ("marks", queue.marks, "packets", NEITHER, "marked (ECN)"),
            ("requeues", queue.requeues, "packets", NEITHER, "requeued"),
            ("backlog_bytes", queue.backlog_bytes, "bytes", NEITHER, "left standing"),
        ):
            stem, _, suffix = name.partition("_")
            yield Metric("_".join(filter(None, ("queue", stem, way, suffix))),
                         partial(function, direction=way), unit, better,
                         f"by the router's queue in {way}: {description}", "tc(8)")


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for part in (_throughput, _latency, _steadiness, _speed_tests, _scores, _queue)
    for metric in part()}

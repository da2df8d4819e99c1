# SPDX-License-Identifier: GPL-3.0-or-later
"""The flows that load the link in a run: throughput, TCP's state, what the tool says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import plain
from flent_aqm.results.data_file import Numbers, a_number, numbers
from flent_aqm.results.metrics.window import Window
from flent_aqm.results.reading.series import Kind, Series

# Runners whose series are a speed test's own throughput, or cross traffic; those with Reverse
# and Part in their names, of nuttcp and of iperf 2 are of older files.
SPEED_TESTS = ("AqmNdt7Runner", "AqmIperf3Runner", "AqmIperf3ReverseRunner", "AqmNetperfRunner",
               "AqmSpeedtestRunner", "AqmSpeedtestPartRunner", "AqmNuttcpRunner",
               "AqmIperf2Runner")
# What looks like a flow and isn't: one sees the others' packets, one sets the router's rate.
OBSERVERS = ("AqmCaptureRunner", "AqmRatesRunner")
# Series that load the link beside the test.
CROSS_TRAFFIC = "cross"
DIRECTIONS = ("download", "upload")
LONGEST_HOST = 80
PERCENTS = 101
# Fewer intervals than these, or intervals so many times longer than asked for, don't tell when a
# flow ran, if they cover less than half of the expected time.
FEWEST_INTERVALS, LONG_INTERVAL = 3, 4.0
# A tool's mean has two digits behind the point: below this one it tells no time.
LEAST_MEAN_MBPS, MUCH_LONGER = 0.1, 2.0
# Of these fields of a sample that has them, all numbers, times are in ms.
TCP_FIELDS = ("tcp_rtt", "tcp_min_rtt", "tcp_rtt_var", "tcp_cwnd", "tcp_cwnd_bytes",
              "retransmits", "bytes_acked", "bytes_sent", "bytes_retrans", "bytes_received")
# And of these, of cross traffic, what people notice: times in ms, segment_mbps in Mbit/s.
NOTICED_FIELDS = ("frame_lost", "frame_ms", "segment_mbps", "stalled_ms", "page_ms")


@dataclass(frozen=True, eq=False)
class Points:
    """Values over time, in epoch seconds."""

    at_s: Numbers
    values: Numbers


@dataclass(frozen=True, eq=False)
class Trips:
    """Round trips of a flow's own packets, as the capture has them: of how many connections and
    packets, and the percentiles from 0 to 100, each the mean over connections."""

    connections: int
    samples: int
    percentiles_ms: Numbers


@dataclass(frozen=True, eq=False)
class Flow:
    """One flow, or several that a tool counts as one.

    direction: "download", "upload", or "" where its name doesn't tell. is_cross: it is
    cross traffic. start_s, end_s: of the transfer, in epoch seconds. mean_mbps: as the
    tool reports it, else from the samples; None without both. packets, lost_packets: of UDP, as
    the tool's receiver counts them; None where it doesn't tell. at_s, mbps, length_s:
    throughput of intervals that end at at_s. tcp: TCP's state by field name; noticed: what
    people notice, likewise. ndt7, speedtest: the tool's own words, see
    docs/reference/data-format.md; empty for other tools. trips: None without a capture.
    control: the sender's congestion control, "" where its tool doesn't tell. has_own_window,
    has_own_mean: the tool itself tells start_s and end_s, or mean_mbps; else they are those of its
    samples. is_expected: its
    samples don't tell when it ran, and start_s and end_s are those that the test asked for.
    """

    name: str
    runner: str
    direction: str
    is_cross: bool
    start_s: float
    end_s: float
    mean_mbps: float | None
    at_s: Numbers
    mbps: Numbers
    length_s: Numbers
    tcp: Mapping[str, Points]
    noticed: Mapping[str, Points]
    ndt7: Mapping[str, Any]
    speedtest: Mapping[str, Any]
    host: str = ""
    packets: float | None = None
    lost_packets: float | None = None
    trips: Trips | None = None
    control: str = ""
    has_own_window: bool = True
    has_own_mean: bool = True
    is_expected: bool = False


def is_flow(series: Series) -> bool:
    """Return whether a series is the throughput of a flow, even one of which the tool gave no
    data."""
    return (series.meta.get("RUNNER") in SPEED_TESTS
            or (series.kind is Kind.THROUGHPUT and series.meta.get("RUNNER") not in OBSERVERS))


def read_flow(series: Series) -> Flow | None:
    """Return a flow, or None where nothing tells when it was. Raises BadResult."""
    name, meta, samples = series.name, series.meta, series.samples
    rates = [one for one in samples if one.get("val") is not None]
    at_s = numbers([one.get("t") for one in rates], f"time in {name!r}")
    mbps = numbers([one["val"] for one in rates], f"throughput in {name!r}")
    length_s = numbers([a_number(one.get("dur")) or 0.0 for one in rates],
                       f"interval in {name!r}")
    if at_s.size > 1 and not length_s.any():
        # iperf's lines tell when an interval ended, not when it began.
        between_s = numpy.diff(at_s)
        length_s = numpy.maximum(numpy.concatenate(([numpy.median(between_s)], between_s)), 0.0)
    start_s, end_s = a_number(meta.get("LOAD_START")), a_number(meta.get("LOAD_END"))
    has_own_window = start_s is not None and end_s is not None
    if start_s is None or end_s is None:
        if not at_s.size:
            return None
        # Stock tests don't tell: from the start of the first interval to the end of the last.
        start_s, end_s = float((at_s - length_s).min()), float(at_s.max())
    if end_s < start_s:
        raise BadResult(f"{name!r} ends before it starts")
    lowered = name.lower()
    iperf3 = _object(meta.get("IPERF3"))
    return Flow(
        name=name,
        runner=str(meta.get("RUNNER", "")),
        direction=next((way for way in DIRECTIONS if way in lowered), ""),
        is_cross=CROSS_TRAFFIC in lowered,
        start_s=start_s, end_s=end_s,
        mean_mbps=_mean(a_number(meta.get("MEAN_VALUE")), mbps, length_s),
        at_s=at_s, mbps=mbps, length_s=length_s,
        tcp={field: _points(name, field, samples) for field in TCP_FIELDS
             if any(field in one for one in samples)},
        noticed={field: _points(name, field, samples) for field in NOTICED_FIELDS
                 if any(field in one for one in samples)},
        ndt7=_object(meta.get("NDT7")),
        speedtest=_object(meta.get("SPEEDTEST")),
        host=plain(str(meta.get("FROM_HOST") or "")[:LONGEST_HOST]),
        packets=a_number(iperf3.get("packets")), lost_packets=a_number(iperf3.get("lost_packets")),
        trips=_trips(name, meta.get("ROUND_TRIPS")),
        control=plain(str(iperf3.get("sender_congestion_control") or "")[:LONGEST_HOST]),
        has_own_window=has_own_window, has_own_mean=a_number(meta.get("MEAN_VALUE")) is not None,
    )


def with_expected_window(flow: Flow, expected: Window, step_s: float) -> Flow:
    """Return the flow; where its samples can't tell when it ran, with the window that was expected
    in place of theirs.

    A tool that gives an interval whenever data came tells little of a flow that hardly got through.
    Its samples cover less than half of the expected time, and are a few or long ones, or the
    tool's mean over its whole time is far below theirs. Tools of ours tell their load's time
    themselves.
    step_s: how often samples were asked for.
    """
    if flow.has_own_window or not expected.length_s > 0:
        return flow
    covered_s = float(flow.length_s.sum())
    if covered_s >= expected.length_s / 2:
        return flow
    carried_mbit = float((flow.mbps * flow.length_s).sum())
    sparse = flow.at_s.size < FEWEST_INTERVALS or bool(
        numpy.median(flow.length_s) > LONG_INTERVAL * step_s)
    if flow.mean_mbps is not None and flow.mean_mbps >= LEAST_MEAN_MBPS:
        # The tool's mean is over all of its time. Of uploads the intervals are what went into the
        # sender's buffer, which is more than arrived, but not for most of a run.
        sparse |= carried_mbit / flow.mean_mbps > MUCH_LONGER * (flow.end_s - flow.start_s)
    if not sparse:
        return flow
    window = Window(min(flow.start_s, expected.start_s), max(flow.end_s, expected.end_s))
    mean_mbps = flow.mean_mbps if flow.has_own_mean else carried_mbit / window.length_s
    return replace(flow, start_s=window.start_s, end_s=window.end_s, mean_mbps=mean_mbps,
                   is_expected=True)


def _trips(name: str, value: Any) -> Trips | None:
    if value is None:
        return None
    about = _object(value)
    counts = [a_number(about.get(one)) or 0 for one in ("connections", "samples")]
    percentiles_ms = about.get("percentiles_ms")
    if min(counts) < 1 or not isinstance(percentiles_ms, list) or len(percentiles_ms) != PERCENTS:
        raise BadResult(f"the round trips of {name!r} have no {PERCENTS} percentiles, or none were "
                        "counted")
    return Trips(int(counts[0]), int(counts[1]),
                 numbers(percentiles_ms, f"percentiles_ms of {name!r}"))


def _mean(reported: float | None, mbps: Numbers, length_s: Numbers) -> float | None:
    if reported is not None:
        return reported
    if not length_s.sum() > 0:
        return None
    return float(numpy.average(mbps, weights=length_s))


def _points(name: str, field: str, samples: Sequence[Mapping[str, Any]]) -> Points:
    present = [one for one in samples if one.get(field) is not None]
    return Points(numbers([one.get("t") for one in present], f"time in {name!r}"),
                  numbers([one[field] for one in present], f"{field} in {name!r}"))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def span(flows: Sequence[Flow]) -> Window | None:
    """Return from the first flow's start to the last one's end; None without flows."""
    if not flows:
        return None
    return Window(min(flow.start_s for flow in flows), max(flow.end_s for flow in flows))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the flows that load the link: throughput, TCP's state, and the tool's own results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import plain
from flent_aqm.results.data_file import Numbers, a_number, numbers
from flent_aqm.results.metrics.window import Window
from flent_aqm.results.reading.series import Series, SeriesKind

# Runners whose series are the throughput of a speed test or of cross traffic. Those with Reverse
# and Part in their names, and those of nuttcp and iperf 2, occur in older files only.
SPEED_TESTS = ("AqmNdt7Runner", "AqmIperf3Runner", "AqmIperf3ReverseRunner", "AqmNetperfRunner",
               "AqmSpeedtestRunner", "AqmSpeedtestPartRunner", "AqmNuttcpRunner",
               "AqmIperf2Runner")
# Runners whose series have the unit of a flow but are none: one captures packets, one sets the
# router's rate.
CAPTURE_RUNNER = "AqmCaptureRunner"
OBSERVERS = (CAPTURE_RUNNER, "AqmRatesRunner")
# Part of the names of series of cross traffic.
CROSS_TRAFFIC = "cross"
DIRECTIONS = ("download", "upload")
LONGEST_HOST = 80
PERCENTS = 101
# With fewer intervals, or intervals so many times longer than requested, the time of a flow is not
# known, if they cover less than half of the expected time.
FEWEST_INTERVALS, LONG_INTERVAL = 3, 4.0
# Lowest mean of a tool from which the duration can be computed: it has two decimal places.
LEAST_MEAN_MBPS, MUCH_LONGER = 0.1, 2.0
# Fields of samples with TCP's state. Times are in ms.
TCP_FIELDS = ("tcp_rtt", "tcp_min_rtt", "tcp_rtt_var", "tcp_cwnd", "tcp_cwnd_bytes",
              "retransmits", "bytes_acked", "bytes_sent", "bytes_retrans", "bytes_received")
# Fields of samples of cross traffic with effects that people notice. Times are in ms.
NOTICED_FIELDS = ("frame_lost", "frame_ms", "segment_mbps", "stalled_ms", "page_ms")


@dataclass(frozen=True, eq=False)
class Points:
    """Values over time.

    Attributes:
        at_s: times in epoch seconds.
        values: value at each time.
    """

    at_s: Numbers
    values: Numbers


@dataclass(frozen=True, eq=False)
class RttPercentiles:
    """RTTs of a flow's own packets, from the capture on the client.

    Attributes:
        connections: number of the flow's TCP connections that have enough RTTs for percentiles.
            Others don't count here.
        samples: number of RTTs of these connections.
        percentiles_ms: percentiles 0 to 100 of the RTT in ms, 101 values, each the mean over
            connections.
    """

    connections: int
    samples: int
    percentiles_ms: Numbers


@dataclass(frozen=True, eq=False)
class Flow:
    """A flow, or several flows that a tool counts as one.

    Attributes:
        name: name of the series.
        runner: name of the class that ran the tool.
        direction: "download" or "upload" if the name contains it, "download" if it contains both,
            else "".
        is_cross: True for cross traffic.
        start_s: start of the transfer in epoch seconds.
        end_s: end of the transfer in epoch seconds.
        mean_mbps: mean throughput as the tool reports it, else that of the time from the first
            interval to the last. None without a report if there are no intervals, or none has a
            length.
        at_s: end of each interval that has a throughput, in epoch seconds, in the file's order.
        mbps: throughput in each interval.
        length_s: length of each interval, 0 if it is not known. If none of several intervals
            records it, it is the time since the end of the one before.
        tcp: field of TCP_FIELDS -> values over time. Fields that no sample has are missing.
        noticed: field of NOTICED_FIELDS -> values over time. Fields that no sample has are missing.
        ndt7: results of the NDT7 client, see docs/reference/data-format.md. Empty for other tools.
        speedtest: results that another speed test's client showed. Empty for other tools.
        host: name of the host that runs the tool, "" if it is not recorded, as of the test's
            client.
        packets: number of UDP packets sent, as iperf3 reports it. None if it reports none, as of
            TCP and of other tools.
        lost_packets: number of UDP packets that the receiver missed, None as `packets`.
        trips: RTTs of the flow's packets, None if they are not recorded.
        control: the sender's congestion control, "" if the tool doesn't report it.
        has_own_window: whether the tool reports start_s and end_s. Else they are those of its
            samples.
        has_own_mean: whether the tool reports mean_mbps. Else it is that of its samples.
        is_expected: whether start_s and end_s are those that the test requested (or those of the
            samples, if they are further out), because the samples don't tell them.
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
    trips: RttPercentiles | None = None
    control: str = ""
    has_own_window: bool = True
    has_own_mean: bool = True
    is_expected: bool = False


def is_flow(series: Series) -> bool:
    """Return whether a series is the throughput of a flow, even if the tool gave no data. False for
    series of a captured or preset rate."""
    return (series.meta.get("RUNNER") in SPEED_TESTS
            or (series.kind is SeriesKind.THROUGHPUT
                and series.meta.get("RUNNER") not in OBSERVERS))


def read_flow(series: Series) -> Flow | None:
    """Return the flow of a series. None if its time is not known: the tool reports none, and no
    sample has a value. Raises BadResult if times or values are not numbers, if ROUND_TRIPS is
    damaged, or if the flow ends before it starts."""
    name, meta, samples = series.name, series.meta, series.samples
    rates = [one for one in samples if one.get("val") is not None]
    at_s = numbers([one.get("t") for one in rates], f"time in {name!r}")
    mbps = numbers([one["val"] for one in rates], f"throughput in {name!r}")
    length_s = numbers([a_number(one.get("dur")) or 0.0 for one in rates],
                       f"interval in {name!r}")
    if at_s.size > 1 and not length_s.any():
        # iperf's lines have the end of each interval, but not its beginning.
        between_s = numpy.diff(at_s)
        length_s = numpy.maximum(numpy.concatenate(([numpy.median(between_s)], between_s)), 0.0)
    start_s, end_s = a_number(meta.get("LOAD_START")), a_number(meta.get("LOAD_END"))
    has_own_window = start_s is not None and end_s is not None
    if start_s is None or end_s is None:
        if not at_s.size:
            return None
        # Flent's own tests don't record it. It is taken from the first interval to the last.
        start_s, end_s = float((at_s - length_s).min()), float(at_s.max())
    if end_s < start_s:
        why = "LOAD_END is before LOAD_START" if has_own_window else "an interval is below 0 s"
        raise BadResult(f"the flow {name!r} ends before it starts: {why}; the file is damaged, or "
                        "a clock was set back during the run")
    lowered = name.lower()
    iperf3 = _object_or_empty(meta.get("IPERF3"))
    return Flow(
        name=name,
        runner=str(meta.get("RUNNER", "")),
        direction=next((way for way in DIRECTIONS if way in lowered), ""),
        is_cross=CROSS_TRAFFIC in lowered,
        start_s=start_s, end_s=end_s,
        mean_mbps=_mean_mbps(a_number(meta.get("MEAN_VALUE")), at_s, mbps, length_s),
        at_s=at_s, mbps=mbps, length_s=length_s,
        tcp={field: _points(name, field, samples) for field in TCP_FIELDS
             if any(one.get(field) is not None for one in samples)},
        noticed={field: _points(name, field, samples) for field in NOTICED_FIELDS
                 if any(one.get(field) is not None for one in samples)},
        ndt7=_object_or_empty(meta.get("NDT7")),
        speedtest=_object_or_empty(meta.get("SPEEDTEST")),
        host=plain(str(meta.get("FROM_HOST") or "")[:LONGEST_HOST]),
        packets=a_number(iperf3.get("packets")), lost_packets=a_number(iperf3.get("lost_packets")),
        trips=_rtt_percentiles(name, meta.get("ROUND_TRIPS")),
        control=plain(str(iperf3.get("sender_congestion_control") or "")[:LONGEST_HOST]),
        has_own_window=has_own_window, has_own_mean=a_number(meta.get("MEAN_VALUE")) is not None,
    )


def tells_when_it_ran(flow: Flow, expected: Window, step_s: float) -> bool:
    """Return whether it is known when a flow ran, from the tool or from the flow's samples. True in
    any case if `expected` is 0 s long.

    A tool that reports an interval whenever data came tells little of a flow that hardly got
    through. So without the tool's own times, the result is False if the samples cover less than
    half of the expected time, and also are fewer than three (FEWEST_INTERVALS), longer than four
    steps (LONG_INTERVAL) in the median, or such that the tool's mean, if it is at least
    LEAST_MEAN_MBPS, is far below theirs. Tools of this package record the time of their load
    themselves.

    Args:
        flow: the flow.
        expected: time of the load that the test requested.
        step_s: requested interval of samples.
    """
    if flow.has_own_window or not expected.length_s > 0:
        return True
    if float(flow.length_s.sum()) >= expected.length_s / 2:
        return True
    sparse = flow.at_s.size < FEWEST_INTERVALS or bool(
        numpy.median(flow.length_s) > LONG_INTERVAL * step_s)
    if flow.mean_mbps is not None and flow.mean_mbps >= LEAST_MEAN_MBPS:
        # The tool's mean is over its whole time. The intervals of uploads count data that went into
        # the sender's buffer. This is more than arrived, but not for most of a run.
        sparse |= _carried_mbit(flow) / flow.mean_mbps > MUCH_LONGER * (flow.end_s - flow.start_s)
    return not sparse


def with_expected_window(flow: Flow, expected: Window) -> Flow:
    """Return a copy of the flow with the expected start and end, or its own if they are further
    out, and with `is_expected`. If the tool reports no mean, it is computed again: the data of all
    samples, divided by the length of this time."""
    window = Window(min(flow.start_s, expected.start_s), max(flow.end_s, expected.end_s))
    mean_mbps = flow.mean_mbps if flow.has_own_mean else _carried_mbit(flow) / window.length_s
    return replace(flow, start_s=window.start_s, end_s=window.end_s, mean_mbps=mean_mbps,
                   is_expected=True)


def _carried_mbit(flow: Flow) -> float:
    """Return the data in all samples of a flow, in Mbit."""
    return float((flow.mbps * flow.length_s).sum())


def _rtt_percentiles(name: str, value: Any) -> RttPercentiles | None:
    """Parse the metadata ROUND_TRIPS of a series: the counts of connections and packets, and
    percentiles 0 to 100 of the RTTs of the flow's own packets, in ms. None if `value` is None.
    Raises BadResult if counts or percentiles are missing or damaged.

    Args:
        name: name of the series, for the message.
        value: the parsed JSON of ROUND_TRIPS.
    """
    if value is None:
        return None
    about = _object_or_empty(value)
    counts = [a_number(about.get(one)) or 0 for one in ("connections", "samples")]
    percentiles_ms = about.get("percentiles_ms")
    if min(counts) < 1 or not isinstance(percentiles_ms, list) or len(percentiles_ms) != PERCENTS:
        raise BadResult(f"ROUND_TRIPS of {name!r} is damaged; expected counts of connections and "
                        f"samples of 1 or more, and {PERCENTS} percentiles_ms")
    return RttPercentiles(int(counts[0]), int(counts[1]),
                 numbers(percentiles_ms, f"percentiles_ms of {name!r}"))


def _mean_mbps(reported: float | None, at_s: Numbers, mbps: Numbers, length_s: Numbers
               ) -> float | None:
    """Return the mean throughput in Mbit/s: as the tool reports it, else the data of all intervals,
    divided by the time from the first to the last. A gap between intervals counts as time without
    data, see gaps_s(). None without a report if there are no intervals, or none has a length.

    Args:
        reported: the tool's mean in Mbit/s, None if it reports none.
        at_s: end of each interval in epoch seconds.
        mbps: throughput in each interval.
        length_s: length of each interval, 0 if it is not known.
    """
    if reported is not None:
        return reported
    if not length_s.sum() > 0:
        return None
    # Intervals that overlap last longer together than the time from the first to the last.
    lasts_s = max(_lasts_s(at_s, length_s), float(length_s.sum()))
    return float((mbps * length_s).sum()) / lasts_s


def gaps_s(flow: Flow) -> float:
    """Return for how many seconds between its first interval and its last a flow has none.

    netperf reports an interval when so much data was sent that it lasts about as long as requested,
    so it is long if the flow stalls. Flent leaves out intervals ten times as long as usual. Of a
    gap it is therefore known that little was sent.
    """
    if not flow.length_s.any():
        return 0.0
    return max(0.0, _lasts_s(flow.at_s, flow.length_s) - float(flow.length_s.sum()))


def _lasts_s(at_s: Numbers, length_s: Numbers) -> float:
    """Return the time from the begin of the first interval to the end of the last, in s. There must
    be an interval.

    Args:
        at_s: end of each interval in epoch seconds.
        length_s: length of each interval.
    """
    return float(at_s.max() - (at_s - length_s).min())


def _points(name: str, field: str, samples: Sequence[Mapping[str, Any]]) -> Points:
    """Return a field's values over time. Samples in which the field is missing or null are left
    out. Raises BadResult if a time or value is not a number.

    Args:
        name: name of the series, for messages.
        field: key of the samples.
        samples: raw samples of the series.
    """
    present = [one for one in samples if one.get(field) is not None]
    return Points(numbers([one.get("t") for one in present], f"time in {name!r}"),
                  numbers([one[field] for one in present], f"{field} in {name!r}"))


def _object_or_empty(value: Any) -> Mapping[str, Any]:
    """Return `value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def span(flows: Sequence[Flow]) -> Window | None:
    """Return the time from the earliest start of a flow to the latest end. None without flows."""
    if not flows:
        return None
    return Window(min(flow.start_s for flow in flows), max(flow.end_s for flow in flows))

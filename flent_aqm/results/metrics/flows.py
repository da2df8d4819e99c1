# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the flows that load the link: throughput, TCP's state, and the tool's own results."""

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

# Runners whose series are the throughput of a speed test or of cross traffic. Those with Reverse
# and Part in their names, and those of nuttcp and iperf 2, occur in older files only.
SPEED_TESTS = ("AqmNdt7Runner", "AqmIperf3Runner", "AqmIperf3ReverseRunner", "AqmNetperfRunner",
               "AqmSpeedtestRunner", "AqmSpeedtestPartRunner", "AqmNuttcpRunner",
               "AqmIperf2Runner")
# Runners whose series have the unit of a flow but are none: one captures packets, one sets the
# router's rate.
OBSERVERS = ("AqmCaptureRunner", "AqmRatesRunner")
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
    """Values over time, in epoch seconds."""

    at_s: Numbers
    values: Numbers


@dataclass(frozen=True, eq=False)
class Trips:
    """RTTs of a flow's own packets from the capture: number of connections and packets, and the
    percentiles 0 to 100, each the mean over connections."""

    # Number of connections, and of packets with an RTT.
    connections: int
    samples: int
    # The percentiles 0 to 100, each the mean over connections.
    percentiles_ms: Numbers


@dataclass(frozen=True, eq=False)
class Flow:
    """A flow, or several flows that a tool counts as one: its time, its throughput over time, TCP's
    state, and the tool's own results."""

    name: str
    # Name of the class that ran the tool.
    runner: str
    # "download", "upload", or "" if the name doesn't contain it.
    direction: str
    # True for cross traffic.
    is_cross: bool
    # Start and end of the transfer, in epoch seconds.
    start_s: float
    end_s: float
    # As the tool reports it, else computed from the samples. None without both.
    mean_mbps: float | None
    # End of each interval in epoch seconds, its throughput, and its length.
    at_s: Numbers
    mbps: Numbers
    length_s: Numbers
    # Field of TCP_FIELDS -> values over time.
    tcp: Mapping[str, Points]
    # Field of NOTICED_FIELDS -> values over time.
    noticed: Mapping[str, Points]
    # The tool's own results, see docs/reference/data-format.md. Empty for other tools.
    ndt7: Mapping[str, Any]
    speedtest: Mapping[str, Any]
    # Name of the host from which the flow starts, "" if it is not recorded.
    host: str = ""
    # UDP packets, and lost ones, as the tool's receiver counts them. None if it doesn't.
    packets: float | None = None
    lost_packets: float | None = None
    # RTTs of the flow's packets, None without a capture.
    trips: Trips | None = None
    # The sender's congestion control, "" if the tool doesn't report it.
    control: str = ""
    # Whether the tool reports start_s and end_s, and mean_mbps. Else they are those of its samples.
    has_own_window: bool = True
    has_own_mean: bool = True
    # Whether start_s and end_s are those that the test requested, because the samples don't tell
    # them.
    is_expected: bool = False


def is_flow(series: Series) -> bool:
    """Return whether a series is the throughput of a flow, even if the tool gave no data."""
    return (series.meta.get("RUNNER") in SPEED_TESTS
            or (series.kind is Kind.THROUGHPUT and series.meta.get("RUNNER") not in OBSERVERS))


def read_flow(series: Series) -> Flow | None:
    """Return the flow of a series, None if its time is not known. Raises BadResult if values are
    impossible."""
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
        raise BadResult(f"the end of the flow {name!r} is before its start")
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


def tells_when_it_ran(flow: Flow, expected: Window, step_s: float) -> bool:
    """Return whether a flow's samples show when the flow ran.

    A tool that reports an interval whenever data came gives little information on a flow that
    hardly got through. Then its samples cover less than half of the expected time, and are few or
    long, or the tool's mean over its whole time is far below theirs. Tools of this package record
    the time of their load themselves.

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
    """Return the flow with the expected start and end, or its own if they are further out."""
    window = Window(min(flow.start_s, expected.start_s), max(flow.end_s, expected.end_s))
    mean_mbps = flow.mean_mbps if flow.has_own_mean else _carried_mbit(flow) / window.length_s
    return replace(flow, start_s=window.start_s, end_s=window.end_s, mean_mbps=mean_mbps,
                   is_expected=True)


def _carried_mbit(flow: Flow) -> float:
    """Return the data in all samples of a flow, in Mbit."""
    return float((flow.mbps * flow.length_s).sum())


def _trips(name: str, value: Any) -> Trips | None:
    """Return the RTTs in the metadata of a series. Raises BadResult if they are damaged."""
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
    """Return the mean throughput: as reported, else computed from the intervals."""
    if reported is not None:
        return reported
    if not length_s.sum() > 0:
        return None
    return float(numpy.average(mbps, weights=length_s))


def _points(name: str, field: str, samples: Sequence[Mapping[str, Any]]) -> Points:
    """Return a field's values over time. Samples without the field are left out."""
    present = [one for one in samples if one.get(field) is not None]
    return Points(numbers([one.get("t") for one in present], f"time in {name!r}"),
                  numbers([one[field] for one in present], f"{field} in {name!r}"))


def _object(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def span(flows: Sequence[Flow]) -> Window | None:
    """Return the time from the first flow's start to the last one's end. None without flows."""
    if not flows:
        return None
    return Window(min(flow.start_s for flow in flows), max(flow.end_s for flow in flows))

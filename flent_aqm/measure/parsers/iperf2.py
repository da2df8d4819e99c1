# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of `iperf -e -i 5 --bounceback --bounceback-congest -f m` of iperf 2.1.8.

    [  1] 0.0000-1.0000 sec  0.004 MBytes  0.03 Mbits/sec    20=43.5/20.2/70.2/15.1 ms ... 23 rps
    [ *2] 0.0000-1.0000 sec  5.34 MBytes  44.8 Mbits/sec  57970=0:0:0:3855:0:0:0:5

The lines of the whole come last for either stream, and begin at 0 as well. --trip-times adds one
of each way's delays, as mean/least/most/deviation, of the whole test:

    [  1] 0.0000-10.0270 sec  OWD Delays (ms) Cnt=30 To=0.09/0.01/2.1/0.4 From=0.14/0.02/3.5/0.6 ...
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError

_LINE = re.compile(
    r"\[ *\*?(?P<stream>\d+)\] +(?P<start>[\d.]+)-(?P<end>[\d.]+) sec +[\d.]+ [KMG]?Bytes +"
    r"(?P<mbps>[\d.]+) Mbits/sec(?P<rest>.*)")
_BOUNCES = re.compile(
    r" +(?P<count>\d+)=(?P<mean>[\d.]+)/(?P<least>[\d.]+)/(?P<most>[\d.]+)/[\d.]+ ms .* "
    r"(?P<rps>[\d.]+) rps")
_ONE_WAY = re.compile(
    r"\[ *\d+\] .* OWD Delays \(ms\) .* To=(?P<to>-?[\d.]+)/\S+ From=(?P<back>-?[\d.]+)/")


@dataclass(frozen=True)
class Interval:
    """Of the working load: times in s since its start."""

    start_s: float
    end_s: float
    mbps: float


@dataclass(frozen=True)
class Bounces:
    """Messages there and back in an interval, in ms; rps as iperf tells it."""

    end_s: float
    count: int
    mean_ms: float
    max_ms: float
    rps: float


@dataclass(frozen=True)
class OneWay:
    """Mean delay of the messages to the server, and of those back from it, in ms. Right where both
    hosts' clocks are."""

    to_server_ms: float
    from_server_ms: float


@dataclass(frozen=True)
class Iperf2:
    """load, bounces: by interval; whole and all_bounces: of the whole test; one_way: None
    without --trip-times."""

    load: tuple[Interval, ...]
    bounces: tuple[Bounces, ...]
    whole: Interval
    all_bounces: Bounces
    one_way: OneWay | None = None


def parse_iperf2(text: str) -> Iperf2:
    """Read it. Raises ParseError."""
    load: list[Interval] = []
    bounces: list[Bounces] = []
    one_way: OneWay | None = None
    for line in text.splitlines():
        if delays := _ONE_WAY.match(line):
            one_way = OneWay(float(delays["to"]), float(delays["back"]))
        found = _LINE.match(line)
        if not found:
            continue
        told = _BOUNCES.match(found["rest"])
        if told:
            bounces.append(Bounces(float(found["end"]), int(told["count"]), float(told["mean"]),
                                   float(told["most"]), float(told["rps"])))
        else:
            load.append(Interval(float(found["start"]), float(found["end"]),
                                 float(found["mbps"])))
    if not load or not bounces or load[-1].start_s:
        fault = next((line for line in text.splitlines() if " failed" in line), "")
        if fault:
            raise ParseError(f"iperf 2: {fault[:100]}")
        raise ParseError("iperf 2 printed no bounceback with its working load; its output "
                         f"starts with {text[:60]!r}")
    return Iperf2(tuple(load[:-1]), tuple(bounces[:-1]), load[-1], bounces[-1],
                  one_way)

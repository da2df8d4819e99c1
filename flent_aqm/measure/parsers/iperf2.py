# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of iperf 2.1.8, of `iperf -e -f m`: a load over TCP, and with --bounceback messages.

    [ *1] 0.0000-1.0000 sec  5.34 MBytes  44.8 Mbits/sec  57970=0:0:0:3855:0:0:0:5
    [  1] 0.0000-1.0000 sec  0.004 MBytes  0.03 Mbits/sec    20=43.5/20.2/70.2/15.1 ms ... 23 rps

The line of the whole comes last in either, and begins at 0 as well. --trip-times adds one of the
messages' delay each way, as mean/least/most/deviation of the whole:

    [  1] 0.0000-10.0270 sec  OWD Delays (ms) Cnt=30 To=0.09/0.01/2.1/0.4 From=0.14/0.02/3.5/0.6 ...
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError

_LINE = re.compile(
    r"\[ *\*?\d+\] +(?P<start>[\d.]+)-(?P<end>[\d.]+) sec +[\d.]+ [KMG]?Bytes +"
    r"(?P<mbps>[\d.]+) Mbits/sec(?P<rest>.*)")
_BOUNCES = re.compile(
    r" +(?P<count>\d+)=(?P<mean>[\d.]+)/(?P<least>[\d.]+)/(?P<most>[\d.]+)/[\d.]+ ms .* "
    r"(?P<rps>[\d.]+) rps")
_ONE_WAY = re.compile(
    r"\[ *\d+\] .* OWD Delays \(ms\) .* To=(?P<to>-?[\d.]+)/\S+ From=(?P<back>-?[\d.]+)/")


@dataclass(frozen=True)
class Interval:
    """Of a load: times in s since its start."""

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
class Load:
    """A load by interval, and the whole."""

    intervals: tuple[Interval, ...]
    whole: Interval


@dataclass(frozen=True)
class Bounceback:
    """Messages by interval, and the whole; one_way: None without --trip-times."""

    intervals: tuple[Bounces, ...]
    whole: Bounces
    one_way: OneWay | None = None


def parse_load(text: str) -> Load:
    """Read what a load of one TCP connection printed. Raises ParseError."""
    found = [Interval(float(line["start"]), float(line["end"]), float(line["mbps"]))
             for line in _lines(text)]
    if len(found) < 2 or found[-1].start_s:
        raise _fault(text, "no throughput")
    return Load(tuple(found[:-1]), found[-1])


def parse_bounceback(text: str) -> Bounceback:
    """Read what a bounceback printed. Raises ParseError."""
    found = [(float(line["start"]),
              Bounces(float(line["end"]), int(told["count"]), float(told["mean"]),
                      float(told["most"]), float(told["rps"])))
             for line in _lines(text) if (told := _BOUNCES.match(line["rest"]))]
    if len(found) < 2 or found[-1][0]:
        raise _fault(text, "no bounceback")
    delays = next((told for line in text.splitlines() if (told := _ONE_WAY.match(line))), None)
    return Bounceback(tuple(one for _, one in found[:-1]), found[-1][1],
                      None if delays is None else
                      OneWay(float(delays["to"]), float(delays["back"])))


def _lines(text: str) -> list[re.Match[str]]:
    return [found for line in text.splitlines() if (found := _LINE.match(line))]


def _fault(text: str, what: str) -> ParseError:
    said = next((line for line in text.splitlines() if " failed" in line), "")
    return ParseError(f"iperf 2: {said[:100]}" if said else
                      f"iperf 2 printed {what}; its output starts with {text[:60]!r}")

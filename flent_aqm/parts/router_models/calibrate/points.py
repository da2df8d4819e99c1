# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured on a router: goodput and latency at a shaper's rate, or packets a second."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.readers import rate as read_rate

FORM = ("[Nx]RATE[+burst]=GOODPUT[/RISE], in Mbit/s and ms, such as 800=676, 800+burst=765/0.54 or "
        "2x900+burst=860/3.1; or pps=PACKETS_PER_S")

_POINT = re.compile(r"(?:([1-9][0-9]?)x)?([0-9.]+)(\+burst)?=([0-9.]+)(?:/([0-9.]+))?")
_PPS = re.compile(r"pps=([0-9]{2,8})")


@dataclass(frozen=True)
class Setting:
    """How the shaper was set, and how many bulk TCP flows there were."""

    rate_mbps: float
    burst_shaping: bool
    flows: int = 1

    def __str__(self) -> str:
        flows = f"{self.flows}x" if self.flows > 1 else ""
        return f"{flows}{self.rate_mbps:g}{'+burst' if self.burst_shaping else ''}"


@dataclass(frozen=True)
class MeasuredResult:
    """What came of it: goodput of all flows, and by how much the median round-trip time of a
    UDP probe was above that of the idle router; None: not measured."""

    goodput_mbps: float
    rise_ms: float | None = None


@dataclass(frozen=True)
class Point:
    """One measurement through the router."""

    setting: Setting
    measured: MeasuredResult


@dataclass(frozen=True)
class Measurements:
    """All that is known of a router. packets_per_s: of 64 bytes with the checksum, that it
    forwards at most; None: not measured."""

    points: Sequence[Point]
    packets_per_s: float | None = None

    @property
    def values(self) -> int:
        """How many numbers that is."""
        return (len(self.points) + (self.packets_per_s is not None)
                + sum(point.measured.rise_ms is not None for point in self.points))


def parse_measurements(texts: Sequence[str]) -> Measurements:
    """Return the measurements as they are typed. Raises ConfigError for another form, an
    impossible value, or one thing measured twice."""
    points = [parse_point(text) for text in texts if not text.startswith("pps=")]
    rates = [parse_packets_per_s(text) for text in texts if text.startswith("pps=")]
    settings = [point.setting for point in points]
    for setting in settings:
        if settings.count(setting) > 1:
            raise ConfigError(f"{setting} is given twice; give the median of the two")
    if len(rates) > 1:
        raise ConfigError("pps is given twice; give the larger one")
    if not points:
        raise ConfigError(f"no goodput at any rate is given; give {FORM}")
    return Measurements(points, rates[0] if rates else None)


def parse_point(text: str) -> Point:
    """Return one point. Raises ConfigError."""
    match = _POINT.fullmatch(text)
    if not match:
        raise ConfigError(f"{text!r} is not a measurement; give {FORM}")
    rate = read_rate("rate_mbps", match.group(2))
    goodput_mbps = _number(text, match.group(4))
    if not 0 < goodput_mbps <= rate:
        raise ConfigError(f"{text!r}: a goodput of {goodput_mbps:g} Mbit/s can't come through a "
                          f"shaper of {rate:g} Mbit/s; give {FORM}")
    rise_ms = None if match.group(5) is None else _number(text, match.group(5))
    return Point(Setting(rate, bool(match.group(3)), int(match.group(1) or 1)),
                 MeasuredResult(goodput_mbps, rise_ms))


def parse_packets_per_s(text: str) -> float:
    """Return a rate of packets. Raises ConfigError."""
    match = _PPS.fullmatch(text)
    if not match or int(match.group(1)) < 1000:
        raise ConfigError(f"{text!r}: expected pps= and a whole number of packets a second from "
                          "1000 on, of 64 bytes, that the router forwards at most")
    return float(match.group(1))


def _number(text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise ConfigError(f"{text!r}: {number!r} is not a number; give {FORM}") from None

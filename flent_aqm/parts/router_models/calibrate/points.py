# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses measurements of a router: goodput and rise of latency at a shaper's rate, or packets per
second."""

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
    """Configuration of one measurement: the shaper's, and the number of bulk TCP flows."""

    rate_mbps: float
    burst_shaping: bool
    flows: int = 1

    def __str__(self) -> str:
        flows = f"{self.flows}x" if self.flows > 1 else ""
        return f"{flows}{self.rate_mbps:g}{'+burst' if self.burst_shaping else ''}"


@dataclass(frozen=True)
class MeasuredResult:
    """Result of a measurement in one setting."""

    # Goodput of all flows together.
    goodput_mbps: float
    # Median round-trip time of a UDP probe under load minus that of the idle router. None: not
    # measured.
    rise_ms: float | None = None


@dataclass(frozen=True)
class Point:
    """A setting and the result measured in it."""

    setting: Setting
    measured: MeasuredResult


@dataclass(frozen=True)
class Measurements:
    """All measurements of a router."""

    points: Sequence[Point]
    # Most packets of 64 bytes (with the checksum) that it forwards per second. None: not measured.
    packets_per_s: float | None = None

    @property
    def values(self) -> int:
        """Number of measured values."""
        return (len(self.points) + (self.packets_per_s is not None)
                + sum(point.measured.rise_ms is not None for point in self.points))


def parse_measurements(texts: Sequence[str]) -> Measurements:
    """Parse measurements from the command line.

    Raises ConfigError if one has another form or an impossible value, a setting is given twice, or
    no goodput is given.
    """
    points = [parse_point(text) for text in texts if not text.startswith("pps=")]
    rates = [parse_packets_per_s(text) for text in texts if text.startswith("pps=")]
    settings = [point.setting for point in points]
    for setting in settings:
        if settings.count(setting) > 1:
            raise ConfigError(f"{setting} is given twice; give the median of the two")
    if len(rates) > 1:
        raise ConfigError("pps is given twice; give the larger of the two")
    if not points:
        raise ConfigError(f"no goodput at any rate is given; give {FORM}")
    return Measurements(points, rates[0] if rates else None)


def parse_point(text: str) -> Point:
    """Parse a measurement of the form [Nx]RATE[+burst]=GOODPUT[/RISE], in Mbit/s and ms. Raises
    ConfigError."""
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
    """Parse `pps=NUMBER`. Raises ConfigError if it is no number or below 1000."""
    match = _PPS.fullmatch(text)
    if not match or int(match.group(1)) < 1000:
        raise ConfigError(f"{text!r}: expected pps= and a whole number of packets a second from "
                          "1000 on, of 64 bytes, that the router forwards at most")
    return float(match.group(1))


def _number(text: str, number: str) -> float:
    """Return `number` as a float. Raises ConfigError that quotes the whole measurement, `text`."""
    try:
        return float(number)
    except ValueError:
        raise ConfigError(f"{text!r}: {number!r} is not a number; give {FORM}") from None

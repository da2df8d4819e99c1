# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured on a router: a goodput at a shaper's rate, with or without bursts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flent_aqm.asked.scenario import Scenario
from flent_aqm.base.errors import ConfigError

FORM = "RATE=GOODPUT in Mbit/s, such as 800=676, or RATE+burst=GOODPUT with burst shaping"

_POINT = re.compile(r"([0-9.]+)(\+burst)?=([0-9.]+)")


@dataclass(frozen=True)
class Setting:
    """How the shaper was set."""

    rate_mbps: float
    burst_shaping: bool

    def __str__(self) -> str:
        return f"{self.rate_mbps:g}{'+burst' if self.burst_shaping else ''}"


@dataclass(frozen=True)
class Point:
    """One measurement of one bulk TCP flow through the router."""

    setting: Setting
    goodput_mbps: float


def parse_point(text: str) -> Point:
    """A point as it is typed. Raises ConfigError for another form or an impossible value."""
    found = _POINT.fullmatch(text)
    if not found:
        raise ConfigError(f"{text!r} is not a measurement; give {FORM}")
    rate = Scenario.from_settings({"rate_mbps": found.group(1)}).rate_up_mbps
    try:
        goodput_mbps = float(found.group(3))
    except ValueError:
        raise ConfigError(f"{text!r}: {found.group(3)!r} is not a number; give {FORM}") from None
    if not 0 < goodput_mbps <= rate:
        raise ConfigError(f"{text!r}: a goodput of {goodput_mbps:g} Mbit/s can't come through a "
                          f"shaper of {rate:g} Mbit/s; give {FORM}")
    return Point(Setting(rate, bool(found.group(2))), goodput_mbps)

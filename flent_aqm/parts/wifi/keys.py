# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a scenario that make a topology's clients stations of one Wi-Fi channel, checked as
far as their text goes.

    wifi_rates_mbps = 2x144.4+7.2     a station each, in the order of the clients
    wifi_ap = airtime                 how the access point queues
    wifi_phy = n+frames=16            the channel's times: phy.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import unknown_value
from flent_aqm.parts.wifi.phy import parse_phy
from flent_aqm.spec.key import Record, Settings, key

# In the words of ATC'17: a driver's FIFO below the qdisc, mac80211's queues, these with turns
# by airtime.
FIFO, FQ_MAC, AIRTIME = "fifo", "fq_mac", "airtime"
ACCESS_POINTS = (FIFO, FQ_MAC, AIRTIME)
DEFAULT_PHY = "n"
# From the slowest of 802.11b to the fastest of 802.11be.
LEAST_MBPS, MOST_MBPS = 1.0, 23060.0
_MOST_STATIONS = 16
_PART = re.compile(r"(?:([1-9][0-9]?)x)?([0-9]{1,5}(?:\.[0-9]{1,3})?)")


def parse_rates(key: str, text: str) -> tuple[float, ...]:
    """Return the rate of each station in Mbit/s, from `2x144.4+7.2`. Raises ConfigError."""
    rates: list[float] = []
    column = 1
    for part in text.split("+"):
        match = _PART.fullmatch(part.strip())
        if not match:
            raise ConfigError(f"{key}: column {column}: {part[:40]!r} is no rate; expected Mbit/s "
                              "with + between stations, such as 2x144.4+7.2")
        rate = float(match[2])
        if not LEAST_MBPS <= rate <= MOST_MBPS:
            raise ConfigError(f"{key}: column {column}: {match[2]} Mbit/s is out of range; "
                              f"expected {LEAST_MBPS:g} to {MOST_MBPS:g}")
        rates += [rate] * int(match[1] or 1)
        column += len(part) + 1
    if len(rates) > _MOST_STATIONS:
        raise ConfigError(f"{key}: {len(rates)} stations; expected {_MOST_STATIONS} at most")
    return tuple(rates)


def _rates(name: str, value: object) -> str:
    text = str(value).strip()
    parse_rates(name, text)
    return text


def _of_stations(name: str, settings: Settings, usual: str) -> str:
    """Return what is given; what is usual where there are stations; "" where there are none."""
    if settings.get("wifi_rates_mbps") in (None, ""):
        if settings.get(name) not in (None, ""):
            raise ConfigError(f"{name}: {str(settings[name])[:40]!r} needs wifi_rates_mbps, each "
                              "station's rate; give it, or leave this key out")
        return ""
    return str(settings.get(name) or usual)


def _read_ap(name: str, settings: Settings) -> str:
    ap = _of_stations(name, settings, AIRTIME)
    if ap not in ("", *ACCESS_POINTS):
        raise ConfigError(f"{name}: {unknown_value(ap, ACCESS_POINTS)}")
    return ap


def _read_phy(name: str, settings: Settings) -> str:
    phy = _of_stations(name, settings, DEFAULT_PHY)
    if phy:
        parse_phy(name, phy)
    return phy


@dataclass(frozen=True)
class Wifi(Record):
    """The topology's clients are stations of a Wi-Fi channel, a model. "": of none."""

    heading = "Wi-Fi"

    wifi_rates_mbps: str = key(
        "", "`2x144.4+7.2`",
        "clients are stations of a modelled [Wi-Fi](../wifi.md) channel with these rates", _rates,
        usual="none")
    wifi_ap: str = key("", "`fifo`, `fq_mac`, `airtime`", "how the access point queues",
                       reader=_read_ap, usual="`airtime`")
    wifi_phy: str = key("", "`n`, `ac`, `+NAME=VALUE`", "the channel's times and limits",
                        reader=_read_phy, usual="`n`")

    @property
    def only_in_lab(self) -> str:
        """The channel is a model in the lab's kernel."""
        return ("wifi_rates_mbps: the Wi-Fi channel is a model in the virtual lab's kernel; on "
                "testbed {testbed} leave wifi_… out" if self.wifi_rates_mbps else "")

    def refuse_odd_pairs(self, scenario: Any) -> None:
        """The rates are those of the topology's clients."""
        if self.wifi_rates_mbps:
            # What plans it needs the scenario's module.
            from flent_aqm.parts.wifi.plan import wifi_plan

            wifi_plan(scenario)

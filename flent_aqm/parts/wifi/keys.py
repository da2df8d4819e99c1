# SPDX-License-Identifier: GPL-3.0-or-later
"""Batch keys that make a topology's clients stations of one Wi-Fi channel.

Their texts are checked here. wifi_plan() checks them against the topology.

    wifi_rates_mbps = 2x144.4+7.2     the rate of each station, in the order of the clients
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
from flent_aqm.spec.readers import text_of

# Queueing of the access point, under the names of the paper at ATC'17: a driver's FIFO below the
# qdisc; mac80211's queues; mac80211's queues with airtime fairness.
FIFO, FQ_MAC, AIRTIME = "fifo", "fq_mac", "airtime"
ACCESS_POINTS = (FIFO, FQ_MAC, AIRTIME)
DEFAULT_PHY = "n"
# Least: the slowest rate of 802.11b. Most: the fastest of 802.11be.
LEAST_MBPS, MOST_MBPS = 1.0, 23060.0
_MOST_STATIONS = 16
_PART = re.compile(r"(?:([1-9][0-9]{0,3})x)?([0-9]{1,9}(?:\.[0-9]{1,3})?)")


def parse_rates(key: str, text: str) -> tuple[float, ...]:
    """Parse the stations' rates. Return the rate of each station in Mbit/s.

    Args:
        key: the batch key, for messages.
        text: rates with + between them, such as `2x144.4+7.2` for three stations.

    Raises ConfigError, with the column, if a rate has another form or isn't from 1 to 23060 Mbit/s.
    Raises ConfigError if there are more than 16 stations.
    """
    rates: list[float] = []
    column = 1
    for part in text.split("+"):
        match = _PART.fullmatch(part.strip())
        if not match:
            raise ConfigError(f"{key}: column {column}: {part[:40]!r} is not a rate; expected "
                              "Mbit/s, with up to 3 decimals, and + between stations, such as "
                              "2x144.4+7.2")
        rate = float(match[2])
        if not LEAST_MBPS <= rate <= MOST_MBPS:
            raise ConfigError(f"{key}: column {column}: {match[2]} Mbit/s is out of range; "
                              f"expected {LEAST_MBPS:g} to {MOST_MBPS:g}")
        rates += [rate] * int(match[1] or 1)
        column += len(part) + 1
    if len(rates) > _MOST_STATIONS:
        raise ConfigError(f"{key}: {len(rates)} stations; expected {_MOST_STATIONS} at most")
    return tuple(rates)


def _check_rates(name: str, value: object) -> str:
    """Return the value of wifi_rates_mbps as text without blanks around it. Raises ConfigError if
    parse_rates() refuses it, or for True and False."""
    text = text_of(name, value, "rates in Mbit/s, such as 2x144.4+7.2").strip()
    parse_rates(name, text)
    return text


def _value_with_stations(name: str, settings: Settings, usual: str) -> str:
    """Return the value of a key that needs stations, as text, or `usual` if it is None, "" or
    missing. Return "" if there are no stations.

    Args:
        name: the key.
        settings: all batch keys of the run.
        usual: default of the key.

    Raises ConfigError if the key is given without wifi_rates_mbps, or is True or False, which Flent
    makes of the words for a switch.
    """
    value = settings.get(name)
    value = "" if value in (None, "") else text_of(name, value, f"a name, such as {usual}")
    if settings.get("wifi_rates_mbps") in (None, ""):
        if value:
            raise ConfigError(f"{name}: {value[:40]!r} needs wifi_rates_mbps, each station's rate; "
                              "give it, or leave this key out")
        return ""
    return value or usual


def _read_ap(name: str, settings: Settings) -> str:
    """Return the value of wifi_ap, "airtime" if it isn't given, "" without stations.

    Args:
        name: the key, for messages.
        settings: all batch keys of the run.

    Raises ConfigError if it is unknown, or given without stations.
    """
    ap = _value_with_stations(name, settings, AIRTIME)
    if ap not in ("", *ACCESS_POINTS):
        raise ConfigError(f"{name}: {unknown_value(ap, ACCESS_POINTS)}")
    return ap


def _read_phy(name: str, settings: Settings) -> str:
    """Return the value of wifi_phy, "n" if it isn't given, "" without stations.

    Args:
        name: the key, for messages.
        settings: all batch keys of the run.

    Raises ConfigError if parse_phy() refuses it, if it is given without stations, or if it is True
    or False.
    """
    phy = _value_with_stations(name, settings, DEFAULT_PHY)
    if phy:
        parse_phy(name, phy)
    return phy


@dataclass(frozen=True)
class Wifi(Record):
    """Settings of a modelled Wi-Fi channel whose stations are the topology's clients. All three are
    "" without a channel. parse_rates() takes wifi_rates_mbps, parse_phy() takes wifi_phy, and
    wifi_ap is one of ACCESS_POINTS. docs/wifi.md explains the keys."""

    heading = "Wi-Fi"

    wifi_rates_mbps: str = key(
        "", "`2x144.4+7.2`",
        "clients are stations of a modelled [Wi-Fi](../wifi.md) channel with these rates",
        _check_rates,
        usual="none")
    wifi_ap: str = key("", "`fifo`, `fq_mac`, `airtime`", "queueing of the access point",
                       reader=_read_ap, usual="`airtime`")
    wifi_phy: str = key("", "`n`, `ac`, `+NAME=VALUE`", "timing and limits of the channel, by "
                                                        "Wi-Fi generation",
                        reader=_read_phy, usual="`n`")

    @property
    def only_in_lab(self) -> str:
        """Error message for a testbed in real time if there is a channel, otherwise "": only the
        lab's kernel has the model. The caller puts the testbed in place of "{testbed}"."""
        return ("wifi_rates_mbps: the Wi-Fi channel is a model in the virtual lab's kernel; on "
                "testbed {testbed} leave wifi_… out" if self.wifi_rates_mbps else "")

    def refuse_odd_pairs(self, scenario: Any) -> None:
        """Raise ConfigError if there is a channel and the topology isn't clients:N, or there is
        neither one rate nor one for each of its clients.

        scenario: settings of the whole run.
        """
        if self.wifi_rates_mbps:
            # Imported here, because plan.py imports the scenario's module.
            from flent_aqm.parts.wifi.plan import wifi_plan

            wifi_plan(scenario)

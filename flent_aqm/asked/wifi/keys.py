# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a scenario that make a topology's clients stations of one Wi-Fi channel, checked as
far as their text goes.

    wifi_rates_mbps = 2x144.4+7.2     a station each, in the order of the clients
    wifi_ap = airtime                 how the access point queues
    wifi_phy = n+frames=16            the channel's times: phy.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from flent_aqm.asked.wifi.phy import parse_phy
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean

KEYS = ("wifi_rates_mbps", "wifi_ap", "wifi_phy")
# In the words of ATC'17: a driver's FIFO below the qdisc, mac80211's queues, these with turns
# by airtime.
FIFO, FQ_MAC, AIRTIME = "fifo", "fq_mac", "airtime"
ACCESS_POINTS = (FIFO, FQ_MAC, AIRTIME)
DEFAULT_PHY = "n"
# From the slowest of 802.11b to the fastest of 802.11be.
LEAST_MBPS, MOST_MBPS = 1.0, 23060.0
_MOST_STATIONS = 16
_PART = re.compile(r"(?:([1-9][0-9]?)x)?([0-9]{1,5}(?:\.[0-9]{1,3})?)")


def wifi_settings(given: Mapping[str, object]) -> dict[str, str]:
    """Return the fields of Scenario that are Wi-Fi's, from what a batch gives. Raises ConfigError
    that names the key."""
    rates = str(given.get("wifi_rates_mbps") or "").strip()
    for key in KEYS[1:]:
        if not rates and given.get(key) not in (None, ""):
            raise ConfigError(f"{key}: {str(given[key])[:40]!r} needs wifi_rates_mbps, each "
                              "station's rate; give it, or leave this key out")
    if not rates:
        return {}
    parse_rates("wifi_rates_mbps", rates)
    ap = str(given.get("wifi_ap") or AIRTIME)
    if ap not in ACCESS_POINTS:
        raise ConfigError(f"wifi_ap: unknown value {ap[:40]!r}; known: {', '.join(ACCESS_POINTS)}"
                          f"{did_you_mean(ap, ACCESS_POINTS)}")
    phy = str(given.get("wifi_phy") or DEFAULT_PHY)
    parse_phy("wifi_phy", phy)
    return {"wifi_rates_mbps": rates, "wifi_ap": ap, "wifi_phy": phy}


def parse_rates(key: str, text: str) -> tuple[float, ...]:
    """Return the rate of each station in Mbit/s, from `2x144.4+7.2`. Raises ConfigError."""
    rates: list[float] = []
    column = 1
    for part in text.split("+"):
        found = _PART.fullmatch(part.strip())
        if not found:
            raise ConfigError(f"{key}: column {column}: {part[:40]!r} is no rate; expected Mbit/s "
                              "with + between stations, such as 2x144.4+7.2")
        rate = float(found[2])
        if not LEAST_MBPS <= rate <= MOST_MBPS:
            raise ConfigError(f"{key}: column {column}: {found[2]} Mbit/s is out of range; "
                              f"expected {LEAST_MBPS:g} to {MOST_MBPS:g}")
        rates += [rate] * int(found[1] or 1)
        column += len(part) + 1
    if len(rates) > _MOST_STATIONS:
        raise ConfigError(f"{key}: {len(rates)} stations; expected {_MOST_STATIONS} at most")
    return tuple(rates)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the kernel's Wi-Fi channel (setup/kernel/patches/0013-a-wifi-channel.patch).

They depend only on the scenario's settings and its seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.wifi.keys import AIRTIME, FIFO, parse_rates
from flent_aqm.parts.wifi.phy import FRAME_BYTES, Phy, ack_us, parse_phy
from flent_aqm.spec.model_words import device_line
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.topology.graph import ROUTER
from flent_aqm.spec.topology.topology import Topology, parse_topology

# Constants of mac80211 in Linux 7.3: airtime of a turn (IEEE80211_DEFAULT_AIRTIME_WEIGHT, us), and
# CoDel's target and interval (ieee80211_txq_setup_flows()).
_WEIGHT_US, _TARGET_US, _INTERVAL_US = 256, 20_000, 100_000
_LAN = "lan"


@dataclass(frozen=True)
class WifiPlan:
    """Settings of a channel and its stations.

    Attributes:
        rates_mbps: host -> rate of the station.
        ap: queueing of the access point, one of keys.ACCESS_POINTS.
        phy: parameters of the channel.
        seed: seed of the kernel's random numbers.
    """

    rates_mbps: Mapping[str, float]
    ap: str
    phy: Phy
    seed: int

    def channel(self, device: str) -> str:
        """Return the line for /sys/module/lab_wifi/parameters/channel, "DEVICE NAME=VALUE …",
        without values that are 0.

        Args:
            device: name of the access point's device.
        """
        phy = self.phy
        values = {
            "slot_ns": _us_to_ns(phy.slot_us), "sifs_ns": _us_to_ns(phy.sifs_us),
            "aifs_ns": _us_to_ns(phy.aifs_us),
            "cw_min": int(phy.cw_min), "cw_max": int(phy.cw_max), "retries": int(phy.retries),
            "preamble_ns": _us_to_ns(phy.preamble_us), "frame_bytes": FRAME_BYTES,
            "most_frames": int(phy.frames), "most_bytes": int(phy.bytes),
            "most_ns": _us_to_ns(phy.txop_us), "hardware": int(phy.hardware),
            "driver": int(phy.driver_packets) if self.ap == FIFO else 0,
            "weight_ns": _us_to_ns(_WEIGHT_US) if self.ap == AIRTIME else 0,
            "memory_bytes": int(phy.memory_mb * 2**20), "codel_target_us": _TARGET_US,
            "codel_interval_us": _INTERVAL_US, "seed": self.seed}
        return device_line(device, values)

    def station(self, host: str, device: str, ipv4: int, ipv6: int) -> str:
        """Return the line for /sys/module/lab_wifi/parameters/station, "DEVICE NAME=VALUE …", with
        the rate in bit/s, the time of an acknowledgement in ns, and the addresses, without values
        that are 0. Nothing is written. Raises KeyError for a host that is no station.

        Args:
            host: name of the station's host.
            device: the host's network device.
            ipv4: the host's address as a number.
            ipv6: the host's address as a number.
        """
        rate = self.rates_mbps[host]
        return device_line(device, {
            "rate_bit_s": round(rate * 1e6), "ack_ns": _us_to_ns(ack_us(rate)), "ipv4": ipv4,
            "ipv6_high": ipv6 >> 64, "ipv6_low": ipv6 % 2**64})

    def about(self) -> dict[str, object]:
        """Return the channel's settings for the data file: `rates_mbps` (host -> rate), `ap`
        (queueing of the access point), and each parameter of Phy by its name."""
        return {"rates_mbps": dict(self.rates_mbps), "ap": self.ap, **asdict(self.phy)}


def wifi_plan(scenario: Scenario) -> WifiPlan | None:
    """Return the plan of the scenario's channel, None if the scenario has none. Rates are in the
    order of the clients. A single rate holds for all.

    Raises ConfigError if the topology isn't clients:N, or if there is neither one rate nor one for
    each client.
    """
    wifi = scenario.record("wifi")
    if not wifi.is_there:
        return None
    hosts = stations(parse_topology("topology", scenario.path.topology))
    rates = parse_rates("wifi_rates_mbps", wifi.wifi_rates_mbps)
    if not hosts:
        raise ConfigError(f"wifi_rates_mbps: {wifi.wifi_rates_mbps}: only the clients of a "
                          f"topology clients:N are stations, not those of "
                          f"{scenario.path.topology}; give topology = "
                          f"clients:{max(2, len(rates))}", "wifi_rates_mbps")
    if len(rates) == 1:
        rates *= len(hosts)
    if len(rates) != len(hosts):
        raise ConfigError(f"wifi_rates_mbps: {wifi.wifi_rates_mbps} has {len(rates)} "
                          f"rates, and topology {scenario.path.topology} has {len(hosts)} clients; "
                          "give one rate for each, or one for all", "wifi_rates_mbps")
    seed = defaults.LAB_SEED if scenario.lab.seed is None else scenario.lab.seed
    return WifiPlan(dict(zip(hosts, rates, strict=True)), wifi.wifi_ap,
                    parse_phy("wifi_phy", wifi.wifi_phy), seed)


def stations(topology: Topology) -> tuple[str, ...]:
    """Return the names of the clients ("client", "client2", …) of a topology clients:N, also with
    words such as +nat. Empty for any other topology, even if it has clients."""
    if not topology.text.startswith("clients:"):
        return ()
    return tuple(node for node in topology.graph.nodes if node != ROUTER and (
        (node, _LAN) in topology.graph.links or (_LAN, node) in topology.graph.links))


def _us_to_ns(us: float) -> int:
    """Return microseconds as nanoseconds, rounded to a whole number."""
    return round(us * 1000)

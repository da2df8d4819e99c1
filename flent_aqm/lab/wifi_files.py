# SPDX-License-Identifier: GPL-3.0-or-later
"""A Wi-Fi channel's lines for the guest, and what the kernel has counted."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path

from flent_aqm.lab.link_files import counters
from flent_aqm.lab.topology_files import first_ends
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.topology.graph import ROUTER
from flent_aqm.spec.topology.topology import parse_topology
from flent_aqm.spec.wifi.plan import wifi_plan

FOLDER = "wifi"
_QUEUE = re.compile(r"(down|up)([0-9]{1,2})")
_NUMBER = re.compile(r"[0-9]{1,20}")


def write_wifi(folder: Path, scenario: Scenario) -> dict[str, str]:
    """Write the lines into the lab's folder, each behind the host and the file that it is for,
    and return the guest's variables; none without. Raises ConfigError."""
    plan = wifi_plan(scenario)
    if plan is None:
        return {}
    ends = first_ends(parse_topology("topology", scenario.path.topology))
    lines = [f"{ROUTER} channel {plan.channel('down')}\n"]
    for host in plan.rates_mbps:
        end = ends[host]
        line = plan.station(host, end.device, int(ipaddress.ip_address(end.ipv4)),
                            int(ipaddress.ip_address(end.ipv6)))
        lines.append(f"{host} station {line}\n")
    (folder / FOLDER).write_text("".join(lines))
    return {"WIFI": "yes"}


def wifi_report(scenario: Scenario, counted: str) -> dict[str, object]:
    """Return what the channel was and what it did, for the data file; nothing without one.
    counted: what the kernel said in the end; it was written inside, so anything may be in it."""
    plan = wifi_plan(scenario)
    if plan is None:
        return {}
    hosts = list(plan.rates_mbps)
    channel: dict[str, int] = {}
    names: list[str] = []
    queues: dict[str, dict[str, object]] = {host: {} for host in hosts}
    for words in map(str.split, counted.splitlines()):
        if words[:1] == ["channel"]:
            channel = counters(words[1:])
        elif words[:1] == ["queue"]:
            names = words[1:]
        elif words and (queue := _QUEUE.fullmatch(words[0])) and all(
                map(_NUMBER.fullmatch, words[1:])) and 0 < int(queue[2]) <= len(hosts):
            queues[hosts[int(queue[2]) - 1]][queue[1]] = dict(
                zip(names, map(int, words[1:]), strict=False))
    return {**plan.about(), "channel": channel, "stations": queues}

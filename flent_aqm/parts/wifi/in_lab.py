# SPDX-License-Identifier: GPL-3.0-or-later
"""Path model "wifi": write the guest's settings of the Wi-Fi channel, and report its counters."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flent_aqm.lab.path_model import counters
from flent_aqm.lab.topology_files import first_ends
from flent_aqm.parts.wifi.plan import WifiPlan, wifi_plan
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.topology.graph import ROUTER
from flent_aqm.spec.topology.topology import parse_topology

_FILE = "wifi_lines"
# Direction and station's number, counted from 1.
_QUEUE = re.compile(r"(down|up)([0-9]{1,2})")
_NUMBER = re.compile(r"[0-9]{1,20}")


class WifiModel:
    """A modelled Wi-Fi channel. The methods are documented in lab/path_model.py.

    Attributes:
        name: name of the model's object in a data file.
        script: script of the model for the guest.
    """

    name = "wifi"
    script = Path(__file__).parent / "guest" / "wifi.sh"

    def write(self, folder: Path, scenario: Scenario, in_guest: str) -> dict[str, str]:
        """Write the file `wifi_lines` to `folder`: `HOST channel LINE` for the access point and
        `HOST station LINE` for each station. Return no variables.

        Args:
            folder: the run's folder.
            scenario: settings of the run, with a Wi-Fi channel.
            in_guest: path of `folder` as the guest sees it, not used.
        """
        plan = _existing_plan(scenario)
        ends = first_ends(parse_topology("topology", scenario.path.topology))
        lines = [f"{ROUTER} channel {plan.channel('down')}\n"]
        for host in plan.rates_mbps:
            end = ends[host]
            line = plan.station(host, end.device, int(ipaddress.ip_address(end.ipv4)),
                                int(ipaddress.ip_address(end.ipv6)))
            lines.append(f"{host} station {line}\n")
        (folder / _FILE).write_text("".join(lines))
        return {}

    def report(self, scenario: Scenario, counted: str) -> dict[str, object]:
        """Return what the data file holds of the channel: its settings, of WifiPlan.about();
        `channel`: counter -> number, empty if `counted` has none; `stations`: each host ->
        direction ("down", "up") -> counters of its queue, without the directions of which `counted`
        has none. Lines of another form are ignored.

        Args:
            scenario: settings of the run, with a Wi-Fi channel.
            counted: output of the guest's script.
        """
        plan = _existing_plan(scenario)
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

    def refuse(self, scenario: Scenario, length_s: float) -> None:
        """Accept runs of any length: a channel doesn't end."""

    def files(self, requested: Mapping[str, Any], reported: object
              ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield nothing: the model reads no files."""
        yield from ()

    def own_delays_ns(self, scenario: Scenario, reported: object, direction: str,
                      arrived_ns: object, left_ns: object) -> None:
        """Return None: the channel isn't in the modem's place, so it has no delay there that could
        be subtracted. See PathModel.own_delays_ns()."""


def _existing_plan(scenario: Scenario) -> WifiPlan:
    """Return the plan of a scenario, which must have a Wi-Fi channel."""
    plan = wifi_plan(scenario)
    assert plan, "asked for a scenario without Wi-Fi"
    return plan

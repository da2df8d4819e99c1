# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups of flows and changes of the router's rate, for tests_defs/aqm_flows.conf.

Read whenever the test is loaded, in the guest too: it imports little.

    flows=2xreno+1xudp8@20-40+1xudp3~390+1xcubic/dest2+client2:1xcubic
          | |    |    |             |           |      |
          | |    |    |             |           |      from that host instead of the client
          | |    |    |             |           to that host instead of the first server
          | |    |    |             in bursts of 390 packets instead of evenly: 3 Mbit/s on average
          | |    |    from 20 s to 40 s of the load, instead of all of it
          | |    UDP, 8 Mbit/s for each flow of the group
          | TCP with this congestion control
          number of flows
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.topology.graph import SERVER
from flent_aqm.spec.topology.topology import parse_topology

MAX_FLOWS = 128
SHORTEST_STEP_S = 0.01
# iperf3 leaves parts of a second off, and runs for ever where none is left.
SHORTEST_FLOW_S = 1
SECOND_SERVER = "dest2"
# Also the form in which a data file may bring the parameters (sweep/flent_settings.py).
_NUMBER = r"\d{1,5}(?:\.\d{1,6})?"
_GROUP = (rf"(?:(?P<source>{defaults.HOST_NAME}):)?(?P<count>[1-9]\d{{0,2}})x"
          rf"(?:udp(?P<udp>{_NUMBER})(?:~(?P<burst>1000|[1-9]\d{{0,2}}))?"
          r"|(?P<tcp>(?!udp)[a-z][a-z0-9_]{0,14}))"
          rf"(?:@(?P<start>{_NUMBER})-(?P<stop>{_NUMBER}))?(?:/(?P<host>{defaults.HOST_NAME}))?")
_UNNAMED = re.sub(r"\?P<\w+>", "?:", _GROUP)
FLOWS = rf"{_UNNAMED}(?:\+{_UNNAMED}){{0,{len(defaults.IPERF3_FLOW_PORTS) - 1}}}"
RATES = rf"{_NUMBER}(?:,{_NUMBER}){{0,99}}"

ONLY_IN_NAMESPACES = ("works where the router is a network namespace of this machine (testbed "
                      "virtual or netns)")

Refuse = Callable[[str], object]


@dataclass(frozen=True)
class Group:
    """Equal flows. congestion_control: of TCP, "" for UDP, whose rate is udp_mbps a flow;
    burst_packets: of UDP, as many are sent at once, 0 for an even pace; start_s, stop_s: within
    the load; host: to which it goes, "" for the server that the test is for; source: from which,
    "" for the client."""

    text: str
    count: int
    congestion_control: str
    udp_mbps: float
    burst_packets: int
    start_s: float
    stop_s: float
    host: str
    source: str = ""


def groups_from(text: str, load_s: float, refuse: Refuse) -> list[Group]:
    """Return what the test parameter flows asks for. refuse: Flent's test_error, may return; then
    there is one flow of Cubic."""
    groups = []
    if re.fullmatch(FLOWS, text):
        groups = [_group(part, load_s) for part in text.split("+")]
    if not groups:
        refuse(f"flows: {text!r} is not understood; expected groups such as 2xreno, "
               f"1xudp8@20-40, 1xudp3~390, 1xcubic/{SECOND_SERVER} or client2:1xcubic with + "
               f"between, at most {len(defaults.IPERF3_FLOW_PORTS)} of them")
    for group in groups:
        too_short = round(group.stop_s - group.start_s, 6) < SHORTEST_FLOW_S
        if too_short or group.stop_s > load_s or group.count > MAX_FLOWS:
            refuse(f"flows: {group.text!r} must lie within the load of {load_s:g} s, take "
                   f"{SHORTEST_FLOW_S} s or more and have at most {MAX_FLOWS} flows")
            groups = []
            break
    return groups or [_group("1xcubic", load_s)]


def _group(text: str, load_s: float) -> Group:
    match = re.fullmatch(_GROUP, text)
    assert match, text
    part = match.groupdict()
    return Group(text, int(part["count"]), part["tcp"] or "", float(part["udp"] or 0),
                 int(part["burst"] or 0), float(part["start"] or 0), float(part["stop"] or load_s),
                 part["host"] or "", part["source"] or "")


def refuse_unknown_hosts(text: str, scenario: Scenario) -> None:
    """Raise ConfigError where a group is to start from, or to go to, a host that the scenario's
    network doesn't have or that can't take it, with its column in text. What isn't understood at
    all is left to groups_from()."""
    if not re.fullmatch(FLOWS, text) or not re.search("[:/]", text):
        return
    topology = parse_topology("topology", scenario.path.topology)
    servers = [*topology.graph.serving,
               *(["dest1", SECOND_SERVER] if scenario.path.dest2_delay_ms is not None else [])]
    column = 1
    for part in text.split("+"):
        match = re.fullmatch(_GROUP, part)
        assert match, part
        try:
            if match["source"]:
                topology.source(match["source"])
            if match["host"] and match["host"] not in servers:
                raise ConfigError(
                    f"no server runs on {match['host']!r} in topology {topology.text}; servers "
                    f"are {', '.join(servers)}" + "; give dest2_delay_ms for a second one" * (
                        match["host"] == SECOND_SERVER and scenario.path.topology == DUMBBELL))
            if match["source"] and match["source"] == (match["host"] or SERVER):
                raise ConfigError(f"{match['source']} would send to itself; expected two hosts")
        except ConfigError as fault:
            raise ConfigError(f"flows: column {column}: {part!r}: {fault}") from None
        column += len(part) + 1


def data_sets(groups: Sequence[Group], direction: str, host: str, load_start_s: float,
              scenario: Scenario | None = None) -> dict[str, dict[str, Any]]:
    """Series name -> data set, one a group. Each has an iperf3 server of its own, as one
    serves one test at a time. scenario: of the run, None where it is not ours."""
    by_series: dict[str, dict[str, Any]] = {}
    for port, group in zip(defaults.IPERF3_FLOW_PORTS, groups, strict=False):
        kind = "UDP" if group.udp_mbps else "TCP"
        name = f"{kind} {direction} {group.text}"
        if name in by_series:
            name = f"{name} ({port})"
        by_series[name] = {
            "runner": "aqm_iperf3", "host": group.host or host,
            "port": port,
            "delay": load_start_s + group.start_s, "length": group.stop_s - group.start_s,
            "direction": direction, "streams": group.count,
            "congestion_control": group.congestion_control or None,
            "udp_mbps": group.udp_mbps, "burst_packets": group.burst_packets,
            "units": "Mbits/s"}
        if group.source and scenario is not None:
            source = parse_topology("topology", scenario.path.topology).source(group.source)
            by_series[name] |= {"from_host": group.source, "start_with": source.command,
                                "bind_to": source.address}
    return by_series


def rates_from(text: str, step_s: str, scenario: Scenario | None,
               refuse: Refuse) -> tuple[list[float], float]:
    """Return Mbit/s that the router's rate takes in turn, and for how long each; checked.

    scenario: of the run, None where it isn't known yet, or the router is none of ours, which the
    runner refuses.
    """
    if not text:
        return [], 0.0
    if scenario is not None and scenario.lab.testbed not in ("virtual", "netns"):
        refuse(f"rates_mbps: {ONLY_IN_NAMESPACES}")
        return [], 0.0
    if scenario is not None and (scenario.router.shaper != "htb" or scenario.router.tiers != 1
                                 or scenario.router.burst_shaping):
        refuse("rates_mbps: works with shaper=htb, one tier, and without burst_shaping")
        return [], 0.0
    if scenario is not None and scenario.path.topology.startswith("subscribers"):
        refuse("rates_mbps: can't be used with subscribers, whose classes have parts of the rate; "
               "leave it out")
        return [], 0.0
    try:
        rates, step = [float(one) for one in text.split(",")], float(step_s)
    except ValueError:
        rates, step = [], 0.0
    if not rates or min(rates) <= 0 or max(rates) > 10_000 or step < SHORTEST_STEP_S:
        refuse(f"rates_mbps, rate_step_s: {text!r} every {step_s!r} s is not understood; expected "
               f"Mbit/s with commas between, and {SHORTEST_STEP_S:g} s or more")
        return [], 0.0
    return rates, step

# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses groups of flows and changes of the router's rate, for tests_defs/aqm_flows.conf.

Imported whenever that test is loaded, also in the guest, so it imports little.

    flows=2xreno+1xudp8@20-40+1xudp3~390+1xudp5-ect1+1xcubic/dest2+client2:1xcubic
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

import math
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
_MOST_MBPS = 10_000
# iperf3 ignores fractions of a second, and runs for ever if nothing is left.
SHORTEST_FLOW_S = 1
SECOND_SERVER = "dest2"
# Regular expressions for the test parameters, also for values from a data file (flent_settings.py).
_NUMBER = r"\d{1,5}(?:\.\d{1,6})?"
_GROUP = (rf"(?:(?P<source>{defaults.HOST_NAME}):)?(?P<count>[1-9]\d{{0,2}})x"
          rf"(?:udp(?P<udp>{_NUMBER})(?:~(?P<burst>1000|[1-9]\d{{0,2}}))?(?P<ect1>-ect1)?"
          r"|(?P<tcp>(?!udp)[a-z][a-z0-9_]{0,14}))"
          rf"(?:@(?P<start>{_NUMBER})-(?P<stop>{_NUMBER}))?(?:/(?P<host>{defaults.HOST_NAME}))?")
_UNNAMED = re.sub(r"\?P<\w+>", "?:", _GROUP)
FLOWS = rf"{_UNNAMED}(?:\+{_UNNAMED}){{0,{len(defaults.IPERF3_FLOW_PORTS) - 1}}}"
RATES = rf"{_NUMBER}(?:,{_NUMBER}){{0,99}}"

ONLY_IN_NAMESPACES = ("works only where the router is a network namespace of this machine; leave "
                      "it out, or use testbed virtual or netns")

# Function that reports an error to Flent.
Refuse = Callable[[str], object]


@dataclass(frozen=True)
class FlowGroup:
    """A group of equal flows.

    Attributes:
        text: the group as the user wrote it, such as "1xudp8@20-40".
        count: number of flows.
        congestion_control: TCP's congestion control, "" for UDP.
        udp_mbps: rate of each UDP flow in Mbit/s, 0 for TCP.
        burst_packets: number of UDP packets that are sent at once, 0 for an even pace.
        ect1: True if UDP packets are sent as ECT(1), as those of a low-latency sender (RFC 9331).
        start_s: begin of the flows in s, counted from the begin of the load.
        stop_s: end of the flows in s, counted from the begin of the load.
        host: name of the destination, "" for the server of the test.
        source: name of the host that the flows start from, "" for the client.
    """

    text: str
    count: int
    congestion_control: str
    udp_mbps: float
    burst_packets: int
    ect1: bool
    start_s: float
    stop_s: float
    host: str
    source: str = ""


def groups_from(text: str, load_s: float, refuse: Refuse) -> list[FlowGroup]:
    """Parse the test parameter `flows` into groups. If the text can't be parsed, or if a group ends
    after the load, is shorter than SHORTEST_FLOW_S, has more than MAX_FLOWS flows, or is of UDP
    with a rate of 0, call `refuse` with a message.

    Args:
        text: the value of the parameter: groups with + between, such as "2xreno+1xudp8@20-40".
        load_s: length of the load in s.
        refuse: Flent's test_error, which ends the test. If it returns, the result is a single flow
            of Cubic.
    """
    groups = []
    if re.fullmatch(FLOWS, text):
        groups = [_parse_group(group_text, load_s) for group_text in text.split("+")]
    most = len(defaults.IPERF3_FLOW_PORTS)
    if not groups and len(all_groups := text.split("+")) > most and all(
            re.fullmatch(_GROUP, group_text) for group_text in all_groups):
        refuse(f"flows: {len(all_groups)} groups; expected {most} at most, a server for each: give "
               "equal flows as one group, such as 2xreno")
    elif not groups:
        refuse(f"flows: {text[:80]!r} is not understood; expected groups such as 2xreno, "
               f"1xudp8@20-40, 1xudp3~390, 1xudp5-ect1, 1xcubic/{SECOND_SERVER} or "
               f"client2:1xcubic with + between, at most {most} of them")
    for group in groups:
        if not group.congestion_control and not group.udp_mbps:
            refuse(f"flows: {group.text!r} has a rate of 0, so it would send nothing; expected a "
                   "rate in Mbit/s above 0, such as 1xudp8")
            groups = []
            break
        if fault := _fault_of(group, load_s):
            refuse(f"flows: {group.text!r} {fault}")
            groups = []
            break
    return groups or [_parse_group("1xcubic", load_s)]


def _fault_of(group: FlowGroup, load_s: float) -> str:
    """Return why a group of flows can't be run, as text that follows the group's own: it ends after
    the load, is shorter than SHORTEST_FLOW_S, or has more than MAX_FLOWS flows. "" if it can.

    load_s: length of the load in s.
    """
    length_s = round(group.stop_s - group.start_s, 6)
    if group.stop_s > load_s:
        return (f"ends at {group.stop_s:.10g} s; expected a time within the load of {load_s:.10g} "
                "s, or a larger length of the test")
    if length_s < SHORTEST_FLOW_S:
        return (f"lasts {length_s:.10g} s, from {group.start_s:.10g} s to {group.stop_s:.10g} s of "
                f"the load; expected {SHORTEST_FLOW_S} s or more")
    if group.count > MAX_FLOWS:
        return f"has {group.count} flows; expected {MAX_FLOWS} at most in a group"
    return ""


def _parse_group(text: str, load_s: float) -> FlowGroup:
    """Parse one group, whose text has to match _GROUP. A group without times takes the whole load.

    Args:
        text: text of the group, such as "2xreno".
        load_s: length of the load in s.
    """
    match = re.fullmatch(_GROUP, text)
    assert match, text
    fields = match.groupdict()
    return FlowGroup(text, int(fields["count"]), fields["tcp"] or "", float(fields["udp"] or 0),
                 int(fields["burst"] or 0), bool(fields["ect1"]), float(fields["start"] or 0),
                 float(fields["stop"] or load_s), fields["host"] or "", fields["source"] or "")


def refuse_unknown_hosts(text: str, scenario: Scenario, test_host: str = SERVER) -> None:
    """Raise ConfigError, with the group's text and its column, counted from 1, if a group starts
    from a host that no flow can start from in the scenario's network, goes to one on which no
    server runs, or would send to itself.

    Args:
        text: the value of the test parameter `flows`. A text that doesn't match FLOWS is ignored
            here, because groups_from() refuses it.
        scenario: the run's scenario.
        test_host: the test's host, to which groups without a host go. Whether a server runs on it
            is not checked.
    """
    if not re.fullmatch(FLOWS, text) or not re.search("[:/]", text):
        return
    topology = parse_topology("topology", scenario.path.topology)
    servers = [*topology.graph.serving,
               *(["dest1", SECOND_SERVER] if scenario.path.dest2_delay_ms is not None else [])]
    column = 1
    for group_text in text.split("+"):
        match = re.fullmatch(_GROUP, group_text)
        assert match, group_text
        try:
            if match["source"]:
                topology.source(match["source"])
            if match["host"] and match["host"] not in servers:
                raise ConfigError(
                    f"no server runs on {match['host']!r} in topology {topology.text}, but on "
                    f"{', '.join(servers)}" + "; give dest2_delay_ms for a second one" * (
                        match["host"] in ("dest1", SECOND_SERVER)
                        and scenario.path.topology == DUMBBELL))
            if match["source"] and match["source"] == (match["host"] or test_host):
                raise ConfigError(f"{match['source']} would send to itself"
                                  + ", the host of the test" * (not match["host"])
                                  + "; expected two different hosts")
        except ConfigError as fault:
            raise ConfigError(f"flows: column {column}: {group_text!r}: {fault}") from None
        column += len(group_text) + 1


def data_sets(groups: Sequence[FlowGroup], direction: str, host: str, load_start_s: float,
              scenario: Scenario | None = None) -> dict[str, dict[str, Any]]:
    """Return Flent's data sets, one per group, by the names of their series, such as "TCP upload
    2xreno". If an earlier group has the same name, the group's port follows in brackets.

    Each group has an iperf3 server of its own, because iperf3 serves one test at a time.

    Args:
        groups: the groups of flows. Groups beyond the number of servers are left out.
        direction: "upload" or "download".
        host: name of the server of the test, for groups without a host of their own.
        load_start_s: begin of the load in s, counted from the begin of the test.
        scenario: the run's scenario, None outside of this package's runs. Without it, the hosts
            that flows start from are ignored.

    Raises ConfigError if a group starts from a host that the scenario's topology doesn't have.
    """
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
        if group.ect1:
            by_series[name]["ect1"] = True
        if group.source and scenario is not None:
            source = parse_topology("topology", scenario.path.topology).source(group.source)
            by_series[name] |= {"from_host": group.source, "start_with": source.command,
                                "bind_to": source.address}
    return by_series


def rates_from(text: str, step_s: str, scenario: Scenario | None,
               refuse: Refuse) -> tuple[list[float], float]:
    """Parse and check the test parameters `rates_mbps` and `rate_step_s`.

    Return the rates in Mbit/s that the router's shaper takes in turn, and the duration of each in
    s. Without rates, or if `refuse` was called and returned, the result is an empty list and 0.

    Args:
        text: the value of rates_mbps, numbers with commas between, "" for none.
        step_s: the value of rate_step_s, as text.
        scenario: the run's scenario. None if it isn't known yet, or if the router isn't set by this
            package, which the runner refuses.
        refuse: Flent's test_error, called with a message if the values are wrong, or if the
            scenario's router can't change its rate.
    """
    if not text:
        return [], 0.0
    if scenario is not None and scenario.behind_ssh:
        refuse(f"rates_mbps: {ONLY_IN_NAMESPACES}")
        return [], 0.0
    if scenario is not None and (scenario.router.shaper != "htb" or scenario.router.tiers != 1
                                 or scenario.router.burst_shaping):
        router = scenario.router
        has = (f"shaper = {router.shaper}" if router.shaper != "htb" else
               f"tiers = {router.tiers}" if router.tiers != 1 else "burst_shaping")
        refuse(f"rates_mbps: can't be used with {has}; expected shaper = htb with one tier, and no "
               "burst_shaping: change that, or leave rates_mbps out")
        return [], 0.0
    if scenario is not None and scenario.path.topology.startswith("subscribers"):
        refuse("rates_mbps: can't be used with subscribers, whose classes have parts of the rate; "
               "leave it out")
        return [], 0.0
    try:
        rates, step = [float(rate) for rate in text.split(",")], float(step_s)
    except ValueError:
        rates, step = [], 0.0
    if not rates or not all(0 < rate <= _MOST_MBPS for rate in rates) \
            or not SHORTEST_STEP_S <= step < math.inf:
        refuse(f"rates_mbps, rate_step_s: {text[:60]!r} every {step_s[:20]!r} s is not possible; "
               "expected "
               f"rates above 0 and up to {_MOST_MBPS} Mbit/s with commas between, and a step of "
               f"{SHORTEST_STEP_S:g} s or more")
        return [], 0.0
    return rates, step

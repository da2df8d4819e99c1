# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses settings that can't be combined with a topology."""

from __future__ import annotations

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.readers import as_text
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.topology.topology import Topology, parse_topology


def refuse_odd_pairs(scenario: Scenario) -> None:
    """Raise ConfigError if a setting can't be combined with the scenario's topology. The message
    names the setting. Call it only for another topology than the dumbbell."""
    topology = parse_topology("topology", scenario.path.topology)
    for key, is_set in {
        "a modem (keys modem_…)": scenario.path.modem_down_mbps is not None,
        "a model of the access link (keys link_… and modem_…buffer_packets)":
            scenario.replaces_modem,
        "dest2_delay_ms": scenario.path.dest2_delay_ms is not None,
        "tx_queues": scenario.router.tx_queues is not None,
        **{key: is_set for record in scenario.of_parts
           for key, is_set in record.not_with_topology().items()},
        f"a base_delay_ms above {defaults.MAX_DELAY_MS:g} ms":
            scenario.path.base_delay_ms > defaults.MAX_DELAY_MS,
    }.items():
        if is_set:
            raise ConfigError(f"topology: {topology.text} can't be combined with {key}; leave one "
                              "of the two out", "topology")
    if scenario.lab.testbed.startswith("ssh:"):
        raise ConfigError(f"topology: {topology.text}: flent-aqm can't set up the hosts and "
                          "links around a router that it reaches by ssh; set them up by hand and "
                          "leave the key out, or use testbed virtual or netns", "topology")
    if topology.subscribers:
        _refuse_for_subscribers(topology, scenario)


def _refuse_for_subscribers(topology: Topology, scenario: Scenario) -> None:
    """Raise ConfigError if a setting of the router or one of its queues can't be combined with
    subscribers. Raises it also if, in a direction, a subscriber's plan exceeds the router's rate,
    or an equal share of that rate for each subscriber is below MIN_RATE_MBPS.

    Args:
        topology: a topology with subscribers.
        scenario: the scenario whose settings are checked.
    """
    for key, needed in {"shaper": "htb", "tiers": 1, "burst_shaping": False,
                        "ingress": "lan"}.items():
        requested = getattr(scenario.router, key)
        if requested != needed:
            raise ConfigError(f"{key}: {as_text(requested)} can't be combined with topology "
                              f"{topology.text}, where each subscriber has a class of HTB; "
                              f"give {key} = {as_text(needed)}, or leave it out", key)
    for key, direction in (("aqm", "down"), ("up_aqm", "up")):
        name = scenario.router.queue(direction)[0]
        if queue_of(name).classes:
            raise ConfigError(f"{key}: {name} has its own classes, which can't be used below "
                              "subscribers' classes; choose another queue with topology "
                              f"{topology.text}", key)
    for direction in ("down", "up"):
        rate, rate_key = scenario.router.rate_mbps(direction), f"rate_{direction}_mbps"
        plan = getattr(topology, f"plan_{direction}_mbps")
        if plan is not None and plan > rate:
            raise ConfigError(f"topology: {topology.text}: the plan of {plan:.10g} Mbit/s "
                              f"{direction} is above the access node's rate, {rate:.10g} Mbit/s; "
                              f"give a smaller plan, or a higher {rate_key} (or rate_mbps, "
                              "if that gives it)",
                              "topology")
        least = topology.subscribers * defaults.MIN_RATE_MBPS
        if rate < least:
            raise ConfigError(f"topology: {topology.text} with {rate:.10g} Mbit/s {direction}; "
                              f"expected {least:.10g} Mbit/s or more, {defaults.MIN_RATE_MBPS:g} "
                              f"for each subscriber: give a higher {rate_key} (or rate_mbps, if "
                              "that gives it), or fewer subscribers", "topology")

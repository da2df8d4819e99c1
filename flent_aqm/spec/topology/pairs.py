# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses settings that can't be combined with a topology."""

from __future__ import annotations

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.topology.topology import Topology, parse_topology


def refuse_odd_pairs(scenario: Scenario) -> None:
    """Raise ConfigError if a setting can't be combined with the scenario's topology, which isn't
    the dumbbell. The message names the setting."""
    topology = parse_topology("topology", scenario.path.topology)
    for key, is_set in {
        "a modem (keys modem_…)": scenario.path.modem_down_mbps is not None,
        "a model of the access link (keys link_…)": scenario.replaces_modem,
        "dest2_delay_ms": scenario.path.dest2_delay_ms is not None,
        "tx_queues": scenario.router.tx_queues is not None,
        **{key: is_set for record in scenario.of_parts
           for key, is_set in record.not_with_topology().items()},
        f"base_delay_ms above {defaults.MAX_DELAY_MS:g}":
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
    """Raise ConfigError if a setting of the router can't be combined with subscribers, if a
    subscriber's plan exceeds the access node's rate, or if that rate leaves each subscriber less
    than MIN_RATE_MBPS.

    Args:
        topology: a topology with subscribers.
        scenario: the scenario whose settings are checked.
    """
    for key, needed in {"shaper": "htb", "tiers": 1, "burst_shaping": False,
                        "ingress": "lan"}.items():
        requested = getattr(scenario.router, key)
        if requested != needed:
            raise ConfigError(f"{key}: {requested} can't be combined with topology "
                              f"{topology.text}, where each subscriber has a class of HTB; "
                              f"give {key} = {needed}, or leave it out", key)
    for name in scenario.router.queues:
        if queue_of(name).classes:
            raise ConfigError(f"aqm: {name} has its own classes, which can't be used below "
                              "subscribers' classes; choose another queue with topology "
                              f"{topology.text}", "aqm")
    for direction in ("down", "up"):
        rate = scenario.router.rate_mbps(direction)
        plan = getattr(topology, f"plan_{direction}_mbps")
        if plan is not None and plan > rate:
            raise ConfigError(f"topology: plan_{direction}_mbps: {plan:g} is above the access "
                              f"node's rate_{direction}_mbps, {rate:g}; give no more than that",
                              "topology")
        if rate / topology.subscribers < defaults.MIN_RATE_MBPS:
            raise ConfigError(
                f"topology: {topology.text}: rate_{direction}_mbps {rate:g} leaves each subscriber "
                f"{rate / topology.subscribers:.3g} Mbit/s; expected {defaults.MIN_RATE_MBPS:g} "
                "or more: give a higher rate or fewer subscribers", "topology")

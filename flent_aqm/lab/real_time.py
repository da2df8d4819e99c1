# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks and limits that the testbeds in real time share."""

from __future__ import annotations

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.protocol import FlentRun
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.scenario import Scenario


def refuse_virtual_settings(testbed: str, scenario: Scenario) -> None:
    """Raise ConfigError if the scenario has a setting that only the virtual lab supports."""
    if scenario.lab.kernel != STOCK:
        raise ConfigError(f"kernel: {scenario.lab.kernel} is a kernel of the virtual lab; on "
                          f"testbed {testbed} the machines have their own: leave kernel out")
    for record in scenario.of_parts:
        if record.only_in_lab:
            raise ConfigError(record.only_in_lab.format(testbed=testbed))
    if max(scenario.path.base_delay_ms, scenario.path.dest2_delay_ms or 0) > defaults.MAX_DELAY_MS:
        raise ConfigError(f"base_delay_ms, dest2_delay_ms: more than {defaults.MAX_DELAY_MS:g} ms "
                          f"needs the virtual lab's kernel; on testbed {testbed} give less")
    if scenario.hosts.host_moderation_us != defaults.HOST_MODERATION_US:
        raise ConfigError(f"host_moderation_us: can't be set on testbed {testbed}, where the "
                          "drivers of the hosts' network cards decide; leave the key out")
    if scenario.router.router_program:
        raise ConfigError(f"router_program: on testbed {testbed} nothing is started on the router; "
                          "start it by hand and leave the key out, or use virtual")


def refuse_network_of_ours(scenario: Scenario) -> None:
    """Raise ConfigError if the scenario has a setting that needs a network made by flent-aqm:
    modem, second server, reordering, GSO and ECN of the hosts. Behind a real router these are the
    user's."""
    for key, value in (("modem_down_mbps", scenario.path.modem_down_mbps),
                       ("dest2_delay_ms", scenario.path.dest2_delay_ms),
                       ("reorder_ms", scenario.path.reorder_ms or None),
                       ("host_gso", scenario.hosts.host_gso),
                       ("tcp_ecn", scenario.hosts.tcp_ecn)):
        if value is not None and value is not False:
            raise ConfigError(f"{key}: flent-aqm can't set up the hosts and links around a router "
                              "that it reaches by ssh; set them up by hand and leave the key out, "
                              "or use testbed virtual or netns")


def wall_limit_s(run: FlentRun) -> float:
    """Return the seconds after which a run is considered hung."""
    return run.length_s + defaults.REAL_TIME_MARGIN_S

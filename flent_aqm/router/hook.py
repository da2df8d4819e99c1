# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the commands that set the router's queue and read it back, as words for shell.run()."""

from __future__ import annotations

from flent_aqm.base import paths
from flent_aqm.router.shaping import subscribers_of
from flent_aqm.router.tc.words import IN_LAB, Devices, leaf_words, tc_lines
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.scenario import Scenario

# The script in router_hooks/ that runs in the guest.
ON_ROUTER = "on_router.sh"
# The namespace that is the router, or the first of several.
ROUTER = "router"


def routers_of(scenario: Scenario) -> tuple[str, ...]:
    """Return the names of all routers, the nearest to the client first: ("router",) for the
    dumbbell. All have the same queues."""
    if scenario.path.topology == DUMBBELL:
        return (ROUTER,)
    from flent_aqm.spec.topology.topology import parse_topology

    return parse_topology("topology", scenario.path.topology).graph.routers


def apply_command(scenario: Scenario, devices: Devices = IN_LAB) -> list[str]:
    """Return the command, as a list of words, that puts the scenario's queue and rates on each
    router.

    devices: names of the router's devices.
    """
    return [*_hook_command("apply", scenario), *apply_words(scenario, devices)]


def apply_words(scenario: Scenario, devices: Devices = IN_LAB) -> list[str]:
    """Return the arguments that follow "apply" in a call of router_hooks/router.sh: settings as
    NAME=VALUE, "--", and the lines for tc.

    devices: names of the router's devices.
    """
    routers = routers_of(scenario)
    words = [f"routers={','.join(routers)}"] if routers != (ROUTER,) else []
    if devices != IN_LAB:
        words += [f"dev_down={devices.down}", f"dev_up={devices.up}"]
    if scenario.router.ingress == "ifb":
        words.append("ingress=ifb")
    if scenario.router.txqueuelen is not None:
        words.append(f"txqueuelen={scenario.router.txqueuelen}")
    # Both directions have the same queue, or each its own.
    for role in ("down", "up") if scenario.router.up_aqm is not None else ("up",):
        queue = queue_of(scenario.router.queue(role)[0])
        if queue.external:
            words.append("foreign=yes")
        words += [f"requires={queue.requires}", f"try={leaf_words(scenario, role)}"]
    return [*words, "--", *tc_lines(scenario, devices)]


def read_back_command(scenario: Scenario, router: str = ROUTER) -> list[str]:
    """Return the command, as a list of words, that prints a router's settings.
    router/tc/read_back.py parses its output.

    router: name of the router.
    """
    words = [] if router == ROUTER else [f"routers={router}"]
    subscribers = subscribers_of(scenario)
    return [*_hook_command("read-back", scenario), *words,
            *([f"subscribers={subscribers}"] if subscribers else [])]


def _hook_command(command: str, scenario: Scenario) -> list[str]:
    """Return a command that runs router_hooks/on_router.sh, as a list of words to which arguments
    can be added.

    Args:
        command: "apply" or "read-back".
        scenario: the scenario, whose testbed is passed on.
    """
    script = paths.resource_dir("router_hooks") / ON_ROUTER
    return ["sh", str(script), command, f"testbed={scenario.lab.testbed}"]

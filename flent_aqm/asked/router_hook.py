# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that run a router hook for a scenario, as lists for shell.run."""

from __future__ import annotations

from collections.abc import Sequence

from flent_aqm.asked.queues.foreign import OPTIONS, queue_of
from flent_aqm.asked.queues.parameters import hook_value
from flent_aqm.asked.records.path import DUMBBELL
from flent_aqm.asked.scenario import Scenario
from flent_aqm.asked.topology.topology import parse_topology
from flent_aqm.base import paths

# The script in router_hooks/ that runs in the guest.
ON_ROUTER = "on_router.sh"
# The namespace that is the router, or the first of several.
ROUTER = "router"
# Of a queue that the hooks have no scheme for, and that is asked for without options.
NO_OPTIONS = "-"


def apply_command(scenario: Scenario) -> list[str]:
    """Puts the scenario's queue and rates on the router."""
    return [*_hook("apply", scenario), *first_settings(scenario), *more_settings(scenario)]


def first_settings(scenario: Scenario) -> list[str]:
    """Return those that batches give the hook by themselves: AQM, rates, burst shaping."""
    return [
        f"aqm={scenario.router.aqm}",
        # Six decimals are whole bits per second, all that tc knows.
        f"rate_down_mbps={scenario.router.rate_down_mbps:.6f}",
        f"rate_up_mbps={scenario.router.rate_up_mbps:.6f}",
        f"burst_shaping={'yes' if scenario.router.burst_shaping else 'no'}",
    ]


def more_settings(scenario: Scenario) -> list[str]:
    """Return those settings for the hook that aren't at their default, but for AQM, rates and
    burst shaping. No word has a blank or a sign that a shell would expand."""
    words = []
    if scenario.router.shaper != "htb":
        words.append(f"shaper={scenario.router.shaper}")
    if scenario.router.ingress != "lan":
        words.append(f"ingress={scenario.router.ingress}")
    if scenario.router.tiers != 1:
        words.append(f"tiers={scenario.router.tiers}")
    if scenario.router.txqueuelen is not None:
        words.append(f"txqueuelen={scenario.router.txqueuelen}")
    words += _queue_words("aqm_", scenario.router.aqm, scenario.router.aqm_parameters)
    if scenario.router.up_aqm is not None:
        words.append(f"up_aqm={scenario.router.up_aqm}")
        words += _queue_words("up_aqm_", scenario.router.up_aqm, scenario.router.up_aqm_parameters)
    if scenario.path.topology != DUMBBELL:
        words += _topology_words(scenario)
    return words


def routers_of(scenario: Scenario) -> tuple[str, ...]:
    """Return the names of all routers, whose queues are the same, that nearest to the client
    first."""
    if scenario.path.topology == DUMBBELL:
        return (ROUTER,)
    return parse_topology("topology", scenario.path.topology).graph.routers


def _topology_words(scenario: Scenario) -> list[str]:
    topology = parse_topology("topology", scenario.path.topology)
    words = []
    if topology.graph.routers != (ROUTER,):
        words.append(f"routers={','.join(topology.graph.routers)}")
    if topology.subscribers:
        words.append(f"subscribers={topology.subscribers}")
        for way in ("down", "up"):
            plan = getattr(topology, f"plan_{way}_mbps")
            if plan is not None:
                words.append(f"plan_{way}_mbps={plan:.6f}")
    return words


def _queue_words(prefix: str, aqm: str, parameters: Sequence[tuple[str, str]]) -> list[str]:
    if queue_of(aqm).foreign and not parameters:
        return [f"{prefix}{OPTIONS}={NO_OPTIONS}"]
    return [f"{prefix}{name}={hook_value(aqm, name, text)}" for name, text in parameters]


def read_back_command(scenario: Scenario, router: str = ROUTER) -> list[str]:
    """Prints what a router's kernel reports, for router/tc/read_back.py."""
    words = [] if router == ROUTER else [f"routers={router}"]
    if scenario.path.topology != DUMBBELL:
        words += [word for word in _topology_words(scenario) if word.startswith("subscribers=")]
    return [*_hook("read-back", scenario), *words]


def _hook(command: str, scenario: Scenario) -> list[str]:
    script = paths.resource_dir("router_hooks") / ON_ROUTER
    return ["sh", str(script), command, f"testbed={scenario.lab.testbed}"]

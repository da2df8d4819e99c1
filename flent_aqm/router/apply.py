# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that run a router hook for a scenario, as lists for shell.run."""

from __future__ import annotations

from flent_aqm import paths
from flent_aqm.scenario import Scenario


def apply_command(scenario: Scenario) -> list[str]:
    """Puts the scenario's queue and rates on the router."""
    return [
        *_hook("apply", scenario),
        f"aqm={scenario.aqm}",
        # Six decimals are whole bits per second, all that tc knows.
        f"rate_down_mbps={scenario.rate_down_mbps:.6f}",
        f"rate_up_mbps={scenario.rate_up_mbps:.6f}",
        f"burst_shaping={'yes' if scenario.burst_shaping else 'no'}",
    ]


def read_back_command(scenario: Scenario) -> list[str]:
    """Prints what the router's kernel reports, as the JSON that parsers.tc reads."""
    return _hook("read-back", scenario)


def undo_command(scenario: Scenario) -> list[str]:
    """Gives the router's devices their default queues."""
    return _hook("undo", scenario)


def _hook(command: str, scenario: Scenario) -> list[str]:
    script = paths.resource_dir("router_hooks") / "on_router.sh"
    return ["sh", str(script), command, f"testbed={scenario.testbed}"]

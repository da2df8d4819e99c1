# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that puts a scenario's queue onto the router."""

from __future__ import annotations

from flent_aqm import paths
from flent_aqm.scenario import Scenario


def apply_command(scenario: Scenario) -> list[str]:
    """The argv of router_hooks/on_router.sh that applies the scenario."""
    return [
        "sh", str(paths.resource_dir("router_hooks") / "on_router.sh"), "apply",
        f"testbed={scenario.testbed}",
        f"aqm={scenario.aqm}",
        f"rate_down_mbps={scenario.rate_down_mbps!r}",
        f"rate_up_mbps={scenario.rate_up_mbps!r}",
        f"burst_shaping={'yes' if scenario.burst_shaping else 'no'}",
    ]

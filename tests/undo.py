# SPDX-License-Identifier: GPL-3.0-or-later
"""The router hook's word that gives devices their default queues. A sweep restores what was there
before instead, so only tests need it."""

from __future__ import annotations

from flent_aqm.asked.scenario import Scenario
from flent_aqm.base.paths import resource_dir


def undo_command(scenario: Scenario) -> list[str]:
    """Return the command, for the scenario's testbed."""
    return ["sh", str(resource_dir("router_hooks") / "on_router.sh"), "undo",
            f"testbed={scenario.lab.testbed}"]

# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell code for tests that puts queues onto the router or restores the default ones, which a
sweep does from what was there before."""

from __future__ import annotations

import shlex

from flent_aqm.base.paths import resource_dir
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.scenario import Scenario

UNDO = f"sh {shlex.quote(str(resource_dir('router_hooks') / 'on_router.sh'))} undo testbed=virtual"


def apply(**keys: object) -> str:
    """Return the code for a batch's keys, at 100 Mbit/s down and 20 up."""
    return shlex.join(apply_command(Scenario.from_settings(
        {"rate_down_mbps": 100, "rate_up_mbps": 20, **keys})))

# SPDX-License-Identifier: GPL-3.0-or-later
"""What on the router would hide the AQM, though every setting is as asked."""

from __future__ import annotations

from flent_aqm.router.tc.read_back import Direction, ReadBack
from flent_aqm.spec.scenario import Scenario


def warnings(scenario: Scenario, report: ReadBack) -> list[str]:
    """Return one line for each; empty where nothing stands in the way."""
    return [f"{role}: {line}" for role, direction in report.directions.items()
            for line in _of_one(scenario, role, direction)]


def _of_one(scenario: Scenario, role: str, direction: Direction) -> list[str]:
    texts = []
    # CAKE splits such packets itself unless told not to.
    aqm, parameters = scenario.router.queue(role)
    splits = aqm == "cake" and dict(parameters).get("split_gso") != "no"
    on = [name for name in ("tso", "gso", "gro") if direction.offloads.get(name)]
    if on and not splits:
        texts.append(f"{', '.join(on)} on {direction.device}: up to 64 KB count as one packet in "
                     f"the queue; switch off with ethtool -K {direction.device} "
                     + " ".join(f"{name} off" for name in on))
    if scenario.router.shaper == "none" and direction.hardware and direction.bql_bytes is None:
        texts.append(f"{direction.device} has no byte queue limits: without a shaper, packets "
                     "wait in its driver, where the AQM doesn't see them")
    return texts

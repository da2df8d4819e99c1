# SPDX-License-Identifier: GPL-3.0-or-later
"""Warns about conditions on the router that hide the effect of the AQM."""

from __future__ import annotations

from flent_aqm.router.shaping import IFB_DEVICE
from flent_aqm.router.tc.read_back import Direction, ReadBack
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.scenario import Scenario

_OFFLOADS: tuple[str, ...] = ("tso", "gso", "gro")


def warnings(scenario: Scenario, report: ReadBack) -> list[str]:
    """Return a warning for each condition on the router that would hide the effect of the AQM:
    offloads of a device that are on, all in one warning, and a network card's driver without byte
    queue limits. With split_gso on in the AQM, offloads don't count; with a shaper, the driver
    doesn't. Each begins with "down: " or "up: ". Empty if there is none."""
    return [f"{direction_name}: {text}" for direction_name, direction in report.directions.items()
            for text in _warnings_of_direction(scenario, direction_name, direction, report)]


def _warnings_of_direction(scenario: Scenario, direction_name: str, direction: Direction,
                           report: ReadBack) -> list[str]:
    """Return the warnings about the device of one direction, each a line that doesn't name the
    direction. Empty if there is none. An offload whose state is unknown counts as off.

    Args:
        scenario: the requested settings.
        direction_name: "down" or "up".
        direction: the device.
        report: the router's report on both directions. For the IFB device, only gro of the device
            "up" counts, from which it gets its packets.
    """
    texts = []
    # Queues with this parameter, such as CAKE, split such packets unless told not to.
    aqm, parameters = scenario.router.queue(direction_name)
    splits = "split_gso" in queue_of(aqm).parameters and dict(parameters).get("split_gso") != "no"
    merging, offloads = direction, _OFFLOADS
    if direction.device == IFB_DEVICE:
        # It merges nothing itself: what arrives is as the device where it arrives has made it.
        merging, offloads = report.directions.get("up", direction), ("gro",)
    on = [name for name in offloads if merging.offloads.get(name)]
    if on and not splits:
        texts.append(f"{', '.join(on)} on {merging.device}: up to 64 KB count as one packet in "
                     f"the queue; switch off with ethtool -K {merging.device} "
                     + " ".join(f"{name} off" for name in on))
    if scenario.router.shaper == "none" and direction.hardware and direction.bql_bytes is None:
        texts.append(f"{direction.device} has no byte queue limits: without a shaper, packets "
                     "wait in its driver, where the AQM doesn't see them")
    return texts

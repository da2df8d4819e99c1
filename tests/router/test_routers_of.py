# SPDX-License-Identifier: GPL-3.0-or-later
"""Which routers a run has: all are set and read back."""

from __future__ import annotations

import pytest

from flent_aqm.router.hook import apply_words, read_back_command, routers_of
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize(("settings", "routers"), [
    ({}, ("router",)), ({"topology": "parking_lot:3"}, ("router", "router2", "router3"))])
def test_routers_of_a_topology_are_all_asked(
        settings: dict[str, str], routers: tuple[str, ...]) -> None:
    """The hook gets their names, and the proof reads each."""
    scenario = Scenario.from_settings(settings)
    assert routers_of(scenario) == routers
    assert (f"routers={','.join(routers)}" in apply_words(scenario)) == (len(routers) > 1)
    assert read_back_command(scenario, "router3")[-1] == "routers=router3"

# SPDX-License-Identifier: GPL-3.0-or-later
"""What is captured, and whose flows those are, by a run's settings."""

from __future__ import annotations

import pytest

from flent_aqm.parts.why.flow_names import cross_ports_of
from flent_aqm.parts.why.watched import _blocks
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize(("kind", "ports"), [
    ("yes", {5202}), ("bulk", {5202}), ("no", set()), ("nonsense", set())])
def test_bulk_traffic_has_one_of_iperf3s_two_servers(kind: str, ports: set[int]) -> None:
    """The other is that of a test by iperf3, which was called cross traffic, too."""
    assert cross_ports_of({"TEST_PARAMETERS": {"cross_traffic": kind}}) == ports
    own = {"cross_traffic": kind, "cross_port": "5999"}
    assert cross_ports_of({"TEST_PARAMETERS": own}) == ({5999} if ports else set())


def test_modem_gets_as_much_room_as_the_router() -> None:
    """Each sees every packet. The room of one was divided between them."""
    alone = Scenario.from_settings({"rate_mbps": 100})
    with_modem = Scenario.from_settings({"rate_mbps": 90, "modem_mbps": 100})
    assert _blocks(with_modem, 500_000) == pytest.approx(2 * _blocks(alone, 500_000), abs=1)
    assert _blocks(with_modem, 10**9) == _blocks(alone, 10**9) == 640

# SPDX-License-Identifier: GPL-3.0-or-later
"""A router's state before and after, on both kinds of router."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.lab
InGuest = Callable[..., list[str]]

ROUTERS = ("openssh_router", "small_router")


@pytest.mark.parametrize("router", ROUTERS)
def test_session_when_it_ends_leaves_the_router_as_found(in_guest: InGuest, router: str) -> None:
    """Default queues, then somebody's tree of queues, filters, lengths and offloads."""
    lines = in_guest("""
        found; echo 'apply && is_changed' | hold; as_found
        someones_queues
        found; echo 'apply && is_changed' | hold; as_found
    """, router)
    assert lines == ["changed", "as found"] * 2


# What tc shows of these is not what it takes, or less than the kernel has.
QUEUES = ("tbf rate 8419kbit burst 4000 latency 50ms", "tbf rate 100mbit burst 32kb latency 400ms",
          "codel target 500us ce_threshold 1ms ecn", "pie target 999us", "fq limit 500",
          "sfq limit 50 perturb 10", "cake bandwidth 8419kbit memlimit 3mb")


def test_queues_that_tc_shows_in_other_words_than_it_takes_come_back(in_guest: InGuest) -> None:
    """Times and bursts that are shown rounded down, units that are shown and not taken."""
    lines = in_guest("".join(f"""
        on_router tc qdisc replace dev down root handle 7: {queue}
        found; echo 'apply && is_changed' | hold; as_found
    """ for queue in QUEUES))
    assert lines == ["changed", "as found"] * len(QUEUES)

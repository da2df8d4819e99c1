# SPDX-License-Identifier: GPL-3.0-or-later
"""A router's state before and after, on both kinds of router."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.lab
InGuest = Callable[..., list[str]]

ROUTERS = ("openssh_router", "small_router")
APPLY = "on apply aqm=fq_codel rate_down_mbps=10 rate_up_mbps=20 && echo applied"


@pytest.mark.parametrize("router", ROUTERS)
def test_session_when_it_ends_leaves_the_router_as_found(in_guest: InGuest, router: str) -> None:
    """Default queues, then somebody's tree of queues, filters, lengths and offloads."""
    lines = in_guest(f"""
        found; hold 'shell("{APPLY}")'; as_found
        someones_queues; found; hold 'shell("{APPLY}")'; as_found
    """, router)
    assert lines == ["applied", "as found", "applied", "as found"]

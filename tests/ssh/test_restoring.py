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

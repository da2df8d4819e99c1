# SPDX-License-Identifier: GPL-3.0-or-later
"""A server of speed tests over loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.serving import RunningServer


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[int, int]]:
    """A server of its own, on ports that were free: in cleartext, and over TLS."""
    server = RunningServer("http")
    yield server.ports["http"], server.ports["http-tls"]
    assert server.stop() == 0


@pytest.fixture(scope="module")
def port(ports: tuple[int, int]) -> int:
    """Its port in cleartext."""
    return ports[0]

# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.servers.serving import RunningServer, starting

StartServer = Callable[..., RunningServer]


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Start servers with words of one's own; they are gone after the test."""
    with starting(RunningServer) as start:
        yield start

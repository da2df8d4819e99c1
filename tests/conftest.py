# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for all tests."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

# What `make test` runs side by side: each part takes about as long. Tests of one part follow
# each other; some of them look for what others of their part could have left.
PARTS = {
    "lab": ("testbed", "sweep", "validation"),
    "pictures": ("show", "setup", "router"),
    "data": ("asked", "base", "bridge", "docs", "hostile", "measure", "results", "test_rooms.py"),
}
TESTS = Path(__file__).parent


_PART_OF = {folder: part for part, folders in PARTS.items() for folder in folders}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tell pytest-xdist which part each test belongs to."""
    folder = item.path.relative_to(TESTS).parts[0]
    item.add_marker(pytest.mark.xdist_group(_PART_OF[folder]))


def pytest_configure() -> None:
    """Have ^C reach the programs that tests start and interrupt. Shells without job control
    start what runs in the background with SIGINT ignored, and children take that over."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

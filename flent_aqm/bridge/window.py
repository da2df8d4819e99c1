# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads many files into flent-gui's window faster: Flent draws the window for each file."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

# The window does not react to the user for so long.
_TOGETHER_S = 0.1


def load_one(stock: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a replacement for the method that adds one loaded file to the window when the GUI is
    idle. It adds files for up to 0.1 s."""
    @wraps(stock)
    def load_one(self: Any) -> None:
        end_s = time.monotonic() + _TOGETHER_S
        stock(self)
        while self.load_queue and time.monotonic() < end_s:
            stock(self)

    return load_one

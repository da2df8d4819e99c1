# SPDX-License-Identifier: GPL-3.0-or-later
"""Speeds up loading of many files in flent-gui, which draws its window for each file."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

# The window does not react to the user for so long.
_TOGETHER_S = 0.1


def load_one(stock: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a replacement for the method that adds the next file of the window's queue to it when
    the GUI is idle. The replacement adds a file, if there is one, and further ones until 0.1 s have
    passed or the queue is empty.

    stock: Flent's method.
    """
    @wraps(stock)
    def load_one(self: Any) -> None:
        end_s = time.monotonic() + _TOGETHER_S
        stock(self)
        while self.load_queue and time.monotonic() < end_s:
            stock(self)

    return load_one

# SPDX-License-Identifier: GPL-3.0-or-later
"""flent-gui's window, which Flent draws anew for each file of many."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

# So long the window doesn't answer.
_TOGETHER_S = 0.1


def load_one(stock: Callable[[Any], None]) -> Callable[[Any], None]:
    """Replace what takes one loaded file into the window, whenever that has nothing else to do."""
    @wraps(stock)
    def load_one(self: Any) -> None:
        end_s = time.monotonic() + _TOGETHER_S
        stock(self)
        while self.load_queue and time.monotonic() < end_s:
            stock(self)

    return load_one

# SPDX-License-Identifier: GPL-3.0-or-later
"""Bursts that come back to the tick.

tc takes a burst in bytes, and the kernel keeps the time that it takes at the rate, in ticks.
Shown in bytes again, it is rounded down; so what is shown gives a smaller one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from flent_aqm.errors import ParseError
from flent_aqm.parsers.tc import Clock, bit_per_s
from flent_aqm.router.expected import new_ticks, old_ticks

# As shown, the rate behind it as shown, its ticks in hexadecimal -> as tc has to be told.
Burst = Callable[[str, str, str], str]

# The first iproute2 that doesn't cut off to whole microseconds.
_EXACT_SINCE = (6, 16)


def bursts(tc: str, clock: Clock) -> Burst:
    """The writer for a router. tc: what `tc -V` says there."""
    version = re.search(r"iproute2-(\d+)\.(\d+)", tc)
    exact = version is not None and (int(version[1]), int(version[2])) >= _EXACT_SINCE
    reckon = new_ticks if exact else old_ticks

    def burst(shown: str, rate: str, hexadecimal: str) -> str:
        """As it is shown, without its cell, where no number of bytes gives these ticks."""
        try:
            rate_bytes_per_s, ticks = bit_per_s(rate) // 8, int(hexadecimal, 16)
        except (ParseError, ValueError):
            return shown.partition("/")[0]
        time_us = ticks / clock.ticks_per_us
        near = round((time_us if exact else math.ceil(time_us)) * rate_bytes_per_s / 1_000_000)
        for size_bytes in range(max(near - 1, 0), near + 3):
            if rate_bytes_per_s and reckon(size_bytes, rate_bytes_per_s, clock) == ticks:
                return f"{size_bytes}b"
        return shown.partition("/")[0]

    return burst

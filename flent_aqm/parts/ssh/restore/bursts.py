# SPDX-License-Identifier: GPL-3.0-or-later
"""Bursts that come back to the tick.

tc takes a burst in bytes, and the kernel keeps the time that it takes at the rate, in ticks.
Shown in bytes again, it is rounded down; so what is shown gives a smaller one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from flent_aqm.router.expected import burst_bytes, new_ticks, old_ticks
from flent_aqm.router.printed import size_text
from flent_aqm.router.tc.classes import SIZE_UNIT
from flent_aqm.router.tc.read_back import bit_per_s
from flent_aqm.spec.queues.units import Clock

# As shown, the rate behind it as shown, its ticks in hexadecimal -> as tc has to be told. Ticks
# are "" for TBF, of which tc tells none.
Burst = Callable[[str, str, str], str]

# The texts are the router's, so bounded.
_SIZE = re.compile(r"(\d{1,12})([KM]?)b(?:/\d+)?")
_RATE = re.compile(r"\d{1,9}K?bit|\d{1,6}Mbit|\d{1,3}Gbit")
_TICKS = re.compile(r"[0-9a-f]{0,8}")

# The first iproute2 that doesn't cut off to whole microseconds.
_EXACT_SINCE = (6, 16)


def bursts(tc: str, clock: Clock) -> Burst:
    """Return the writer for a router. tc: what `tc -V` says there."""
    version = re.search(r"iproute2-(\d+)\.(\d+)", tc)
    exact = version is not None and (int(version[1]), int(version[2])) >= _EXACT_SINCE
    reckon = new_ticks if exact else old_ticks

    def burst(shown: str, rate: str, ticks: str) -> str:
        """As it is shown, without its cell, where no number of bytes gives the same."""
        size, rate_match = _SIZE.fullmatch(shown), _RATE.fullmatch(rate)
        if not size or not rate_match or bit_per_s(rate) < 8 or not _TICKS.fullmatch(ticks):
            return shown.partition("/")[0]
        rate_bytes_per_s = bit_per_s(rate) // 8
        least = int(size[1]) * SIZE_UNIT[size[2]]
        # A microsecond lets so much through; a shown K may be 16 bytes off, an M 1024.
        near = rate_bytes_per_s // 1_000_000 + {"": 2, "K": 18, "M": 1026}[size[2]]
        for size_bytes in (*range(least, least + near), *range(least - 1, least - near, -1)):
            burst_ticks = reckon(size_bytes, rate_bytes_per_s, clock)
            text = size_text(burst_bytes(burst_ticks, rate_bytes_per_s, clock))
            if burst_ticks == int(ticks, 16) if ticks else text == shown.partition("/")[0]:
                return f"{size_bytes}b"
        return shown.partition("/")[0]

    return burst

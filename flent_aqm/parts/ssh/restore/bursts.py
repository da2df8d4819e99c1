# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute bursts for tc that the kernel stores as exactly the original ones.

tc takes a burst in bytes. The kernel stores the time that these bytes take at the rate, in ticks.
tc shows that time in bytes again, rounded down. The shown number would therefore give a smaller
burst.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from flent_aqm.router.expected import burst_bytes, new_ticks, old_ticks
from flent_aqm.router.printed import size_text
from flent_aqm.router.tc.read_back import SIZE_UNIT, bit_per_s
from flent_aqm.spec.queues.units import Clock

# Function (burst as shown by tc, its rate as shown, its ticks in hexadecimal) -> burst for tc. The
# ticks are "" for TBF, for which tc doesn't show them.
Burst = Callable[[str, str, str], str]

# The texts come from the router, so their length is limited.
_SIZE = re.compile(r"(\d{1,12})([KM]?)b(?:/\d+)?")
_RATE = re.compile(r"\d{1,9}K?bit|\d{1,6}Mbit|\d{1,3}Gbit")
_TICKS = re.compile(r"[0-9a-f]{0,8}")

# First version of iproute2 that doesn't round down to whole microseconds.
_EXACT_SINCE = (6, 16)


def bursts(tc: str, clock: Clock) -> Burst:
    """Return the function that converts the bursts that a router's tc shows, see `Burst`.

    Args:
        tc: output of `tc -V` on the router.
        clock: the router's clock of the packet scheduler.
    """
    version = re.search(r"iproute2-(\d+)\.(\d+)", tc)
    exact = version is not None and (int(version[1]), int(version[2])) >= _EXACT_SINCE
    reckon = new_ticks if exact else old_ticks

    def burst(shown: str, rate: str, ticks: str) -> str:
        """Return a number of bytes for tc, such as "1600b", that gives the same burst. If there is
        none, or an argument has another form, return the burst as shown, without its cell size."""
        size, rate_match = _SIZE.fullmatch(shown), _RATE.fullmatch(rate)
        if not size or not rate_match or bit_per_s(rate) < 8 or not _TICKS.fullmatch(ticks):
            return shown.partition("/")[0]
        rate_bytes_per_s = bit_per_s(rate) // 8
        least = int(size[1]) * SIZE_UNIT[size[2]]
        # Search range: the bytes of a microsecond, and the rounding of a size shown in K (16 bytes)
        # or M (1024 bytes).
        near = rate_bytes_per_s // 1_000_000 + {"": 2, "K": 18, "M": 1026}[size[2]]
        for size_bytes in (*range(least, least + near), *range(least - 1, least - near, -1)):
            burst_ticks = reckon(size_bytes, rate_bytes_per_s, clock)
            text = size_text(burst_bytes(burst_ticks, rate_bytes_per_s, clock))
            if burst_ticks == int(ticks, 16) if ticks else text == shown.partition("/")[0]:
                return f"{size_bytes}b"
        return shown.partition("/")[0]

    return burst

# SPDX-License-Identifier: GPL-3.0-or-later
"""What tc's numbers are measured in: the kinds of values, and the qdiscs' clock."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError

# One value as tc's JSON has it.
Scalar = int | float | bool | str


@dataclass(frozen=True)
class Clock:
    """The qdiscs' clock, from /proc/net/psched.

    ticks_per_us: ticks a microsecond, by which bursts are stored; hz: timer
    interrupts a second, by which tc computes default bursts; text: the line itself.
    """

    ticks_per_us: float
    hz: int
    text: str


def parse_psched(line: str) -> Clock:
    """Return the clock from the line in /proc/net/psched, reckoned as iproute2's tc_core.c does."""
    words = line.split()
    if len(words) != 4 or not all(re.fullmatch("[0-9a-f]{8}", word) for word in words):
        raise ParseError(f"psched: {line!r}; expected four words of 8 hexadecimal digits")
    time_to_us, us_to_tick, resolution, hz = (int(word, 16) for word in words)
    if not us_to_tick or not resolution or not hz:
        raise ParseError(f"psched: {line!r} has a zero; the kernel never writes one")
    if resolution == 10**9:  # a kernel of nanosecond ticks says 1000 for old versions of tc
        time_to_us = us_to_tick
    return Clock(time_to_us / us_to_tick * (resolution / 10**6), hz, " ".join(words))

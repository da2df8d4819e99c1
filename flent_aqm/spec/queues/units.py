# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the type of tc's values, and the clock of the packet scheduler."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError

# A value in tc's JSON.
Scalar = int | float | bool | str


@dataclass(frozen=True)
class Clock:
    """The clock of the kernel's packet scheduler, from /proc/net/psched.

    Attributes:
        ticks_per_us: ticks per microsecond. Bursts are stored in ticks.
        hz: the file's last number, which tc takes for timer interrupts per second when it computes
            HTB's default bursts. 10^9 with high-resolution timers.
        text: the line of /proc/net/psched, four words with single blanks between them.
    """

    ticks_per_us: float
    hz: int
    text: str


def parse_psched(line: str) -> Clock:
    """Parse the line in /proc/net/psched, as tc_core.c of iproute2 does. Raises ParseError if it
    isn't four words of 8 hexadecimal digits in lower case, or if one of the last three is 0."""
    words = line.split()
    if len(words) != 4 or not all(re.fullmatch("[0-9a-f]{8}", word) for word in words):
        raise ParseError(f"the host's /proc/net/psched has {line[:80]!r}; expected four words of "
                         "8 hexadecimal digits, as Linux writes them: look at the file on the "
                         "host")
    time_to_us, us_to_tick, resolution, hz = (int(word, 16) for word in words)
    if not us_to_tick or not resolution or not hz:
        raise ParseError(f"the host's /proc/net/psched has {line!r}; expected none of the last "
                         "three numbers to be 0: look at the file on the host")
    if resolution == 10**9:  # a kernel with nanosecond ticks writes 1000, for old versions of tc
        time_to_us = us_to_tick
    return Clock(time_to_us / us_to_tick * (resolution / 10**6), hz, " ".join(words))

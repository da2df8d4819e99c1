# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the times at which a link carries nothing."""

from __future__ import annotations

import re
from itertools import pairwise

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.links.units import NS

_ONE = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)-(\d{1,6}(?:\.\d{1,9})?)")
Outage = tuple[int, int]  # begin and end, in ns


def parse_outages(key: str, text: str) -> tuple[Outage, ...]:
    """Parse outages such as `10-12, 30-30.5`, in seconds since the link began.

    Return begin and end of each in ns. `key` names the key in messages. Raises ConfigError if one
    has another form, or if they overlap or don't ascend.
    """
    outages: list[Outage] = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        parts = _ONE.fullmatch(word)
        one = (round(float(parts[1]) * NS), round(float(parts[2]) * NS)) if parts else (0, 0)
        if one[1] <= one[0]:
            raise ConfigError(f"{key}: {word[:40]!r} is not an outage; expected FROM-TO in "
                              "seconds, such as 10-12, with commas between several")
        outages.append(one)
    for (_, end), (begin, _) in pairwise(outages):
        if begin < end:
            raise ConfigError(f"{key}: {text[:60]!r} goes back in time from {end / NS:g} to "
                              f"{begin / NS:g} s; give outages in ascending order, without "
                              "overlap")
    return tuple(outages)

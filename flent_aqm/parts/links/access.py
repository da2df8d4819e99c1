# SPDX-License-Identifier: GPL-3.0-or-later
"""Models of a link's medium access: grants, requests for capacity, periodic reallocation.

The named models are examples with the numbers of their sources. They are no statement about a
product.
"""

from __future__ import annotations

from dataclasses import dataclass

from flent_aqm.spec.model_words import parse_words


@dataclass(frozen=True)
class Access:
    """A model of a link's medium access. 0 switches a feature off."""

    # Capacity is granted in cycles of this length, in ms: at the end of a cycle the link sends at
    # once what it could have carried in that cycle. 0: it sends continuously.
    cycle_ms: float = 0.0
    # Shortest time in ms from a packet's arrival to its departure, because the sender requests
    # capacity first.
    request_ms: float = 0.0
    # Interval in s at which the link is reallocated: its rate and delay are drawn anew. 0: never.
    period_s: float = 0.0
    # Time of the first reallocation, in s after the link began.
    offset_s: float = 0.0
    # Greatest deviation of the rate, up or down, in percent. Evenly distributed.
    rate_spread_pct: float = 0.0
    # Greatest extra one-way delay, in ms. Evenly distributed.
    delay_spread_ms: float = 0.0
    # Time without transmission at each reallocation, in ms.
    gap_ms: float = 0.0


# The lab's clock begins at a full minute, and runs 3 s before a link does.
_STARLINK = Access(period_s=15, offset_s=9, rate_spread_pct=40, delay_spread_ms=10, gap_ms=50)
# Direction -> name -> model. The sender of the download allocates capacity itself, so it needs no
# request. Sources of each number: docs/links.md.
KNOWN = {
    "down": {"docsis": Access(), "lte": Access(cycle_ms=1), "starlink": _STARLINK},
    "up": {"docsis": Access(cycle_ms=2, request_ms=2), "lte": Access(cycle_ms=1, request_ms=8),
           "starlink": _STARLINK},
}
# Least and greatest value of each parameter.
_BOUNDS = {"cycle_ms": (0.0, 1000.0), "request_ms": (0.0, 1000.0), "period_s": (0.0, 3600.0),
           "offset_s": (0.0, 3600.0), "rate_spread_pct": (0.0, 100.0),
           "delay_spread_ms": (0.0, 1000.0), "gap_ms": (0.0, 10_000.0)}


def parse_access(key: str, text: str, way: str) -> Access:
    """Parse `NAME+PARAMETER=VALUE+…` into an access model.

    Args:
        key: the key of the batch, for messages.
        text: the value of the key.
        way: "down" or "up", the direction, which has named models of its own.

    Raises ConfigError if the name or a parameter is unknown, or a value is out of range.
    """
    return parse_words(key, text, KNOWN[way], _BOUNDS)

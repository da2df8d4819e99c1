# SPDX-License-Identifier: GPL-3.0-or-later
"""How a link hands out its capacity: in grants, on request, newly every so often.

The named ones are examples with what their sources say, and no statement about a product.
"""

from __future__ import annotations

from dataclasses import dataclass

from flent_aqm.spec.model_words import parse_words


@dataclass(frozen=True)
class Access:
    """cycle_ms: what the link could carry in a cycle goes at once at the end of it; 0: as it
    comes. request_ms: a packet goes so long after it came, at the earliest, as capacity is asked
    for first. period_s: every so often the link is allotted anew, 0: never; then its rate is off
    by up to rate_spread_pct, its one-way delay longer by up to delay_spread_ms, both evenly
    spread, and for gap_ms it carries nothing. offset_s: when that happens first."""

    cycle_ms: float = 0.0
    request_ms: float = 0.0
    period_s: float = 0.0
    offset_s: float = 0.0
    rate_spread_pct: float = 0.0
    delay_spread_ms: float = 0.0
    gap_ms: float = 0.0


# The lab's clock begins at a full minute, and runs 3 s before a link does.
_STARLINK = Access(period_s=15, offset_s=9, rate_spread_pct=40, delay_spread_ms=10, gap_ms=50)
# Down and up. Who sends down hands out capacity itself, and need not ask. Sources of each
# number: docs/links.md.
KNOWN = {
    "down": {"docsis": Access(), "lte": Access(cycle_ms=1), "starlink": _STARLINK},
    "up": {"docsis": Access(cycle_ms=2, request_ms=2), "lte": Access(cycle_ms=1, request_ms=8),
           "starlink": _STARLINK},
}
_BOUNDS = {"cycle_ms": (0.0, 1000.0), "request_ms": (0.0, 1000.0), "period_s": (0.0, 3600.0),
           "offset_s": (0.0, 3600.0), "rate_spread_pct": (0.0, 100.0),
           "delay_spread_ms": (0.0, 1000.0), "gap_ms": (0.0, 10_000.0)}


def parse_access(key: str, text: str, way: str) -> Access:
    """Return the access of `NAME+PARAMETER=VALUE+…` for the way down or up. Raises
    ConfigError."""
    return parse_words(key, text, KNOWN[way], _BOUNDS)

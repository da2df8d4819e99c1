# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of `nuttcp -fparse -i`: a line for each interval, and one for the whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError

_PAIR = re.compile(r"(\w+)=([0-9.]+)")


@dataclass(frozen=True)
class Nuttcp:
    """intervals: length in s and Mbit/s, in order; mbps: of the whole, at the receiver;
    rtt_ms: of connecting, where nuttcp tells it."""

    intervals: tuple[tuple[float, float], ...]
    mbps: float
    length_s: float
    retransmits: int | None
    rtt_ms: float | None


def parse_nuttcp(text: str) -> Nuttcp:
    """Read it. Raises ParseError."""
    try:
        lines = [{name: float(value) for name, value in _PAIR.findall(line)}
                 for line in text.splitlines()]
        intervals = tuple((one["real_sec"], one["rate_Mbps"]) for one in lines if "real_sec" in one)
        whole = [one for one in lines if "real_seconds" in one][-1]
        retransmits = whole.get("retrans")
        return Nuttcp(intervals, whole["rate_Mbps"], whole["real_seconds"],
                      None if retransmits is None else int(retransmits), whole.get("rtt_ms"))
    except (ValueError, LookupError):
        raise ParseError("nuttcp printed no result in its parsable format; its output starts "
                         f"with {text[:60]!r}") from None

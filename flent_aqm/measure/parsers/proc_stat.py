# SPDX-License-Identifier: GPL-3.0-or-later
"""Processor time, as Linux counts it in /proc (proc(5), in ticks)."""

from __future__ import annotations

from dataclasses import dataclass

from flent_aqm.base.errors import ParseError

# user, nice, system, idle, iowait, irq, softirq. What follows (steal, guest) is time that
# somebody else's processor had, or is counted in these already.
_FIELDS = 7
_IDLE = (3, 4)


@dataclass(frozen=True)
class Ticks:
    """Of one processor since boot; their unit cancels out in shares."""

    busy: int
    total: int


def parse_cpus(text: str) -> dict[str, Ticks]:
    """Processors by name, such as cpu0, from the text of /proc/stat. Raises ParseError."""
    ticks: dict[str, Ticks] = {}
    for line in text.splitlines():
        name, *words = line.split()
        # The line without a number is the sum of all.
        if not name.startswith("cpu") or not name[3:].isdigit():
            continue
        try:
            counts = [int(word) for word in words[:_FIELDS]]
            idle = sum(counts[place] for place in _IDLE)
        except (ValueError, IndexError):
            raise ParseError(f"/proc/stat has {line[:60]!r}; expected {_FIELDS} counts") from None
        ticks[name] = Ticks(sum(counts) - idle, sum(counts))
    if not ticks:
        raise ParseError("/proc/stat tells of no processor")
    return ticks

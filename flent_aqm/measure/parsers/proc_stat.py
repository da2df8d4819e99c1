# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the processor time that Linux reports in /proc/stat, in ticks (proc(5))."""

from __future__ import annotations

from dataclasses import dataclass

from flent_aqm.base.errors import ParseError

# user, nice, system, idle, iowait, irq, softirq. The fields after them (steal, guest) are time that
# the processor did not have, or that the others include.
_FIELDS = 7
# Indexes of idle and iowait.
_IDLE = (3, 4)


@dataclass(frozen=True)
class Ticks:
    """Time of one processor since boot, in clock ticks.

    Attributes:
        busy: time for programs, the kernel and interrupts.
        total: busy time, idle time, and waiting for input and output. Time that a virtual machine
            did not get isn't part of it.
    """

    busy: int
    total: int


def parse_cpus(text: str) -> dict[str, Ticks]:
    """Parse the text of /proc/stat. Return the busy and total ticks of each processor since boot,
    by its name (cpu0, cpu1, …). The sum line `cpu` is left out. Raises ParseError if a processor's
    line is damaged, or if there is none."""
    ticks: dict[str, Ticks] = {}
    for line in text.splitlines():
        name, *words = line.split() or [""]
        # The line without a number is the sum of all.
        if not name.startswith("cpu") or not name[3:].isdecimal():
            continue
        try:
            counts = [int(word) for word in words[:_FIELDS]]
            idle = sum(counts[place] for place in _IDLE)
        except (ValueError, IndexError):
            raise ParseError(f"/proc/stat has {line[:200]!r}; expected {_FIELDS} counts") from None
        ticks[name] = Ticks(sum(counts) - idle, sum(counts))
    if not ticks:
        raise ParseError("/proc/stat has no line for a processor; expected cpu0, cpu1, …")
    return ticks

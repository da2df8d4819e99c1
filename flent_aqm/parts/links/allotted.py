# SPDX-License-Identifier: GPL-3.0-or-later
"""Applies an access model and outages to the schedule of a link.

Reallocations change rate and delay first. Then outages remove capacity. Then the rest is sent in
grants.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy

from flent_aqm.parts.links.access import Access
from flent_aqm.parts.links.outages import Outage
from flent_aqm.parts.links.schedule import (
    Schedule,
    cut,
    in_grants,
    split,
    unrolled,
    without_capacity,
)
from flent_aqm.parts.links.units import NS

# Random reallocations and outages are computed for so many seconds. Then the schedule repeats.
ROUND_S = 900


def allot(schedule: Schedule, access: Access, outages: Sequence[Outage], seed: int,
          way: str) -> Schedule:
    """Return the schedule after reallocations, outages and grants.

    Args:
        schedule: rate, delay and loss of the link before its medium access.
        access: the access model.
        outages: times at which the link carries nothing.
        seed: seed of the random numbers of reallocations.
        way: "down" or "up". Each direction has its own random numbers.

    Raises ConfigError if the schedule gets too many steps.
    """
    if access.period_s or outages:
        schedule = unrolled(schedule, max([ROUND_S * NS, *(end for _, end in outages)]))
    if access.period_s:
        schedule = _allotted_anew(schedule, access, seed, way)
    schedule = cut(schedule, outages)
    return in_grants(schedule, round(access.cycle_ms * 1e6)) if access.cycle_ms else schedule


def _allotted_anew(schedule: Schedule, access: Access, seed: int, way: str) -> Schedule:
    """Return the schedule with random changes of rate and delay, and a gap without capacity, at
    each reallocation. Each direction (`way`) has its own random numbers."""
    chance = random.Random(f"{seed} {way} access").random
    every, offset, gap = (round(value * NS) for value in (
        access.period_s, access.offset_s % access.period_s, access.gap_ms / 1000))
    # Begins with the reallocation before the first one: it holds when the link begins.
    begins = range(offset - every, schedule.period_ns, every)
    drawn = [(1 + access.rate_spread_pct / 100 * (2 * chance() - 1),
              round(access.delay_spread_ms * 1e6 * chance())) for _ in begins]
    factors, delays_ns = map(numpy.array, zip(*drawn, strict=True))
    whole = split(schedule, [at for begin in begins for at in (begin, begin + gap)])
    since_ns = whole.table["at_ns"] - begins[0]
    number = since_ns // every
    whole.table["delay_ns"] += delays_ns[number]
    for name in ("rate_bit_s", "burst_bytes"):
        whole.table[name] = numpy.rint(whole.table[name] * factors[number])
    without_capacity(whole.table, since_ns % every < gap)
    return whole

# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel has to report for a scenario, computed as tc and the kernel round.

Sources: iproute2 tc/q_htb.c (default bursts, bytes to ticks), tc/tc_core.c (ticks),
lib/utils_math.c (bits to bytes), lib/json_print.c (how a rate is printed); Linux
net/sched/sch_{htb,codel,fq_codel,sfq,fifo}.c (defaults), include/net/codel.h (its time).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from flent_aqm import defaults
from flent_aqm.parsers.tc import Clock, Scalar
from flent_aqm.scenario import Scenario

# Handles that router_hooks/router.sh gives.
ROOT_HANDLE, CLASS_HANDLE, LEAF_HANDLE = "1:", "1:1", "10:"

# An Ethernet frame of the usual MTU: 1500 bytes and 14 of header.
FRAME_BYTES = 1514
# Packet size for which tc computes default bursts (q_htb.c: mtu).
TC_MTU_BYTES = 1600

# CoDel keeps time in units of 1024 ns: 5 ms come back as 4882 units = 4999 us.
_CODEL_5_MS, _CODEL_100_MS = 4999, 99_999

# AQM -> (kind of qdisc, its parameters as tc names and scales them).
LEAVES: Mapping[str, tuple[str, Mapping[str, Scalar]]] = {
    "no_aqm": ("pfifo", {"limit": 1000}),
    "codel": ("codel", {"limit": 1000, "target": _CODEL_5_MS, "interval": _CODEL_100_MS}),
    "fq_codel": ("fq_codel", {
        "limit": 10_240, "flows": 1024, "quantum": FRAME_BYTES, "target": _CODEL_5_MS,
        "interval": _CODEL_100_MS, "memory_limit": 32 << 20, "ecn": True, "drop_batch": 64}),
    "sfq": ("sfq", {"limit": 127, "quantum": FRAME_BYTES, "depth": 127, "flows": 128,
                    "divisor": 1024}),
}

# Units of the parameters. tc's JSON has none.
_UNITS = {
    "limit": "packets", "depth": "packets", "target": "us", "interval": "us",
    "ce_threshold": "us", "memory_limit": "bytes", "quantum": "bytes", "perturb": "s",
    "direct_qlen": "packets",
}


@dataclass(frozen=True)
class ExpectedClass:
    """HTB's class. Rates in bytes/s; bursts as any of the numbers of ticks that fit."""

    rate_bytes_per_s: int
    ceil_bytes_per_s: int
    burst_ticks: frozenset[int]
    cburst_ticks: frozenset[int]


def unit_of(kind: str, parameter: str) -> str:
    """The unit of a qdisc's parameter; "" for a mere number or an unknown parameter."""
    if kind == "bfifo" and parameter == "limit":
        return "bytes"
    return _UNITS.get(parameter, "")


def expected_class(scenario: Scenario, direction: str, clock: Clock) -> ExpectedClass:
    """The class of HTB on the router's device `down` or `up`."""
    mbps = scenario.rate_down_mbps if direction == "down" else scenario.rate_up_mbps
    rate_bit_s = round(mbps * 1_000_000)
    if scenario.burst_shaping:
        ceil_bit_s = rate_bit_s * round(defaults.BURST_CEIL_FACTOR * 100) // 100
        sizes = defaults.BURST_BYTES, defaults.CBURST_BYTES
    else:
        ceil_bit_s = rate_bit_s
        # What one timer interrupt's time lets through, and one packet.
        sizes = (rate_bit_s // 8 // clock.hz + TC_MTU_BYTES,) * 2
    rate, ceil = rate_bit_s // 8, ceil_bit_s // 8
    return ExpectedClass(rate, ceil, ticks(sizes[0], rate, clock), ticks(sizes[1], ceil, clock))


def ticks(size_bytes: int, rate_bytes_per_s: int, clock: Clock) -> frozenset[int]:
    """The clock ticks in which a rate sends so many bytes, by old and by new tc.

    tc cuts off to whole microseconds before iproute2 6.16 and rounds ticks up since.
    """
    time_us = 1_000_000 * (size_bytes / rate_bytes_per_s)
    return frozenset({int(int(time_us) * clock.ticks_per_us),
                      math.ceil(time_us * clock.ticks_per_us)})


def burst_bytes(ticks_: int, rate_bytes_per_s: float, clock: Clock) -> int:
    """The bytes that a rate sends in so many ticks, rounded down."""
    return int(rate_bytes_per_s * (ticks_ / clock.ticks_per_us) / 1_000_000)


def rate_text(bytes_per_s: int) -> str:
    """A rate as tc prints it: from 1000 of a unit on, a remainder is dropped."""
    rate = bytes_per_s * 8
    for unit in ("", "K", "M", "G"):
        if rate < 1000 or (rate % 1000 and rate < 1_000_000):
            return f"{rate}{unit}bit"
        rate //= 1000
    return f"{rate}Tbit"

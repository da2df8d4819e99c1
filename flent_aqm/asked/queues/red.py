# SPDX-License-Identifier: GPL-3.0-or-later
"""RED's numbers: thresholds from the rate, as router_hooks/schemes/red.sh has them, and what
tc makes of them (iproute2 tc/tc_red.c, tc/q_red.c)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from flent_aqm.asked.queues.units import Clock, Scalar
from flent_aqm.asked.queues.values import Expected, six_digits

# router_hooks/defaults.sh has the same and the reasons.
_MIN_US, _MIN_FLOOR_BYTES, _MIN_TOP_BYTES = 10_000, 4542, 4_000_000
_AVPKT_BYTES, _BURST_TOP_PACKETS = 1000, 100
_PROBABILITY = 0.02
_BANDWIDTH_TOP_BIT_S = 34_000_000_000


def report(asked: Mapping[str, Scalar], rate_bit_s: int, clock: Clock) -> dict[str, Expected]:
    """Return what tc reports of a RED at that rate, all but constants."""
    least = min(max(rate_bit_s // 1000 * _MIN_US // 8000, _MIN_FLOOR_BYTES), _MIN_TOP_BYTES)
    least = int(asked.get("min", least))
    most = int(asked.get("max", least * 3))
    packet = int(asked.get("avpkt", _AVPKT_BYTES))
    above = min(least * 2 // packet // 3, _BURST_TOP_PACKETS)
    burst = int(asked.get("burst", least // packet + above + 1))
    ewma = averaging_weight(least, burst, packet)
    return {
        "limit": int(asked.get("limit", least * 12)), "min": least, "max": most,
        "ecn": asked["ecn"], "harddrop": asked["harddrop"], "adaptive": asked["adaptive"],
        "ewma": ewma,
        "probability": six_digits(int(float(asked.get("probability", _PROBABILITY)) * 2**32)
                                  / 2**32),
        "Scell_log": frozenset(_idle_damping(ewma, packet, rate_bit_s, clock)),
    }


def averaging_weight(min_bytes: int, burst_packets: int, avpkt_bytes: int) -> int:
    """tc_red_eval_ewma(): the weight as a negative power of two; -1 when tc would refuse."""
    above = burst_packets + 1 - min_bytes / avpkt_bytes
    weight = 0.5
    for exponent in range(1, 32):
        if 1 <= above <= (1 - (1 - weight) ** burst_packets) / weight:
            return exponent
        weight /= 2
    return -1


def _idle_damping(ewma: int, avpkt_bytes: int, rate_bit_s: int, clock: Clock) -> set[int]:
    """tc_red_eval_idle_damping(), for tc before and since iproute2 6.16; see expected.ticks."""
    rate = min(rate_bit_s, _BANDWIDTH_TOP_BIT_S) // 8
    time_us = 10**6 * (avpkt_bytes / rate)
    found = set()
    for ticks in (int(int(time_us) * clock.ticks_per_us), math.ceil(time_us * clock.ticks_per_us)):
        longest = 31 * ticks / -math.log(1 - 1 / (1 << ewma)) if ewma > 0 else 0.0
        found.add(next((bits for bits in range(32) if longest / (1 << bits) < 512), -1))
    return found

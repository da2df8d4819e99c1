# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes RED's parameters from the rate, and the values that tc derives from them.

The sources are iproute2's tc/tc_red.c and tc/q_red.c. By Floyd's rules of thumb, min is 10 ms at
the rate, but at least three frames. max is 3 x min, limit is 4 x max. The kernel has 32 bits for
threshold and averaging weight together, so both have an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from flent_aqm.spec.queues.units import Clock, Scalar
from flent_aqm.spec.queues.values import Expected, six_digits, size_bytes

_MIN_US, _MIN_FLOOR_BYTES, _MIN_TOP_BYTES = 10_000, 4542, 4_000_000
_AVPKT_BYTES, _BURST_TOP_PACKETS = 1000, 100
_PROBABILITY = 0.02
# tc keeps the bandwidth in 32 bits, in bytes/s.
_BANDWIDTH_TOP_BIT_S = 34_000_000_000


def thresholds(requested: Mapping[str, Scalar], rate_bit_s: int) -> dict[str, int]:
    """Return the numbers that tc needs: "min", "max", "limit" and "avpkt" in bytes, "burst" in
    packets. Those that aren't requested are derived: min from the rate, max and limit from min,
    burst from min and avpkt. avpkt is 1000 by default.

    Args:
        requested: requested parameters of RED as numbers, by name.
        rate_bit_s: rate at the queue in bit/s.
    """
    least = min(max(rate_bit_s // 1000 * _MIN_US // 8000, _MIN_FLOOR_BYTES), _MIN_TOP_BYTES)
    least = int(requested.get("min", least))
    packet = int(requested.get("avpkt", _AVPKT_BYTES))
    above = min(least * 2 // packet // 3, _BURST_TOP_PACKETS)
    derived = {"min": least, "max": least * 3, "limit": least * 12, "avpkt": packet,
               "burst": least // packet + above + 1}
    return {name: int(requested.get(name, value)) for name, value in derived.items()}


def complete(requested: Mapping[str, str], rate_bit_s: int, shapes: bool) -> dict[str, str]:
    """Return all parameters that tc gets, name -> text: `bandwidth` first, which is the rate, but
    at most 34 Gbit/s, unless it is requested, then the requested ones, and those of thresholds()
    that aren't requested.

    Args:
        requested: requested parameters, name -> text, already checked.
        rate_bit_s: rate at the queue in bit/s.
        shapes: not used, because RED doesn't shape.
    """
    sizes = {name: size_bytes(requested[name]) for name in ("min", "avpkt") if name in requested}
    derived = {name: str(value) for name, value in thresholds(sizes, rate_bit_s).items()
               if name not in requested}
    return {"bandwidth": f"{min(rate_bit_s, _BANDWIDTH_TOP_BIT_S)}bit", **requested, **derived}


def report(requested: Mapping[str, Scalar], rate_bit_s: int, clock: Clock) -> dict[str, Expected]:
    """Return the values that tc reports for RED at this rate, by their names in tc's JSON.
    Scell_log is a set, because versions of tc differ. ewma or a value of Scell_log is -1 if tc
    would refuse the parameters.

    Args:
        requested: values of RED's parameters, requested or default, by name.
        rate_bit_s: rate at the queue in bit/s.
        clock: clock of the kernel's packet scheduler.
    """
    have = thresholds(requested, rate_bit_s)
    ewma = averaging_weight(have["min"], have["burst"], have["avpkt"])
    return {
        **{name: have[name] for name in ("limit", "min", "max")},
        **{name: requested[name] for name in ("ecn", "harddrop", "adaptive", "nodrop")},
        "ewma": ewma,
        "probability": reported_probability(requested),
        "Scell_log": frozenset(_possible_idle_dampings(
            ewma, have["avpkt"], int(requested.get("bandwidth", rate_bit_s // 8)) * 8, clock)),
    }


def reported_probability(requested: Mapping[str, Scalar]) -> float:
    """Return RED's marking probability, from 0 to 1, as tc prints it with six digits, after it was
    stored in 32 bits.

    requested: values of RED's or SFQ's parameters, of which `probability` is used, 0.02 if missing.
    """
    return six_digits(int(float(requested.get("probability", _PROBABILITY)) * 2**32) / 2**32)


def report_in_sfq(requested: Mapping[str, Scalar]) -> dict[str, Expected]:
    """Return the values that tc reports for the RED within each flow of SFQ, by their names in tc's
    JSON. The source is iproute2's tc/q_sfq.c.

    requested: values of SFQ's parameters, by name. Without `redflowlimit`, the result is empty.
    Thresholds that aren't requested are derived from it.
    """
    if "redflowlimit" not in requested:
        return {}
    limit, packet = int(requested["redflowlimit"]), int(requested.get("avpkt", _AVPKT_BYTES))
    most = int(requested.get("max", limit // 4))
    least = int(requested.get("min", most // 3))
    burst = int(requested.get("burst", (2 * least + most) // (3 * packet)))
    return {"ewma": averaging_weight(least, burst, packet), "min": least, "max": most,
            "probability": reported_probability(requested), "adaptive": False, "nodrop": False,
            **{name: bool(requested.get(name)) for name in ("ecn", "harddrop")}}


def averaging_weight(min_bytes: int, burst_packets: int, avpkt_bytes: int) -> int:
    """Return the exponent n of RED's averaging weight 2^-n, as tc_red_eval_ewma() of iproute2
    computes it. -1 if tc would refuse the parameters.

    Args:
        min_bytes: lower threshold of RED.
        burst_packets: burst that RED allows.
        avpkt_bytes: average size of a packet.
    """
    above = burst_packets + 1 - min_bytes / avpkt_bytes
    weight = 0.5
    for exponent in range(1, 32):
        if 1 <= above <= (1 - (1 - weight) ** burst_packets) / weight:
            return exponent
        weight /= 2
    return -1


def _possible_idle_dampings(ewma: int, avpkt_bytes: int, rate_bit_s: int, clock: Clock) -> set[int]:
    """Return the possible results of tc_red_eval_idle_damping(), which tc reports as Scell_log: tc
    before iproute2 6.16 rounds the time of a packet down, later ones round it up. -1 is among them
    if tc would refuse the parameters because no result from 0 to 31 fits. If `ewma` is -1, which tc
    refuses before, the result is 0 alone.

    Args:
        ewma: result of averaging_weight().
        avpkt_bytes: average size of a packet in bytes.
        rate_bit_s: rate at the queue in bit/s.
        clock: clock of the kernel's packet scheduler.
    """
    rate = min(rate_bit_s, _BANDWIDTH_TOP_BIT_S) // 8
    time_us = 10**6 * (avpkt_bytes / rate)
    dampings = set()
    for ticks in (int(int(time_us) * clock.ticks_per_us), math.ceil(time_us * clock.ticks_per_us)):
        longest = 31 * ticks / -math.log(1 - 1 / (1 << ewma)) if ewma > 0 else 0.0
        dampings.add(next((bits for bits in range(32) if longest / (1 << bits) < 512), -1))
    return dampings

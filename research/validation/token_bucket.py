# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute how a late timer limits HTB: the arithmetic of its token bucket.

HTB's class may send while its tokens, a time, are not negative; a packet takes the time that it
lasts at the class's rate, and no more than `burst` is ever saved up (net/sched/sch_htb.c:
htb_charge_class, htb_class_mode). When the tokens are spent, HTB sets a timer for the moment at
which they are back at zero. If that fires later than the bucket is deep, tokens are lost each time:
the bucket is full, floor(burst / packet) + 1 packets go, and the next wait begins.
"""

from __future__ import annotations

# tc's default burst: the bytes of one timer tick, of which there are 10^9 a second, and one
# packet for which it takes 1600 bytes (iproute2 tc/q_htb.c).
_DEFAULT_BURST_BYTES = 1600
_FRAME_BYTES, _TCP_PAYLOAD_BYTES = 1514, 1448


def default_burst_us(rate_mbps: float, whole_us: bool = True) -> float:
    """Return the depth of HTB's bucket when no burst is given, as the time in us that its bytes
    take at the rate.

    Args:
        rate_mbps: rate of the class.
        whole_us: True: cut to whole microseconds, as tc before iproute2 6.16 does.
    """
    depth_us = (_DEFAULT_BURST_BYTES + rate_mbps / 8 * 1e6 // 1e9) * 8 / rate_mbps
    return float(int(depth_us)) if whole_us else depth_us


def goodput_mbps(rate_mbps: float, latency_us: float, burst_us: float) -> float:
    """Return the goodput in Mbit/s of TCP with full-sized packets through an HTB class whose timer
    fires late.

    Args:
        rate_mbps: rate of the class.
        latency_us: how late the timer fires.
        burst_us: depth of the bucket, as the time that its bytes take at the rate.
    """
    packet_us = _FRAME_BYTES * 8 / rate_mbps
    unhindered_mbps = rate_mbps * _TCP_PAYLOAD_BYTES / _FRAME_BYTES
    if latency_us <= burst_us:
        return unhindered_mbps
    packets = int(burst_us // packet_us) + 1
    cycle_us = packets * packet_us - burst_us + latency_us
    return min(unhindered_mbps, packets * _TCP_PAYLOAD_BYTES * 8 / cycle_us)

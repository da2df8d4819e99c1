# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of subscribers: their addresses, and the class that the router has for each.

The addresses end in the class, so that one filter of cls_flow finds it for all of them: in IPv4
in the last 16 bits. Of IPv6 that filter sees the four words of 32 bits, one xor the other, whose
last 16 bits are the class once the prefix's are taken out. Source: Linux net/sched/cls_flow.c,
include/net/ipv6.h: ipv6_addr_hash().

Subscriber 1 is the client itself, with its own address; what is no other's is in its class.
"""

from __future__ import annotations

# 198.19/16 is for benchmarks (RFC 2544), 2001:db8::/32 for documents (RFC 3849).
NET_IPV4, NET_IPV6 = "198.19.0.0/16", "2001:db8:5::/64"
# The last 16 bits of the xor of the prefix's words, 2001:0db8 and 0005:0000.
PREFIX_XOR = 0x0DB8
# Above the handles of other queues.
FIRST_CLASS = 0x1000


def class_of(number: int) -> int:
    """Minor number of the class of HTB, and major number of the queue below it."""
    return FIRST_CLASS + number


def ipv4_of(number: int) -> str:
    """Return an address whose last 16 bits are the class."""
    high, low = divmod(class_of(number), 256)
    return f"198.19.{high}.{low}"


def ipv6_of(number: int) -> str:
    """Return an address whose last 16 bits are the class."""
    return f"2001:db8:5::{class_of(number):x}"

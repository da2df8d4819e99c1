# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses and classes of subscribers, computed from their numbers.

The last 16 bits of an address are the number of the class, so that a single filter of cls_flow
finds the class of each subscriber. For IPv6, that filter uses the xor of the address's four words
of 32 bits. Its last 16 bits are the class after an xor with those of the prefix. Source: Linux
net/sched/cls_flow.c, include/net/ipv6.h: ipv6_addr_hash().

Subscriber 1 is the client, with its own address. Packets of no other subscriber go to its class.
"""

from __future__ import annotations

# 198.19/16 is reserved for benchmarks (RFC 2544), 2001:db8::/32 for documentation (RFC 3849).
NET_IPV4, NET_IPV6 = "198.19.0.0/16", "2001:db8:5::/64"
# The last 16 bits of the xor of the prefix's words, 2001:0db8 and 0005:0000.
PREFIX_XOR = 0x0DB8
# Above the handles of other qdiscs.
FIRST_CLASS = 0x1000


def class_of(number: int) -> int:
    """Return the number of a subscriber's class: minor number of the HTB class, and major number of
    the qdisc below it.

    number: number of the subscriber, from 1.
    """
    return FIRST_CLASS + number


def ipv4_of(number: int) -> str:
    """Return the IPv4 address of a subscriber, whose last 16 bits are the number of its class.

    number: number of the subscriber, from 2, because the first is the client with its own address.
    """
    high, low = divmod(class_of(number), 256)
    return f"198.19.{high}.{low}"


def ipv6_of(number: int) -> str:
    """Return the IPv6 address of a subscriber, whose last 16 bits are the number of its class.

    number: number of the subscriber, from 2, because the first is the client with its own address.
    """
    return f"2001:db8:5::{class_of(number):x}"

# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the settings that the kernel has to report for a topology of many subscribers.

Only runs with subscribers import this module, because each import takes time in the guest.
"""

from __future__ import annotations

from dataclasses import replace

from flent_aqm.router.expected import ExpectedDirection
from flent_aqm.router.shaping import ROOT_HANDLE
from flent_aqm.router.tc.read_back import describe_filter
from flent_aqm.spec.topology.subscribers import PREFIX_XOR


def with_subscribers(single: ExpectedDirection, direction: str) -> ExpectedDirection:
    """Return the expected device with one qdisc per subscriber in place of the single AQM qdisc.
    The root's default class is then the first subscriber's, and the only filters are those that
    find a subscriber's class by the address.

    Args:
        single: the device as expected without subscribers' qdiscs, but with their classes.
        direction: "down" or "up". Packets that go down have the subscriber's address as
            destination.
    """
    own = [each for each in single.classes if each.leaf]
    root = next(each for each in single.qdiscs if each.handle == ROOT_HANDLE)
    leaf = next(each for each in single.qdiscs if each.handle != ROOT_HANDLE)
    key = "dst" if direction == "down" else "src"
    first = own[0].leaf.removesuffix(":")
    return replace(
        single,
        qdiscs=(replace(root, parameters={**root.parameters, "default": f"0x{first}"}),
                *(replace(leaf, handle=each.leaf, parent=each.handle) for each in own)),
        # The class below which the filter counts is 1:1, so one is taken off.
        filters=tuple(describe_filter(
            protocol, "flow", f"map {key} and 0x0000ffff {xor}addend 0xffffffff", "1:1")
            for protocol, xor in (("ip", ""), ("ipv6", f"xor 0x{PREFIX_XOR:08x} "))))

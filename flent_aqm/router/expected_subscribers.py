# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel has to report where each of many subscribers has a class and a queue.

Imported for such runs alone: each module takes its time in the guest.
"""

from __future__ import annotations

from dataclasses import replace

from flent_aqm.asked.queues.units import Clock
from flent_aqm.asked.scenario import Scenario
from flent_aqm.asked.topology.subscribers import PREFIX_XOR, class_of
from flent_aqm.asked.topology.topology import parse_topology
from flent_aqm.router.expected import ROOT_HANDLE, ExpectedDirection, htb_class
from flent_aqm.router.tc.classes import describe_filter


def with_subscribers(one: ExpectedDirection, scenario: Scenario, role: str, rate_bit_s: int,
                     clock: Clock) -> ExpectedDirection:
    """Return what one queue below HTB becomes with a queue for each subscriber, where the
    scenario has any."""
    topology = parse_topology("topology", scenario.path.topology)
    if not topology.subscribers:
        return one
    minors = range(class_of(1), class_of(topology.subscribers) + 1)
    root = next(each for each in one.qdiscs if each.handle == ROOT_HANDLE)
    leaf = next(each for each in one.qdiscs if each.handle != ROOT_HANDLE)
    plan_mbps = topology.plan_down_mbps if role == "down" else topology.plan_up_mbps
    plan_bit_s = rate_bit_s if plan_mbps is None else round(plan_mbps * 1_000_000)
    part = htb_class("", "1:1", "", 0, rate_bit_s // len(minors), plan_bit_s, clock)
    key = "dst" if role == "down" else "src"
    return replace(
        one,
        qdiscs=(replace(root, parameters={**root.parameters, "default": f"{minors[0]:#x}"}),
                *(replace(leaf, handle=f"{minor:x}:", parent=f"1:{minor:x}")
                  for minor in minors)),
        classes=(htb_class("1:1", "root", "", None, rate_bit_s, rate_bit_s, clock),
                 *(replace(part, handle=f"1:{minor:x}", leaf=f"{minor:x}:") for minor in minors)),
        # The class below which the filter counts is 1:1, so one is taken off.
        filters=tuple(describe_filter(
            protocol, "flow", f"map {key} and 0x0000ffff {xor}addend 0xffffffff", "1:1")
            for protocol, xor in (("ip", ""), ("ipv6", f"xor 0x{PREFIX_XOR:08x} "))))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the settings that the router's kernel has to report for a scenario.

Values are rounded as tc and the kernel round them.

Sources: iproute2 tc/q_htb.c (default bursts, bytes to ticks), tc/tc_core.c (ticks),
lib/utils_math.c (bits to bytes), lib/json_print.c (how a rate is printed); Linux
net/sched/sch_{htb,codel,fq_codel,sfq,fifo}.c (defaults), include/net/codel.h (its time).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from flent_aqm.base import defaults
from flent_aqm.router.printed import size_text
from flent_aqm.router.shaping import (
    BACKGROUND_CLASS,
    EF_CLASS,
    IFB_DEVICE,
    LEAF_HANDLE,
    ROOT_HANDLE,
    HtbClass,
    htb_classes,
    leaves,
    rate_bit_s,
    subscribers_of,
    tbf_burst_bytes,
)
from flent_aqm.router.tc.read_back import describe_filter
from flent_aqm.spec.queues import table
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.queues.queue import Attachment
from flent_aqm.spec.queues.units import Clock, Scalar
from flent_aqm.spec.queues.values import Expected
from flent_aqm.spec.scenario import Scenario

# Packet size for which tc computes default bursts (q_htb.c: mtu).
TC_MTU_BYTES = 1600

# Units of the shapers' parameters; those of the queues stand in their table.
_SHAPER_UNITS = {
    ("htb", "direct_qlen"): "packets", ("tbf", "rate"): "bytes_per_s", ("tbf", "limit"): "bytes",
    ("tbf", "mpu"): "bytes", ("tbf", "overhead"): "bytes", ("tbf", "lat"): "us",
}

_FLOW_KEYS = "src,dst,proto,proto-src,proto-dst"
# Versions, derived numbers, and TBF's limit, which is that of a queue which isn't there.
_HTB_IGNORED = frozenset({"r2q", "ver", "direct_qlen", "direct_packets_stat", "offload"})
_TBF_IGNORED = frozenset({"lat", "limit"})


@dataclass(frozen=True)
class ExpectedQdisc:
    """A qdisc that the kernel has to report.

    ignored: parameters that don't depend on the request, so they aren't compared.
    external: only parameters that are both requested and reported are compared, because the qdisc
    is of the user's own kernel.
    """

    kind: str
    handle: str
    parent: str
    parameters: Mapping[str, Expected]
    ignored: frozenset[str] = frozenset()
    external: bool = False

    def place(self) -> str:
        """Kind, handle and parent as one text."""
        return f"{self.kind} {self.handle} at {self.parent}"


@dataclass(frozen=True)
class ExpectedClass:
    """HTB's class. Rates in bytes/s; bursts as any of the numbers of ticks that fit.

    prio: None for a class with others below it, which has none. quantum_bytes: None where no
    parameter of the shaper says anything of it.
    """

    handle: str
    parent: str
    leaf: str
    prio: int | None
    rate_bytes_per_s: int
    ceil_bytes_per_s: int
    burst_ticks: frozenset[int]
    cburst_ticks: frozenset[int]
    quantum_bytes: int | None = None
    overhead_bytes: int = 0
    linklayer: str = "ethernet"
    mpu_bytes: int = 0

    def place(self) -> str:
        """Handle, parent and leaf as one text."""
        return f"{self.handle} at {self.parent} with {self.leaf or 'no qdisc'}"


@dataclass(frozen=True)
class ExpectedDirection:
    """All that one device of the router has to report. drr: handles of DRR's classes;
    drr_quantum_bytes: any of these."""

    qdiscs: tuple[ExpectedQdisc, ...]
    classes: tuple[ExpectedClass, ...]
    drr: frozenset[str]
    drr_quantum_bytes: frozenset[int]
    filters: tuple[str, ...]


def expected_direction(scenario: Scenario, role: str, clock: Clock,
                       txqueuelen: int, queues: int = 1) -> ExpectedDirection:
    """Return the qdiscs, classes and filters that a device of the router has to report.

    Args:
        scenario: the requested settings.
        role: "down" or "up", the direction that the device shapes.
        clock: the packet scheduler's clock of the router.
        txqueuelen: length of the device's transmit queue, in packets.
        queues: number of the device's transmit queues.
    """
    rate = rate_bit_s(scenario, role)
    name, parameters = scenario.router.queue(role)
    queue = queue_of(name)
    requested = dict(parameters)
    report = queue.report(
        requested, Attachment(rate, scenario.router.shaper == "cake", clock, txqueuelen))
    # Adaptive RED changes its probability by itself, within the bounds that the kernel has, and
    # CAKE the rate that it estimates.
    changing = frozenset({"probability"} if report.get("adaptive") else
                         {"bandwidth"} if report.get("autorate") else ())
    # What says nothing by itself counts where it was requested.
    ignored = queue.ignored - report.keys() | changing
    places = leaves(scenario)
    qdiscs = [*_shaper(scenario, rate, clock),
              *(ExpectedQdisc(queue.kind, handle, parent, report, ignored, queue.external)
                for handle, parent in places.items())]
    if queue.per_queue:
        qdiscs += [ExpectedQdisc(queue.per_queue, "0:", f"{LEAF_HANDLE}{number:x}", report)
                   for number in range(1, queues + 1)]
    filters = _tier_filters() if scenario.router.tiers == 3 else []
    drr = frozenset[str]()
    quantum = frozenset[int]()
    if queue.classes:
        values = queue.values(requested)
        flows, quantum_bytes = int(values["flows"]), int(values["quantum"])
        # any of what old and new kernels make of it
        quantum = frozenset({quantum_bytes, min(max(quantum_bytes, 256), 2**20)})
        drr = frozenset(f"{handle}{flow:x}" for handle in places for flow in range(1, flows + 1))
        filters += [describe_filter("all", "flow", f"{_FLOW_KEYS} in {flows}", f"{handle}1")
                    for handle in places]
    if role == "up" and scenario.router.ingress == "ifb":
        qdiscs.append(ExpectedQdisc("ingress", "ffff:", "ffff:fff1", {}))
        filters.append(describe_filter("all", "u32", "00000000/00000000 at 0",
                                       f"egress redirect {IFB_DEVICE}"))
    direction = ExpectedDirection(
        tuple(qdiscs), tuple((_hfsc_class(each) if scenario.router.shaper == "hfsc" else
                              _expected_class(each, clock, scenario.router.shaper_values()))
                             for each in htb_classes(scenario, role)),
        drr, quantum, tuple(filters))
    if not subscribers_of(scenario):
        return direction
    from flent_aqm.router.expected_subscribers import with_subscribers

    return with_subscribers(direction, role)


def _shaper(scenario: Scenario, rate_bit_s_: int, clock: Clock) -> list[ExpectedQdisc]:
    """Return the root qdisc, if it isn't the AQM."""
    default = "0x12" if scenario.router.tiers == 3 else "0x1"
    if scenario.router.shaper == "htb":
        r2q = scenario.router.shaper_values().get("r2q")
        return [ExpectedQdisc("htb", ROOT_HANDLE, "root",
                              {"default": default, **({"r2q": r2q} if r2q else {})},
                              _HTB_IGNORED - ({"r2q"} if r2q else set()))]
    if scenario.router.shaper == "hfsc":
        # tc's text has no 0x.
        return [ExpectedQdisc("hfsc", ROOT_HANDLE, "root",
                              {"default": frozenset[Scalar]({default, default[2:]})})]
    if scenario.router.shaper == "tbf":
        rate, burst = rate_bit_s_ // 8, tbf_burst_bytes(scenario, rate_bit_s_)
        # tc sends TBF's burst in bytes, too, and then the kernel reckons the ticks, rounded
        # down (sch_tbf.c: tbf_change). Versions of tc show them in whole microseconds.
        of_shaper = scenario.router.shaper_values()
        by_kernel = int(_kernel_ns(_on_link_bytes(burst, of_shaper), rate) / 1000
                        * clock.ticks_per_us)
        whole_us = rate * int(by_kernel / clock.ticks_per_us) // 1_000_000
        sizes = frozenset[Scalar](f"{size_text(each)}{cell}" for cell in ("/1", "")
                                  for each in {whole_us, *(
                                      burst_bytes(one, rate, clock)
                                      for one in ticks(burst, rate, clock) | {by_kernel})})
        return [ExpectedQdisc("tbf", ROOT_HANDLE, "root",
                              {"rate": rate, "burst": sizes, "linklayer": "ethernet", "mpu": 0,
                               **{name: value for name, value in of_shaper.items() if value}},
                              _TBF_IGNORED)]
    return []


def _on_link_bytes(size_bytes: int, of_shaper: Mapping[str, Scalar]) -> int:
    """Return the bytes that a packet of this size takes on the link, as the kernel reckons it
    (sch_generic.h: psched_l2t_ns): with the overhead, no less than mpu, and in cells of ATM."""
    size = max(size_bytes + int(of_shaper.get("overhead", 0)), int(of_shaper.get("mpu", 0)))
    return -(-size // 48) * 53 if of_shaper.get("linklayer") == "atm" else size


def _kernel_ns(size_bytes: int, rate_bytes_per_s: int) -> int:
    """Return the ns in which a rate sends so many bytes, as the kernel computes them by a
    multiplication (sch_generic.c: psched_ratecfg_precompute__)."""
    factor, shift = 10**9, 0
    while not (factor // rate_bytes_per_s & 1 << 31 or factor & 1 << 63):
        factor, shift = factor * 2, shift + 1
    return size_bytes * (factor // rate_bytes_per_s) >> shift


def _expected_class(requested: HtbClass, clock: Clock,
                    of_shaper: Mapping[str, Scalar]) -> ExpectedClass:
    """Return the class of HTB that the kernel has to report.

    If no burst is requested, tc's default is what the rate sends between two timer interrupts, and
    one packet.

    Args:
        requested: the class as the scenario asks for it.
        clock: the packet scheduler's clock of the router.
        of_shaper: parameters of the shaper that the user requested, by tc's names.
    """
    rate, ceil = requested.rate_bit_s // 8, requested.ceil_bit_s // 8
    packet = int(of_shaper.get("mtu", TC_MTU_BYTES))
    burst, cburst = requested.sizes or (
        int(of_shaper.get("burst", rate // clock.hz + packet)),
        int(of_shaper.get("cburst", ceil // clock.hz + packet)))
    quantum = of_shaper.get("quantum")
    if quantum is None and "r2q" in of_shaper:  # within what sch_htb.c takes for sensible
        quantum = min(max(rate // int(of_shaper["r2q"]), 1000), 200_000)
    return ExpectedClass(requested.handle, requested.parent, requested.leaf, requested.prio, rate,
                         ceil, ticks(burst, rate, clock), ticks(cburst, ceil, clock),
                         None if quantum is None or not requested.leaf else int(quantum),
                         int(of_shaper.get("overhead", 0)),
                         str(of_shaper.get("linklayer", "ethernet")), int(of_shaper.get("mpu", 0)))


def _hfsc_class(requested: HtbClass) -> ExpectedClass:
    """Return the class of HFSC that the kernel has to report. It has no priority and no bursts,
    because its curves have one slope."""
    return ExpectedClass(requested.handle, requested.parent, requested.leaf, None,
                         requested.rate_bit_s // 8, requested.ceil_bit_s // 8, frozenset({0}),
                         frozenset({0}))


def _tier_filters() -> list[str]:
    """Return the filters that sort packets into three tiers by DSCP.

    u32 compares the header's first 32 bits. The DSCP's byte is the second in IPv4, and begins after
    4 bits in IPv6.
    """
    filters = []
    for dscps, target in ((defaults.EF_DSCPS, EF_CLASS),
                          (defaults.BACKGROUND_DSCPS, BACKGROUND_CLASS)):
        for dscp in dscps:
            for protocol, shift in (("ip", 16), ("ipv6", 20)):
                rule = f"{dscp << shift:08x}/{0xFC << shift:08x} at 0"
                filters.append(describe_filter(protocol, "u32", rule, target))
    return filters


def unit_of(kind: str, parameter: str) -> str:
    """Return the unit of a qdisc's parameter; "" for a mere number or an unknown parameter."""
    return _SHAPER_UNITS.get((kind, parameter)) or table.unit_of(kind, parameter)


def ticks(size_bytes: int, rate_bytes_per_s: int, clock: Clock) -> frozenset[int]:
    """Return the clock ticks in which a rate sends so many bytes, by old and by new tc.

    tc cuts off to whole microseconds before iproute2 6.16 and rounds ticks up since.
    """
    return frozenset({old_ticks(size_bytes, rate_bytes_per_s, clock),
                      new_ticks(size_bytes, rate_bytes_per_s, clock)})


def old_ticks(size_bytes: int, rate_bytes_per_s: int, clock: Clock) -> int:
    """Return the clock ticks that tc before iproute2 6.16 computes."""
    return int(int(1_000_000 * (size_bytes / rate_bytes_per_s)) * clock.ticks_per_us)


def new_ticks(size_bytes: int, rate_bytes_per_s: int, clock: Clock) -> int:
    """Return the clock ticks that tc computes since iproute2 6.16."""
    return math.ceil(1_000_000 * (size_bytes / rate_bytes_per_s) * clock.ticks_per_us)


def burst_bytes(ticks_: int, rate_bytes_per_s: float, clock: Clock) -> int:
    """Return the bytes that a rate sends in so many ticks, rounded down."""
    return int(rate_bytes_per_s * (ticks_ / clock.ticks_per_us) / 1_000_000)

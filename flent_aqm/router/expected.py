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
    RequestedClass,
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

# Units of the shapers' parameters. The table of queues has the units of the queues' parameters.
_SHAPER_UNITS = {
    ("htb", "direct_qlen"): "packets", ("tbf", "rate"): "bytes_per_s", ("tbf", "limit"): "bytes",
    ("tbf", "mpu"): "bytes", ("tbf", "overhead"): "bytes", ("tbf", "lat"): "us",
}

_FLOW_KEYS = "src,dst,proto,proto-src,proto-dst"
# Reported values that no request decides: versions, derived numbers, and TBF's limit, which is for
# a queue that the AQM replaces.
_HTB_IGNORED = frozenset({"r2q", "ver", "direct_qlen", "direct_packets_stat", "offload"})
_TBF_IGNORED = frozenset({"lat", "limit"})


@dataclass(frozen=True)
class ExpectedQdisc:
    """A qdisc that the kernel has to report.

    Attributes:
        kind: name of the qdisc.
        handle: its handle, such as "10:".
        parent: handle of the class above it, or "root".
        parameters: values by their names in tc's JSON. A value is a set of all that are accepted if
            kernels or versions of tc differ.
        ignored: names of parameters that aren't compared, because the request doesn't decide them
            or the qdisc changes them by itself.
        external: True if the qdisc is of a kernel that the user built. Then only parameters that
            are both requested and reported are compared.
    """

    kind: str
    handle: str
    parent: str
    parameters: Mapping[str, Expected]
    ignored: frozenset[str] = frozenset()
    external: bool = False

    def position(self) -> str:
        """Return kind, handle and parent as one text, such as "fq_codel 10: at 1:1"."""
        return f"{self.kind} {self.handle} at {self.parent}"


@dataclass(frozen=True)
class ExpectedClass:
    """A class of HTB or HFSC that the kernel has to report.

    Attributes:
        handle: handle of the class, such as "1:1".
        parent: handle of the class above it, or "root".
        leaf: handle of the qdisc below the class, "" for a class with other classes below it.
        prio: priority. None if it isn't compared: for a class with others below it, and for HFSC.
        burst_ticks: possible bursts at the rate, in ticks of the packet scheduler's clock. 0 for
            HFSC.
        cburst_ticks: possible bursts at the ceil, in ticks of the packet scheduler's clock. 0 for
            HFSC.
        quantum_bytes: quantum in bytes. None if it isn't compared: if neither quantum nor r2q is
            requested, for a class with others below it, and for HFSC.
        linklayer: "ethernet" or "atm".
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

    def position(self) -> str:
        """Return handle, parent and leaf as one text, such as "1:1 at root with 10:". Without a
        leaf it ends in "with no qdisc"."""
        return f"{self.handle} at {self.parent} with {self.leaf or 'no qdisc'}"


@dataclass(frozen=True)
class ExpectedDirection:
    """All that the kernel has to report for the device that shapes one direction.

    Attributes:
        qdiscs: all qdiscs of the device.
        classes: all classes of HTB or HFSC. Empty for other shapers.
        drr: handles of DRR's classes. Empty for other queues.
        drr_quantum_bytes: possible quantums of DRR's classes. Empty for other queues.
        filters: lines as describe_filter() makes them.
    """

    qdiscs: tuple[ExpectedQdisc, ...]
    classes: tuple[ExpectedClass, ...]
    drr: frozenset[str]
    drr_quantum_bytes: frozenset[int]
    filters: tuple[str, ...]


def expected_direction(scenario: Scenario, direction: str, clock: Clock,
                       txqueuelen: int, queues: int = 1) -> ExpectedDirection:
    """Return the qdiscs, classes and filters that the kernel has to report for a device of the
    router. Raises ConfigError if a requested value isn't valid.

    Args:
        scenario: the requested settings.
        direction: "down" or "up", the direction that the device shapes.
        clock: clock of the router's packet scheduler.
        txqueuelen: length of the device's transmit queue, in packets.
        queues: number of the device's transmit queues.
    """
    rate = rate_bit_s(scenario, direction)
    name, parameters = scenario.router.queue(direction)
    queue = queue_of(name)
    requested = dict(parameters)
    report = queue.report(
        requested, Attachment(rate, scenario.router.shaper == "cake", clock, txqueuelen))
    # Adaptive RED changes its probability by itself, and CAKE the rate that it estimates.
    changing = frozenset({"probability"} if report.get("adaptive") else
                         {"bandwidth"} if report.get("autorate") else ())
    # A parameter of queue.ignored is compared if it was requested.
    ignored = queue.ignored - report.keys() | changing
    places = leaves(scenario)
    qdiscs = [*_root_qdisc(scenario, rate, clock),
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
        # values of old and new kernels
        quantum = frozenset({quantum_bytes, min(max(quantum_bytes, 256), 2**20)})
        drr = frozenset(f"{handle}{flow:x}" for handle in places for flow in range(1, flows + 1))
        filters += [describe_filter("all", "flow", f"{_FLOW_KEYS} in {flows}", f"{handle}1")
                    for handle in places]
    if direction == "up" and scenario.router.ingress == "ifb":
        qdiscs.append(ExpectedQdisc("ingress", "ffff:", "ffff:fff1", {}))
        filters.append(describe_filter("all", "u32", "00000000/00000000 at 0",
                                       f"egress redirect {IFB_DEVICE}"))
    expected_device = ExpectedDirection(
        tuple(qdiscs),
        tuple((_expected_hfsc_class(htb) if scenario.router.shaper == "hfsc" else
               _expected_htb_class(htb, clock, scenario.router.shaper_values()))
              for htb in htb_classes(scenario, direction)),
        drr, quantum, tuple(filters))
    if not subscribers_of(scenario):
        return expected_device
    from flent_aqm.router.expected_subscribers import with_subscribers

    return with_subscribers(expected_device, direction)


def _root_qdisc(scenario: Scenario, rate_bit_s_: int, clock: Clock) -> list[ExpectedQdisc]:
    """Return the shaper's qdisc, which is the root, in a list. Empty with shaper = cake or none:
    then the root is the AQM itself. With subscribers, with_subscribers() changes HTB's default
    class afterwards.

    Args:
        scenario: the requested settings.
        rate_bit_s_: rate of the direction in bit/s.
        clock: clock of the router's packet scheduler.
    """
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
        by_kernel = int(_transmission_time_ns(_on_link_bytes(burst, of_shaper), rate) / 1000
                        * clock.ticks_per_us)
        whole_us = rate * int(by_kernel / clock.ticks_per_us) // 1_000_000
        sizes = frozenset[Scalar](f"{size_text(each)}{cell}" for cell in ("/1", "")
                                  for each in {whole_us, *(
                                      burst_bytes(burst_ticks, rate, clock)
                                      for burst_ticks in ticks(burst, rate, clock) | {by_kernel})})
        return [ExpectedQdisc("tbf", ROOT_HANDLE, "root",
                              {"rate": rate, "burst": sizes, "linklayer": "ethernet", "mpu": 0,
                               **{name: value for name, value in of_shaper.items() if value}},
                              _TBF_IGNORED)]
    return []


def _on_link_bytes(size_bytes: int, of_shaper: Mapping[str, Scalar]) -> int:
    """Return the bytes that a packet takes on the link, as the kernel computes them (sch_generic.h:
    psched_l2t_ns): with the overhead, no less than mpu, and, if the linklayer is "atm", in whole
    cells of 53 bytes for each 48.

    Args:
        size_bytes: size of the packet in bytes.
        of_shaper: requested parameters of the shaper, by tc's names.
    """
    size = max(size_bytes + int(of_shaper.get("overhead", 0)), int(of_shaper.get("mpu", 0)))
    return -(-size // 48) * 53 if of_shaper.get("linklayer") == "atm" else size


def _transmission_time_ns(size_bytes: int, rate_bytes_per_s: int) -> int:
    """Return the time in ns in which a rate sends `size_bytes`, rounded down, as the kernel
    computes it by a multiplication (sch_generic.c: psched_ratecfg_precompute__). It may be a little
    less than the exact time."""
    factor, shift = 10**9, 0
    while not (factor // rate_bytes_per_s & 1 << 31 or factor & 1 << 63):
        factor, shift = factor * 2, shift + 1
    return size_bytes * (factor // rate_bytes_per_s) >> shift


def _expected_htb_class(requested: RequestedClass, clock: Clock,
                        of_shaper: Mapping[str, Scalar]) -> ExpectedClass:
    """Return the HTB class that the kernel has to report.

    If no burst is requested, tc's default is the bytes that the rate sends between two timer
    interrupts, and one packet of the requested mtu, or of TC_MTU_BYTES. The default cburst is the
    same for the ceil.

    Args:
        requested: the class that the scenario requests.
        clock: clock of the router's packet scheduler.
        of_shaper: requested parameters of the shaper, by tc's names.
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


def _expected_hfsc_class(requested: RequestedClass) -> ExpectedClass:
    """Return the HFSC class that the kernel has to report. Its `prio` and `quantum_bytes` are None,
    and both bursts are {0}, because HFSC has none of these.

    requested: the class that the scenario requests.
    """
    return ExpectedClass(requested.handle, requested.parent, requested.leaf, None,
                         requested.rate_bit_s // 8, requested.ceil_bit_s // 8, frozenset({0}),
                         frozenset({0}))


def _tier_filters() -> list[str]:
    """Return the filters that send packets to the class for EF or that for background by their
    DSCP, as lines of describe_filter(). Packets of the middle tier match none, and go to the
    default class.

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
    """Return the unit of a parameter that a shaper or queue reports, such as "us" or "bytes_per_s".
    "" for a value without unit, or an unknown parameter.

    Args:
        kind: name of the qdisc.
        parameter: name of the parameter in tc's JSON.
    """
    return _SHAPER_UNITS.get((kind, parameter)) or table.unit_of(kind, parameter)


def ticks(size_bytes: int, rate_bytes_per_s: int, clock: Clock) -> frozenset[int]:
    """Return the numbers of clock ticks in which a rate sends `size_bytes`, as old and new versions
    of tc compute them.

    tc rounds down to whole microseconds before iproute2 6.16, and rounds ticks up since.
    """
    return frozenset({old_ticks(size_bytes, rate_bytes_per_s, clock),
                      new_ticks(size_bytes, rate_bytes_per_s, clock)})


def old_ticks(size_bytes: int, rate_bytes_per_s: int, clock: Clock) -> int:
    """Return the number of clock ticks in which a rate sends `size_bytes`, as tc before iproute2
    6.16 computes it: the ticks in the whole microseconds of that time, both rounded down."""
    return int(int(1_000_000 * (size_bytes / rate_bytes_per_s)) * clock.ticks_per_us)


def new_ticks(size_bytes: int, rate_bytes_per_s: int, clock: Clock) -> int:
    """Return the number of clock ticks in which a rate sends `size_bytes`, rounded up, as tc
    computes it since iproute2 6.16."""
    return math.ceil(1_000_000 * (size_bytes / rate_bytes_per_s) * clock.ticks_per_us)


def burst_bytes(ticks_: int, rate_bytes_per_s: float, clock: Clock) -> int:
    """Return the bytes that a rate sends in a number of clock ticks, rounded down.

    Args:
        ticks_: number of ticks of the packet scheduler's clock.
        rate_bytes_per_s: the rate in bytes/s.
        clock: the clock.
    """
    return int(rate_bytes_per_s * (ticks_ / clock.ticks_per_us) / 1_000_000)

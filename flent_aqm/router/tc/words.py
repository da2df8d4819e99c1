# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the lines for tc that give a router the queue and rates of a scenario.

expected.py computes what the kernel then reports.

    on each device:  htb 1: ── 1:1 rate ── AQM 10:        tbf 1: ── 1:1 ── AQM 10:
                     shaper=cake or none: AQM 10: at the root
    three tiers:     htb 1: ── 1:1 rate ─┬─ 1:11 EF ── AQM 11:
                                         ├─ 1:12 the rest ── AQM 12:
                                         └─ 1:13 background ── AQM 13:
    shaper=hfsc:     hfsc for htb in both
    subscribers:     htb 1: ── 1:1 rate ─┬─ 1:1001 the client ── AQM 1001:
                                         └─ 1:1002 and on     ── AQM 1002: and on

router_hooks/router.sh runs the lines, and undoes them after an error: it gives both devices their
default queue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from flent_aqm.base import defaults
from flent_aqm.router.shaping import (
    BACKGROUND_CLASS,
    EF_CLASS,
    IFB_DEVICE,
    RequestedClass,
    htb_classes,
    leaves,
    rate_bit_s,
    subscribers_of,
    tbf_burst_bytes,
)
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.queues.queue import Queue
from flent_aqm.spec.queues.shapers import SHAPER_PARAMETERS
from flent_aqm.spec.queues.table import FRAME_BYTES
from flent_aqm.spec.scenario import Scenario


class Devices(NamedTuple):
    """Names of a router's two devices.

    Attributes:
        down: device that faces the client and shapes the download.
        up: device that faces the server and shapes the upload.
    """

    down: str
    up: str


IN_LAB = Devices("down", "up")


def tc_lines(scenario: Scenario, devices: Devices = IN_LAB) -> list[str]:
    """Return the lines of a tc batch that sets up both devices. They work whatever root qdiscs the
    devices have.

    With ingress=ifb, the download's queue is on IFB_DEVICE, and `devices.down` gets a pfifo. Then
    IFB_DEVICE must exist, and `devices.up` must have no ingress qdisc. router_hooks/router.sh makes
    the device, and removes device and ingress qdisc of an earlier run.

    devices: names of the router's devices.
    """
    ifb = scenario.router.ingress == "ifb"
    lines = [_remove_line(devices.down)] if ifb else []
    lines += _direction_lines(scenario, "down", IFB_DEVICE if ifb else devices.down)
    lines += _direction_lines(scenario, "up", devices.up)
    if ifb:
        # Packets that arrive at `up` go through the IFB device, where they can be shaped.
        lines += [
            f"qdisc add dev {devices.up} handle ffff: ingress",
            (f"filter add dev {devices.up} parent ffff: protocol all prio 1 u32 match u32 0 0 "
             f"action mirred egress redirect dev {IFB_DEVICE}")]
    return lines


def leaf_words(scenario: Scenario, direction: str) -> str:
    """Return tc's words for the queue of a direction, the shaper cake included: kind of qdisc and
    parameters, such as "fq_codel limit 1000p".

    direction: "down" or "up".
    """
    name, parameters = scenario.router.queue(direction)
    return queue_of(name).tc_words(dict(parameters), rate_bit_s(scenario, direction),
                                   scenario.router.shaper == "cake")


def _remove_line(device: str) -> str:
    """Return the line that removes the root qdisc of a device and all qdiscs below it. Kernels
    refuse to delete a default root qdisc and to change HTB's, so a pfifo replaces it."""
    return f"qdisc replace dev {device} root pfifo"


def _direction_lines(scenario: Scenario, direction: str, device: str) -> Iterator[str]:
    """Yield the lines that set up the device of one direction: a pfifo in place of the old root
    qdisc, then the shaper with its classes, unless there is none or it is cake, then the queues and
    the filters.

    Args:
        scenario: the requested settings.
        direction: "down" or "up".
        device: name of the device.
    """
    yield _remove_line(device)
    name, requested = scenario.router.queue(direction)
    queue, words = queue_of(name), leaf_words(scenario, direction)
    rate = rate_bit_s(scenario, direction)

    def leaf_lines(handle: str, parent: str) -> Iterator[str]:
        """Yield the lines that create a qdisc of the AQM `queue` on `device`, and for DRR its
        classes and filter.

        Args:
            handle: handle of the qdisc, such as "10:".
            parent: handle of the class above it, or "root".
        """
        parent_words = parent if parent == "root" else f"parent {parent}"
        yield f"qdisc replace dev {device} {parent_words} handle {handle} {words}"
        if queue.classes:
            yield from _drr_lines(queue, device, handle, dict(requested))

    if scenario.router.shaper == "tbf":
        burst = tbf_burst_bytes(scenario, rate)
        yield (f"qdisc replace dev {device} root handle 1: tbf rate {rate}bit burst {burst} "
               f"limit {burst}{_shaper_words(scenario, 'mpu', 'overhead', 'linklayer')}")
    classes = htb_classes(scenario, direction)
    subscribers = subscribers_of(scenario)
    if classes:
        default = 12 if scenario.router.tiers == 3 else 1001 if subscribers else 1
        shaper = scenario.router.shaper
        yield (f"qdisc replace dev {device} root handle 1: {shaper} default {default}"
               f"{_shaper_words(scenario, 'r2q')}")
    for htb_class in classes:
        yield (_hfsc_class_line(device, htb_class) if shaper == "hfsc" else
               _htb_class_line(device, htb_class, scenario))
        if subscribers and htb_class.leaf:
            yield from leaf_lines(htb_class.leaf, htb_class.handle)
    if subscribers:
        yield from _subscriber_filter_lines(device, direction)
        return
    for handle, parent in leaves(scenario).items():
        yield from leaf_lines(handle, parent)
    if scenario.router.tiers == 3:
        yield from _tier_filter_lines(device)


def _htb_class_line(device: str, htb: RequestedClass, scenario: Scenario) -> str:
    """Return tc's line `class add … htb` for one class: rate, ceil, bursts, prio and the user's
    parameters of the shaper.

    The quantum is one frame, unless the user requested `quantum` or `r2q`. It has no effect on a
    single class, but without it the kernel derives one from the rate, and warns that it is big
    above 16 Mbit/s and small below 80 kbit/s.

    Args:
        device: name of the device.
        htb: the class.
        scenario: the requested settings, of which the shaper's parameters are used.
    """
    parent = "1:" if htb.parent == "root" else htb.parent
    sizes = f" burst {htb.sizes[0] // 1024}KB cburst {htb.sizes[1] // 1024}KB" if htb.sizes else ""
    prio = f" prio {htb.prio}" if htb.prio else ""
    requested = scenario.router.shaper_values()
    quantum = "" if {"quantum", "r2q"} & requested.keys() else f" quantum {FRAME_BYTES}"
    more = _shaper_words(scenario, *(name for name in requested if name not in ("r2q", "prio")))
    return (f"class add dev {device} parent {parent} classid {htb.handle} htb "
            f"rate {htb.rate_bit_s}bit ceil {htb.ceil_bit_s}bit{sizes}{prio}{quantum}{more}")


def _shaper_words(scenario: Scenario, *names: str) -> str:
    """Return tc's words for the requested parameters among `names`, each with a blank before it. ""
    if none is requested."""
    known = SHAPER_PARAMETERS.get(scenario.router.shaper, {})
    return "".join(f" {known[name].tc_words(name, text)}"
                   for name, text in scenario.router.shaper_parameters if name in names)


def _hfsc_class_line(device: str, hfsc: RequestedClass) -> str:
    """Return tc's line `class add … hfsc` for one class: its share of the link (ls), and its upper
    limit (ul)."""
    parent = "1:" if hfsc.parent == "root" else hfsc.parent
    return (f"class add dev {device} parent {parent} classid {hfsc.handle} hfsc "
            f"ls m2 {hfsc.rate_bit_s}bit ul m2 {hfsc.ceil_bit_s}bit")


def _tier_filter_lines(device: str) -> Iterator[str]:
    """Yield the lines of the filters for three tiers. They send packets to the class for EF or that
    for background by the DSCP in the IPv4 or IPv6 header. All others go to the shaper's default
    class."""
    for dscps, target in ((defaults.EF_DSCPS, EF_CLASS),
                          (defaults.BACKGROUND_DSCPS, BACKGROUND_CLASS)):
        for dscp in dscps:
            for protocol, prio, field in (("ip", 1, "ip dsfield"), ("ipv6", 2, "ip6 priority")):
                yield (f"filter add dev {device} parent 1: protocol {protocol} prio {prio} u32 "
                       f"match {field} 0x{dscp:02x} 0xfc flowid {target}")


def _subscriber_filter_lines(device: str, direction: str) -> Iterator[str]:
    """Yield the lines of the filters that send a subscriber's packets to its class.

    The class's number follows from the last 16 bits of the address (spec/topology/subscribers.py).
    Other packets go to the first class.

    direction: "down" or "up".
    """
    from flent_aqm.spec.topology.subscribers import PREFIX_XOR

    key = "dst" if direction == "down" else "src"
    for protocol, prio, xor in (("ip", 1, ""), ("ipv6", 2, f"xor {PREFIX_XOR:#x} ")):
        yield (f"filter add dev {device} parent 1: protocol {protocol} prio {prio} handle 1 flow "
               f"map key {key} and 0xffff {xor}addend -1 baseclass 1:1")


def _drr_lines(queue: Queue, device: str, handle: str,
               requested: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines that create DRR's classes and its filter.

    tc can't create them together with the qdisc. The filter is for all protocols, because DRR drops
    packets without a class.

    Args:
        queue: the table's row of DRR.
        device: name of the device.
        handle: handle of the DRR qdisc.
        requested: requested parameters, name -> text.
    """
    values = queue.values(requested)
    flows, quantum = int(values["flows"]), values["quantum"]
    for flow in range(1, flows + 1):
        yield (f"class add dev {device} parent {handle} classid {handle}{flow:03x} drr "
               f"quantum {quantum}")
    yield (f"filter add dev {device} parent {handle} protocol all prio 1 handle 1 flow hash keys "
           f"src,dst,proto,proto-src,proto-dst divisor {flows} baseclass {handle}1")

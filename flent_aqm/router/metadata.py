# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts a read-back into metadata for a data file: plain values, with units in the keys."""

from __future__ import annotations

from flent_aqm.router.expected import burst_bytes, unit_of
from flent_aqm.router.subscriber_counters import subscriber_counters
from flent_aqm.router.tc.read_back import Direction, Qdisc, ReadBack, ReportedClass, bit_per_s
from flent_aqm.spec.queues.units import Clock

# The class of the first of many subscribers: spec/topology/subscribers.py.
_FIRST_SUBSCRIBER = "1:1001"
# Root qdiscs that stand for the link's rate and not for the queue.
SHAPER_KINDS = ("htb", "hfsc", "tbf")


def as_metadata(report: ReadBack) -> dict[str, object]:
    """Return the read-back in a form that JSON can hold: "applied" (settings), "counters", and
    "router" (versions, and properties of the devices). Each has "down" and "up" for the two
    directions.

    A device without a shaper, classes or filters has no settings of these.
    """
    directions = report.directions.items()
    return {
        "applied": {name: _applied(direction, report.clock) for name, direction in directions},
        "counters": {name: _counters(direction) for name, direction in directions},
        "router": {
            "kernel": report.kernel,
            "psched": report.clock.text,
            "tc": report.tc,
            **{name: _device_properties(direction) for name, direction in directions},
        },
    }


def _applied(direction: Direction, clock: Clock) -> dict[str, object]:
    """Return the settings of one device by name, with units in the names.

    The kinds of its qdiscs are under "shaper" (unless the AQM is at the root), "qdisc" (the AQM),
    and, if the device redirects arriving packets to the IFB device, "ingress". Their parameters are
    under the same names with "_parameters" behind, as texts with units if tc printed text. Qdiscs
    of single transmit queues are left out. Beside these are the settings of the root class, the
    rate of TBF or CAKE unless tc printed it as text, the number and the quantum of DRR's classes,
    and the filters. With three tiers, the AQM's are given once, and the settings of each class are
    under "tiers", by its handle. With subscribers, the settings of their classes are given once,
    under "subscribers", with their "count".

    clock: clock of the router's packet scheduler.
    """
    applied: dict[str, object] = {}
    for qdisc in direction.qdiscs:
        name = _purpose(qdisc)
        if name == "queues":  # settings as their parent's, which was proved
            continue
        applied[name] = qdisc.kind
        applied[f"{name}_parameters"] = {
            "_".join(filter(None, (key, unit_of(qdisc.kind, key)))): value
            for key, value in qdisc.parameters.items()}
        rate = qdisc.parameters.get("rate" if qdisc.kind == "tbf" else "bandwidth")
        if isinstance(rate, int):  # TBF's, and CAKE's when it shapes
            applied["rate_mbps"] = rate * 8 / 1e6
    subscriber_classes = _subscriber_classes(direction)
    if subscriber_classes:  # all the same, which was proved
        applied["subscribers"] = {"count": len(subscriber_classes),
                                  **_class_settings(subscriber_classes[0], clock)}
    for htb_class in direction.classes:
        if subscriber_classes and htb_class.parent != "root":
            continue
        settings = _class_settings(htb_class, clock)
        if htb_class.parent == "root":
            applied |= settings
        else:
            tiers = applied.setdefault("tiers", {})
            assert isinstance(tiers, dict)
            tiers[htb_class.handle] = {"prio": htb_class.prio, **settings}
    if direction.drr_classes:
        applied["drr_classes"] = len(direction.drr_classes)
        applied["drr_quantum_bytes"] = direction.drr_classes[0].quantum_bytes
    if direction.filters:
        applied["filters"] = list(direction.filters)
    return applied


def _subscriber_classes(direction: Direction) -> tuple[ReportedClass, ...]:
    """Return the classes of subscribers, empty if the topology has no subscribers."""
    if not any(htb_class.handle == _FIRST_SUBSCRIBER for htb_class in direction.classes):
        return ()
    return tuple(htb_class for htb_class in direction.classes if htb_class.parent != "root")


def _purpose(qdisc: Qdisc) -> str:
    """Return the purpose of a qdisc, which is its name in the data file: "ingress", "queues" (a
    transmit queue's qdisc below another), "shaper" (HTB, HFSC or TBF at the root), or "qdisc" (the
    AQM, which may be a CAKE that shapes)."""
    if qdisc.parent == "ffff:fff1":
        return "ingress"
    if qdisc.handle == "0:" and qdisc.parent != "root":  # of one of the device's queues
        return "queues"
    return "shaper" if qdisc.parent == "root" and qdisc.kind in SHAPER_KINDS else "qdisc"


def _class_settings(htb_class: ReportedClass, clock: Clock) -> dict[str, object]:
    """Return the settings of a class of HTB or HFSC, with units in their names: rate and ceil in
    Mbit/s, and burst, cburst and quantum in bytes.

    clock: clock of the router's packet scheduler.
    """
    rate_bit_s, ceil_bit_s = bit_per_s(htb_class.rate), bit_per_s(htb_class.ceil)
    return {
        "rate_mbps": rate_bit_s / 1e6,
        "ceil_mbps": ceil_bit_s / 1e6,
        "burst_bytes": burst_bytes(htb_class.burst_ticks, rate_bit_s / 8, clock),
        "cburst_bytes": burst_bytes(htb_class.cburst_ticks, ceil_bit_s / 8, clock),
        "htb_quantum_bytes": htb_class.quantum_bytes,
    }


def _counters(direction: Direction) -> dict[str, object]:
    """Return the counters of a device: dicts under "shaper", "qdisc" (the AQM), "class" and
    "ingress", as far as the device has these. DRR's classes are under "drr_classes", by handle.
    With three tiers, the names "qdisc" and "class" end with the handle. Qdiscs of the device's own
    transmit queues are under "queues", by the handle of their parent. With subscribers, the
    counters are those of subscriber_counters()."""
    if _subscriber_classes(direction):
        return subscriber_counters(direction)
    several = len(direction.classes) > 1
    counters: dict[str, object] = {}
    for qdisc in direction.qdiscs:
        name = _purpose(qdisc)
        if name == "queues":
            queues = counters.setdefault("queues", {})
            assert isinstance(queues, dict)
            queues[qdisc.parent] = dict(qdisc.counters)
            continue
        counters[f"{name} {qdisc.handle}" if several and name == "qdisc" else name] = dict(
            qdisc.counters)
    for htb_class in direction.classes:
        counters[f"class {htb_class.handle}" if several else "class"] = dict(htb_class.counters)
    if direction.drr_classes:
        counters["drr_classes"] = {drr_class.handle: dict(drr_class.counters)
                                   for drr_class in direction.drr_classes}
    return counters


def _device_properties(direction: Direction) -> dict[str, object]:
    """Return the properties of a device, with units in their names: its own name, length of the
    transmit queue, MTU, byte queue limit (None without one), offloads (None if unknown), and
    whether it is a network card. The number of transmit queues is left out if it is 1."""
    return {"device": direction.device, "txqueuelen_packets": direction.txqueuelen,
            **({"tx_queues": direction.queues} if direction.queues > 1 else {}),
            "mtu_bytes": direction.mtu_bytes, "bql_limit_bytes": direction.bql_bytes,
            "hardware": direction.hardware, "offloads": dict(direction.offloads)}

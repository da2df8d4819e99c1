# SPDX-License-Identifier: GPL-3.0-or-later
"""A read-back as it is stored in a data file: dicts of plain values, units in the keys."""

from __future__ import annotations

from flent_aqm.router.expected import burst_bytes, unit_of
from flent_aqm.router.subscriber_counters import subscriber_counters
from flent_aqm.router.tc.read_back import Direction, HtbClass, Qdisc, ReadBack, bit_per_s
from flent_aqm.spec.queues.units import Clock

# The class of the first of many subscribers: spec/topology/subscribers.py.
_FIRST_SUBSCRIBER = "1:1001"
# Root qdiscs that stand for the link's rate and not for the queue.
SHAPER_KINDS = ("htb", "hfsc", "tbf")


def as_metadata(report: ReadBack) -> dict[str, object]:
    """`applied` (settings), `counters` and `router` (what else describes it), JSON-ready.

    Settings of a queue that the router lacks are left out.
    """
    directions = report.directions.items()
    return {
        "applied": {name: _applied(direction, report.clock) for name, direction in directions},
        "counters": {name: _counters(direction) for name, direction in directions},
        "router": {
            "kernel": report.kernel,
            "psched": report.clock.text,
            "tc": report.tc,
            **{name: _device(direction) for name, direction in directions},
        },
    }


def _applied(direction: Direction, clock: Clock) -> dict[str, object]:
    """Return the settings of shaper, AQM and HTB's class. With three tiers, the AQM once and each
    class under `tiers`."""
    applied: dict[str, object] = {}
    for qdisc in direction.qdiscs:
        name = _role(qdisc)
        if name == "queues":  # settings as their parent's, which was proved
            continue
        applied[name] = qdisc.kind
        applied[f"{name}_parameters"] = {
            "_".join(filter(None, (key, unit_of(qdisc.kind, key)))): value
            for key, value in qdisc.parameters.items()}
        rate = qdisc.parameters.get("rate" if qdisc.kind == "tbf" else "bandwidth")
        if isinstance(rate, int):  # TBF's, and CAKE's when it shapes
            applied["rate_mbps"] = rate * 8 / 1e6
    many = _subscribers(direction)
    if many:  # all the same, which was proved
        applied["subscribers"] = {"count": len(many), **_class(many[0], clock)}
    for htb in direction.classes:
        if many and htb.parent != "root":
            continue
        settings = _class(htb, clock)
        if htb.parent == "root":
            applied |= settings
        else:
            tiers = applied.setdefault("tiers", {})
            assert isinstance(tiers, dict)
            tiers[htb.handle] = {"prio": htb.prio, **settings}
    if direction.drr_classes:
        applied["drr_classes"] = len(direction.drr_classes)
        applied["drr_quantum_bytes"] = direction.drr_classes[0].quantum_bytes
    if direction.filters:
        applied["filters"] = list(direction.filters)
    return applied


def _subscribers(direction: Direction) -> tuple[HtbClass, ...]:
    """Return the classes of subscribers, empty if the topology has none."""
    if not any(htb.handle == _FIRST_SUBSCRIBER for htb in direction.classes):
        return ()
    return tuple(htb for htb in direction.classes if htb.parent != "root")


def _role(qdisc: Qdisc) -> str:
    """Return the name of a qdisc in the data file, which is its purpose: ingress, queues, shaper or
    qdisc."""
    if qdisc.parent == "ffff:fff1":
        return "ingress"
    if qdisc.handle == "0:" and qdisc.parent != "root":  # of one of the device's queues
        return "queues"
    return "shaper" if qdisc.parent == "root" and qdisc.kind in SHAPER_KINDS else "qdisc"


def _class(htb: HtbClass, clock: Clock) -> dict[str, object]:
    rate_bit_s, ceil_bit_s = bit_per_s(htb.rate), bit_per_s(htb.ceil)
    return {
        "rate_mbps": rate_bit_s / 1e6,
        "ceil_mbps": ceil_bit_s / 1e6,
        "burst_bytes": burst_bytes(htb.burst_ticks, rate_bit_s / 8, clock),
        "cburst_bytes": burst_bytes(htb.cburst_ticks, ceil_bit_s / 8, clock),
        "htb_quantum_bytes": htb.quantum_bytes,
    }


def _counters(direction: Direction) -> dict[str, object]:
    """Return the counters under `shaper`, `qdisc` and `class`. With three tiers the names end with
    the handle. Qdiscs of the device's own queues are under `queues` and their parent."""
    if _subscribers(direction):
        return subscriber_counters(direction)
    several = len(direction.classes) > 1
    counters: dict[str, object] = {}
    for qdisc in direction.qdiscs:
        name = _role(qdisc)
        if name == "queues":
            queues = counters.setdefault("queues", {})
            assert isinstance(queues, dict)
            queues[qdisc.parent] = dict(qdisc.counters)
            continue
        counters[f"{name} {qdisc.handle}" if several and name == "qdisc" else name] = dict(
            qdisc.counters)
    for htb in direction.classes:
        counters[f"class {htb.handle}" if several else "class"] = dict(htb.counters)
    if direction.drr_classes:
        counters["drr_classes"] = {each.handle: dict(each.counters)
                                   for each in direction.drr_classes}
    return counters


def _device(direction: Direction) -> dict[str, object]:
    return {"device": direction.device, "txqueuelen_packets": direction.txqueuelen,
            **({"tx_queues": direction.queues} if direction.queues > 1 else {}),
            "mtu_bytes": direction.mtu_bytes, "bql_limit_bytes": direction.bql_bytes,
            "hardware": direction.hardware, "offloads": dict(direction.offloads)}

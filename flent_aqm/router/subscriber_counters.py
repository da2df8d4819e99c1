# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds up the counters of a device that has a class and a queue for each of many subscribers.

Only runs with subscribers import this module, because each import takes time in the guest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flent_aqm.router.tc.read_back import Direction
from flent_aqm.spec.topology.subscribers import FIRST_CLASS

# Counters that can be added. A sum of other values, such as delays, has no meaning.
_COUNTS = ("bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen",
           "ecn_mark", "ce_mark", "marked",
           # DualPI2's, and those of SFQ's RED.
           "ecn-mark", "step-mark", "pkts-in-c", "pkts-in-l", "prob_mark", "prob_mark_head",
           "forced_mark", "forced_mark_head")


def subscriber_counters(direction: Direction) -> dict[str, object]:
    """Return the counters of a device with a class for each subscriber, for the data file: "shaper"
    (root qdisc), "qdisc" (the sum of all subscribers' queues), "class" (the access node's), and
    "subscribers", a mapping from subN to that subscriber's "class" and "qdisc". Of queues there are
    only the counters in _COUNTS, which can be added, such as bytes and drops. Subscribers whose
    class sent no packets are left out. With CAKE, the sum also has "tins": a list with one mapping,
    the sum of all tins."""
    root = next(qdisc for qdisc in direction.qdiscs if qdisc.parent == "root")
    leaves = {qdisc.handle: qdisc for qdisc in direction.qdiscs if qdisc is not root}
    node_class = next(qdisc for qdisc in direction.classes if qdisc.parent == "root")
    tins = [tin for leaf in leaves.values() for tin in _tins(leaf.counters)]
    subscribers = {}
    for htb in direction.classes:
        if htb is not node_class and htb.counters["packets"]:
            number = int(htb.handle.partition(":")[2], 16) - FIRST_CLASS
            subscribers[f"sub{number}"] = {"class": dict(htb.counters),
                                           "qdisc": _sum_counters([leaves[htb.leaf].counters])}
    return {
        "shaper": dict(root.counters),
        "qdisc": {**_sum_counters(leaf.counters for leaf in leaves.values()),
                  **({"tins": [_sum_counters(tins)]} if tins else {})},
        "class": dict(node_class.counters),
        "subscribers": subscribers,
    }


def _tins(counters: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the counters of CAKE's tins, empty for other qdiscs.

    counters: counters of a qdisc.
    """
    tins = counters.get("tins")
    return tins if isinstance(tins, list) else []


def _sum_counters(counters: Iterable[Mapping[str, object]]) -> dict[str, float]:
    """Return the sum of each counter in _COUNTS, by name. Counters that no qdisc has are left out.

    counters: counters of several qdiscs, by name.
    """
    sums: dict[str, float] = {}
    for qdisc_counters in counters:
        for name in _COUNTS:
            value = qdisc_counters.get(name)
            if isinstance(value, int | float):
                sums[name] = sums.get(name, 0) + value
    return sums

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
           "ecn_mark", "ce_mark", "marked")


def subscriber_counters(direction: Direction) -> dict[str, object]:
    """Return counters as a data file has them: of the `shaper`, of all queues as one `qdisc`, of
    the node's `class`, and of each subscriber through whose class something went."""
    root = next(each for each in direction.qdiscs if each.parent == "root")
    leaves = {each.handle: each for each in direction.qdiscs if each is not root}
    whole = next(each for each in direction.classes if each.parent == "root")
    tins = [tin for leaf in leaves.values() for tin in _tins(leaf.counters)]
    subscribers = {}
    for htb in direction.classes:
        if htb is not whole and htb.counters["packets"]:
            number = int(htb.handle.partition(":")[2], 16) - FIRST_CLASS
            subscribers[f"sub{number}"] = {"class": dict(htb.counters),
                                           "qdisc": _added([leaves[htb.leaf].counters])}
    return {
        "shaper": dict(root.counters),
        "qdisc": {**_added(leaf.counters for leaf in leaves.values()),
                  **({"tins": [_added(tins)]} if tins else {})},
        "class": dict(whole.counters),
        "subscribers": subscribers,
    }


def _tins(counters: Mapping[str, object]) -> list[Mapping[str, object]]:
    tins = counters.get("tins")
    return tins if isinstance(tins, list) else []


def _added(counters: Iterable[Mapping[str, object]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for each in counters:
        for name in _COUNTS:
            value = each.get(name)
            if isinstance(value, int | float):
                sums[name] = sums.get(name, 0) + value
    return sums

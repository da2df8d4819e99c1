# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell the kinds of qdisc, filters and devices that a router needs for a run."""

from __future__ import annotations

from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.scenario import Scenario

# Kinds that most runs need: the one that hooks replace others with, and the study's shaper.
ALWAYS = frozenset({"pfifo", "htb"})

KIND_OF_AQM = {name: queue.kind for name, queue in QUEUES.items()}

# Filters and devices, by their names in probe.sh -> the setting that needs them.
PARTS = {"u32": "tiers = 3", "flow": "aqm = drr", "ifb": "ingress = ifb"}


def kinds_of(scenario: Scenario) -> set[str]:
    """Return the kinds of qdisc, filters and devices that a run needs, by their names in probe.sh,
    such as "pfifo" (always), "fq_codel", "u32" or "ifb"."""
    queues = [QUEUES[scenario.router.queue(role)[0]] for role in ("down", "up")]
    kinds = {"pfifo", *(queue.kind for queue in queues),
             *(part for queue in queues for part in queue.parts)}
    if scenario.router.shaper in ("htb", "hfsc", "tbf"):
        kinds.add(scenario.router.shaper)
    if scenario.router.tiers == 3:
        kinds.add("u32")
    if scenario.router.ingress == "ifb":
        kinds.add("ifb")
    return kinds

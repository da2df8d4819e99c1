# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kinds of qdisc, and what else of the kernel, a router must have."""

from __future__ import annotations

from flent_aqm.asked.queues.aqms import AQMS
from flent_aqm.asked.scenario import Scenario

# What each hook puts there in passing, and the study's shaper.
ALWAYS = frozenset({"pfifo", "htb"})

KIND_OF_AQM = {name: aqm.kind for name, aqm in AQMS.items()}

# Filters and devices, as probe.sh names them -> what takes them.
PARTS = {"u32": "tiers = 3", "flow": "aqm = drr", "ifb": "ingress = ifb"}


def kinds_of(scenario: Scenario) -> set[str]:
    """The kinds for one run, and the parts."""
    queues = [scenario.queue(role)[0] for role in ("down", "up")]
    kinds = {"pfifo", *(KIND_OF_AQM[name] for name in queues)}
    if scenario.shaper in ("htb", "tbf"):
        kinds.add(scenario.shaper)
    if scenario.tiers == 3:
        kinds.add("u32")
    if "drr" in queues:
        kinds.add("flow")
    if scenario.ingress == "ifb":
        kinds.add("ifb")
    return kinds

# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kinds of qdisc a router must have."""

from __future__ import annotations

from flent_aqm.router.aqms import AQMS
from flent_aqm.scenario import Scenario

# What each hook puts there in passing, and the study's shaper.
ALWAYS = frozenset({"pfifo", "htb"})

KIND_OF_AQM = {name: aqm.kind for name, aqm in AQMS.items()}


def kinds_of(scenario: Scenario) -> set[str]:
    """The kinds for one run."""
    kinds = {"pfifo", *(KIND_OF_AQM[scenario.queue(role)[0]] for role in ("down", "up"))}
    if scenario.shaper in ("htb", "tbf"):
        kinds.add(scenario.shaper)
    return kinds

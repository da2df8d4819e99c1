# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kinds of qdisc a router must have."""

from __future__ import annotations

from flent_aqm.router.aqms import AQMS
from flent_aqm.scenario import Scenario

# The shaper, and the queue that each hook puts there in passing.
ALWAYS = frozenset({"htb", "pfifo"})

KIND_OF_AQM = {name: aqm.kind for name, aqm in AQMS.items()}


def kinds_of(scenario: Scenario) -> set[str]:
    """The kinds for one run."""
    return {*ALWAYS, KIND_OF_AQM[scenario.aqm]}

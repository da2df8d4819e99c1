# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a probe's round-trip time went: the router's queue, processor and cards, elsewhere.

The lab's kernel knows for each probe, on its way there and back, when it came to the router
and left each part of it; irtt knows the whole. What is missing between the two is elsewhere:
the hosts' interrupt moderation, added base delay, a modem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers, numbers

PROBES, PARTS = "Ping (ms) UDP irtt", "Probe parts"
# Our name -> the kernel's parts of it, in the order of a packet's way.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "queue": ("queue",),
    "processor": ("ring", "processor"),
    "cards": ("link", "card"),
}
ELSEWHERE = "elsewhere"


@dataclass(frozen=True, eq=False)
class DelayParts:
    """Probes that came back: when they were sent, in epoch seconds, and the ms that each
    spent in each of GROUPS and ELSEWHERE, both ways together."""

    sent_s: Numbers
    ms: Mapping[str, Numbers]

    @property
    def whole_ms(self) -> Numbers:
        """Round-trip times."""
        whole: Numbers = sum(self.ms.values(), numpy.zeros(self.sent_s.size))
        return whole

    def subset(self, which: Any) -> DelayParts:
        """Return those of the probes that a mask chooses."""
        return DelayParts(self.sent_s[which], {name: ms[which] for name, ms in self.ms.items()})

    def means_ms(self) -> dict[str, float]:
        """Return each part's mean; they add up to the mean round-trip time."""
        return {name: float(ms.mean()) for name, ms in self.ms.items()}


def delay_parts(raw: Mapping[str, Sequence[Mapping[str, Any]]]) -> DelayParts:
    """Return the parts of a run's probes, from its raw samples.

    A probe is known by irtt's number; one that was lost on its way has no round-trip time and
    is left out. Raises NotAvailable in a run without a model of the router.
    """
    if not raw.get(PARTS):
        raise NotAvailable("the file doesn't tell where its probes spent their time, as the "
                           "router had no model with cards and a processor; see "
                           "docs/router-models.md")
    spent: dict[int, dict[str, float]] = {}
    for one in raw[PARTS]:
        probe = spent.setdefault(int(one["seq"]), dict.fromkeys(GROUPS, 0.0) | {"ways": 0})
        probe["ways"] += 1
        for name, parts in GROUPS.items():
            probe[name] += sum(float(one[part]) for part in parts) / 1000
    back = [one for one in raw.get(PROBES, ()) if one.get("val") is not None
            and spent.get(int(one.get("seq", -1)), {}).get("ways") == 2]
    if not back:
        raise NotAvailable("no probe came back whose way through the router is known")
    rtt_ms = numbers([one["val"] for one in back], f"latency in {PROBES!r}")
    # irtt's samples carry the time at which they were back.
    sent_s = numbers([one["t"] for one in back], f"time in {PROBES!r}") - rtt_ms / 1000
    ms = {name: numpy.array([spent[int(one["seq"])][name] for one in back]) for name in GROUPS}
    inside: Numbers = sum(ms.values(), numpy.zeros(rtt_ms.size))
    return DelayParts(sent_s, {**ms, ELSEWHERE: rtt_ms - inside})

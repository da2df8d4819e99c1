# SPDX-License-Identifier: GPL-3.0-or-later
"""Divide the RTT of probes into the parts queue, processor and cards of the router, and elsewhere.

For each probe and its reply, the lab's kernel records when it came to the router and left each part
of it. irtt measures the RTT. The rest is elsewhere: the hosts' interrupt moderation, base delay, a
modem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult, NotAvailable, cause_of
from flent_aqm.results.data_file import Numbers, numbers

PROBES, PARTS = "Ping (ms) UDP irtt", "Probe parts"
# Name of a part -> the kernel's names, in the order in which a packet passes them.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "queue": ("queue",),
    "processor": ("ring", "processor"),
    "cards": ("link", "card"),
}
ELSEWHERE = "elsewhere"


@dataclass(frozen=True, eq=False)
class DelayParts:
    """Parts of the RTT of answered probes.

    Attributes:
        sent_s: when each probe was sent, in epoch seconds.
        ms: part (a key of GROUPS, or ELSEWHERE) -> ms that each probe and its reply spent in it
            together.
    """

    sent_s: Numbers
    ms: Mapping[str, Numbers]

    @property
    def whole_ms(self) -> Numbers:
        """RTT of each probe in ms, the sum of its parts."""
        whole: Numbers = sum(self.ms.values(), numpy.zeros(self.sent_s.size))
        return whole

    def subset(self, mask: Any) -> DelayParts:
        """Return the probes that `mask` (or an array of indices) selects, in a new object."""
        return DelayParts(self.sent_s[mask], {name: ms[mask] for name, ms in self.ms.items()})

    def means_ms(self) -> dict[str, float]:
        """Return part -> its mean in ms over the probes, of which there must be at least one. The
        means add up to the mean RTT."""
        return {name: float(ms.mean()) for name, ms in self.ms.items()}


def delay_parts(raw: Mapping[str, Sequence[Mapping[str, Any]]]) -> DelayParts:
    """Return the parts of the RTT of the answered probes of the series "Ping (ms) UDP irtt"
    (PROBES).

    A probe and its reply are recognised by irtt's number. Probes are left out if they were lost, if
    they have no number, or if the passage of the probe or of its reply through the router was not
    recorded.

    Args:
        raw: name of a series -> its raw samples.

    Raises NotAvailable if the file has no series of passages, as without a router model with cards
    and a processor, or if no probe is left. Raises BadResult if a sample lacks another field, or
    has something else than a number in it.
    """
    if PARTS not in raw:
        raise NotAvailable("the file does not record where its probes spent their time, which "
                           "takes the lab and a router model with cards and a processor; see "
                           "docs/router-models.md")
    spent: dict[int, dict[str, float]] = {}
    try:
        for passage in raw[PARTS]:
            probe = spent.setdefault(int(passage["seq"]), dict.fromkeys(GROUPS, 0.0) | {"ways": 0})
            probe["ways"] += 1
            for name, parts in GROUPS.items():
                probe[name] += sum(float(passage[part]) for part in parts) / 1000
        back = [one for one in raw.get(PROBES, ()) if one.get("val") is not None
                and spent.get(int(one.get("seq", -1)), {}).get("ways") == 2]
    except (KeyError, TypeError, ValueError) as fault:
        raise BadResult(f"a sample of {PARTS!r} or {PROBES!r} is damaged: {cause_of(fault)}"
                        ) from None
    if not back:
        raise NotAvailable("no probe came back whose way there and back through the router was "
                           "recorded")
    rtt_ms = numbers([one["val"] for one in back], f"latency in {PROBES!r}")
    # The time of irtt's samples is that of the reply.
    sent_s = numbers([one.get("t") for one in back], f"time in {PROBES!r}") - rtt_ms / 1000
    ms = {name: numpy.array([spent[int(one["seq"])][name] for one in back]) for name in GROUPS}
    inside: Numbers = sum(ms.values(), numpy.zeros(rtt_ms.size))
    return DelayParts(sent_s, {**ms, ELSEWHERE: rtt_ms - inside})

# SPDX-License-Identifier: GPL-3.0-or-later
"""The router's queues while a run went on, as they were sampled: what stands in them, and for how
long it will.

A queue's delay at a moment is the time until it has sent as many bytes as stand in it then. Source:
arithmetic on the kernel's counters; what a queue drops later is counted as if it were sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.results.data_file import Numbers, numbers

QUEUES, RUNNER = "Queues", "AqmQdiscRunner"
# Direction -> the router's device in whose queue its packets wait.
DEVICES = {"download": "down", "upload": "up"}

Samples = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Queue:
    """One device's queue at at_s, in epoch seconds. drops and marks: packets since the
    sample before; sent_bytes: since the first one."""

    at_s: Numbers
    backlog_bytes: Numbers
    backlog_packets: Numbers
    drops: Numbers
    marks: Numbers
    sent_bytes: Numbers

    @property
    def delay_ms(self) -> Numbers:
        """Return its delay at each sample; of what isn't sent by the last one, until that. Raises
        NotAvailable."""
        if not self.sent_bytes.size:
            raise NotAvailable("the file doesn't tell what the router's queues sent")
        # Half a byte less: of the samples between which nothing was sent, the first.
        gone_s = numpy.interp(self.sent_bytes + self.backlog_bytes - 0.5, self.sent_bytes,
                              self.at_s)
        waits: Numbers = numpy.where(self.backlog_bytes > 0, (gone_s - self.at_s) * 1000, 0.0)
        return waits


def queues(raw: Mapping[str, Samples]) -> dict[str, Queue]:
    """Direction -> its queue on the router; empty without samples. Raises BadResult."""
    samples = raw.get(QUEUES)
    if not samples:
        return {}
    at_s = column(samples, QUEUES, "t")

    def of(device: str) -> Queue:
        drops, marks = (numpy.diff(column(samples, QUEUES, f"{device}_{counter}"), prepend=0)
                        for counter in ("drops", "marks"))
        sent = f"{device}_sent_bytes"
        return Queue(at_s, column(samples, QUEUES, f"{device}_backlog_bytes"),
                     column(samples, QUEUES, f"{device}_backlog_packets"), drops, marks,
                     # Early files have none.
                     column(samples, QUEUES, sent) if sent in samples[0] else numpy.empty(0))

    # A file may have the samples of some of the fields only.
    return {way: of(device) for way, device in DEVICES.items() if f"{device}_drops" in samples[0]}


def column(samples: Samples, series: str, name: str) -> Numbers:
    """Return one field of all samples. Raises BadResult."""
    try:
        return numbers([one[name] for one in samples], f"{name} in {series!r}")
    except KeyError:
        raise BadResult(f"a sample of {series!r} has no {name}") from None

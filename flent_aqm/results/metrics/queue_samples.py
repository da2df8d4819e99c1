# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads samples of the router's queues over time: backlog and delay.

The delay at a moment is the time until the queue has sent as many bytes as are in it then. Source:
arithmetic on the kernel's counters. Packets that the queue drops later count as if they were sent.
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
    """Samples of a device's queues over time: backlog, packets dropped and marked since the
    previous sample, and bytes sent since the first sample."""

    # Time of each sample in epoch seconds.
    at_s: Numbers
    backlog_bytes: Numbers
    backlog_packets: Numbers
    # Packets since the previous sample.
    drops: Numbers
    marks: Numbers
    # Bytes since the first sample, empty in early files.
    sent_bytes: Numbers

    @property
    def delay_ms(self) -> Numbers:
        """Delay of the queue at each sample. Bytes that were not sent by the last sample count
        until then. Raises NotAvailable."""
        if not self.sent_bytes.size:
            raise NotAvailable("the file does not record how much the router's queues sent")
        # Half a byte is subtracted to find the first of several samples between which nothing was
        # sent.
        gone_s = numpy.interp(self.sent_bytes + self.backlog_bytes - 0.5, self.sent_bytes,
                              self.at_s)
        waits: Numbers = numpy.where(self.backlog_bytes > 0, (gone_s - self.at_s) * 1000, 0.0)
        return waits


def queues(raw: Mapping[str, Samples]) -> dict[str, Queue]:
    """Return the router's queue for each direction, empty without samples. Raises BadResult.

    raw: series -> raw samples.
    """
    samples = raw.get(QUEUES)
    if not samples:
        return {}
    at_s = column(samples, QUEUES, "t")

    def of(device: str) -> Queue:
        """Return the queue of a device."""
        drops, marks = (numpy.diff(column(samples, QUEUES, f"{device}_{counter}"), prepend=0)
                        for counter in ("drops", "marks"))
        sent = f"{device}_sent_bytes"
        return Queue(at_s, column(samples, QUEUES, f"{device}_backlog_bytes"),
                     column(samples, QUEUES, f"{device}_backlog_packets"), drops, marks,
                     # Early files don't have this field.
                     column(samples, QUEUES, sent) if sent in samples[0] else numpy.empty(0))

    # A file may lack the fields of a device.
    return {way: of(device) for way, device in DEVICES.items() if f"{device}_drops" in samples[0]}


def column(samples: Samples, series: str, name: str) -> Numbers:
    """Return a field of all samples as an array. series: names them in errors. Raises BadResult."""
    try:
        return numbers([one[name] for one in samples], f"{name} in {series!r}")
    except KeyError:
        raise BadResult(f"a sample of {series!r} has no {name}") from None

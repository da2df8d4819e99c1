# SPDX-License-Identifier: GPL-3.0-or-later
"""Read samples of the router's queues over time: backlog and delay.

The delay at a moment is the time until the queue has sent as many bytes as are in it then, or is
empty. Source: arithmetic on the kernel's counters. Packets that the queue drops later count as if
they were sent, until it is empty.
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
class QueueSamples:
    """Samples of a device's queues over time, all queues together.

    Attributes:
        at_s: time of each sample in epoch seconds.
        backlog_bytes: bytes in the queues at each sample.
        backlog_packets: packets in the queues at each sample.
        drops: packets dropped since the previous sample. At the first sample it is the file's
            counter, usually 0.
        marks: packets marked (ECN) since the previous sample, from the file's counter as `drops`
            are.
        sent_bytes: bytes sent since the first sample, empty in early files.
    """

    at_s: Numbers
    backlog_bytes: Numbers
    backlog_packets: Numbers
    drops: Numbers
    marks: Numbers
    sent_bytes: Numbers

    @property
    def delay_ms(self) -> Numbers:
        """Delay of the queue in ms at each sample: the time until as many bytes have been sent as
        are in it then, or until the queue is empty, whichever is first; 0 if it is empty. If
        neither happened by the last sample, it is the time until that one, and so too low. Raises
        NotAvailable if the file doesn't record the bytes sent."""
        if not self.sent_bytes.size:
            raise NotAvailable("the file does not record how much the router's queues sent")
        # Half a byte is subtracted to find the first of several samples between which nothing was
        # sent.
        gone_s = numpy.interp(self.sent_bytes + self.backlog_bytes - 0.5, self.sent_bytes,
                              self.at_s)
        gone_s = numpy.minimum(gone_s, self._empty_s())
        waits: Numbers = numpy.where(self.backlog_bytes > 0, (gone_s - self.at_s) * 1000, 0.0)
        return waits

    def _empty_s(self) -> Numbers:
        """Return for each sample with packets in the queue when it is empty for the first time
        afterwards, in epoch seconds, infinity if it isn't by the last sample.

        Between two samples of which the second finds it empty, the queue first sends what is in it
        and then little or nothing: the mean rate of such an interval is too low. It sends at the
        rate of the last interval that began and ended with packets in the queue, or at that mean if
        it is higher.
        """
        spans_s, sent = numpy.diff(self.at_s), numpy.diff(self.sent_bytes)
        stands = self.backlog_bytes > 0
        rates = numpy.divide(sent, spans_s, out=numpy.zeros_like(sent), where=spans_s > 0)
        # Index of the last interval before each one in which the queue stood at both ends, or -1.
        busy = numpy.where(stands[:-1] & stands[1:], numpy.arange(rates.size), -1)
        last = numpy.concatenate(([-1], numpy.maximum.accumulate(busy)[:-1])) if busy.size else busy
        rates = numpy.maximum(rates, numpy.where(last >= 0, rates[last], 0.0))
        needs_s = numpy.divide(self.backlog_bytes[:-1], rates, out=spans_s.copy(), where=rates > 0)
        drained_s = numpy.where(stands[:-1] & ~stands[1:],
                                self.at_s[:-1] + numpy.minimum(needs_s, spans_s), numpy.inf)
        return numpy.minimum.accumulate(numpy.append(drained_s, numpy.inf)[::-1])[::-1]


def queues(raw: Mapping[str, Samples]) -> dict[str, QueueSamples]:
    """Return "download" and "upload" -> samples of the queues of the device where that direction
    waits. Empty without samples of the series QUEUES. A direction is left out if the first sample
    lacks its `down_drops` or `up_drops`. `sent_bytes` is empty if the first sample lacks that
    field. Raises BadResult if any other field, or `sent_bytes` only in a later sample, is missing,
    or if a value is not a number.

    Args:
        raw: name of a series -> its raw samples.
    """
    samples = raw.get(QUEUES)
    if not samples:
        return {}
    at_s = column(samples, QUEUES, "t")

    def read_queue(device: str) -> QueueSamples:
        """Return the queue of a device, "down" or "up", from `samples`. `sent_bytes` is empty if
        the first sample lacks that field. Raises BadResult if any other field, or `sent_bytes`
        only in a later sample, is missing, or if a value is not a number."""
        drops, marks = (numpy.diff(column(samples, QUEUES, f"{device}_{counter}"), prepend=0)
                        for counter in ("drops", "marks"))
        sent = f"{device}_sent_bytes"
        return QueueSamples(at_s, column(samples, QUEUES, f"{device}_backlog_bytes"),
                     column(samples, QUEUES, f"{device}_backlog_packets"), drops, marks,
                     # Early files don't have this field.
                     column(samples, QUEUES, sent) if sent in samples[0] else numpy.empty(0))

    # A file may lack the fields of a device.
    return {way: read_queue(device) for way, device in DEVICES.items()
            if f"{device}_drops" in samples[0]}


def column(samples: Samples, series: str, name: str) -> Numbers:
    """Return a field of all samples as an array of floats. Raises BadResult if a sample lacks it,
    or if a value is not a finite number.

    Args:
        samples: raw samples.
        series: name of the series, for messages.
        name: key of the field.
    """
    try:
        return numbers([one[name] for one in samples], f"{name} in {series!r}")
    except KeyError:
        raise BadResult(f"a sample of {series!r} has no {name}: the file is damaged; repeat the "
                        "run") from None

# SPDX-License-Identifier: GPL-3.0-or-later
"""What was seen beside the tools while a run went on: captured headers, the router's queues.

Both are series of our own tests (docs/reference/data-format.md), several values a sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import Numbers, numbers
from flent_aqm.results.raw_samples import packed_of

CAPTURE, QUEUES = "Capture", "Queues"
# Direction -> the router's device in whose queue its packets wait.
DEVICES = {"download": "down", "upload": "up"}

RawValues = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, eq=False)
class Captured:
    """Throughput in Mbit/s by name ("download", "cross_upload", …), of steps that end at
    at_s, in epoch seconds."""

    at_s: Numbers
    mbps: Mapping[str, Numbers]


@dataclass(frozen=True, eq=False)
class Queue:
    """One device's queue at at_s, in epoch seconds. drops and marks: packets since the
    sample before."""

    at_s: Numbers
    backlog_bytes: Numbers
    backlog_packets: Numbers
    drops: Numbers
    marks: Numbers


def captured(raw: RawValues) -> Captured | None:
    """Return the throughput from captured headers, or None without. Raises BadResult."""
    samples = raw.get(CAPTURE)
    if not samples:
        return None
    names = [name for name in samples[0]
             if name not in ("t", "dur", "val") and not name.endswith("_wire")]
    return Captured(_column(samples, CAPTURE, "t"),
                    {name: _column(samples, CAPTURE, name) for name in names})


def queues(raw: RawValues) -> dict[str, Queue]:
    """Direction -> its queue on the router; empty without samples. Raises BadResult."""
    samples = raw.get(QUEUES)
    if not samples:
        return {}
    at_s = _column(samples, QUEUES, "t")
    return {way: Queue(
        at_s,
        _column(samples, QUEUES, f"{device}_backlog_bytes"),
        _column(samples, QUEUES, f"{device}_backlog_packets"),
        *(numpy.diff(_column(samples, QUEUES, f"{device}_{counter}"), prepend=0)
          for counter in ("drops", "marks")))
        for way, device in DEVICES.items()}


def captured_in(results: Any) -> Captured | None:
    """captured() of a result set of Flent's, read once."""
    packed = packed_of(results)
    return packed.once("captured", lambda: captured(packed.as_plain()))


def queues_in(results: Any) -> dict[str, Queue]:
    """queues() of a result set of Flent's, read once."""
    packed = packed_of(results)
    return packed.once("queues", lambda: queues(packed.as_plain()))


def _column(samples: Sequence[Mapping[str, Any]], series: str, name: str) -> Numbers:
    try:
        return numbers([one[name] for one in samples], f"{name} in {series!r}")
    except KeyError:
        raise BadResult(f"a sample of {series!r} has no {name}") from None

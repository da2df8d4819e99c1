# SPDX-License-Identifier: GPL-3.0-or-later
"""What was seen beside the tools while a run went on: captured headers, the router's queues.

Both are series of our own tests (docs/reference/data-format.md), several values a sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.queue_samples import Queue, column, queues
from flent_aqm.results.result_set import once, samples_of

CAPTURE = "Capture"

RawValues = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, eq=False)
class Captured:
    """Throughput in Mbit/s by name ("download", "cross_upload", …), of steps that end at
    at_s, in epoch seconds."""

    at_s: Numbers
    mbps: Mapping[str, Numbers]


def captured(raw: RawValues) -> Captured | None:
    """Return the throughput from captured headers, or None without. Raises BadResult."""
    samples = raw.get(CAPTURE)
    if not samples:
        return None
    names = [name for name in samples[0]
             if name not in ("t", "dur", "val") and not name.endswith("_wire")]
    return Captured(column(samples, CAPTURE, "t"),
                    {name: column(samples, CAPTURE, name) for name in names})


def captured_in(results: Any) -> Captured | None:
    """captured() of a result set of Flent's, read once."""
    return once(results, "captured", lambda: captured(samples_of(results)))


def queues_in(results: Any) -> dict[str, Queue]:
    """queues() of a result set of Flent's, read once."""
    return once(results, "queues", lambda: queues(samples_of(results)))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Read series that were sampled beside the tools: captured packets, and the router's queues.

Both are series of this package's tests with several values per sample
(docs/reference/data-format.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.queue_samples import QueueSamples, column, queues
from flent_aqm.results.reading.series import series_of
from flent_aqm.results.result_set import data_file_of, once, samples_of

CAPTURE = "Capture"

RawValues = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, eq=False)
class Captured:
    """Throughput of captured packets in Mbit/s, payload only.

    Attributes:
        at_s: end of each step, in epoch seconds.
        mbps: "download" or "upload" for the test, "cross_download" or "cross_upload" for cross
            traffic -> throughput in each step.
    """

    at_s: Numbers
    mbps: Mapping[str, Numbers]


def captured(raw: RawValues) -> Captured | None:
    """Return the throughput of captured packets, payload only. None without a capture. Raises
    BadResult if a sample lacks a field or has one that is not a number.

    Args:
        raw: name of a series -> its raw samples.
    """
    samples = raw.get(CAPTURE)
    if not samples:
        return None
    names = [name for name in samples[0]
             if name not in ("t", "dur", "val") and not name.endswith("_wire")]
    return Captured(column(samples, CAPTURE, "t"),
                    {name: column(samples, CAPTURE, name) for name in names})


def captured_in(results: Any) -> Captured | None:
    """Return the throughput of captured packets, payload only, of a result set of Flent. It is
    computed once. None without a capture. Raises BadResult if a sample lacks a field or has one
    that is not a number."""
    return once(results, "captured", lambda: captured(samples_of(results)))


def capture_of(results: Any) -> Captured:
    """Return the throughput as captured_in() does. Raises NotAvailable with why_not_captured() if
    there is no capture, BadResult as both do."""
    capture = captured_in(results)
    if capture is None:
        raise NotAvailable(why_not_captured(results))
    return capture


def why_not_captured(results: Any) -> str:
    """Return that a result set of Flent has no capture, and the reason: the failure that its file
    records for the series, or that it has no such series. Raises BadResult as data_file_of() does.
    """
    series = series_of(data_file_of(results)).get(CAPTURE)
    return "no packets were captured: " + ((series.failure if series else "") or (
        f"the file has no samples of a series {CAPTURE!r}, which a test such as iperf3_upload "
        "records"))


def queues_in(results: Any) -> dict[str, QueueSamples]:
    """Return direction ("download", "upload") -> samples of the router's queue, of a result set of
    Flent. They are read once. A direction that was not sampled is missing; empty if none was.
    Raises BadResult if the samples are damaged."""
    return once(results, "queues", lambda: queues(samples_of(results)))

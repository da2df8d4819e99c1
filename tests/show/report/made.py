# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of a report, made of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.percentiles import percentile_or_lost
from flent_aqm.show.report.facts import RunFacts
from flent_aqm.show.report.findings import LATENCIES
from flent_aqm.show.report.gather import ReportRow
from flent_aqm.show.report.model import build

LOST = math.inf


def row(aqm: str, sent_ms: Sequence[float], mbps: float | Mapping[str, float] = 95.6,
        more: Mapping[str, float] | None = None, **settings: Any) -> ReportRow:
    """A run with these probes under load; mbps: by direction, or of an upload; more: other
    metrics."""
    output: dict[str, Any] = {"test": "iperf3_upload", "aqm": aqm, "rate_mbps": 100.0} | settings
    ways = mbps if isinstance(mbps, Mapping) else {"upload": mbps}
    metrics = {f"{kind}_{way}_mbps": value for way, value in ways.items()
               for kind in ("throughput", "total")} | dict(more or {})
    for percent, name in LATENCIES.items():
        try:
            metrics[name] = percentile_or_lost(sent_ms, percent)
        except NotAvailable:
            continue
    if len(sent_ms):
        metrics["loss_loaded_pct"] = 100 * float(numpy.isinf(sent_ms).mean())
    loaded_ms = {way: numpy.array(sent_ms, numpy.float32) for way in ways if len(sent_ms)}
    return ReportRow(Path(f"{aqm}.flent.gz"), output, loaded_ms, metrics, {}, {},
                     RunFacts({}, None, False, None, None), (),
                     no_latency="" if len(sent_ms) else "no probe was sent under load")


def output(rows: Sequence[ReportRow]) -> str:
    """All sentences of a report on some runs."""
    return " ".join(build(rows, [], [], "made").headline)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Data files in the forms of Flent's and netperf-wrapper's first years, of invented numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.files import save

T0_S = 1_460_000_000.0
LENGTH_S, DELAY_S, STEP_S = 60.0, 5.0, 0.2
TOTAL_S = LENGTH_S + 2 * DELAY_S
MS: dict[str, Any] = {"UNITS": "ms"}
MBPS: dict[str, Any] = {"UNITS": "Mbits/s"}

Samples = list[dict[str, Any]]


def metadata(series: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Any]:
    """Return the metadata of an rrul_be run; without SERIES_META for None."""
    known = {} if series is None else {"SERIES_META": dict(series)}
    return {"NAME": "rrul_be", "TITLE": "invented", "HOST": "server.example",
            "LOCAL_HOST": "client.example", "LENGTH": LENGTH_S, "TOTAL_LENGTH": TOTAL_S,
            "STEP_SIZE": STEP_S, "TIME": "2016-04-07T03:33:20.000000Z", **known}


def whole(raw: Mapping[str, Samples], series: Mapping[str, Mapping[str, Any]] | None,
          version: int = 3) -> dict[str, Any]:
    """Return a file's content with raw samples."""
    count = int(TOTAL_S / STEP_S) + 1
    return {"metadata": metadata(series), "version": version,
            "x_values": [step * STEP_S for step in range(count)],
            "results": {name: [None] * count for name in raw}, "raw_values": dict(raw)}


def write(path: Path, content: Mapping[str, Any]) -> Path:
    """Write a data file."""
    save(path, content)
    return path


def ping(rtt_ms: float = 5.0, missing: Sequence[int] = (), numbered: bool = True) -> Samples:
    """Return a ping every 200 ms over all of the run."""
    return [{"t": T0_S + step * STEP_S, "val": rtt_ms, **({"seq": step} if numbered else {})}
            for step in range(int(TOTAL_S / STEP_S)) if step not in missing]


def tcp(mbps: float, begin_s: float = DELAY_S, end_s: float = DELAY_S + LENGTH_S) -> Samples:
    """Return a flow's intervals of 200 ms."""
    return [{"t": T0_S + begin_s + (step + 1) * STEP_S, "val": mbps, "dur": STEP_S}
            for step in range(round((end_s - begin_s) / STEP_S))]


def request_response(rtt_ms: float, until_s: float, last: tuple[float, float] | None = None
                     ) -> Samples:
    """Return netperf's transactions per second until a time; last: transactions per second of an
    interval from then on, and its length in s."""
    samples = [{"t": T0_S + (step + 1) * STEP_S, "val": 1000 / rtt_ms, "dur": STEP_S}
               for step in range(round(until_s / STEP_S))]
    if last is not None:
        samples.append({"t": T0_S + until_s + last[1], "val": last[0], "dur": last[1]})
    return samples

# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a client: measured rates and latencies, written as JSON and read by the runner."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flent_aqm.base.errors import ParseError, cause_of
from flent_aqm.base.json_text import json_text
from flent_aqm.tools.tool import Tool

# Key of the metadata under which read_report() hands fields of Load to the runner. The runner
# removes it.
CLOCK = "CLOCK"
# What Flent stores of a direction: series as [time, value], raw samples, metadata.
Parsed = tuple[list[list[float]], list[dict[str, float]], dict[str, Any]]


@dataclass
class Way:
    """The load in one direction, download or upload. Times are in monotonic seconds."""

    # Begin and end of the load; None before it begins.
    start_s: float | None = None
    end_s: float = 0.0
    # Throughput that the client shows, in Mbit/s.
    mbps: float | None = None
    total_bytes: int = 0
    # The client counts its times from a moment that this process can't see. A capture may show the
    # load's begin better.
    own_clock: bool = False
    # The connection carries data before the load begins, so a capture can't show its begin.
    warms_up: bool = False
    # Of each step: its end, its length in s, and the bytes in it.
    rates: list[tuple[float, float, int]] = field(default_factory=list)
    # Of each measured time: when it began, what was measured, and the time in ms.
    probes: list[tuple[float, str, float]] = field(default_factory=list)

    def begin(self, at_s: float) -> None:
        """Record that the load begins at `at_s`, unless it has begun before."""
        if self.start_s is None:
            self.start_s = self.end_s = at_s

    def show(self, at_s: float, mbps: float) -> None:
        """Record a rate that the client displayed at `at_s`. It is taken as constant since the
        previous rate."""
        length_s = at_s - self.end_s
        if length_s > 0:
            self.rates.append((at_s, length_s, round(mbps * length_s * 125_000)))
        self.end_s = at_s

    def count(self, size: int) -> None:
        """Add `size` to the bytes that were transferred."""
        self.total_bytes += size

    def probe(self, what: str, sent_s: float, ms: float) -> None:
        """Record a measured time `ms` of the kind `what`, which began at `sent_s`."""
        self.probes.append((sent_s, what, ms))


@dataclass
class Report:
    """All that a client measured."""

    # Name of the client.
    client: str
    # The loads by direction, "download" and "upload".
    ways: dict[str, Way] = field(default_factory=dict)
    # Latencies that were measured on the idle line.
    idle: Way = field(default_factory=Way)
    # Values of the tool's numbers, by name.
    numbers: dict[str, float] = field(default_factory=dict)
    # Sentences that a reader of this run has to know.
    notes: list[str] = field(default_factory=list)

    def way(self, direction: str) -> Way:
        """Return the load of a direction, "download" or "upload". The first call creates it."""
        return self.ways.setdefault(direction, Way())

    def at(self, at_s: float) -> Way:
        """Return the load that ran at `at_s`, or `idle` if none did."""
        return next((way for way in self.ways.values()
                     if way.start_s is not None and way.start_s <= at_s <= way.end_s), self.idle)

    def text(self) -> str:
        """Return the report as JSON, with epoch seconds, to whole microseconds."""
        epoch_s = time.time() - time.monotonic()
        return json_text({
            "client": self.client, "numbers": self.numbers, "notes": self.notes,
            "idle": [_probe(one, epoch_s) for one in self.idle.probes],
            "ways": {name: {
                "start_s": round((way.start_s or 0.0) + epoch_s, 6),
                "end_s": round(way.end_s + epoch_s, 6), "mbps": way.mbps,
                "own_clock": way.own_clock, "warms_up": way.warms_up,
                "rates": [{"t": round(end_s + epoch_s, 6), "dur": round(length_s, 6),
                           "val": 8e-6 * size / length_s}
                          for end_s, length_s, size in way.rates if length_s > 0],
                "probes": [_probe(one, epoch_s) for one in way.probes],
            } for name, way in self.ways.items() if way.start_s is not None}})


def _probe(probe: tuple[float, str, float], epoch_s: float) -> Mapping[str, Any]:
    sent_s, what, ms = probe
    return {"t": round(sent_s + epoch_s, 6), what: round(ms, 6)}


def read_report(text: str, tool: Tool) -> dict[str, Parsed]:
    """Return what Flent stores of a report, by direction. Raises ParseError if the report is not of
    this form, or has a throughput below 0."""
    try:
        report = json.loads(text)
        names = {number.name for number in tool.numbers}
        numbers = {name: float(value) for name, value in report["numbers"].items()
                   if name in names}
        idle = [{("t" if name == "t" else f"idle_{name}"): float(value)
                 for name, value in one.items()} for one in report["idle"]]
        by_direction: dict[str, Parsed] = {}
        for direction, way in report["ways"].items():
            if not 0 <= float(way["mbps"]) < math.inf:
                raise ParseError(f"{tool.name} reports {way['mbps']} Mbit/s of {direction}; "
                                 "expected 0 or more")
            samples = [{name: float(value) for name, value in one.items()}
                       for one in (*way["rates"], *way["probes"])]
            # Latencies of the idle line are stored with the first direction.
            samples += [] if by_direction else idle
            by_direction[direction] = (
                [[one["t"], one["val"]] for one in samples if "val" in one],
                sorted(samples, key=lambda one: one["t"]), {
                    "MEAN_VALUE": float(way["mbps"]), "LOAD_START": float(way["start_s"]),
                    "LOAD_END": float(way["end_s"]),
                    CLOCK: {one: bool(way.get(one)) for one in ("own_clock", "warms_up")},
                    "SPEEDTEST": {"client": tool.name, "numbers": numbers}})
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise ParseError(f"{tool.name}: its report can't be read ({cause_of(fault)}); it starts "
                         "with "
                         f"{text[:60]!r}") from None
    return by_direction

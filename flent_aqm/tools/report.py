# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client found: written by it as JSON, read by the runner."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flent_aqm.base.errors import ParseError
from flent_aqm.tools.tool import Tool

# Of the metadata, until the runner takes it out: fields of its Load.
CLOCK = "CLOCK"
# What Flent keeps of a direction: series, raw samples, metadata.
Parsed = tuple[list[list[float]], list[dict[str, float]], dict[str, Any]]


@dataclass
class Way:
    """One direction. Times are monotonic. rates: end, length in s, and bytes of each step;
    probes: time, what was timed, and ms. mbps: the throughput that the client tells; own_clock: it
    counts times from a moment of its own, which the capture may tell better; warms_up: its
    connection has data before the load begins, so that no capture tells when that is."""

    start_s: float | None = None
    end_s: float = 0.0
    mbps: float | None = None
    total_bytes: int = 0
    own_clock: bool = False
    warms_up: bool = False
    rates: list[tuple[float, float, int]] = field(default_factory=list)
    probes: list[tuple[float, str, float]] = field(default_factory=list)

    def begin(self, at_s: float) -> None:
        """Its load starts, unless it has before."""
        if self.start_s is None:
            self.start_s = self.end_s = at_s

    def show(self, at_s: float, mbps: float) -> None:
        """A rate that the client showed then, kept for the time since the one before."""
        length_s = at_s - self.end_s
        if length_s > 0:
            self.rates.append((at_s, length_s, round(mbps * length_s * 125_000)))
        self.end_s = at_s

    def count(self, size: int) -> None:
        """Bytes that were transferred."""
        self.total_bytes += size

    def probe(self, what: str, sent_s: float, ms: float) -> None:
        """A time that was measured."""
        self.probes.append((sent_s, what, ms))


@dataclass
class Report:
    """numbers: by the names of the tool's; notes: what a reader has to know of this run."""

    client: str
    ways: dict[str, Way] = field(default_factory=dict)
    idle: Way = field(default_factory=Way)
    numbers: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def way(self, direction: str) -> Way:
        """Return that of "download" or "upload", made when it is first asked for."""
        return self.ways.setdefault(direction, Way())

    def at(self, at_s: float) -> Way:
        """Return the direction whose load ran then, or that of the idle line."""
        return next((way for way in self.ways.values()
                     if way.start_s is not None and way.start_s <= at_s <= way.end_s), self.idle)

    def text(self) -> str:
        """Return the report as JSON, with epoch seconds, to whole microseconds."""
        epoch_s = time.time() - time.monotonic()
        return json.dumps({
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
    """Return what Flent keeps of a tool's report, by direction. Raises ParseError."""
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
            # Those of the idle line go with the first direction.
            samples += [] if by_direction else idle
            by_direction[direction] = (
                [[one["t"], one["val"]] for one in samples if "val" in one],
                sorted(samples, key=lambda one: one["t"]), {
                    "MEAN_VALUE": float(way["mbps"]), "LOAD_START": float(way["start_s"]),
                    "LOAD_END": float(way["end_s"]),
                    CLOCK: {one: bool(way.get(one)) for one in ("own_clock", "warms_up")},
                    "SPEEDTEST": {"client": tool.name, "numbers": numbers}})
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise ParseError(f"{tool.name}: its report can't be read ({fault!r}); it starts with "
                         f"{text[:60]!r}") from None
    return by_direction

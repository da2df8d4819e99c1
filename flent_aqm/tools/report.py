# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines a client's report: rates and latencies, written as JSON and read by the runner."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flent_aqm.base.errors import BadResult, ParseError, cause_of
from flent_aqm.base.json_text import json_text
from flent_aqm.tools.tool import Tool

# Key of the metadata under which read_report() hands fields of Load to the runner. The runner
# removes it.
CLOCK = "CLOCK"
# No client measures a faster one.
MOST_MBPS = 1e9
# What Flent stores of a direction: series as [time, value], raw samples, metadata.
Parsed = tuple[list[list[float]], list[dict[str, float]], dict[str, Any]]


@dataclass
class DirectionLoad:
    """The load in one direction, download or upload. Times are in monotonic seconds.

    Attributes:
        start_s: begin of the load, None before it begins.
        end_s: end of the load so far, as begin(), show() or the client set it. 0 before the load
            begins.
        mbps: throughput that the client shows, in Mbit/s. The client sets it: read_report() refuses
            a report in which a load has begun and this is None.
        total_bytes: bytes that were transferred, as count() adds them. Not in the report.
        own_clock: True if the client counts its times from a moment that this process can't see. A
            capture may show the load's begin better.
        warms_up: True if the connection carries data before the load begins, so a capture can't
            show its begin.
        rates: for each step its end, its length in s, and the bytes in it.
        probes: for each measured time its begin, its kind such as "http_ms", and the time in ms.
    """

    start_s: float | None = None
    end_s: float = 0.0
    mbps: float | None = None
    total_bytes: int = 0
    own_clock: bool = False
    warms_up: bool = False
    rates: list[tuple[float, float, int]] = field(default_factory=list)
    probes: list[tuple[float, str, float]] = field(default_factory=list)

    def begin(self, at_s: float) -> None:
        """Record that the load begins, in start_s and end_s, unless it has begun before.

        at_s: the time in monotonic seconds.
        """
        if self.start_s is None:
            self.start_s = self.end_s = at_s

    def show(self, at_s: float, mbps: float) -> None:
        """Record in `rates` a rate that the client displayed. It is taken as constant since the
        previous rate, or since the begin. begin() comes first. If no time has passed since then, or
        the time is earlier, the rate is left out. The attribute `mbps` stays as it is.

        Args:
            at_s: the time in monotonic seconds.
            mbps: the rate in Mbit/s.

        Raises BadResult if the rate is below 0, above MOST_MBPS, or no number.
        """
        if not 0 <= mbps <= MOST_MBPS:
            raise BadResult(f"the client's rate is read as {mbps:.10g} Mbit/s; expected 0 to "
                            f"{MOST_MBPS:.10g}: perhaps it has another unit, such as bit/s")
        length_s = at_s - self.end_s
        if length_s > 0:
            self.rates.append((at_s, length_s, round(mbps * length_s * 125_000)))
        self.end_s = max(self.end_s, at_s)

    def count(self, size: int) -> None:
        """Add to total_bytes, the bytes that were transferred.

        size: number of bytes.
        """
        self.total_bytes += size

    def probe(self, kind: str, sent_s: float, ms: float) -> None:
        """Record a measured time.

        Args:
            kind: kind of the time, a key of the data file's samples, such as "http_ms".
                read_report() puts "idle_" before the kinds of ClientReport.idle.
            sent_s: begin of the measurement in monotonic seconds.
            ms: the measured time in ms.
        """
        self.probes.append((sent_s, kind, ms))


@dataclass
class ClientReport:
    """All that a client measured.

    Attributes:
        client: name of the client.
        loads: the loads by direction, "download" and "upload". Missing until load() creates them.
        idle: its `probes` are the latencies that were measured on the idle line. The rest is
            unused.
        numbers: values of the tool's numbers, by Number.name.
        notes: sentences that a reader of this run has to know.
    """

    client: str
    loads: dict[str, DirectionLoad] = field(default_factory=dict)
    idle: DirectionLoad = field(default_factory=DirectionLoad)
    numbers: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def load(self, direction: str) -> DirectionLoad:
        """Return the load of a direction. The first call creates it.

        direction: "download" or "upload".
        """
        return self.loads.setdefault(direction, DirectionLoad())

    def at(self, at_s: float) -> DirectionLoad:
        """Return the load that ran at a time, from its start_s to its end_s so far, both included,
        the one that was created first if both did, or `idle` if none did.

        at_s: the time in monotonic seconds.
        """
        return next((load for load in self.loads.values()
                     if load.start_s is not None and load.start_s <= at_s <= load.end_s), self.idle)

    def text(self) -> str:
        """Return the report as JSON: an object with client, numbers, notes, idle and ways, the
        loads by direction. Times are epoch seconds, rounded to microseconds. Directions without a
        begin are left out. Numbers that are not finite become null."""
        epoch_s = time.time() - time.monotonic()
        return json_text({
            "client": self.client, "numbers": self.numbers, "notes": self.notes,
            "idle": [_probe_sample(probe, epoch_s) for probe in self.idle.probes],
            "ways": {name: {
                "start_s": round((load.start_s or 0.0) + epoch_s, 6),
                "end_s": round(load.end_s + epoch_s, 6), "mbps": load.mbps,
                "own_clock": load.own_clock, "warms_up": load.warms_up,
                "rates": [{"t": round(end_s + epoch_s, 6), "dur": round(length_s, 6),
                           "val": 8e-6 * size / length_s}
                          for end_s, length_s, size in load.rates if length_s > 0],
                "probes": [_probe_sample(probe, epoch_s) for probe in load.probes],
            } for name, load in self.loads.items() if load.start_s is not None}})


def _probe_sample(probe: tuple[float, str, float], epoch_s: float) -> Mapping[str, Any]:
    """Return a measured time as a sample of the report: its begin "t" in epoch seconds, and the
    time in ms under its kind, both rounded to 6 decimals.

    Args:
        probe: begin in monotonic seconds, kind, and time in ms.
        epoch_s: the epoch time at which the monotonic clock was 0.
    """
    sent_s, kind, ms = probe
    return {"t": round(sent_s + epoch_s, 6), kind: round(ms, 6)}


def read_report(text: str, tool: Tool) -> dict[str, Parsed]:
    """Return what Flent stores of a report: direction, "download" or "upload" -> series, samples
    and metadata. The series has [epoch s, Mbit/s] for each rate. The samples are sorted by their
    time "t" in epoch s, and have "val" in Mbit/s and "dur" in s, or a latency in ms under its kind.
    The metadata are MEAN_VALUE in Mbit/s, LOAD_START and LOAD_END in epoch s, CLOCK (own_clock and
    warms_up) and SPEEDTEST (the tool's name as "client", "numbers", and if there are any "notes").

    Latencies of the idle line are among the samples of the first direction, under "idle_" and their
    kind. Numbers that the tool doesn't declare are left out. The result is empty if no direction
    was loaded.

    Args:
        text: the report as JSON.
        tool: the tool, for messages and the names of its numbers.

    Raises ParseError if the report is not of the form that ClientReport.text() returns, or if the
    throughput of a direction is missing, below 0 or not finite.
    """
    try:
        report = json.loads(text)
        names = {number.name for number in tool.numbers}
        numbers = {name: _finite(value, name, tool) for name, value in report["numbers"].items()
                   if name in names}
        notes = [str(note) for note in report["notes"]]
        idle = [{("t" if name == "t" else f"idle_{name}"): _finite(value, name, tool)
                 for name, value in sample.items()} for sample in report["idle"]]
        by_direction: dict[str, Parsed] = {}
        for direction, load in report["ways"].items():
            if not 0 <= (mbps := _finite(load["mbps"], f"rate of {direction}", tool)) < math.inf:
                raise ParseError(f"{tool.name} reports {mbps:g} Mbit/s of {direction}; expected a "
                                 "finite number, 0 or more")
            samples = [{name: _finite(value, name, tool) for name, value in sample.items()}
                       for sample in (*load["rates"], *load["probes"])]
            # Latencies of the idle line are stored with the first direction.
            samples += [] if by_direction else idle
            by_direction[direction] = (
                [[sample["t"], sample["val"]] for sample in samples if "val" in sample],
                sorted(samples, key=lambda sample: sample["t"]), {
                    "MEAN_VALUE": mbps, "LOAD_START": float(load["start_s"]),
                    "LOAD_END": float(load["end_s"]),
                    CLOCK: {name: bool(load.get(name)) for name in ("own_clock", "warms_up")},
                    "SPEEDTEST": {"client": tool.name, "numbers": numbers,
                                  **({"notes": notes} if notes else {})}})
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as fault:
        seen = f"it printed {text[:60]!r}" if text.strip() else "it printed nothing"
        raise ParseError(f"{tool.name}: on its client's standard output, expected a report in the "
                         f"form of this package's clients, and nothing else ({cause_of(fault)}); "
                         f"{seen}") from None
    return by_direction


def _finite(value: Any, what: str, tool: Tool) -> float:
    """Return a value of a report as a float. Raises ParseError for null, which ClientReport.text()
    writes for a number that the client did not set, or that is not finite, and TypeError or
    ValueError for what is no number.

    Args:
        value: the value.
        what: what it is, for the message.
        tool: the tool, for the message.
    """
    if value is None:
        raise ParseError(f"{tool.name}: its client sets no {what}, or none that is finite; it must "
                         "be a number")
    return float(value)

# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client found: written by it as JSON, read by the runner."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from flent_aqm.base.errors import AqmError

STEP_S = 0.2


@dataclass
class Way:
    """One direction. Times are monotonic. rates: end, length in s, and bytes of each step;
    probes: time, what was timed, and ms. mbps: the throughput that the client tells."""

    start_s: float | None = None
    end_s: float = 0.0
    mbps: float | None = None
    total_bytes: int = 0
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
    """numbers: by the names of table.py; notes: what a reader has to know of this run."""

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
                "rates": [{"t": round(end_s + epoch_s, 6), "dur": round(length_s, 6),
                           "val": 8e-6 * size / length_s}
                          for end_s, length_s, size in way.rates if length_s > 0],
                "probes": [_probe(one, epoch_s) for one in way.probes],
            } for name, way in self.ways.items() if way.start_s is not None}})


def exit_status(name: str, run: Callable[[], None]) -> int:
    """Run a client and return its exit status: 1, with a line on standard error, where run()
    raises AqmError or OSError. name: the client's. (__main__.py does the same by itself: its
    servers don't import this module.)"""
    try:
        run()
    except AqmError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {name}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


def _probe(probe: tuple[float, str, float], epoch_s: float) -> Mapping[str, Any]:
    sent_s, what, ms = probe
    return {"t": round(sent_s + epoch_s, 6), what: round(ms, 6)}


class Metered:
    """`async with Metered(way)`: what goes on inside is that direction's load. Its rate is
    kept every 0.2 s. A direction may be loaded several times."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._task: asyncio.Task[None] | None = None
        self._last_s = 0.0
        self._last_bytes = 0

    async def __aenter__(self) -> Self:
        self._last_s, self._last_bytes = time.monotonic(), self._way.total_bytes
        if self._way.start_s is None:
            self._way.start_s = self._last_s
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        self._step()
        self._way.end_s = time.monotonic()

    async def _tick(self) -> None:
        begin_s = self._last_s
        steps = 0
        while True:
            steps += 1
            await asyncio.sleep(max(0.0, begin_s + steps * STEP_S - time.monotonic()))
            self._step()

    def _step(self) -> None:
        now_s = time.monotonic()
        if now_s - self._last_s > 1e-4:
            self._way.rates.append((now_s, now_s - self._last_s,
                                    self._way.total_bytes - self._last_bytes))
            self._last_s, self._last_bytes = now_s, self._way.total_bytes

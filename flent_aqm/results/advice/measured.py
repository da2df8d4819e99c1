# SPDX-License-Identifier: GPL-3.0-or-later
"""What advice rests on: how much latency a busy line adds, by run and by what was compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.flows import DIRECTIONS, span
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.results.metrics.run import Run, Samples
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.throughput import total_mbps

# With fewer probes on either side, a median is the accident of a few packets.
FEWEST_PROBES = 10
# A probe that stood still for a larger share of the time says nothing of the line.
MOST_STILL = 0.1
BOTH = "downloads and uploads"
_BUSY = {"download": "downloads", "upload": "uploads"}
# Queues that let latency grow until they are full; with any other the router manages latency.
_UNMANAGED = ("no_aqm", "bfifo")
# With any of these, a line's rate is not one that a share could be taken of.
_VARYING = ("link_down_trace", "link_up_trace", "link_down_access", "link_up_access",
            "link_outages_s", "wifi_rates_mbps", "wifi_ap")


@dataclass(frozen=True)
class Measured:
    """One run. idle_ms: median round trip of the idle line; loaded_ms: median while it was busy,
    by what kept it busy; infinite where that is a lost probe; mbps: throughput by direction;
    lost_pct: probes lost while it was busy, in percent, less those of the idle line; empty where
    the probe tells none, and loss_unknown says why."""

    idle_ms: float
    loaded_ms: Mapping[str, float]
    mbps: Mapping[str, float]
    lost_pct: Mapping[str, float] = field(default_factory=dict)
    loss_unknown: str = ""

    def added_ms(self, busy: str) -> float:
        """Return what the load added to the median round trip."""
        return self.loaded_ms[busy] - self.idle_ms


@dataclass(frozen=True)
class Sqm:
    """A shaper in front of a line. down_mbps, up_mbps: its rates; modem_…: the line's."""

    queue: str
    down_mbps: float
    up_mbps: float
    modem_down_mbps: float
    modem_up_mbps: float

    @property
    def share_pct(self) -> float:
        """Return the larger share of the line's rate in percent."""
        return 100 * max(self.down_mbps / self.modem_down_mbps, self.up_mbps / self.modem_up_mbps)


@dataclass(frozen=True)
class Tried:
    """Runs that repeat each other, by the name that users know. managed: whether the router
    limits latency, None where nothing tells; fixed_rate: whether the line has one rate, so that
    a share of it can be advised."""

    name: str
    runs: Sequence[Measured]
    managed: bool | None = None
    sqm: Sqm | None = None
    fixed_rate: bool = True

    @property
    def busy(self) -> list[str]:
        """Return what kept the line busy, in all runs."""
        return [one for one in (*_BUSY.values(), BOTH)
                if all(one in run.loaded_ms for run in self.runs)]

    def added_ms(self, busy: str) -> float:
        """Return the median over runs."""
        return median(run.added_ms(busy) for run in self.runs)

    def lost_pct(self, busy: str) -> float:
        """Return the median over runs."""
        return median(run.lost_pct.get(busy, 0.0) for run in self.runs)

    def mbps(self, direction: str) -> float | None:
        """Return the median over runs; None where one doesn't tell."""
        values = [run.mbps[direction] for run in self.runs if direction in run.mbps]
        return median(values) if len(values) == len(self.runs) else None


def measured(run: Run) -> Measured | None:
    """Return what a run says of its line; None where it has too few probes, idle or under load, or
    where its probe stood still for a good part of either."""
    try:
        idle = run.idle()
    except NotAvailable:
        return None
    loaded = {}
    for busy, direction in loads(run).items():
        try:
            loaded[busy] = run.loaded(direction)
        except NotAvailable:
            return None
    return of_samples(idle, loaded, throughput(run))


def of_samples(idle: Samples, loaded: Mapping[str, Samples], mbps: Mapping[str, float]
               ) -> Measured | None:
    """Return the same of probes that have been chosen; loaded: by what kept the line busy."""
    enough = min(one.rtt_ms.size for one in (idle, *loaded.values())) >= FEWEST_PROBES
    idle_ms = of_any(idle.rtt_ms, 50) if enough else math.inf
    if not loaded or not math.isfinite(idle_ms) or any(map(
            stood_still, (idle, *loaded.values()))):
        return None
    return Measured(idle_ms, {busy: of_any(one.rtt_ms, 50) for busy, one in loaded.items()}, mbps,
                    {} if idle.loss_unknown else {
                        busy: _lost_pct(one) - _lost_pct(idle) for busy, one in loaded.items()},
                    idle.loss_unknown)


def stood_still(samples: Samples) -> bool:
    """Return whether the probe stood still for so much of a phase that its round trips say
    nothing of it."""
    return samples.still_s > MOST_STILL * samples.length_s


def _lost_pct(samples: Samples) -> float:
    return float(100 * numpy.isinf(samples.rtt_ms).mean())


def throughput(run: Run) -> dict[str, float]:
    """Return Mbit/s by direction, of those that the run tells; with cross traffic, what all flows
    carried together: how they divide the line is no cost."""
    by_direction = {}
    for direction in DIRECTIONS:
        try:
            by_direction[direction] = total_mbps(run, direction)
        except NotAvailable:
            continue
    return by_direction


def loads(run: Run) -> dict[str, str | None]:
    """Return what kept the line busy -> direction of run.loaded(). Two directions that share most
    of their time can't be told apart."""
    windows = {way: window for way in DIRECTIONS
               if (window := span([one for one in run.speed_test if one.direction == way]))}
    if len(windows) == 2:
        first, second = windows.values()
        shared_s = min(first.end_s, second.end_s) - max(first.start_s, second.start_s)
        if shared_s > min(first.length_s, second.length_s) / 2:
            return {BOTH: None}
    return {_BUSY[way]: way for way in windows}


def tried(name: str, runs: Sequence[tuple[Mapping[str, Setting], Measured | None]]) -> Tried | None:
    """Return runs of one configuration, with their settings; None where one can't be judged."""
    complete = [one for _, one in runs if one is not None]
    if not runs or len(complete) < len(runs):
        return None
    settings = runs[0][0]
    queue, up_queue = settings.get("aqm"), settings.get("up_aqm") or settings.get("aqm")
    shaped = settings.get("shaper") not in (None, "none")
    modem = _number(settings, "modem_down_mbps"), _number(settings, "modem_up_mbps")
    rates = _number(settings, "rate_down_mbps"), _number(settings, "rate_up_mbps")
    sqm = None
    if shaped and all(modem) and all(rates):
        sqm = Sqm(str(queue), *rates, *modem)
    managed = None if queue is None else (
        shaped or not all(modem)) and not {queue, up_queue} & {*_UNMANAGED}
    return Tried(name, complete, managed, sqm, not any(map(settings.get, _VARYING)))


def _number(settings: Mapping[str, Setting], name: str) -> float:
    value = settings.get(name)
    return float(value) if isinstance(value, (int, float)) and numpy.isfinite(value) else 0.0

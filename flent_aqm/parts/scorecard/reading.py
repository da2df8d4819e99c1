# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test showed in a run, beside what was true: all that is scored, in numbers fit for JSON.

Truth: what the line's rate leaves for TCP's payload; round trips of another flow (the probe's,
every 10 ms), of the loading flow's own packets (the capture's), and what stood in the queue. A
direction is judged by its own time. What a test tells of both together is held against the worse
direction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.parts.scorecard.contestant import Contestant, Verdict
from flent_aqm.parts.scorecard.places import Place
from flent_aqm.results.data_file import DataFile, a_number
from flent_aqm.results.metrics import flow_rtt, glitches, queue
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.percentiles import percentile_or_lost
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.metrics.throughput import link_rate_mbps, payload_share

WORSE = "worse"
# A rate so many times the line's is one in another unit, or of another line.
UNIT_FACTOR = 8.0
GLITCH_MS = 100


@dataclass(frozen=True)
class Way:
    """A direction, or the worse of both. shown_ms: latency as the test shows it, None for none;
    others_*: round trips of the probe under load; own_ms: the median of the flow's own packets;
    queue_ms: the mean time in the queue; glitches_per_minute: of the probe."""

    shown_mbps: float | None = None
    possible_mbps: float | None = None
    shown_ms: float | None = None
    others_median_ms: float | None = None
    others_p95_ms: float | None = None
    idle_ms: float | None = None
    own_ms: float | None = None
    queue_ms: float | None = None
    glitches_per_minute: float | None = None

    @property
    def rise_p95_ms(self) -> float | None:
        """How much the 95th percentile is above the idle line."""
        if self.others_p95_ms is None or self.idle_ms is None:
            return None
        return self.others_p95_ms - self.idle_ms


@dataclass(frozen=True)
class Reading:
    """A run. place: its name; words: the same for readers; group, without_seed: as the place's;
    ways: by direction and WORSE; good: the test's own verdict, None for none; seconds: of the
    load; lab_wall_s: what the lab took for the whole run."""

    place: str
    words: str
    group: str
    without_seed: str
    beside: bool
    ways: Mapping[str, Way] = field(default_factory=dict)
    good: bool | None = None
    megabytes: float | None = None
    seconds: float | None = None
    lab_wall_s: float | None = None

    @property
    def telling(self) -> list[tuple[str, Way]]:
        """The directions of which the test tells a latency, by name; where it tells none of a
        direction, the worse one, if it tells any."""
        shown = [(name, way) for name, way in self.ways.items() if way.shown_ms is not None]
        return [one for one in shown if one[0] != WORSE] or shown

    def as_dict(self) -> dict[str, Any]:
        """Return it fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Reading:
        """Return what as_dict() gave. Raises TypeError, LookupError or AttributeError for what
        it can't have given."""
        ways = {name: Way(**way) for name, way in values["ways"].items()}
        one = cls(**{**values, "ways": ways})
        numbers = [one.megabytes, one.seconds, one.lab_wall_s]
        for way in ways.values():
            numbers += asdict(way).values()
        if not all(number is None or a_number(number) is not None for number in numbers) or \
                type(one.beside) is not bool or one.good not in (None, True, False):
            raise TypeError("a reading has values of other kinds")
        for word in (one.place, one.words, one.group, one.without_seed, *ways):
            if not isinstance(word, str) or not word.isprintable():
                raise TypeError(f"{str(word)[:60]!r} is no text of a reading")
        return one


def read(one: Contestant, place: Place, data: DataFile) -> Reading:
    """Return what a run's file tells. Raises BadResult for numbers that can't be meant."""
    run = as_run(data)
    ways = {way: _way(one, run, way, place) for way in DIRECTIONS}
    ways[WORSE] = _worse(one, run, ways)
    return Reading(
        place.name, str(place), place.group, place.without_seed, place.beside, ways,
        _good(run, one.verdict), _megabytes(run),
        run.load_window.length_s if run.load_window else None, a_number(run.aqm.get("wall_s")))


def _way(one: Contestant, run: Run, way: str, place: Place) -> Way:
    try:
        probe = run.loaded(way)
    except NotAvailable:
        return Way()
    shown_mbps = _metric_or_none(run, dict(zip(DIRECTIONS, one.shown.rates, strict=True))[way])
    possible_mbps = link_rate_mbps(run, way) * payload_share(run, way)
    if shown_mbps is not None and not 0 <= shown_mbps < UNIT_FACTOR * possible_mbps:
        raise BadResult(f"it shows {shown_mbps:g} Mbit/s of {way}, where {possible_mbps:.3g} "
                        "Mbit/s are possible; expected a rate of 0 or more, in Mbit/s")
    return Way(
        # Beside others, what is possible depends on what the test takes.
        shown_mbps, None if place.beside else possible_mbps,
        _latency_ms(one, run, way),
        _finite(partial(percentile_or_lost, probe.rtt_ms, 50)),
        _finite(partial(percentile_or_lost, probe.rtt_ms, 95)),
        _finite(partial(glitches.idle_median_ms, run)),
        _finite(partial(flow_rtt.flow_rtt_ms, run, way, "median")),
        _finite(partial(queue.delay_ms, run, way, "mean")),
        _finite(partial(_glitches_per_minute, run, way)))


def _worse(one: Contestant, run: Run, ways: Mapping[str, Way]) -> Way:
    """Each number by itself: the test doesn't say which direction it means."""
    def most(name: str) -> float | None:
        values = [value for way in ways.values() if (value := getattr(way, name)) is not None]
        return max(values, default=None)

    single = _latency_ms(one, run, "")
    return Way(
        shown_ms=most("shown_ms") if single is None else single,
        **{name: most(name) for name in ("others_median_ms", "others_p95_ms", "idle_ms", "own_ms",
                                         "queue_ms", "glitches_per_minute")})


def _latency_ms(one: Contestant, run: Run, way: str) -> float | None:
    """Return the largest latency that it shows of a direction, or, for "", of none."""
    latencies_ms = []
    for name in one.shown.latency:
        value = _metric_or_none(run, name)
        if next((each for each in DIRECTIONS if each in name), "") == way and value:
            latencies_ms.append(60_000 / value if METRICS[name].unit == "RPM" else value)
    if any(value < 0 for value in latencies_ms):
        raise BadResult(f"it shows {min(latencies_ms):g} ms of latency; expected 0 or more")
    return max(latencies_ms, default=None)


def _good(run: Run, verdict: Verdict | None) -> bool | None:
    if verdict is None or (value := _metric_or_none(run, verdict.metric)) is None:
        return None
    word = METRICS[verdict.metric].word
    if word is None:
        return bool(value)
    return True if word(value) in verdict.good else False if word(value) in verdict.bad else None


def _glitches_per_minute(run: Run, way: str) -> float:
    samples = run.loaded(way)
    events = glitches.find_glitches(samples, glitches.idle_median_ms(run), GLITCH_MS)
    return len(events) * 60 / samples.length_s if samples.length_s > 0 else math.nan


def _megabytes(run: Run) -> float | None:
    """Of all that went through the router."""
    total = 0.0
    for way in DIRECTIONS:
        before, after = (a_number(_counters(run, moment, way).get("bytes"))
                         for moment in ("before", "after"))
        if before is None or after is None:
            return None
        total += after - before
    return total / 1e6


def _counters(run: Run, moment: str, way: str) -> Mapping[str, Any]:
    counters = run.counters(moment, way).get("shaper") or run.counters(moment, way).get("qdisc")
    return counters if isinstance(counters, dict) else {}


def _metric_or_none(run: Run, name: str) -> float | None:
    # A tool of the user's need not have both directions.
    value = METRICS[name].of(run) if name in METRICS else None
    return None if isinstance(value, Unavailable) else value


def _finite(function: Any) -> float | None:
    """Return the number; None where it isn't known, or is a lost probe."""
    try:
        value = float(function())
    except NotAvailable:
        return None
    return value if math.isfinite(value) else None

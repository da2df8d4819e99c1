# SPDX-License-Identifier: GPL-3.0-or-later
"""Read from a run's data file what the test showed, and the true values: the input of all scores.

The true values are: the throughput that the line's rate leaves for TCP's payload; the round trips
of another flow (the probe, every 10 ms; a lost probe counts as infinitely long); those of the
loading flow's own packets (from the capture); and the time in the queue. Each direction is judged
for the time of its load, in tests that alternate between directions while it alone carries data.
Numbers that a test shows for both directions together are compared with the worse direction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.base.words import significant
from flent_aqm.parts.scorecard.contestant import Contestant, StatedVerdict
from flent_aqm.parts.scorecard.places import Place
from flent_aqm.results.data_file import DataFile, a_number
from flent_aqm.results.metrics import grades, latency, queue
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.percentiles import percentile_or_lost
from flent_aqm.results.metrics.run import Run, as_run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.metrics.throughput import link_rate_mbps, payload_share

WORSE = "worse"
# In JSON, which has no infinity: the value of a percentile beyond which probes were lost.
LOST = "lost"
# A rate that exceeds the line's by this factor is in another unit, or of another line.
UNIT_FACTOR = 8.0
GLITCH_MS = 100


@dataclass(frozen=True)
class DirectionValues:
    """Values of a direction, or of both the worse value for each attribute, without throughputs.
    None: not known, or not shown by the test. `others_median_ms` and `others_p95_ms` are infinite
    if so many probes were lost that the percentile is a lost one. `idle_ms` is None if that is so
    on the idle line.

    Attributes:
        shown_mbps: throughput as the test shows it.
        possible_mbps: throughput that the line makes possible. None beside a bulk flow.
        shown_ms: latency as the test shows it, the largest if it shows several. RPM is converted to
            ms.
        others_median_ms: median round trip of the probe under load.
        others_p95_ms: 95th percentile of the round trips of the probe under load.
        idle_ms: median round trip of the probe on the idle line.
        own_ms: median round trip of the loading flow's own packets.
        queue_ms: mean time in the queue.
        glitches_per_minute: glitches of the probe under load per minute: times in which it was
            lost, or took more than 100 ms longer than `idle_ms`.
        others_loss_pct: probes that were lost under load, in percent.
        qoo: score of the probe by draft-ietf-ippm-qoo, 0 to 100 points, with the requirements of
            the metric qoo_p99.
        shown_rise_ms: latency as the test shows it minus the idle latency that it shows.
    """

    shown_mbps: float | None = None
    possible_mbps: float | None = None
    shown_ms: float | None = None
    others_median_ms: float | None = None
    others_p95_ms: float | None = None
    idle_ms: float | None = None
    own_ms: float | None = None
    queue_ms: float | None = None
    glitches_per_minute: float | None = None
    others_loss_pct: float | None = None
    qoo: float | None = None
    shown_rise_ms: float | None = None

    @property
    def rise_p95_ms(self) -> float | None:
        """95th percentile of the probe under load minus its median on the idle line, in ms. None if
        either isn't known, infinite if the percentile falls on a lost probe."""
        return _difference(self.others_p95_ms, self.idle_ms)

    @property
    def rise_median_ms(self) -> float | None:
        """Median of the probe under load minus that on the idle line, in ms. None if either isn't
        known, infinite if half or more of the probes under load were lost."""
        return _difference(self.others_median_ms, self.idle_ms)


@dataclass(frozen=True)
class Reading:
    """Shown and true values of one run.

    Attributes:
        place: name of the place.
        words: description of the place for readers, with the seed.
        group: Place.group, the name without the queue.
        without_seed: Place.without_seed.
        beside: whether a bulk flow shared the line.
        ways: "download" and "upload" -> values of that direction; WORSE ("worse") -> for each
            quantity the worse value of both directions, without throughputs. A latency that the
            test shows without a direction is in WORSE alone.
        good: the test's own verdict on the line, None for none.
        megabytes: bytes through the router in both directions, in 10^6. None if unknown.
        seconds: duration of the load, None if unknown.
        lab_wall_s: time that the lab took for the whole run, None if unknown.
        shown_idle_ms: largest latency that the test shows for the idle line, None if it shows none.
    """

    place: str
    words: str
    group: str
    without_seed: str
    beside: bool
    ways: Mapping[str, DirectionValues] = field(default_factory=dict)
    good: bool | None = None
    megabytes: float | None = None
    seconds: float | None = None
    lab_wall_s: float | None = None
    shown_idle_ms: float | None = None

    @property
    def line(self) -> str:
        """Name of the access line, without queue, seed and bulk flow."""
        return re.sub(r"(-beside(-\w+)?)?-seed\d+$", "", self.group)

    @property
    def telling(self) -> list[tuple[str, DirectionValues]]:
        """(direction, values) of each direction for which the test shows a latency: "download",
        "upload" or both. If there is none, but it shows a latency without a direction, (WORSE,
        values) alone. Empty if it shows no latency."""
        shown = [(name, way) for name, way in self.ways.items() if way.shown_ms is not None]
        return [one for one in shown if one[0] != WORSE] or shown

    def as_dict(self) -> dict[str, Any]:
        """Return the reading in a form that JSON can hold. Infinite values become "lost"."""
        values = asdict(self)
        values["ways"] = {name: {key: LOST if value == math.inf else value
                                 for key, value in way.items()}
                          for name, way in values["ways"].items()}
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Reading:
        """Return the reading from the result of as_dict(). Raises TypeError, ValueError,
        LookupError or AttributeError if the values have another form. A ValueError names the key
        whose value is wrong."""
        ways = {name: DirectionValues(**{key: math.inf if value == LOST else value
                                         for key, value in way.items()})
                for name, way in values["ways"].items()}
        one = cls(**{**values, "ways": ways})
        numbers: dict[str, Any] = {name: getattr(one, name) for name in (
            "megabytes", "seconds", "lab_wall_s", "shown_idle_ms")}
        for name, way in ways.items():
            numbers |= {f"{key} of {name}": None if value == math.inf else value
                        for key, value in asdict(way).items()}
        for name, number in numbers.items():
            if number is not None and a_number(number) is None:
                raise ValueError(f"{name} of a reading is {number!r:.60}, not a number or null")
        if not isinstance(one.beside, bool):
            raise ValueError(f"beside of a reading is {one.beside!r:.60}, not true or false")
        if one.good is not None and not isinstance(one.good, bool):
            raise ValueError(f"good of a reading is {one.good!r:.60}, not true, false or null")
        texts = {name: getattr(one, name) for name in ("place", "words", "group", "without_seed")}
        for name, word in (*texts.items(), *(("a direction", name) for name in ways)):
            if not isinstance(word, str) or not word.isprintable():
                raise ValueError(f"{name} of a reading is {word!r:.60}, not printable text")
        return one


def read(contestant: Contestant, place: Place, data: DataFile) -> Reading:
    """Return the reading of a run.

    Args:
        contestant: the test.
        place: the run's place.
        data: the run's data file.

    Raises BadResult if the data are damaged or impossible, see as_run(), or have no rate of the
    link. Also if the test shows impossible numbers for the time of load: a negative latency, or a
    throughput that is negative, or 8 times the possible one (UNIT_FACTOR) or more. A direction
    without probes under its load is not checked, nor is the idle latency.
    """
    run = as_run(data)
    ways = {way: _read_direction(contestant, run, way, place) for way in DIRECTIONS}
    ways[WORSE] = _worse_direction(contestant, run, ways)
    return Reading(
        place.name, str(place), place.group, place.without_seed, bool(place.beside), ways,
        _own_verdict(run, contestant.verdict), _megabytes(run),
        run.load_window.length_s if run.load_window else None, a_number(run.aqm.get("wall_s")),
        _shown_idle_ms(contestant, run))


def _read_direction(contestant: Contestant, run: Run, way: str, place: Place) -> DirectionValues:
    """Return the values of a direction, all None if the probe has no samples under the direction's
    load. The possible throughput is None beside a bulk flow, where it depends on the test's share.

    Args:
        contestant: the test.
        run: the run.
        way: "download" or "upload".
        place: the run's place.

    Raises BadResult if the link's rate isn't known, or if the test shows a negative latency, or a
    throughput that is negative, or 8 times the possible one (UNIT_FACTOR) or more.
    """
    try:
        probe = run.loaded(way)
    except NotAvailable:
        return DirectionValues()
    shown_mbps = _metric_or_none(run,
                                 dict(zip(DIRECTIONS, contestant.shown.rates, strict=True))[way])
    possible_mbps = link_rate_mbps(run, way) * payload_share(run, way)
    if shown_mbps is not None and not 0 <= shown_mbps < UNIT_FACTOR * possible_mbps:
        raise BadResult(f"the test shows {shown_mbps:g} Mbit/s of {way}, where "
                        f"{significant(possible_mbps)} Mbit/s are possible; expected 0 or more, "
                        f"and less than {UNIT_FACTOR * possible_mbps:g}, {UNIT_FACTOR:g} times "
                        "that: is it in Mbit/s?")
    return DirectionValues(
        # Beside a bulk flow, the possible throughput depends on the test's share.
        shown_mbps, None if place.beside else possible_mbps,
        _shown_latency_ms(contestant, run, way),
        _value_or_none(partial(percentile_or_lost, probe.rtt_ms, 50)),
        _value_or_none(partial(percentile_or_lost, probe.rtt_ms, 95)),
        _finite_or_none(partial(latency.idle_median_ms, run)),
        _finite_or_none(partial(latency.flow_rtt_ms, run, way, "median")),
        _finite_or_none(partial(queue.delay_ms, run, way, "mean")),
        _finite_or_none(partial(_glitches_per_minute, run, way)),
        _finite_or_none(partial(latency.loss_pct, probe)),
        _finite_or_none(partial(grades.qoo, run, grades.QOO_EXAMPLE_P99, way)),
        _shown_rise_ms(contestant, run, way))


def _worse_direction(contestant: Contestant, run: Run,
                     ways: Mapping[str, DirectionValues]) -> DirectionValues:
    """Return the worse value of both directions for each quantity separately, because the test
    doesn't say which direction it means. Throughputs are left out. A latency that the test shows
    for no direction replaces those of the directions.

    Args:
        contestant: the test.
        run: the run.
        ways: "download" and "upload" -> values.

    Raises BadResult if the shown latency is negative.
    """
    def most(name: str) -> float | None:
        """Return the larger value of the quantity `name` in both directions, None if neither is
        known."""
        values = [value for way in ways.values() if (value := getattr(way, name)) is not None]
        return max(values, default=None)

    single = _shown_latency_ms(contestant, run, "")
    return DirectionValues(
        shown_ms=most("shown_ms") if single is None else single,
        shown_rise_ms=most("shown_rise_ms") if single is None else _shown_rise_ms(contestant, run,
                                                                                   ""),
        qoo=min((values.qoo for values in ways.values() if values.qoo is not None), default=None),
        **{name: most(name) for name in ("others_median_ms", "others_p95_ms", "idle_ms", "own_ms",
                                         "queue_ms", "glitches_per_minute", "others_loss_pct")})


def _shown_latency_ms(contestant: Contestant, run: Run, way: str) -> float | None:
    """Return the largest latency in ms among the metrics that the test shows for a direction. RPM
    is converted to ms; 0 RPM is no latency. None if there is none.

    Args:
        contestant: the test.
        run: the run.
        way: "download" or "upload". "": only metrics whose name contains no direction.

    Raises BadResult if one is negative.
    """
    latencies_ms = []
    for name in contestant.shown.latency:
        value = _metric_or_none(run, name)
        if value is None or next((each for each in DIRECTIONS if each in name), "") != way:
            continue
        unit = METRICS[name].unit
        if value < 0:
            raise BadResult(f"the test shows {value:g} {unit} as {name}; expected 0 or more")
        if unit != "RPM":
            latencies_ms.append(value)
        elif value:
            latencies_ms.append(60_000 / value)
    return max(latencies_ms, default=None)


def _shown_idle_ms(contestant: Contestant, run: Run) -> float | None:
    """Return the largest latency in ms that the test shows for the idle line, None if it shows
    none."""
    values = [_metric_or_none(run, name) for name in contestant.idle]
    return max((value for value in values if value is not None), default=None)


def _shown_rise_ms(contestant: Contestant, run: Run, way: str) -> float | None:
    """Return the latency that the test shows for a direction minus that which it shows for the idle
    line, in ms. None if it doesn't show both, or shows a single latency, which counts as that of
    the idle line, too.

    Args:
        contestant: the test.
        run: the run.
        way: "download" or "upload". "": latency of no direction.

    Raises BadResult if a latency of the direction is negative, unless the test shows a single
    latency.
    """
    if set(contestant.idle) & set(contestant.shown.latency):
        return None  # it shows a single latency, that of the idle line
    return _difference(_shown_latency_ms(contestant, run, way), _shown_idle_ms(contestant, run))


def _difference(value: float | None, less: float | None) -> float | None:
    """Return the difference of two numbers, None if either is None."""
    return None if value is None or less is None else value - less


def _own_verdict(run: Run, verdict: StatedVerdict | None) -> bool | None:
    """Return whether the test itself calls the line good. None if it gives no verdict, or a word
    that is in neither list of `verdict`. If the metric's values aren't words, 0 is bad and any
    other value good.

    Args:
        run: the run.
        verdict: metric and words of the verdict, None for a test without verdicts.
    """
    if verdict is None or (value := _metric_or_none(run, verdict.metric)) is None:
        return None
    word = METRICS[verdict.metric].word
    if word is None:
        return bool(value)
    return True if word(value) in verdict.good else False if word(value) in verdict.bad else None


def _glitches_per_minute(run: Run, way: str) -> float:
    """Return the number of glitches of the probe per minute of a direction's load: times in which
    it was lost, or took more than GLITCH_MS (100) longer than the idle line's median. NaN if the
    load has no length. Raises NotAvailable without probes under the load, with too few before it or
    half or more of these lost, or if probes are usually more than 20 ms apart or can't tell losses.

    Args:
        run: the run.
        way: "download" or "upload".
    """
    samples = run.loaded(way)
    events = latency.find_glitches(samples, latency.idle_median_ms(run), GLITCH_MS)
    return len(events) * 60 / samples.length_s if samples.length_s > 0 else math.nan


def _megabytes(run: Run) -> float | None:
    """Return the bytes that went through the router in both directions, in 10^6 bytes. None if
    unknown."""
    total = 0.0
    for way in DIRECTIONS:
        before, after = (a_number(_router_counters(run, moment, way).get("bytes"))
                         for moment in ("before", "after"))
        if before is None or after is None:
            return None
        total += after - before
    return total / 1e6


def _router_counters(run: Run, moment: str, way: str) -> Mapping[str, Any]:
    """Return the counters of the router's shaper, or else queue, in a direction: tc's name, such as
    "bytes", -> value as recorded. Empty if they aren't recorded.

    Args:
        run: the run.
        moment: "before" or "after" the run.
        way: "download" or "upload".
    """
    counters = run.counters(moment, way).get("shaper") or run.counters(moment, way).get("qdisc")
    return counters if isinstance(counters, dict) else {}


def _metric_or_none(run: Run, name: str) -> float | None:
    """Return the value of a metric by its full name, None if it doesn't exist or isn't
    available."""
    # A user's own tool needn't have metrics of both directions.
    value = METRICS[name].of(run) if name in METRICS else None
    return None if isinstance(value, Unavailable) else value


def _value_or_none(function: Callable[[], float]) -> float | None:
    """Call a function that computes a metric and return its result, None if it raises NotAvailable,
    as for a lost probe. An infinite result, by which percentile_or_lost() stands for a lost probe,
    is returned."""
    try:
        return float(function())
    except NotAvailable:
        return None


def _finite_or_none(function: Callable[[], float]) -> float | None:
    """Return the result of a function that computes a metric, None if it isn't available or not
    finite."""
    value = _value_or_none(function)
    return value if value is not None and math.isfinite(value) else None

# SPDX-License-Identifier: GPL-3.0-or-later
"""Extract from runs the measurements for advice: the latency that a busy line adds.

`busy` is what keeps the line busy: "downloads", "uploads", or BOTH at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.base.words import significant
from flent_aqm.results.metrics.flows import DIRECTIONS, span
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.results.metrics.run import Run, Samples
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.table import Unavailable
from flent_aqm.results.metrics.throughput import has_varying_rate, total_mbps, utilisation_pct
from flent_aqm.results.metrics.window import Window

# With fewer probes, idle or under load, the median depends on a few packets.
FEWEST_PROBES = 10
# With fewer, the 95th percentile is the slowest probe.
_FEWEST_FOR_TAIL, _TAIL_PCT = 20, 95
# A probe that was stopped for a larger share of the time does not describe the line.
MOST_STILL = 0.1
# Tests of `flent-aqm speedtest`, which measures the idle line in a run of its own, without a file.
_SPEEDTEST = "speedtest_"
_ASK_SPEEDTEST = ("what `flent-aqm speedtest -i -s` measures of the idle line is in no file, so "
                  "follow the advice that it prints")
BOTH = "downloads and uploads"
IDLE = "idle"
# Direction -> load.
BUSY = {"download": "downloads", "upload": "uploads"}
# Queues that let latency grow until they are full. With any other queue, the router limits latency.
_UNMANAGED = ("no_aqm", "bfifo")
# A busy line loses more than the idle one if it is less likely than this that chance alone makes so
# great a difference.
_BY_CHANCE = 0.05


@dataclass(frozen=True)
class Measured:
    """Measurements of one run.

    Attributes:
        idle_ms: median RTT of the idle line.
        loaded_ms: each load of the run ("downloads", "uploads" or BOTH) -> median RTT under it,
            infinite if at least half of its probes were lost.
        mbps: "download" and "upload" -> throughput of all flows in Mbit/s, with cross traffic. A
            direction whose throughput isn't known is left out.
        lost_pct: load -> share of lost probes in percent, less that of the idle line, so it may be
            below 0. Empty if the probe can't tell losses.
        loss_unknown: reason why losses are not known, "" if they are.
        utilisation_pct: "download" and "upload" -> throughput of all flows in percent of what TCP
            can carry at the link's rate. A direction is left out if its rate, or the throughput of
            a flow over time, isn't known. Empty if it was not computed.
        probes: IDLE or load -> number of lost probes, and of all. Empty if the probe can't tell
            losses, or if they were not counted.
        tail_ms: IDLE or load -> 95th percentile of the RTT, infinite if more were lost. Phases with
            fewer than 20 probes are left out. Empty if it was not computed.
        slowed: "download" and "upload" if cross traffic loaded the other direction meanwhile: its
            acknowledgements waited behind that, and it may have carried less than the line can.
        has_varying_rate: whether the line has no constant rate, as far as the file tells.
    """

    idle_ms: float
    loaded_ms: Mapping[str, float]
    mbps: Mapping[str, float]
    lost_pct: Mapping[str, float] = field(default_factory=dict)
    loss_unknown: str = ""
    utilisation_pct: Mapping[str, float] = field(default_factory=dict)
    probes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    tail_ms: Mapping[str, float] = field(default_factory=dict)
    slowed: frozenset[str] = frozenset()
    has_varying_rate: bool = False

    def added_ms(self, busy: str) -> float:
        """Return how much longer the median RTT was under a load than on the idle line, in ms. It
        is below 0 if it was shorter, infinite if at least half of the probes under load were lost.
        busy: a key of loaded_ms."""
        return self.loaded_ms[busy] - self.idle_ms

    def tail_added_ms(self, busy: str) -> float:
        """Return how much longer the 95th percentile of the RTT was under a load than on the idle
        line, in ms. 0 if either is not known or is a lost probe. busy: a key of
        loaded_ms."""
        added_ms = self.tail_ms.get(busy, math.nan) - self.tail_ms.get(IDLE, math.nan)
        return added_ms if math.isfinite(added_ms) else 0.0


@dataclass(frozen=True)
class Sqm:
    """A shaper in front of a line.

    Attributes:
        queue: name of the shaper's queue, that for downloads if uploads have another one.
        down_mbps: rate of the shaper for downloads.
        up_mbps: rate of the shaper for uploads.
        modem_down_mbps: rate of the line for downloads.
        modem_up_mbps: rate of the line for uploads.
    """

    queue: str
    down_mbps: float
    up_mbps: float
    modem_down_mbps: float
    modem_up_mbps: float

    @property
    def share_pct(self) -> float:
        """Rate of the shaper in percent of the line's rate, in the direction in which this share is
        larger."""
        return 100 * max(self.down_mbps / self.modem_down_mbps, self.up_mbps / self.modem_up_mbps)


@dataclass(frozen=True)
class Configuration:
    """Runs of one configuration of the line, which repeat each other.

    Attributes:
        name: name of the configuration for users.
        runs: measurements of each run. Empty if `no_advice` is set.
        managed: whether the router limits latency: neither of its queues grows until it is full,
            and if there is a modem with a rate of its own, the router has a shaper. None if the
            queue is not known.
        sqm: queue and rates of the router's shaper, and rates of the line. None without a shaper,
            or if one of the rates is not known.
        fixed_rate: whether the line has a constant rate, of which a share can be advised.
        no_advice: reason why the runs allow no advice, "" if they do.
    """

    name: str
    runs: Sequence[Measured]
    managed: bool | None = None
    sqm: Sqm | None = None
    fixed_rate: bool = True
    no_advice: str = ""

    @property
    def busy(self) -> list[str]:
        """Loads that kept the line busy in all runs: "downloads", "uploads", or BOTH. Empty if runs
        have none in common, and without runs."""
        return [one for one in (*BUSY.values(), BOTH)
                if self.runs and all(one in run.loaded_ms for run in self.runs)]

    def added_ms(self, busy: str) -> float:
        """Return the median over runs of the latency in ms that the load added
        (Measured.added_ms()). It may be below 0, and is infinite if it is that of a run in which at
        least half of the probes were lost. busy: one of self.busy."""
        return median(run.added_ms(busy) for run in self.runs)

    def tail_added_ms(self, busy: str) -> float:
        """Return the median over runs of how much longer the 95th percentile of the RTT was under a
        load, in ms (Measured.tail_added_ms()). busy: one of self.busy."""
        return median(run.tail_added_ms(busy) for run in self.runs)

    def lost_pct(self, busy: str) -> float:
        """Return the median over runs of the share of lost probes in percent, less that of the idle
        line, so it may be below 0. A run whose losses are not known counts as 0. busy: one of
        self.busy."""
        return median(run.lost_pct.get(busy, 0.0) for run in self.runs)

    def probes(self, *phases: str) -> tuple[int, int]:
        """Return the number of lost probes, and of all, in the given phases (IDLE, or a load) of
        all runs together. Runs and phases in which they were not counted are left out."""
        counts = [run.probes[one] for run in self.runs for one in phases if one in run.probes]
        return sum(lost for lost, _ in counts), sum(sent for _, sent in counts)

    def loss_may_be_chance(self, busy: str) -> bool:
        """Return whether chance alone makes a load lose as many more of the probes than the idle
        line, of all runs together, with a probability of 5 % (_BY_CHANCE) or more, by Fisher's
        exact test. It takes each loss as independent of others. False if probes were not counted.
        busy: one of self.busy."""
        lost, sent = self.probes(busy)
        idle_lost, idle_sent = self.probes(IDLE)
        if not sent or not idle_sent:
            return False
        # It takes longer to import than all else here, and few lines lose anything.
        from scipy.stats import hypergeom

        return float(hypergeom.sf(
            lost - 1, sent + idle_sent, lost + idle_lost, sent)) >= _BY_CHANCE

    def mbps(self, direction: str) -> float | None:
        """Return the median over runs of the throughput in Mbit/s in a direction, "download" or
        "upload". None if a run doesn't have it. Raises StatisticsError without runs."""
        values = [run.mbps[direction] for run in self.runs if direction in run.mbps]
        return median(values) if len(values) == len(self.runs) else None


def measured(run: Run) -> Measured | Unavailable:
    """Return a run's measurements, or the reason why it has none: it has no latency series with an
    answered probe, it has no flow whose direction is known, the idle line or a load has fewer than
    10 probes (FEWEST_PROBES), the probe was stopped for more than a tenth (MOST_STILL) of such a
    phase, or at least half of the idle line's probes were lost."""
    try:
        idle = run.idle()
        loaded = {busy: run.loaded(direction) for busy, direction in loads(run).items()}
        if not loaded:
            return Unavailable(run.why_no_flow())
    except NotAvailable as error:
        return Unavailable.of(error)
    found = measured_of_samples(idle, loaded, throughput(run))
    if isinstance(found, Measured):
        return replace(found, utilisation_pct=_by_direction(run, utilisation_pct),
                       slowed=_slowed(run), has_varying_rate=has_varying_rate(run))
    if idle.rtt_ms.size < FEWEST_PROBES and str(run.settings.get("test")).startswith(_SPEEDTEST):
        return replace(found, because=f"{found.because}; {_ASK_SPEEDTEST}")
    return found


def measured_of_samples(idle: Samples, loaded: Mapping[str, Samples], mbps: Mapping[str, float]
               ) -> Measured | Unavailable:
    """Return measurements from chosen probes, without `utilisation_pct` and what else is not known
    from these, such as `slowed`. Return a reason instead if `loaded` is empty, if a phase has fewer
    than 10 probes (FEWEST_PROBES) or its probe was stopped for more than a tenth (MOST_STILL) of
    it, or if at least half of the idle line's probes were lost.

    Args:
        idle: probes of the idle line.
        loaded: load ("downloads", "uploads" or BOTH) -> probes under it.
        mbps: "download" and "upload" -> throughput in Mbit/s, which the result has unchanged.
    """
    if not loaded:
        return Unavailable("nothing loads the line")
    phases = {"on the idle line": idle,
              **{f"while {busy} keep the line busy": one for busy, one in loaded.items()}}
    for phase, samples in phases.items():
        if samples.rtt_ms.size < FEWEST_PROBES:
            verb = "is" if samples.rtt_ms.size == 1 else "are"
            return Unavailable(f"it takes {FEWEST_PROBES} probes {phase}, and there {verb} "
                               f"{samples.rtt_ms.size}")
    for phase, samples in phases.items():
        if stood_still(samples):
            return Unavailable(f"the probe was stopped for {significant(samples.still_s, 2)} of "
                               f"{significant(samples.length_s, 2)} s {phase}")
    idle_ms = of_any(idle.rtt_ms, 50)
    if not math.isfinite(idle_ms):
        return Unavailable("at least half of the probes on the idle line were lost")
    return Measured(idle_ms, {busy: of_any(one.rtt_ms, 50) for busy, one in loaded.items()}, mbps,
                    {} if idle.loss_unknown else {
                        busy: _lost_pct(one) - _lost_pct(idle) for busy, one in loaded.items()},
                    idle.loss_unknown,
                    probes={} if idle.loss_unknown else {
                        phase: _lost_and_all(one) for phase, one in {IDLE: idle, **loaded}.items()},
                    tail_ms={phase: of_any(one.rtt_ms, _TAIL_PCT)
                             for phase, one in {IDLE: idle, **loaded}.items()
                             if one.rtt_ms.size >= _FEWEST_FOR_TAIL})


def stood_still(samples: Samples) -> bool:
    """Return whether the probe was stopped for so much of a phase, more than a tenth (MOST_STILL),
    that its RTTs don't describe the phase."""
    return samples.still_s > MOST_STILL * samples.length_s


def _lost_pct(samples: Samples) -> float:
    """Return the share of lost probes in percent. There must be at least one probe."""
    lost, sent = _lost_and_all(samples)
    return 100 * lost / sent


def _lost_and_all(samples: Samples) -> tuple[int, int]:
    """Return the number of lost probes, and of all."""
    return int(numpy.isinf(samples.rtt_ms).sum()), int(samples.rtt_ms.size)


def throughput(run: Run) -> dict[str, float]:
    """Return "download" and "upload" -> throughput in Mbit/s of all flows together, including cross
    traffic, while the test loaded this direction. Left out is a direction that the test doesn't
    load, or in which the throughput of a flow is not known."""
    return _by_direction(run, total_mbps)


def _by_direction(run: Run, metric: Callable[[Run, str], float]) -> dict[str, float]:
    """Return "download" and "upload" -> metric(run, direction). A direction for which the metric
    raises NotAvailable is left out."""
    by_direction = {}
    for direction in DIRECTIONS:
        try:
            by_direction[direction] = metric(run, direction)
        except NotAvailable:
            continue
    return by_direction


def _slowed(run: Run) -> frozenset[str]:
    """Return "download" and "upload" if the test loads this direction, and for more than half of
    that time cross traffic the other one."""
    windows = {(flow_direction, is_cross): window for flow_direction in DIRECTIONS
               for is_cross in (False, True)
               if (window := span([one for one in run.flows if one.direction == flow_direction
                                   and one.is_cross == is_cross]))}
    return frozenset(
        direction for direction, other in (DIRECTIONS, DIRECTIONS[::-1])
        if (own := windows.get((direction, False))) and (cross := windows.get((other, True)))
        and _shared_s(own, cross) > own.length_s / 2)


def _shared_s(one: Window, other: Window) -> float:
    """Return the time in s that two windows share, below 0 if there is a pause between them."""
    return min(one.end_s, other.end_s) - max(one.start_s, other.start_s)


def loads(run: Run) -> dict[str, str | None]:
    """Return load -> direction for run.loaded(): "downloads" -> "download", "uploads" -> "upload".
    If the directions overlap for more than half of the shorter one's time, they can't be
    distinguished: the only key is BOTH, with None. Empty if the test loads neither."""
    windows = {direction: window for direction in DIRECTIONS
               if (window := span([one for one in run.speed_test if one.direction == direction]))}
    if len(windows) == 2:
        first, second = windows.values()
        if _shared_s(first, second) > min(first.length_s, second.length_s) / 2:
            return {BOTH: None}
    return {BUSY[direction]: direction for direction in windows}


def tried(name: str, runs: Sequence[tuple[Mapping[str, Setting], Measured | Unavailable]]
          ) -> Configuration:
    """Return the configuration that runs measured, with the measurements of each run in `runs`.
    Whether it limits latency, its shaper and rates are taken from the first run's settings. If a
    run has no measurements, the result has only the name and, in `no_advice`, the first such
    reason, with the number of such runs if there are several runs.

    Args:
        name: name of the configuration for users.
        runs: settings and measurements of each run, or the reason why it has none. At least one.
    """
    complete = [one for _, one in runs if isinstance(one, Measured)]
    reasons = [one.because for _, one in runs if isinstance(one, Unavailable)]
    if reasons:
        of = f"in {len(reasons)} of {len(runs)} runs " if len(runs) > 1 else ""
        return Configuration(name, [], no_advice=of + reasons[0])
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
    return Configuration(name, complete, managed, sqm,
                         not any(one.has_varying_rate for one in complete))


def _number(settings: Mapping[str, Setting], name: str) -> float:
    """Return the setting `name` as a float if it is a finite number, else 0. True and False are 1
    and 0."""
    value = settings.get(name)
    return float(value) if isinstance(value, (int, float)) and numpy.isfinite(value) else 0.0

# SPDX-License-Identifier: GPL-3.0-or-later
"""Is the test side better, worse or the same, or can these runs not tell? For each metric, by the
cells that decide.

In each cell the differences between partners are looked at: both have the same seed, so what
chance does to both falls out. A difference counts when it is unlikely to be chance (corrected for
the number of cells and metrics by Benjamini and Hochberg, JRSS B 57, 1995) and certain to be larger
than what nobody cares about: the whole of its interval lies beyond that, not its mean alone. So
does a value that occurs in some seeds only. A cell is the same when the whole interval lies within
what nobody cares about; what is neither can't be told with so few seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.kernels.verdict.chance import (
    MOST_SEEDS,
    Mean,
    Stray,
    mean_of,
    seeds_for_mean,
    seeds_for_stray,
    stray_of,
)
from flent_aqm.parts.kernels.verdict.pairs import Cell, Comparison
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.table import (
    METRICS,
    Metric,
    Unavailable,
    ranked,
)
from flent_aqm.results.metrics.throughput import shares_line
from flent_aqm.tools.tool import HIGHER, NEITHER

BETTER, WORSE, SAME, MIXED, UNTOLD = "better", "worse", "same", "mixed", "can't tell"
USUAL = (
    "throughput_download_mbps", "throughput_upload_mbps", "total_download_mbps",
    "total_upload_mbps", "fairness_download", "fairness_upload",
    "latency_loaded_median_ms", "latency_loaded_p95_ms", "latency_loaded_p99_ms",
    "latency_loaded_max_ms", "jitter_loaded_ms", "loss_loaded_pct",
    *(f"{kind}_{way}_{rest}" for way in DIRECTIONS for kind, rest in (
        ("flow_rtt", "median_ms"), ("flow_rtt", "p95_ms"), ("flow_rtt", "p99_ms"),
        ("queue_delay", "mean_ms"), ("queue_standing", "mean_bytes"))),
    "udp_loss_download_pct", "udp_loss_upload_pct")
# Share of all differences found that may be chance.
FALSE_SHARE = 0.05
# Stray values less likely than this are not passed over.
SUSPICIOUS = 0.3
FEWEST_SEEDS = 3
# What nobody cares about: a difference below this share of the base's value, or below this
# many units. Of a latency under load, the share is that of what it has beyond the path's own:
# a queue's wait that grows from 5 to 6 ms is a fifth more, wherever the server is.
PATH_OWN = {"latency_loaded_": "latency_idle_min_ms",
            **{f"flow_rtt_{way}_": f"flow_rtt_{way}_min_ms" for way in DIRECTIONS}}
ALIKE_SHARE = 0.05
ALIKE = {"Mbit/s": 0.0, "ms": 0.2, "%": 0.2, "": 0.02, "bytes": 1514.0}
# The share of packets that a network may lose by ITU-T Y.1541 (classes 0 to 4). A receiver of UDP
# counts thousands of packets; probes are too few to tell so little.
ALIKE_BY_METRIC = {f"udp_loss_{way}_pct": 0.1 for way in DIRECTIONS}
# Throughput is what is paid for: less of a loss is cared about. The furthest values are those of
# some packets, or one.
ALIKE_SHARE_BY_UNIT = {"Mbit/s": 0.005}
ALIKE_SHARE_BY_STATISTIC = {"p99": 0.1, "max": 0.25}


@dataclass(frozen=True)
class Effect:
    """A metric in a cell. base, test: medians over seeds; difference: the mean of test - base;
    low, high: its interval; verdict: of this cell; why: of one that can't be told, or that is by
    some seeds only; seeds_needed: with how many it could be told, None where that isn't known."""

    cell: str
    seeds: int
    base: float
    test: float
    difference: float
    low: float
    high: float
    verdict: str
    why: str = ""
    seeds_needed: int | None = None


@dataclass(frozen=True)
class JudgedMetric:
    """A metric over all cells that have it; deciding cells first, the largest effect first."""

    metric: Metric
    verdict: str
    effects: Sequence[Effect]


@dataclass(frozen=True)
class _Measured:
    """A metric in a cell before it is known how many there are. mean: of the pairs in which neither
    number is a lost probe, which has no distance to others; None where one side lost more."""

    metric: Metric
    cell: str
    base: float
    test: float
    seeds: int
    margin: float
    mean: Mean | None
    stray: Stray


def judge(comparison: Comparison, names: Sequence[str] = USUAL) -> list[JudgedMetric]:
    """Return a verdict for each metric that the runs have, in the order of names.

    Raise ConfigError for a metric that has no better and worse, or where no cell has enough seeds.
    """
    for name in names:
        if name not in METRICS:
            raise ConfigError(f"there is no metric {name!r}; flent-aqm score --list shows all")
        if METRICS[name].better == NEITHER:
            raise ConfigError(f"for the metric {name} neither direction is better; choose another "
                              "one")
    most = max(len(cell.pairs) for cell in comparison.cells)
    if most < FEWEST_SEEDS:
        raise ConfigError(f"no cell has more than {most} pairs of runs; expected {FEWEST_SEEDS} "
                          "seeds or more, as fewer can't tell chance from change")
    measurements = [one for name in names for cell in comparison.cells
                    if (one := _measured(METRICS[name], cell)) is not None]
    if not measurements:
        raise ConfigError("no pair of runs has any of these metrics on both sides")
    measured = [one for one in measurements if isinstance(one, _Measured)]
    means = iter(_adjusted([1.0 if one.mean is None else one.mean.probability for one in measured]))
    strays = iter(_adjusted([one.stray.probability for one in measured]))
    judged: dict[str, list[Effect]] = {}
    for one in measurements:
        if isinstance(one, _Measured):
            effect = _decided(one, next(means), next(strays), FALSE_SHARE / len(measured))
            judged.setdefault(one.metric.name, []).append(effect)
        else:
            judged.setdefault(one[0].name, []).append(one[1])
    return [JudgedMetric(METRICS[name], _overall(effects), sorted(effects, key=_weight))
            for name, effects in judged.items()]


def is_worse(judged: Sequence[JudgedMetric]) -> bool:
    """True if a metric got worse in any cell."""
    return any(one.verdict in (WORSE, MIXED) for one in judged)


def is_better(judged: Sequence[JudgedMetric]) -> bool:
    """True if a metric got better in any cell, and none got worse."""
    return any(one.verdict == BETTER for one in judged) and not is_worse(judged)


def can_tell(judged: Sequence[JudgedMetric]) -> bool:
    """True if all that isn't known to be different is known to be the same."""
    return not any(effect.verdict == UNTOLD for one in judged for effect in one.effects)


def _measured(metric: Metric, cell: Cell) -> _Measured | tuple[Metric, Effect] | None:
    """Return what is to be judged, an effect where nothing can be; None of what no run of the
    cell has, or not all of runs that are identical. With cross traffic, what all flows carried is
    judged in place of what the test got of it, which is a share."""
    shared = any(shares_line(run.settings) for pair in cell.pairs for run in pair)
    if metric.name.startswith("throughput_" if shared else "total_"):
        return None
    sides = [[run.values[metric.name] for run in runs] for runs in zip(*cell.pairs, strict=True)]
    numbers = [[ranked(value) for value in side] for side in sides]
    if all(value is None for side in numbers for value in side):
        return None
    # Where all samples are the same, a number that can't be had is missing on both sides.
    if cell.identical == len(cell.pairs) and any(None in side for side in numbers):
        return None
    for name, side, values in zip(("base", "test"), numbers, sides, strict=True):
        if missing := side.count(None):
            because = next(one.because for one in values if isinstance(one, Unavailable)
                           and not one.lost)
            return metric, _untold(cell, math.nan, math.nan, f"{missing} of {len(side)} runs of "
                                   f"the {name} side have no number: {because}")
    base, test = numpy.array(numbers, dtype=float)
    if base.size < FEWEST_SEEDS:
        return metric, _untold(
            cell, float(numpy.median(base)), float(numpy.median(test)),
            f"{base.size} of {FEWEST_SEEDS} pairs of runs that it takes at least")
    middle = float(numpy.median(base))
    whole = abs(middle - _path_own(metric, cell)) if math.isfinite(middle) else 0.0
    margin = _margin(metric, whole)
    there = numpy.isfinite(base) & numpy.isfinite(test)
    lost_alike = bool((numpy.isfinite(base) == numpy.isfinite(test)).all())
    return _Measured(metric, cell.name, middle, float(numpy.median(test)), base.size, margin,
                     mean_of(base[there], test[there]) if lost_alike and there.sum() != 1
                     else None, stray_of(base, test, margin))


def _untold(cell: Cell, base: float, test: float, why: str) -> Effect:
    """Return the effect of what can't be judged."""
    none = math.nan
    return Effect(cell.name, len(cell.pairs), base, test, none, none, none, UNTOLD, why)


def _path_own(metric: Metric, cell: Cell) -> float:
    """Return the part of a number that no queue can change, in the metric's unit."""
    name = next((path for start, path in PATH_OWN.items() if metric.name.startswith(start)), "")
    idle = [value for run, _ in cell.pairs
            if (value := ranked(run.values.get(name, Unavailable("")))) is not None]
    return float(numpy.median(idle)) if idle else 0.0


def _margin(metric: Metric, whole: float) -> float:
    """Return the largest difference that nobody cares about."""
    share = ALIKE_SHARE_BY_UNIT.get(metric.unit, ALIKE_SHARE)
    share = next((of for name, of in ALIKE_SHARE_BY_STATISTIC.items()
                  if f"_{name}_" in metric.name), share)
    return max(share * whole, ALIKE_BY_METRIC.get(metric.name, ALIKE.get(metric.unit, 0.0)))


def _adjusted(probabilities: Sequence[float]) -> list[float]:
    from scipy import stats

    return [float(one) for one in stats.false_discovery_control(probabilities)]


def _decided(one: _Measured, mean_by_chance: float, stray_by_chance: float, least: float) -> Effect:
    """least: a probability that would count if it were the only one of all."""
    mean, stray = one.mean, one.stray
    if mean is None:
        lost = one.test - one.base if math.isfinite(one.base) else -math.inf
        shown = Mean(lost, -math.inf, math.inf, 1.0, 0.0)
    else:
        shown = mean
    verdict, why, needed = SAME, "", None
    # Negative where the interval includes 0.
    if mean_by_chance < FALSE_SHARE and max(shown.low, -shown.high) > one.margin:
        verdict = _way(one.metric, shown.difference > 0)
    elif stray_by_chance < FALSE_SHARE:
        verdict, why = _way(one.metric, stray.more), f"in {stray.share:.0%} of the seeds"
    elif stray.probability < SUSPICIOUS or not (
            -one.margin <= shown.low and shown.high <= one.margin):
        verdict, needed = UNTOLD, _seeds_needed(one, least)
        why = f"{needed} seeds may tell" if needed else f"nor would {MOST_SEEDS} seeds"
    return Effect(one.cell, one.seeds, one.base, one.test, shown.difference, shown.low, shown.high,
                  verdict, why, needed)


def _seeds_needed(one: _Measured, least: float) -> int | None:
    """Return with how many seeds a verdict is likely, if all goes on as it is."""
    suspicious = one.stray.probability < SUSPICIOUS
    ways = [seeds_for_stray(one.stray, least)] if suspicious else []
    if one.mean is not None and (not suspicious or abs(one.mean.difference) > one.margin):
        ways.append(seeds_for_mean(one.mean, one.margin))
    return max(min((size for size in ways if size is not None), default=0), one.seeds + 1) \
        if any(ways) else None


def _way(metric: Metric, more: bool) -> str:
    return BETTER if more == (metric.better == HIGHER) else WORSE


def _overall(effects: Sequence[Effect]) -> str:
    verdicts = {effect.verdict for effect in effects} - {SAME}
    if verdicts == {BETTER, WORSE} or verdicts == {BETTER, WORSE, UNTOLD}:
        return MIXED
    return next((one for one in (WORSE, BETTER, UNTOLD) if one in verdicts), SAME)


def _weight(effect: Effect) -> tuple[int, float]:
    size = abs(effect.difference) / abs(effect.base) if effect.base else math.inf
    order = 2 if effect.verdict == SAME else 1 if effect.verdict == UNTOLD else 0
    return order, -size if math.isfinite(size) else -math.inf

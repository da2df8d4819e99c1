# SPDX-License-Identifier: GPL-3.0-or-later
"""Is the test side better, worse or the same? For each metric, by the cells that decide.

In each cell the differences between partners are looked at: both have the same seed, so what
chance does to both falls out. A difference counts when it is unlikely to be chance (paired
t-test, corrected for the number of cells and metrics by Benjamini and Hochberg, JRSS B 57,
1995) and certain to be larger than what nobody cares about: the whole of its interval lies beyond
that, not its mean alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.table import (
    HIGHER,
    METRICS,
    NEITHER,
    Metric,
    Unavailable,
    ranked,
)
from flent_aqm.results.verdict.pairs import Cell, Comparison

BETTER, WORSE, SAME, MIXED = "better", "worse", "same", "mixed"
USUAL = (
    "throughput_download_mbps", "throughput_upload_mbps", "fairness_download", "fairness_upload",
    "latency_loaded_median_ms", "latency_loaded_p95_ms", "latency_loaded_p99_ms",
    "latency_loaded_max_ms", "jitter_loaded_ms", "loss_loaded_pct",
    *(f"{kind}_{way}_{rest}" for way in DIRECTIONS for kind, rest in (
        ("flow_rtt", "median_ms"), ("flow_rtt", "p95_ms"), ("flow_rtt", "p99_ms"),
        ("queue_delay", "mean_ms"), ("queue_standing", "mean_bytes"))),
    "udp_loss_download_pct", "udp_loss_upload_pct")
# Share of all differences found that may be chance.
FALSE_SHARE = 0.05
CONFIDENCE = 0.99
FEWEST_SEEDS = 3
# Of the numbers themselves: differences of floats that are no differences.
ROUNDING = 1e-9
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
# Throughput is what is paid for: less of a loss is cared about.
ALIKE_SHARE_BY_UNIT = {"Mbit/s": 0.02}


@dataclass(frozen=True)
class Effect:
    """A metric in a cell. base, test: medians over seeds; difference: the mean of test - base;
    low, high: its interval; probability: of one as large by chance alone; verdict: of this
    cell; whole: that of which a difference is a share."""

    cell: str
    seeds: int
    base: float
    test: float
    difference: float
    low: float
    high: float
    probability: float
    verdict: str
    whole: float


@dataclass(frozen=True)
class JudgedMetric:
    """A metric over all cells that have it; deciding cells first, the largest effect first."""

    metric: Metric
    verdict: str
    effects: Sequence[Effect]


def judge(comparison: Comparison, names: Sequence[str] = USUAL) -> list[JudgedMetric]:
    """Return a verdict for each metric that the runs have, in the order of names.

    Raise ConfigError for a metric that has no better and worse, or too few seeds.
    """
    for name in names:
        if name not in METRICS:
            raise ConfigError(f"there is no metric {name!r}; flent-aqm score --list shows all")
        if METRICS[name].better == NEITHER:
            raise ConfigError(f"for the metric {name} neither direction is better; choose another "
                              "one")
    fewest = min(len(cell.pairs) for cell in comparison.cells)
    if fewest < FEWEST_SEEDS:
        raise ConfigError(f"a cell has {fewest} pairs of runs; expected {FEWEST_SEEDS} seeds or "
                          "more, as fewer can't tell chance from change")
    found = [(METRICS[name], effect) for name in names for cell in comparison.cells
             if (effect := _effect(METRICS[name], cell)) is not None]
    if not found:
        raise ConfigError("no pair of runs has any of these metrics on both sides")
    adjusted = _adjusted([effect.probability for _, effect in found])
    judged: dict[str, list[Effect]] = {}
    for (metric, effect), probability in zip(found, adjusted, strict=True):
        judged.setdefault(metric.name, []).append(_decided(metric, effect, probability))
    return [JudgedMetric(METRICS[name], _overall(effects), sorted(effects, key=_weight))
            for name, effects in judged.items()]


def is_worse(judged: Sequence[JudgedMetric]) -> bool:
    """True if a metric got worse in any cell."""
    return any(one.verdict in (WORSE, MIXED) for one in judged)


def _effect(metric: Metric, cell: Cell) -> Effect | None:
    """Not yet decided; None where fewer than FEWEST_SEEDS pairs have the number. A percentile
    that is a lost probe has no distance to others and is left to the metric of loss."""
    numbers = [(ranked(base.values[metric.name]), ranked(test.values[metric.name]))
               for base, test in cell.pairs]
    known = [(one, other) for one, other in numbers if one is not None and other is not None
             and math.isfinite(one) and math.isfinite(other)]
    if len(known) < FEWEST_SEEDS:
        return None
    from scipy import stats

    base, test = numpy.array(known).T
    apart = test - base
    mean = float(apart.mean())
    # A t-test divides by the spread, which may be nothing but rounding.
    rounding = ROUNDING * float(numpy.abs([base, test]).max())
    if float(numpy.ptp(apart)) <= rounding:
        low, high, probability = mean, mean, 1.0 if abs(mean) <= rounding else 0.0
    else:
        result = stats.ttest_rel(test, base)
        interval = result.confidence_interval(CONFIDENCE)
        low, high, probability = float(interval.low), float(interval.high), float(result.pvalue)
    middle = float(numpy.median(base))
    return Effect(cell.name, len(known), middle, float(numpy.median(test)),
                  mean, low, high, probability, SAME, abs(middle - _path_own(metric, cell)))


def _path_own(metric: Metric, cell: Cell) -> float:
    """Return the part of a number that no queue can change, in the metric's unit."""
    name = next((path for start, path in PATH_OWN.items() if metric.name.startswith(start)), "")
    idle = [value for run, _ in cell.pairs
            if (value := ranked(run.values.get(name, Unavailable("")))) is not None]
    return float(numpy.median(idle)) if idle else 0.0


def _adjusted(probabilities: Sequence[float]) -> list[float]:
    from scipy import stats

    return [float(one) for one in stats.false_discovery_control(probabilities)]


def _decided(metric: Metric, effect: Effect, probability: float) -> Effect:
    share = ALIKE_SHARE_BY_UNIT.get(metric.unit, ALIKE_SHARE)
    smallest = max(effect.low, -effect.high)  # negative where the interval includes 0
    units = ALIKE_BY_METRIC.get(metric.name, ALIKE.get(metric.unit, 0.0))
    matters = smallest > max(share * effect.whole, units)
    verdict = SAME
    if probability < FALSE_SHARE and matters:
        verdict = BETTER if (effect.difference > 0) == (metric.better == HIGHER) else WORSE
    return replace(effect, probability=probability, verdict=verdict)


def _overall(effects: Sequence[Effect]) -> str:
    verdicts = {effect.verdict for effect in effects} - {SAME}
    return SAME if not verdicts else verdicts.pop() if len(verdicts) == 1 else MIXED


def _weight(effect: Effect) -> tuple[bool, float]:
    size = abs(effect.difference) / abs(effect.base) if effect.base else math.inf
    return effect.verdict == SAME, -size

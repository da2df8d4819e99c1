# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide for each metric whether the test side is better, worse or the same, or runs can't tell.

In each cell the differences between partners are examined. Both have the same seed, so that the
effects of chance cancel out. A difference counts when it is unlikely to be chance (corrected for
the number of cells and metrics by Benjamini and Hochberg, JRSS B 57, 1995) and certain to be larger
than anybody cares about: its whole interval, not its mean alone, lies beyond that margin. A value
that occurs in some seeds only counts, too. A cell is the same when the whole interval lies within
the margin. Between these cases, so few seeds can't tell. Whether the change ran at all is decided
in exercised.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.words import counted
from flent_aqm.parts.kernels.verdict.chance import (
    MOST_SEEDS,
    Mean,
    Stray,
    mean_of,
    seeds_for_mean,
    seeds_for_stray,
    stray_of,
)
from flent_aqm.parts.kernels.verdict.pairs import PairedSides, Pairs, TooFewPairs
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.table import (
    METRICS,
    Metric,
    Unavailable,
    ranked,
    unknown_metric,
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
    """The effect of the change on a metric in a cell.

    Attributes:
        cell: name of the cell.
        seeds: number of pairs.
        base: median of the base side over the seeds, in the metric's unit. Infinite if it is a lost
            probe's, NaN if a run of either side has no value.
        test: median of the test side, likewise.
        difference: mean of test - base, as Mean has it. NaN also if a run has no value or there are
            too few pairs.
        low: lower end of the difference's interval. -infinity if it isn't known. Says nothing where
            `difference` is NaN.
        high: upper end of the interval. Infinity if it isn't known. Says nothing where `difference`
            is NaN.
        verdict: BETTER, WORSE, SAME or UNTOLD.
        why: reason of an UNTOLD verdict, or share of the seeds for a BETTER or WORSE verdict by
            stray values ("in 40% of the seeds"). Otherwise "".
        seeds_needed: number of seeds that would probably decide an UNTOLD verdict. None if 1000
            seeds (MOST_SEEDS) would not be enough, if the number isn't known, and for other
            verdicts.
    """

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
    """The verdict on a metric over all cells in which it is judged.

    Attributes:
        metric: the metric.
        verdict: BETTER, WORSE, MIXED, SAME or UNTOLD.
        effects: its effect in each of these cells. Cells with a better or worse verdict come first,
            then those that can't be told, then the same. Within each group, the largest difference,
            as a share of the base's median, is first.
    """

    metric: Metric
    verdict: str
    effects: Sequence[Effect]


@dataclass(frozen=True)
class _Measured:
    """A metric in a cell, before its probabilities are corrected for the number of cells and
    metrics.

    Attributes:
        metric: the metric.
        cell: name of the cell.
        base: median of the base side over the seeds, in the metric's unit. Infinite if it is a lost
            probe's.
        test: median of the test side, likewise.
        seeds: number of pairs.
        margin: largest difference that nobody cares about, in the metric's unit.
        whole_pairs: number of pairs in which neither value is a lost probe.
        mean: mean difference.
        stray: values beyond all those of the other side by more than the margin.
    """

    metric: Metric
    cell: str
    base: float
    test: float
    seeds: int
    margin: float
    whole_pairs: int
    mean: Mean
    stray: Stray


def judge(comparison: PairedSides, names: Sequence[str] = USUAL) -> list[JudgedMetric]:
    """Return the verdict on each metric that the runs have, in the order of `names`. A name that
    occurs twice counts once.

    In cells with cross traffic, `throughput_…` isn't judged, in others `total_…` isn't. A
    percentile isn't judged in cells in which runs of both sides have too few samples for it.
    Probabilities are corrected for the number of metrics and cells.

    Raises TooFewPairs if no cell has at least three pairs (FEWEST_SEEDS), ConfigError for a name
    that isn't a metric, for a metric that has no better and worse, or if no run has a value of a
    metric that is judged in its cell.
    """
    for name in names:
        if name not in METRICS:
            raise ConfigError(f"--metrics: {unknown_metric(name)}")
        if METRICS[name].better == NEITHER:
            raise ConfigError(f"--metrics: {name}: neither a higher nor a lower value is better; "
                              "choose a metric for which flent-aqm score --list says which one is")
    most = max(len(cell.pairs) for cell in comparison.cells)
    if most < FEWEST_SEEDS:
        raise TooFewPairs(f"no cell has more than {counted(most, 'pair')} of runs; expected "
                          f"{FEWEST_SEEDS} or more, each with another seed, as fewer can't tell "
                          "chance from change")
    measurements = [one for name in dict.fromkeys(names) for cell in comparison.cells
                    if (one := _measure_cell(METRICS[name], cell)) is not None]
    if not measurements:
        raise ConfigError(f"nothing to judge by {', '.join(names)}: the runs lack such values, "
                          "have too few samples for the percentile, or these aren't judged in "
                          "their cells (throughput_... only without cross traffic, total_... only "
                          "with it); choose other --metrics, or make longer runs")
    measured = [one for one in measurements if isinstance(one, _Measured)]
    means = iter(_corrected_for_number([one.mean.probability for one in measured]))
    strays = iter(_corrected_for_number([one.stray.probability for one in measured]))
    judged: dict[str, list[Effect]] = {}
    for measurement in measurements:
        if isinstance(measurement, _Measured):
            effect = _decide_effect(measurement, next(means), next(strays),
                                    FALSE_SHARE / len(measured))
            judged.setdefault(measurement.metric.name, []).append(effect)
        else:
            judged.setdefault(measurement[0].name, []).append(measurement[1])
    return [JudgedMetric(METRICS[name], _overall_verdict(effects),
                         sorted(effects, key=_effect_sort_key))
            for name, effects in judged.items()]


def is_worse(judged: Sequence[JudgedMetric]) -> bool:
    """Return True if a metric got worse in any cell."""
    return any(metric.verdict in (WORSE, MIXED) for metric in judged)


def is_better(judged: Sequence[JudgedMetric]) -> bool:
    """Return True if a metric got better in any cell, and none got worse."""
    return any(metric.verdict == BETTER for metric in judged) and not is_worse(judged)


def can_tell(judged: Sequence[JudgedMetric]) -> bool:
    """Return True if no effect is UNTOLD: each is known to be better, worse or the same."""
    return not any(effect.verdict == UNTOLD for metric in judged for effect in metric.effects)


def _measure_cell(metric: Metric, cell: Pairs) -> _Measured | tuple[Metric, Effect] | None:
    """Measure a metric in a cell.

    With cross traffic, the total of all flows (`total_...`) is judged in place of the test's
    throughput, which is only a share. Without cross traffic, the totals aren't judged.

    Returns:
        The measured metric, or the metric and an UNTOLD effect if values are missing or there are
            too few pairs. None if the metric isn't judged, no run of the cell has it, it is a
            percentile for which runs of both sides have too few samples, or a run lacks it where
            all pairs have identical samples.
    """
    shared = any(shares_line(run.settings) for pair in cell.pairs for run in pair)
    if metric.name.startswith("throughput_" if shared else "total_"):
        return None
    sides = [[run.values[metric.name] for run in runs] for runs in zip(*cell.pairs, strict=True)]
    numbers = [[ranked(value) for value in side] for side in sides]
    if all(value is None for side in numbers for value in side):
        return None
    # Runs of both sides are too short for this percentile. Those of them that lost so many probes
    # that it is a lost probe are told apart by the metric of loss. On one side alone, a change may
    # have made the probes fewer.
    if all(any(isinstance(value, Unavailable) and value.too_few for value in side)
           for side in sides):
        return None
    # Where all samples are the same, a number that can't be had is missing on both sides.
    if cell.identical == len(cell.pairs) and any(None in side for side in numbers):
        return None
    for name, side, values in zip(("base", "test"), numbers, sides, strict=True):
        if missing := side.count(None):
            because = next(one.because for one in values if isinstance(one, Unavailable)
                           and not one.lost)
            return metric, _untold_effect(cell, math.nan, math.nan,
                                          f"{missing} of {len(side)} runs of "
                                          f"the {name} side have no number: {because}")
    base, test = numpy.array(numbers, dtype=float)
    if base.size < FEWEST_SEEDS:
        return metric, _untold_effect(
            cell, float(numpy.median(base)), float(numpy.median(test)),
            f"{base.size} of the {FEWEST_SEEDS} pairs of runs that a verdict needs")
    middle = float(numpy.median(base))
    whole = abs(middle - _path_latency_ms(metric, cell)) if math.isfinite(middle) else 0.0
    margin = _margin(metric, whole)
    return _Measured(metric, cell.name, middle, float(numpy.median(test)), base.size, margin,
                     int((numpy.isfinite(base) & numpy.isfinite(test)).sum()),
                     mean_of(base, test), stray_of(base, test, margin))


def _untold_effect(cell: Pairs, base: float, test: float, why: str) -> Effect:
    """Return an UNTOLD effect. Its difference and interval are NaN.

    Args:
        cell: the cell.
        base: median of the base side over the seeds, NaN without values.
        test: median of the test side, NaN without values.
        why: the reason, in words that can follow "can't tell: ".
    """
    none = math.nan
    return Effect(cell.name, len(cell.pairs), base, test, none, none, none, UNTOLD, why)


def _path_latency_ms(metric: Metric, cell: Pairs) -> float:
    """Return the base side's median of the part of a latency that no queue can change, in ms. 0 for
    metrics without such a part, or if no run of the base side has a value of it."""
    name = next((path for start, path in PATH_OWN.items() if metric.name.startswith(start)), "")
    idle = [value for run, _ in cell.pairs
            if (value := ranked(run.values.get(name, Unavailable("")))) is not None]
    return float(numpy.median(idle)) if idle else 0.0


def _margin(metric: Metric, whole: float) -> float:
    """Return the largest difference that nobody cares about, in the metric's unit: a share of
    `whole`, but at least a fixed number of units. Share and number depend on the metric.

    Args:
        metric: the metric.
        whole: the base side's median, of a latency under load less the path's own part. Not below
            0.
    """
    share = ALIKE_SHARE_BY_UNIT.get(metric.unit, ALIKE_SHARE)
    share = next((of for name, of in ALIKE_SHARE_BY_STATISTIC.items()
                  if f"_{name}_" in metric.name), share)
    return max(share * whole, ALIKE_BY_METRIC.get(metric.name, ALIKE.get(metric.unit, 0.0)))


def _corrected_for_number(probabilities: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Benjamini and Hochberg), in the same order."""
    from scipy import stats

    return [float(one) for one in stats.false_discovery_control(probabilities)]


def _decide_effect(measured: _Measured, mean_by_chance: float, stray_by_chance: float,
                   least: float) -> Effect:
    """Return the effect of the change on a measured metric.

    BETTER or WORSE if chance explains the mean difference with less than 5 % and its whole interval
    is beyond the margin, or else if chance explains the stray values with less than 5 %. WORSE if
    the two disagree. Otherwise UNTOLD if the interval isn't wholly within the margin, or stray
    values are suspicious (uncorrected p-value below 0.3). Otherwise SAME. An UNTOLD effect also has
    the number of seeds that would probably decide it (`seeds_needed`).

    Args:
        measured: the metric in a cell.
        mean_by_chance: corrected p-value of its mean difference.
        stray_by_chance: corrected p-value of its stray values.
        least: the p-value below which stray values count even if no other one is small. Only
            `seeds_needed` depends on it.
    """
    mean, stray = measured.mean, measured.stray
    verdict, why, needed = SAME, "", None
    # Negative where the interval includes 0.
    by_mean = mean_by_chance < FALSE_SHARE and max(mean.low, -mean.high) > measured.margin
    by_stray = stray_by_chance < FALSE_SHARE
    # Only where both sides lost probes can the two disagree: the others don't count for the mean.
    if by_mean and by_stray and stray.more != (mean.difference > 0):
        by_mean = _better_or_worse(measured.metric, mean.difference > 0) == WORSE
    if by_mean:
        verdict = _better_or_worse(measured.metric, mean.difference > 0)
    elif by_stray:
        verdict, why = _better_or_worse(measured.metric,
                                        stray.more), f"in {stray.share:.0%} of the seeds"
    elif stray.probability < SUSPICIOUS or not (
            -measured.margin <= mean.low and mean.high <= measured.margin):
        verdict, needed = UNTOLD, _seeds_needed(measured, least)
        why = _why_untold(needed, measured)
    return Effect(measured.cell, measured.seeds, measured.base, measured.test, mean.difference,
                  mean.low, mean.high, verdict, why, needed)


def _why_untold(needed: int | None, measured: _Measured) -> str:
    """Return, in words that follow "can't tell: ", how many seeds may tell, that 1000 (MOST_SEEDS)
    would not, or that the number isn't known.

    Args:
        needed: as _seeds_needed() returned it.
        measured: the metric in a cell.
    """
    if needed:
        return f"{needed} seeds in all may tell"
    if measured.whole_pairs == 1 and math.isfinite(measured.mean.difference):
        return ("in all pairs of runs but one it is a lost probe, so it isn't known how many seeds "
                "would tell")
    return f"nor would {MOST_SEEDS} seeds"


def _seeds_needed(measured: _Measured, least: float) -> int | None:
    """Return the number of seeds with which a verdict is likely, if mean, deviation, share of stray
    values and share of lost probes stay as they are. At least one more than there are. None if 1000
    seeds (MOST_SEEDS) would not be enough. Also None if all pairs but one have a lost probe and
    there are no stray values: the number isn't known then.

    Stray values that chance may well explain are considered only if no number of seeds decides by
    the mean.

    Args:
        measured: the metric in a cell.
        least: the probability by chance below which stray values count, even if no other
            probability is small.
    """
    suspicious = measured.stray.probability < SUSPICIOUS
    by_mean = None
    if math.isfinite(measured.mean.low) and (
            not suspicious or abs(measured.mean.difference) > measured.margin):
        by_mean = _with_lost_pairs(seeds_for_mean(measured.mean, measured.margin), measured)
    by_stray = seeds_for_stray(measured.stray, least) if suspicious or by_mean is None else None
    sizes = [size for size in (by_mean, by_stray) if size is not None]
    return max(min(sizes), measured.seeds + 1) if sizes else None


def _with_lost_pairs(whole_pairs: int | None, measured: _Measured) -> int | None:
    """Return the number of seeds with which there are `whole_pairs` pairs without lost probes, if
    their share stays. None if `whole_pairs` is None, or if it takes more than 1000 seeds
    (MOST_SEEDS)."""
    if whole_pairs is None:
        return None
    seeds = math.ceil(whole_pairs * measured.seeds / measured.whole_pairs)
    return seeds if seeds <= MOST_SEEDS else None


def _better_or_worse(metric: Metric, more: bool) -> str:
    """Return BETTER or WORSE for a metric.

    Args:
        metric: the metric.
        more: True if the test side has larger values, False if it has smaller ones.
    """
    return BETTER if more == (metric.better == HIGHER) else WORSE


def _overall_verdict(effects: Sequence[Effect]) -> str:
    """Return the verdict on a metric from its effects: MIXED if there are both better and worse
    cells, otherwise the gravest of WORSE, BETTER, UNTOLD and SAME."""
    verdicts = {effect.verdict for effect in effects} - {SAME}
    if verdicts == {BETTER, WORSE} or verdicts == {BETTER, WORSE, UNTOLD}:
        return MIXED
    return next((one for one in (WORSE, BETTER, UNTOLD) if one in verdicts), SAME)


def _effect_sort_key(effect: Effect) -> tuple[int, float]:
    """Return the sort key of an effect: better and worse before UNTOLD before SAME, then the
    largest difference first, as a share of the base's median. Effects whose share is infinite or
    unknown are the first of their group, those that are the SAME because all probes are lost on
    both sides the last."""
    size = abs(effect.difference) / abs(effect.base) if effect.base else math.inf
    if effect.verdict == SAME and math.isnan(size):
        size = 0.0
    order = 2 if effect.verdict == SAME else 1 if effect.verdict == UNTOLD else 0
    return order, -size if math.isfinite(size) else -math.inf

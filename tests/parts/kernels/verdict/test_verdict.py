# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts on runs whose numbers are made up, so that the truth is known; and the command on
real files in which other settings and seeds are said."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.cli import main
from flent_aqm.parts.kernels.verdict.command import failed_runs
from flent_aqm.parts.kernels.verdict.decide import (
    BETTER,
    MIXED,
    SAME,
    UNTOLD,
    USUAL,
    WORSE,
    Effect,
    JudgedMetric,
    can_tell,
    is_worse,
    judge,
)
from flent_aqm.parts.kernels.verdict.exercised import (
    Exercised,
    _with_failed,
    _write_kept,
    exercise,
    unknown,
)
from flent_aqm.parts.kernels.verdict.page import (
    findings,
    html,
    markdown,
    sentence,
    without_escapes,
)
from flent_aqm.parts.kernels.verdict.pairs import PairedSides, pair
from flent_aqm.results import status
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.score.shown import ScoredFile
from flent_aqm.setup.kernel.coverage import ChangedFile
from flent_aqm.setup.kernel.locate import Kernel
from tests.files import RUNS, load, save

GOLDEN = RUNS / "iperf3_upload.flent.gz"
CELLS, SEEDS = ("one", "fair", "many", "ecn", "overload", "burst", "rtt", "rate"), range(1, 6)
LATENCY, THROUGHPUT = "latency_loaded_median_ms", "throughput_download_mbps"
Change = Callable[[str, str, float], float]


def side(draw: int, change: Change = lambda cell, metric, value: value,
         seeds: Iterable[int] = SEEDS, noise: float = 0.01, **settings: Setting
         ) -> list[ScoredFile]:
    """Forty runs whose metrics scatter by 3 %, around another value in each cell. The seed
    alone decides that, as it does in the lab, but for noise. Each metric has chance of its own, so
    that another one more changes nothing for it."""
    random = [numpy.random.default_rng([draw, number]) for number in range(len(USUAL))]
    runs = []
    for at, cell in enumerate(CELLS, 1):
        for seed in seeds:
            common = numpy.random.default_rng([at, seed]).normal(1, 0.03, len(USUAL))
            values = {name: change(cell, name, float(10 * at * common[number]
                                                     * random[number].normal(1, noise)))
                      for number, name in enumerate(USUAL)}
            runs.append(ScoredFile(Path(f"{cell}{seed}"), {"flows": cell, "seed": seed, **settings},
                                 values))
    return runs


def verdicts(base: list[ScoredFile], test: list[ScoredFile]) -> Mapping[str, str]:
    """Of each metric."""
    return {one.metric.name: one.verdict for one in judge(pair(base, test))}


def test_sides_that_differ_by_chance_alone_are_not_different() -> None:
    """Twenty of twenty times, with 22 metrics in eight cells each. Five seeds are too few to be
    sure that each is the same; forty are enough."""
    for draw in range(20):
        seen = set(verdicts(side(draw, noise=0.03), side(1000 + draw, noise=0.03)).values())
        assert UNTOLD in seen
        assert seen <= {SAME, UNTOLD}
    many = range(40)
    sure = verdicts(side(1, seeds=many, noise=0.002), side(2, seeds=many, noise=0.002))
    assert set(sure.values()) == {SAME}


def test_what_can_not_be_told_says_how_many_seeds_it_takes() -> None:
    """And with so many it is told: a true difference of 10 %, with a spread of 7 % a pair."""
    def slower(cell: str, metric: str, value: float) -> float:
        return value * 1.1 if metric == LATENCY else value

    def judged(seeds: int) -> JudgedMetric:
        return next(one for one in judge(pair(
            side(1, seeds=range(seeds), noise=0.05), side(2, slower, range(seeds), 0.05)))
            if one.metric.name == LATENCY)

    few = judged(5)
    assert few.verdict == UNTOLD
    assert not can_tell([few])
    assert not is_worse([few])
    needed = [effect.seeds_needed or 0 for effect in few.effects]
    assert all(6 <= one <= 200 for one in needed)
    assert few.effects[0].why == f"{needed[0]} seeds in all may tell"
    assert judged(40).verdict == WORSE


@pytest.mark.parametrize("which", [0, 1])
def test_what_happens_in_some_seeds_only_is_found(which: int) -> None:
    """Of 20 seeds in 12, as where a few flows share a queue: fairness falls by 6 %, less on average
    than anybody cares about. And the other way round, where the change mends it."""
    def some(cell: str, metric: str, value: float) -> float:
        return next(drops) if (cell, metric) == ("fair", "fairness_upload") else value

    seeds = range(20)
    drops = iter([0.94 if seed % 5 < 3 else 0.999 for seed in seeds] + [0.999] * 20)
    sides = [side(1, some, seeds), side(2, some, seeds)]
    judged = next(one for one in judge(pair(*sides[::1 if which else -1]))
                  if one.metric.name == "fairness_upload")
    effect = judged.effects[0]
    assert abs(effect.difference) < 0.05
    assert (effect.cell, effect.verdict, effect.why) == (
        "flows fair", BETTER if which else WORSE, "in 60% of the seeds")


def test_three_of_five_strays_are_not_passed_over() -> None:
    """Nor are they proof: the seeds that would be are named."""
    values = iter([29.2, 29.1, 29.3, 29.2, 29.0, 58.0, 29.1, 57.5, 58.2, 29.0])

    def some(cell: str, metric: str, value: float) -> float:
        return next(values) if (cell, metric) == ("fair", LATENCY) else value

    judged = next(one for one in judge(pair(side(1, some), side(2, some)))
                  if one.metric.name == LATENCY)
    assert (judged.effects[0].cell, judged.effects[0].verdict) == ("flows fair", UNTOLD)
    assert 10 <= (judged.effects[0].seeds_needed or 0) <= 30


LOST = math.inf


def of_latencies(pairs: Iterable[tuple[float, float]]) -> PairedSides:
    """A cell with the latency of each base run and its partner."""
    sides: list[list[ScoredFile]] = [[], []]
    for seed, values in enumerate(pairs):
        for number, (runs, ms) in enumerate(zip(sides, values, strict=True)):
            runs.append(ScoredFile(
                Path(f"{number}-{seed}"), {"aqm_target": f"{5 + number}ms", "seed": seed},
                {LATENCY: Unavailable("it is a lost probe", lost=True) if ms == LOST else ms}))
    return pair(*sides)


@pytest.mark.parametrize(("pairs", "why"), [
    # One of ten runs of the test side loses probes: chance explains one, but not a tenth of many.
    ([(10.0, 10.0)] * 9 + [(10.0, LOST)], "{} seeds in all may tell"),
    # The sides lose probes in different runs, the test side in more.
    ([(10.0, LOST)] * 5 + [(LOST, 10.0)], "{} seeds in all may tell"),
    # In every pair one side or the other loses them, as often.
    ([(10.0, LOST), (LOST, 10.0)] * 2, "nor would 1000 seeds"),
    # The mean lies on the margin, 5 % of 10 ms, and one value beyond it.
    ([(10.0, 10.45)] * 9 + [(10.0, 10.95)], "{} seeds in all may tell"),
    # The mean lies on the margin, and no value is beyond all of the other side's.
    ([(9.0, 9.2), (10.0, 11.1), (11.0, 11.2)], "nor would 1000 seeds"),
    # Two of five runs lose probes on both sides: they don't count for the mean.
    ([(9.0, 9.2), (10.0, 11.9), (11.0, 11.2), (LOST, LOST), (LOST, LOST)],
     "{} seeds in all may tell"),
    # A single pair has no deviation.
    ([(10.0, 10.0)] + [(LOST, LOST)] * 4, (
        "in all pairs of runs but one it is a lost probe, so it isn't known how many seeds would "
        "tell")),
    # Likewise where each is lost on one side alone.
    ([(10.0, 10.0), (10.0, LOST), (LOST, 10.0)], (
        "in all pairs of runs but one it is a lost probe, so it isn't known how many seeds would "
        "tell")),
])
def test_number_of_seeds_that_may_tell_is_true(pairs: list[tuple[float, float]], why: str) -> None:
    """With so many seeds there is a verdict if the runs go on as they began, and with half as many
    there is none. Where 1000 seeds are said not to be enough, they aren't."""
    def effect(repetitions: int) -> Effect:
        return judge(of_latencies(pairs * repetitions), [LATENCY])[0].effects[0]

    few = effect(1)
    assert few.verdict == UNTOLD
    assert few.why == why.format(few.seeds_needed)
    if few.seeds_needed:
        assert effect(few.seeds_needed // 2 // len(pairs)).verdict == UNTOLD
        assert effect(math.ceil(few.seeds_needed / len(pairs))).verdict == WORSE
    elif "1000" in why:
        assert effect(1000 // len(pairs)).verdict == UNTOLD
    else:
        # The next runs may tell, so nothing is said of 1000 seeds.
        assert effect(2).verdict == SAME


@pytest.mark.parametrize(("pairs", "verdict"), [
    ([(10.0, 10.1)] * 8 + [(10.0, LOST), (LOST, 10.0)], SAME),
    ([(10.0, 10.1)] * 8 + [(10.0, LOST)] * 9 + [(LOST, 10.0)], WORSE),
    ([(10.0, 10.1)] * 8 + [(LOST, 10.0)] * 9 + [(10.0, LOST)], BETTER),
    ([(10.0, 15.0)] * 8 + [(10.0, LOST), (LOST, 10.0)], WORSE),
    # It loses fewer, but those that return take longer; and the other way round.
    ([(10.0, 15.0)] * 8 + [(LOST, 10.0)] * 9 + [(10.0, LOST)], WORSE),
    ([(10.0, 5.0)] * 8 + [(10.0, LOST)] * 9 + [(LOST, 10.0)], WORSE)])
def test_probes_lost_on_both_sides_in_different_runs_are_compared_by_number(
        pairs: list[tuple[float, float]], verdict: str) -> None:
    """The rest by its mean: such a metric was never decided, with any number of seeds."""
    assert judge(of_latencies(pairs), [LATENCY])[0].verdict == verdict


@pytest.mark.parametrize(("pairs", "row"), [
    ([(10.0, LOST)] + [(10.0, 11.0)] * 4, "10.00 | 11.00 | +∞ | -"),
    ([(LOST, 10.0)] + [(11.0, 10.0)] * 4, "11.00 | 10.00 | -∞ | -"),
    ([(10.0, LOST)] * 2 + [(LOST, LOST)] * 3, "lost | lost | +∞ | -"),
    # The sides lost probes in different pairs.
    ([(10.0, LOST), (LOST, 11.0)] + [(10.0, 11.0)] * 3,
     "10.00 | 11.00 | +1.00 (+10.0%) | +1.00 to +1.00"),
    ([(10.0, LOST), (LOST, 11.0)] * 2, "lost | lost | - | -"),
    ([(LOST, LOST)] * 5, "lost | lost | - | -"),
    ([(LOST, LOST)] * 4 + [(10.0, 11.0)], "lost | lost | +1.00 | -"),
    ([(LOST, LOST)] + [(10.0, 11.0)] * 4, "10.00 | 11.00 | +1.00 (+10.0%) | +1.00 to +1.00"),
])
def test_difference_with_lost_probes_is_a_mean_or_none(pairs: list[tuple[float, float]], row: str
                                                       ) -> None:
    """That of the medians is no mean, and an interval that isn't known has no ends."""
    comparison = of_latencies(pairs)
    text = markdown("Can't tell", comparison, judge(comparison, [LATENCY]))
    assert f"| all runs | {row} |" in text


def test_a_change_in_one_cell_of_one_metric_is_found_and_named() -> None:
    """A third more latency in one of eight cells; nothing else is blamed."""
    def slower(cell: str, metric: str, value: float) -> float:
        return value * 1.33 if (cell, metric) == ("many", LATENCY) else value

    comparison = pair(side(1, target="5ms"), side(2, slower, target="6ms"))
    judged = judge(comparison)
    assert {one.metric.name: one.verdict for one in judged
            if one.verdict not in (SAME, UNTOLD)} == {LATENCY: WORSE}
    assert is_worse(judged)
    decided = next(one for one in judged if one.metric.name == LATENCY).effects[0]
    assert decided.cell == "flows many"
    assert decided.low < decided.difference < decided.high
    assert decided.difference == pytest.approx(0.33 * decided.base, rel=0.3)
    page = markdown("Worse", comparison, judged)
    assert (f"Worse: {LATENCY} (+{decided.difference:.2f}, "
            f"+{100 * decided.difference / decided.base:.1f}% in flows many); can't tell: "
            ) in sentence(comparison, judged)
    assert "Compared: target 5ms \\(base\\) and 6ms \\(test\\). 40 pairs" in page
    without = markdown("Worse", pair(side(1), side(2, target="6ms")), judged)
    assert "Compared: target not set \\(base\\) and 6ms \\(test\\)" in without
    assert f"| `{LATENCY}` | worse | flows many |" in page


def test_sentence_gives_numbers_of_three_metrics_and_none_that_say_nothing() -> None:
    """The verdict by some seeds only, and one without values, has no mean difference."""
    def worse(name: str, difference: float, why: str = "") -> JudgedMetric:
        return JudgedMetric(METRICS[name], WORSE, [Effect(
            "many", 5, 20.0, 25.0, difference, 4.0, 6.0, WORSE, why)])

    comparison = pair(side(1), side(2))
    names = [LATENCY, "latency_loaded_p95_ms", "latency_loaded_p99_ms", "latency_loaded_max_ms"]
    assert sentence(comparison, [worse(name, 5.0) for name in names]) == (
        "Worse: latency_loaded_median_ms (+5.00, +25.0% in many), latency_loaded_p95_ms (+5.00, "
        "+25.0% in many), latency_loaded_p99_ms (+5.00, +25.0% in many), latency_loaded_max_ms; "
        "no metric is the same.")
    assert sentence(comparison, [worse(LATENCY, 5.0, "with 3 of 5 seeds"),
                                 worse(names[1], math.nan), worse(names[2], math.inf)]) == (
        "Worse: latency_loaded_median_ms, latency_loaded_p95_ms, latency_loaded_p99_ms (+∞ in "
        "many); no metric is the same.")


def test_better_follows_the_metric_and_both_is_mixed() -> None:
    """More throughput is better, more latency isn't; a metric may be either, by the cell."""
    def more(cell: str, metric: str, value: float) -> float:
        if metric == LATENCY:
            return value * (1.3 if cell == "one" else 0.7 if cell == "ecn" else 1)
        return value * 1.3 if metric == THROUGHPUT else value

    by_metric = verdicts(side(1), side(2, more))
    assert (by_metric[THROUGHPUT], by_metric[LATENCY]) == (BETTER, MIXED)


def test_metric_that_is_named_twice_counts_once() -> None:
    """Neither its cells nor the number of metrics, by which chance is corrected, are doubled."""
    comparison = pair(side(1, noise=0.03), side(2, noise=0.03))
    names = [LATENCY, THROUGHPUT]
    assert judge(comparison, [*names, LATENCY]) == judge(comparison, names)


def test_differences_that_nobody_cares_about_are_the_same() -> None:
    """Four in a thousand, however certain."""
    base = side(1)
    test = [ScoredFile(run.path, run.settings, {
        name: value * 1.004 for name, value in run.values.items()
        if isinstance(value, float)}) for run in base]
    assert set(verdicts(base, test).values()) == {SAME}


@pytest.mark.parametrize(("share", "verdict"), [(0.054, UNTOLD), (0.08, WORSE), (0.02, SAME)])
def test_a_difference_has_to_be_larger_than_what_nobody_cares_about_with_its_interval(
    share: float, verdict: str
) -> None:
    """5.4 % is certainly a difference, and above 5 %; but it may be 4 % as well."""
    scatter = dict(zip(SEEDS, (-0.014, -0.004, 0.006, 0.001, 0.011), strict=True))
    base = side(1)
    test = [ScoredFile(run.path, run.settings, {
        name: value * (1 + share + scatter[int(str(run.settings["seed"]))])
        for name, value in run.values.items() if isinstance(value, float)}) for run in base]
    judged = next(one for one in judge(pair(base, test)) if one.metric.name == LATENCY)
    assert judged.verdict == verdict


@pytest.mark.parametrize(("metric", "more_pct", "verdict"), [
    ("udp_loss_upload_pct", 0.09, SAME), ("udp_loss_upload_pct", 0.15, WORSE),
    ("loss_loaded_pct", 0.15, SAME), ("loss_loaded_pct", 0.25, WORSE)])
def test_losses_count_by_what_their_packets_can_tell(metric: str, more_pct: float, verdict: str
                                                     ) -> None:
    """Where there were none: thousands of a UDP flow tell less than hundreds of probes do."""
    base = side(1, lambda cell, name, value: 0.0 if name == metric else value)
    test = [replace(run, values={**run.values, metric: more_pct}) for run in base]
    judged = next(one for one in judge(pair(base, test)) if one.metric.name == metric)
    assert judged.verdict == verdict


def test_lost_percentiles_on_one_side_do_not_pass() -> None:
    """They have no distance, but are worse than any number; with the same on both sides, the
    metric of loss tells."""
    lost = Unavailable("it is a lost probe", lost=True)

    def losing(runs: list[ScoredFile]) -> list[ScoredFile]:
        return [replace(run, values={**run.values, LATENCY: lost})
                if run.settings["flows"] == "one" else run for run in runs]

    def effects(base: list[ScoredFile], test: list[ScoredFile]) -> Mapping[str, str]:
        return {effect.cell: effect.verdict for one in judge(pair(base, test), [LATENCY])
                for effect in one.effects}

    def verdict_of(base: list[ScoredFile], test: list[ScoredFile]) -> str:
        return effects(base, test)["flows one"]

    assert verdict_of(side(1), losing(side(2))) == UNTOLD
    many = range(12)
    assert verdict_of(side(1, seeds=many), losing(side(2, seeds=many))) == WORSE
    assert verdict_of(losing(side(1, seeds=many)), side(2, seeds=many)) == BETTER
    # Without any difference, it is behind the cells that are the same by their differences.
    assert [*effects(losing(side(1)), losing(side(2))).items()][-1] == ("flows one", SAME)


def test_percentile_for_which_runs_are_too_short_is_not_judged() -> None:
    """Even if it is a lost probe in some of them: no number of seeds would tell, and the metric of
    loss does. If only runs of one side are too short, the change may have made the probes fewer."""
    lost = Unavailable("it is a lost probe", lost=True)
    short = Unavailable("a percentile of 99 needs 200 samples", too_few=True)

    def with_first(runs: list[ScoredFile], first: Unavailable, others: Unavailable | None = None
                   ) -> list[ScoredFile]:
        return [replace(run, values={**run.values, **(
            {LATENCY: first} if run.settings["seed"] == 1 else
            {LATENCY: others} if others else {})}) for run in runs]

    def effects(base: list[ScoredFile], test: list[ScoredFile]) -> list[Effect]:
        return [effect for one in judge(pair(base, test)) if one.metric.name == LATENCY
                for effect in one.effects]

    assert side(1)[0].settings["seed"] == 1
    assert effects(with_first(side(1), lost, short), with_first(side(2), short, short)) == []
    assert effects(with_first(side(1), short), with_first(side(2), lost, short)) == []
    one_sided = effects(side(1), with_first(side(2), short))
    assert {effect.verdict for effect in one_sided} == {UNTOLD}
    assert "test side have no number: a percentile of 99 needs" in one_sided[0].why


def test_numbers_that_one_side_does_not_have_do_not_pass() -> None:
    """As of a tool that failed there."""
    base, test = side(1, seeds=range(40)), side(2, seeds=range(40))
    none = Unavailable("the test has no upload")
    test[0] = replace(test[0], values={**test[0].values, THROUGHPUT: none})
    judged = judge(pair(base, test))
    rate = next(one for one in judged if one.metric.name == THROUGHPUT)
    assert rate.verdict == UNTOLD
    assert rate.effects[0].why == ("1 of 40 runs of the test side have no number: the test has no "
                                   "upload")
    assert "| `throughput_download_mbps` | can't tell: 1 of 40 runs of the test side" in markdown(
        "Can't tell", pair(base, test), judged)
    assert not can_tell(judged)


def test_a_number_that_identical_runs_lack_leaves_nothing_open() -> None:
    """As of too few probes above a percentile: both sides lack it alike."""
    def lacking(runs: list[ScoredFile], samples: Callable[[ScoredFile], str]) -> list[ScoredFile]:
        none = Unavailable("only 9 of 890 samples lie above p99; 10 are needed")
        return [replace(run, samples=samples(run), values={
            **run.values, **({THROUGHPUT: none} if run.settings["seed"] == 1 else {})})
                if run.settings["flows"] == "one" else run for run in runs]

    same = lacking(side(1), lambda run: f"seed {run.settings['seed']}")
    pairs = pair(same, same)
    assert can_tell(judge(pairs))
    assert "flows one" not in {effect.cell for one in judge(pairs) if one.metric.name == THROUGHPUT
                         for effect in one.effects}
    other = lacking(side(1), lambda run: "another")
    assert not can_tell(judge(pair(same, other)))


def test_a_cell_with_too_few_pairs_can_not_be_told_and_the_others_are_judged() -> None:
    """Where most of its runs failed on one side."""
    test = [run for run in side(2)
            if run.settings["flows"] != "many" or int(str(run.settings["seed"])) < 3]
    for one in judge(pair(side(1), test)):
        effects = {effect.cell: effect for effect in one.effects}
        assert len(effects) == len(CELLS)
        few = next(effect for effect in one.effects if effect.seeds == 2)
        assert few.verdict == UNTOLD
        assert few.why == "2 of the 3 pairs of runs that a verdict needs"
        assert {effect.seeds for effect in one.effects} == {2, 5}
    assert not can_tell(judge(pair(side(1), test)))


def test_seeds_that_differ_in_their_last_digit_are_two() -> None:
    """Such as dates, or those of a batch that gives none."""
    seeds = range(20261101, 20261106)
    compared = pair(side(1, seeds=seeds), side(2, seeds=seeds))
    assert (compared.pairs, compared.alone) == (len(CELLS) * len(seeds), {})


def test_runs_without_a_partner_are_counted_by_cell_and_side() -> None:
    """And cells are called by their titles, where these tell them apart."""
    def titled(runs: list[ScoredFile]) -> list[ScoredFile]:
        return [replace(run, settings={**run.settings, "title": str(run.settings["flows"]).upper()})
                for run in runs]

    comparison = pair(titled(side(1))[1:], titled(side(2))[:-2])
    assert comparison.alone == {("base", "RATE"): 2, ("test", "ONE"): 1}
    assert {cell.name for cell in comparison.cells} == {name.upper() for name in CELLS}


@pytest.mark.parametrize(("base", "test", "names", "cause"), [
    (side(1), [run for run in side(2) if run.settings["seed"] == 9], USUAL, "no run of the test"),
    (side(1), side(2)[:2], USUAL, "no cell has more than 2 pairs"),
    (side(1), side(2)[:1], USUAL, "no cell has more than 1 pair of runs"),
    ([*side(1), *side(1)], side(2), USUAL, "the same settings and the same seed"),
    ([replace(run, settings={"flows": run.settings["flows"]}) for run in side(1)], side(2), USUAL,
     "have the same settings and no seed"),
    (side(1), side(2), ("latency",), "unknown metric 'latency'"),
    (side(1), side(2), ("queue_drops_upload",), "neither a higher nor a lower value is better"),
    (side(1), side(2), ("qoo",), "nothing to judge by qoo: the runs lack such values"),
    (side(1), side(2), ("total_download_mbps",), "total_... only with it"),
])
def test_what_can_not_be_judged_is_refused(
    base: list[ScoredFile], test: list[ScoredFile], names: tuple[str, ...], cause: str
) -> None:
    """In one line that says what is missing."""
    runs = [[ScoredFile(run.path, run.settings, {
        name: run.values.get(name, Unavailable("not measured")) for name in METRICS})
        for run in one] for one in (base, test)]
    with pytest.raises(ConfigError, match=cause):
        judge(pair(*runs), names)


def test_cell_with_too_few_pairs_has_medians_and_no_difference_on_the_page() -> None:
    few = [run for run in side(2, target="6ms")
           if run.settings["flows"] != CELLS[0] or run.settings["seed"] in (1, 2)]
    comparison = pair(side(1, target="5ms"), few)
    page = markdown("Can't tell", comparison, judge(comparison, (LATENCY,)))
    row, = (line for line in page.splitlines() if line.startswith(f"| `{LATENCY}` |")
            and f"| flows {CELLS[0]} |" in line)
    assert re.search(r"can't tell: 2 of the 3 pairs .* \| \d+\.\d+ \| \d+\.\d+ \| - \| - \|$", row)


def test_words_of_strangers_are_no_markup() -> None:
    """Neither in Markdown nor in HTML."""
    evil = "<script>x</script>|[a](http://b)"
    comparison = pair(side(1, note=evil), side(2, note="b"))
    text = markdown("Worse", comparison, judge(comparison))
    page = html(text)
    assert "<script>" not in page
    assert "<a " not in page
    assert page.count("<td>") >= 7 * len(USUAL)
    assert page.count("<td>") % 7 == 0


def test_page_tells_medians_from_means() -> None:
    """Base and test are medians over seeds, their difference is a mean: it needn't be that of the
    medians."""
    latencies = zip(SEEDS, (10.0, 10.0, 10.0, 10.0, 10.0), (10.0, 10.0, 11.0, 30.0, 30.0),
                    strict=False)
    name = "latency_loaded_median_ms"
    sides: list[list[ScoredFile]] = [[], []]
    for seed, *both in latencies:
        for one, target, ms in zip(sides, ("5ms", "6ms"), both, strict=True):
            one.append(ScoredFile(Path(f"{target}-{seed}.flent.gz"),
                                  {"aqm": "codel", "aqm_target": target, "seed": seed},
                                  {other: ms if other == name else Unavailable("not measured")
                                   for other in METRICS}))
    comparison = pair(*sides)
    text = markdown("Worse", comparison, judge(comparison, [name]))
    header = next(line for line in text.splitlines() if line.startswith("| metric"))
    assert "| base, median | test, median | mean difference | 99% interval |" in header
    assert "| 10.00 | 11.00 | +8.20 (+82.0%) |" in text
    assert "the mean over seeds, which isn't that of the medians" in text


def test_page_names_every_cell_that_decides_and_no_share_of_a_lost_probe() -> None:
    """`6 more` would hide which, and a share of an infinite latency is none."""
    def lost(cell: str, metric: str, value: float) -> float:
        return float("inf") if metric == LATENCY else value

    comparison = pair(side(1, target="5ms"), side(2, lost, target="6ms"))
    text = markdown("Worse", comparison, judge(comparison, [LATENCY]))
    assert all(f"flows {cell}" in text for cell in CELLS)
    assert " more |" not in text
    assert "lost" in text
    assert not {"nan", "inf%", "+lost"} & set(text.replace("(", " ").replace(")", " ").split())


def test_failed_runs_are_in_the_sentence() -> None:
    """Beside the number of metrics that are the same."""
    comparison = replace(pair(side(1), side(1)), failed={"test": 3})
    assert "3 runs of the test side failed or could not be made" in sentence(
        comparison, judge(comparison))


def test_run_that_failed_counts_until_its_file_is_there(tmp_path: Path) -> None:
    """By sweep.json, whose names may be a stranger's: of no length that a file may have."""
    (tmp_path / "made.flent.gz").touch()
    status.write(tmp_path, status.Status(["flent"], 3, 0, 0.0, failed=dict.fromkeys(
        ("made.flent.gz", "lost.flent.gz", "x" * 300), "cause")))
    assert [run.name for run in failed_runs("test", [tmp_path])] == ["lost.flent.gz", "x" * 300]


def write(folder: Path, target: str, more_ms: float, seeds: Iterable[int] = SEEDS) -> Path:
    """Real files with other seeds, and some more latency."""
    folder.mkdir()
    for seed in seeds:
        whole = load(GOLDEN)
        whole["metadata"]["AQM"]["requested"] |= {"seed": seed, "aqm_target": target}
        for sample in whole["raw_values"]["Ping (ms) UDP irtt"]:
            if "val" in sample:
                sample["val"] += more_ms + seed / 1000
        save(folder / f"{seed}.flent.gz", whole)
    return folder


def test_command_writes_a_page_and_ends_as_ci_wants_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 1 for worse, another one where nothing is known; a sentence on the terminal."""
    base, slow = write(tmp_path / "base", "5ms", 0), write(tmp_path / "slow", "6ms", 20)
    same = write(tmp_path / "same", "6ms", 0)
    page = tmp_path / "page.html"
    words = ["verdict", "--base", str(base), "--test"]
    assert main([*words, str(slow), "-o", str(page)]) == 1
    assert capsys.readouterr().out.startswith("Worse: latency_loaded_median_ms")
    assert "<td>worse</td>" in page.read_text()
    assert f"<p>base: {base}; test: {slow}; judged by flent-aqm " in page.read_text()
    assert main([*words, str(same)]) == 0
    output = capsys.readouterr()
    assert output.out.startswith(
        "# The same\n\nThe same: all 5 pairs have identical samples. Here aqm_target had no "
        "effect; whether another line or other hosts would show one, these runs can't tell.\n")
    assert output.err == ""
    first = min(same.glob("*.flent.gz"))
    kept = first.read_bytes()
    first.unlink()
    assert main([*words, str(same)]) == 3
    assert capsys.readouterr().out.startswith(
        "# Can't tell\n\nThe same in all 4 pairs, but 1 run without a partner can't be judged")
    first.write_bytes(kept)
    assert main([*words, str(same), "-o", str(tmp_path / "page.txt")]) == 2
    assert "page.txt; expected NAME.md for Markdown or NAME.html" in capsys.readouterr().err
    (slow / "1.flent.gz").write_bytes(b"no data")
    assert main([*words, str(slow)]) == 2
    assert "1.flent.gz: damaged" in capsys.readouterr().err


def test_page_has_backslashes_in_its_file_alone(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pull request needs them, a reader at a terminal or of a log reads over them."""
    fast, slow = write(tmp_path / "fast", "5ms", 0), write(tmp_path / "slow", "6ms", 20)
    words = ["verdict", "--base", str(fast), "--test", str(slow)]
    assert main(words) == 1
    shown = capsys.readouterr().out
    assert "latency_loaded_median_ms (+" in shown
    assert "\\" not in shown
    assert main([*words, "-o", str(tmp_path / "page.md")]) == 1
    page = (tmp_path / "page.md").read_text()
    assert "latency\\_loaded\\_median\\_ms" in page
    assert without_escapes(page) == shown
    assert without_escapes("a\\_b \\\\ c\\x \\|") == "a_b \\ c\\x |"


def test_better_is_a_difference_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refactoring has none. What a change is meant to do is said by --expect."""
    fast, slow = write(tmp_path / "fast", "5ms", 0), write(tmp_path / "slow", "6ms", 20)
    same = write(tmp_path / "same", "7ms", 0)
    better = ["verdict", "--base", str(slow), "--test", str(fast)]
    assert main(better) == 5
    assert capsys.readouterr().out.startswith("# Better\n\nBetter: latency_loaded_median_ms")
    assert main([*better, "--expect", "same"]) == 5
    assert main([*better, "--expect", "better"]) == 0
    assert main([*better, "--expect", "worse"]) == 5
    worse = ["verdict", "--base", str(fast), "--test", str(slow), "--expect"]
    assert [main([*worse, word]) for word in ("same", "better", "worse")] == [1, 1, 0]
    alike = ["verdict", "--base", str(fast), "--test", str(same), "--expect"]
    assert [main([*alike, word]) for word in ("same", "better", "worse")] == [0, 5, 5]


@pytest.mark.parametrize(("exercised", "words", "wanted"), [
    (Exercised({("a.c", 1): {"one": 5000}}),
     "# The same Of 1 changed line with code 1 ran (one). The", 0),
    (Exercised({}, [("a.c", 1)]),
     "# Not exercised Of 1 changed line with code none ran; never: ", 4),
    (Exercised({("a.c", 1): {"one": 5000}}, [("a.c", 9)]), "Exercised in part; of what ran", 4),
    (Exercised({("a.c", 1): {"one": 5000}}, [("a.c", 9)], unrecorded=["two"]),
     ("ran (one); in no recorded run: a.c line 9. What else ran in two is not known: runs there "
      "failed. Exercised in part"), 4),
    (Exercised({("a.c", 1): {"one": 5000}}, [("a.c", 9)], unrecorded=["two"]),
     "Changed lines that ran in no recorded run: - a.c line 9 Base and test", 4),
    (Exercised({("a.c", 1): {"one": 5000}}, [("a.c", 9)]),
     "Changed lines that never ran: - a.c line 9 Base and test", 4),
    (Exercised({("a.c", 1): {"one": 3}}), "3 times at most: a.c line 1. Exercised in part", 4),
    (Exercised({}, fault="the kernel mine: BUG: kmalloc may sleep where it must not"),
     "# Worse Worse: the kernel mine: BUG: kmalloc may sleep where it must not. The same: all ", 1),
    (Exercised({}, without_code=2), "None of the 2 changed lines has code", 3),
    (unknown("its source is gone"),
     "# Can't tell Whether the change ran is not known: its source is gone. The same", 3),
])
def test_the_same_is_said_of_code_that_ran(
    exercised: Exercised, words: str, wanted: int, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples that are all alike prove nothing about lines that never ran. Worse stays worse."""
    told = replace(exercised, changes=[ChangedFile("a.c", (1, 9), "x\n" * 9)])
    monkeypatch.setattr("flent_aqm.parts.kernels.verdict.command.exercise", lambda *_: told)
    base, same = write(tmp_path / "base", "5ms", 0), write(tmp_path / "same", "6ms", 0)
    assert main(["verdict", "--base", str(base), "--test", str(same)]) == wanted
    page = " ".join(capsys.readouterr().out.split())
    assert words in page
    assert page.startswith({0: "# The same ", 1: "# Worse ", 3: "# Can't tell "}.get(
        wanted, "# Not exercised " if exercised.is_none else "# Exercised in part "))
    assert main(["verdict", "--no-coverage", "--base", str(base), "--test", str(same)]) == 0
    slow = write(tmp_path / "slow", "6ms", 20)
    assert main(["verdict", "--base", str(base), "--test", str(slow)]) == 1


def test_lines_of_a_cell_whose_runs_failed_are_not_said_to_never_run() -> None:
    """The line that made the kernel warn was: its run isn't among the pairs."""
    short = [run for run in side(2, kernel="mine") if run.settings["flows"] != CELLS[1]]
    comparison = pair(side(1, kernel="stock"), short)
    lines = Exercised({}, [("a.c", 1)])
    failed = _with_failed(lines, replace(comparison, failed={"test": 1}))
    assert failed.unrecorded == [f"flows {CELLS[1]}"]
    assert not _with_failed(lines, comparison).unrecorded, "they weren't run at all"
    assert not _with_failed(lines, replace(comparison, failed={"base": 1})).unrecorded


def test_lines_that_ran_are_known_after_a_kernel_was_built_again(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As noted by a verdict before, if it was of the same kernels and cells. Kernels are made up:
    building takes minutes."""
    monkeypatch.setattr("flent_aqm.parts.kernels.verdict.exercised.kernel_called",
                        lambda name: Kernel(Path("linux"), "6.12", f"new {name}", name=name))
    sides = [[replace(run, kernel=(name, f"old {name}")) for run in side(1, kernel=name)]
             for name in ("one", "two")]
    comparison = pair(*sides)
    lines = Exercised({("a.c", 3): {"load": 5000}}, [("a.c", 4)], 2,
                      [ChangedFile("a.c", (3, 4), "x\n" * 5)], unrecorded=["other"])
    without = exercise(comparison, tmp_path)
    assert without is not None
    assert without.why_unknown == (
        "the kernel one on this machine is another build than that of these runs; build it "
        "again as it was then, or give --no-coverage to judge by the samples alone")
    kernels = [("one", "old one"), ("two", "old two")]
    _write_kept(tmp_path, kernels, comparison.cells, lines)
    assert exercise(comparison, tmp_path) == lines
    for odd in ("{}", "[1]", "no JSON", '{"of": 1}'):
        note = (tmp_path / "exercised.json").read_text()
        (tmp_path / "exercised.json").write_text(odd)
        assert exercise(comparison, tmp_path) == without
        (tmp_path / "exercised.json").write_text(note)
    assert exercise(replace(comparison, cells=comparison.cells[1:]), tmp_path) == without
    _write_kept(tmp_path, [*kernels[:1], ("two", "newer")], comparison.cells, lines)
    assert exercise(comparison, tmp_path) == without
    assert exercise(comparison, None) == without


def test_sides_that_differ_in_more_than_the_kernel_are_named_first() -> None:
    comparison = pair(side(1, kernel="stock", tc="old"), side(2, kernel="mine", tc="new"))
    assert findings(comparison, judge(comparison), None)[0] == (
        "The sides differ in more than the kernel: tc; build and run both with the same options.")
    comparison = pair(side(1, kernel="stock", aqm="fq_codel"), side(2, kernel="mine", aqm="codel"))
    assert "differ in more than the kernel: aqm;" in findings(
        comparison, judge(comparison), None)[0]
    # docs/own-queue.md compares a queue that only the user's kernel has with one of the lab's.
    for comparison in (
            pair(side(1, kernel="stock", aqm="fq_codel"), side(2, kernel="mine", aqm="foo")),
            pair(side(1, kernel="stock", up_aqm="codel"), side(2, kernel="mine", up_aqm="foo"))):
        assert "differ" not in " ".join(findings(comparison, judge(comparison), None))
    comparison = pair(side(1, kernel="stock"), side(2, kernel="mine"))
    assert "differ" not in " ".join(findings(comparison, judge(comparison), None))


@pytest.mark.parametrize(("facts", "words"), [
    ({"kernel": {"version": "7.3.4", "hash": "b", "name": "mine", "tc": "5eed"}, "requested":
      {"aqm": "foo"}}, ("The sides differ in more than the kernel: tc of the kernel none (base) "
      "and 5eed (test); build and run both with the same options.")),
    ({"kernel": {"version": "7.3.4", "hash": "b", "name": "mine", "tc": "5eed"}, "requested":
      {"aqm": "codel", "up_aqm": "foo"}}, ("The sides differ in more than the kernel: tc of the "
      "kernel none (base) and 5eed (test); ")),
    ({"kernel": {"version": "7.2.1", "hash": "b", "name": "mine"}}, ("The sides differ in more "
     "than the kernel: Linux 7.3.4 (base) and 7.2.1 (test); ")),
    ({"flent_aqm": "0.3.0"}, ("The sides were made with different programs: flent-aqm 0.2.0 "
     "(base) and 0.3.0 (test); ")),
    # The lab takes the kernel's tc for a queue that the usual one doesn't know.
    ({"kernel": {"version": "7.3.4", "hash": "b", "tc": "5eed"}}, "The same: "),
    ({}, "The same: "),
])
def test_another_tc_or_version_is_named_first(
    facts: dict[str, dict[str, str]], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = []
    for name, changed in (("base", {}), ("test", facts)):
        folder = write(tmp_path / name, "5ms", 0)
        sides.append(str(folder))
        for path in folder.iterdir():
            whole = load(path)
            aqm = whole["metadata"]["AQM"]
            aqm |= {"kernel": {"version": "7.3.4", "hash": "b"}, "flent_aqm": "0.2.0"}
            own = {key: value for key, value in changed.items() if key != "requested"}
            aqm |= own
            # Of both sides: a queue is no difference.
            aqm["requested"] |= facts.get("requested", {})
            kernel = aqm["kernel"].get("name")
            aqm["requested"]["kernel"] = kernel or "stock"
            save(path, whole)
    main(["verdict", "--no-coverage", "--base", sides[0], "--test", sides[1]])
    assert capsys.readouterr().out.startswith(f"# The same\n\n{words}")


def test_runs_of_a_version_without_a_key_are_partners_of_those_with_its_default() -> None:
    """But of no others, and a setting that isn't a key may be missing for any reason."""
    old = side(1, testbed="virtual")
    compared = pair(old, side(2, testbed="virtual", host_gso=False, reorder_ms=0.0))
    assert (compared.pairs, compared.compared) == (len(old), {})
    assert pair(old, side(2, testbed="virtual", host_gso=True)).compared == {
        "host_gso": ("off", "on")}
    assert pair(old, side(2, testbed="virtual", colour="red")).compared == {
        "colour": ("-", "red")}


@pytest.mark.parametrize("side_of_two", ["base", "test"])
@pytest.mark.parametrize(("name", "build", "refused"), [
    ("mine", "now", True), ("mine", "then", False), ("other", "now", False)])
def test_side_of_two_builds_of_a_kernel_is_refused(
        side_of_two: str, name: str, build: str, refused: bool, tmp_path: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    """Which of them would the verdict be about? Two kernels of different names are two settings."""
    for each in ("base", "test"):
        for path in write(tmp_path / each, "5ms" if each == "base" else "6ms", 0).iterdir():
            whole = load(path)
            last = each == side_of_two and path.name == "5.flent.gz"
            whole["metadata"]["AQM"]["kernel"] = {
                "version": "7.3.4", "hash": build if last else "then",
                "name": name if last else "mine"}
            save(path, whole)
    status = main(["verdict", "--no-coverage", "--base", str(tmp_path / "base"),
                   "--test", str(tmp_path / "test")])
    error = capsys.readouterr().err
    assert (status == 2) is refused, error
    assert (f"--{side_of_two}: its runs were made with 2 builds of the kernel mine: " in error
            ) is refused
    if refused:
        assert "4 runs of build then (such as " in error
        assert "5.flent.gz); give the runs of one build" in error


@pytest.mark.parametrize("name", ["test", "flows", "cross_traffic"])
def test_sides_with_another_load_are_a_mistake(
        name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong pattern of files made a change 137,000 % worse."""
    base, test = write(tmp_path / "base", "5ms", 0), write(tmp_path / "test", "6ms", 0)
    for path in test.iterdir():
        whole = load(path)
        aqm = whole["metadata"]["AQM"]
        if name == "test":
            whole["metadata"]["NAME"] = "iperf3_upload2"
        elif name == "flows":
            whole["metadata"]["TEST_PARAMETERS"] = {"flows": "9xcubic"}
        else:
            aqm["requested"]["cross_traffic"] = True
        save(path, whole)
    assert main(["verdict", "--no-coverage", "--base", str(base), "--test", str(test)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert f"the sides were loaded differently: {name} " in output.err
    assert "; expected the same cells on both sides" in output.err


def test_nothing_missing_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same folder twice is a mistake; a run that failed, and one without a partner, leave open
    what they would have said."""
    base, test = write(tmp_path / "base", "5ms", 0), write(tmp_path / "test", "6ms", 0)
    words = ["verdict", "--base", str(base), "--test", str(test)]
    assert main(["verdict", "--base", str(base), "--test", str(tmp_path / "test/../base")]) == 2
    assert "1.flent.gz is on both sides" in capsys.readouterr().err
    status.write(test, status.Status(["flent"], 6, 0, 1.0, 2.0, {
        "6.flent.gz": "iperf3 ended early", "5.flent.gz": "made later"}))
    assert main(words) == 3
    assert capsys.readouterr().err == (
        "flent-aqm: 6.flent.gz of the test side failed: iperf3 ended early\n")
    (test / "sweep.json").unlink()
    assert main(words) == 0
    (test / "3.flent.gz").unlink()
    capsys.readouterr()
    assert main(words) == 3
    assert capsys.readouterr().err == (
        "flent-aqm: all runs: 1 run of the base side left out: the other side has no run of the "
        "same settings and seed\n")


def test_runs_that_fail_on_the_test_side_alone_are_worse_where_chance_does_not_explain_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five of them do, as 1/32 is less than 5 %; four, or five on both sides, leave it open."""
    base = write(tmp_path / "base", "5ms", 0, seeds=range(1, 11))
    test = write(tmp_path / "test", "6ms", 0, seeds=range(1, 11))
    words = ["verdict", "--base", str(base), "--test", str(test)]

    def fail(side: Path, numbers: Iterable[int]) -> None:
        for number in numbers:
            (side / f"{number}.flent.gz").unlink()
        status.write(side, status.Status(["flent"], 10, 0, 1.0, 2.0, {
            f"{number}.flent.gz": "iperf3 spins" for number in numbers}))

    fail(test, range(1, 5))
    assert main(words) == 3
    (test / "5.flent.gz").unlink()
    status.write(test, status.Status(["flent"], 10, 0, 1.0, 2.0, {
        f"{number}.flent.gz": "iperf3 spins" for number in range(1, 6)}))
    capsys.readouterr()
    assert main(words) == 1
    assert capsys.readouterr().out.startswith(
        "# Worse\n\nWorse: 5 runs failed on the test side alone, 0 on the base side alone; the "
        "same")
    assert main(["verdict", "--base", str(test), "--test", str(base)]) == 3
    fail(base, range(6, 11))
    assert main(words) == 2, "no pair is left"


@pytest.mark.parametrize("all_of_them", [False, True])
def test_a_kernel_that_fails_under_test_is_worse(
    all_of_them: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether it gets through some of the runs or none; one that fails before the change tells
    nothing."""
    base, test = write(tmp_path / "base", "5ms", 0), write(tmp_path / "test", "6ms", 0)
    cause = "the kernel mine: WARNING: sch_foo.c line 7"
    failed = status.Status(["flent"], 6, 0, 1.0, 2.0, {"6.flent.gz": cause})
    for file in test.glob("*.gz") if all_of_them else ():
        file.unlink()
    status.write(test, failed)
    words = ["verdict", "--base", str(base), "--test", str(test)]
    assert main(words) == 1
    assert capsys.readouterr().err == (
        f"flent-aqm: 6.flent.gz of the test side failed: {cause}\n")
    if not all_of_them:
        (test / "sweep.json").rename(base / "sweep.json")
        assert main(words) == 3


def test_runs_that_were_not_made_are_not_said_to_have_failed(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sweep gave their kernel up, and counts them apart, too. The page names them, too."""
    base, test = write(tmp_path / "base", "5ms", 0), write(tmp_path / "test", "6ms", 0)
    cause = "the kernel mine: WARNING: sch_foo.c line 7"
    status.write(test, status.Status(["flent"], 9, 0, 1.0, 2.0, {
        "6.flent.gz": cause, "7.flent.gz": f"not made: {cause}", "8.flent.gz": f"not made: {cause}",
        "9.flent.gz": "not made: the kernel other"}))
    assert main(["verdict", "--base", str(base), "--test", str(test)]) == 1
    lines = [f"6.flent.gz of the test side failed: {cause}",
             f"7.flent.gz of the test side, and 1 more like it, were not made: {cause}",
             "9.flent.gz of the test side was not made: the kernel other"]
    output = capsys.readouterr()
    assert output.err.splitlines() == [f"flent-aqm: {line}" for line in lines]
    assert "\n\nRuns that failed or could not be made:\n\n" + "".join(
        f"- {line}\n" for line in lines) in output.out


@pytest.mark.parametrize(("left", "failed", "cause", "exit_status"), [
    (2, 4, "the kernel mine: a queue has stalled", 1), (2, 4, "iperf3 spins", 2),
    (0, 4, "iperf3 spins", 2), (2, 5, "iperf3 spins", 1), (0, 5, "iperf3 spins", 1)])
def test_failures_that_leave_too_few_pairs_decide_by_themselves(
    left: int, failed: int, cause: str, exit_status: int, tmp_path: Path,
    capsys: pytest.CaptureFixture[str]
) -> None:
    """By the kernel's fault, or if chance doesn't explain them: four against none is 1/16. With
    base and test exchanged, nothing is known."""
    base = write(tmp_path / "base", "5ms", 0, seeds=range(1, left + failed + 1))
    test = write(tmp_path / "test", "6ms", 0, seeds=range(1, left + failed + 1))
    names = [f"{number}.flent.gz" for number in range(left + 1, left + failed + 1)]
    for name in names:
        (test / name).unlink()
    status.write(test, status.Status(["flent"], left + failed, 0, 1.0, 2.0,
                                     dict.fromkeys(names, cause)))
    words = ["verdict", "--base", str(base), "--test", str(test)]
    assert main(words) == exit_status
    out, err = capsys.readouterr()
    if exit_status == 1:
        finding = (f"Worse: {failed} runs of the test side failed or could not be made, 0 of the "
                   "base side. Too few are left to compare samples.")
        assert out.startswith(f"# Worse\n\n{finding}\n\nbase: {base}; test: {test}; judged by ")
        assert out.endswith("\n\nRuns that failed or could not be made:\n\n- "
                            f"{names[0]} of the test side, and {failed - 1} more like it, failed: "
                            f"{cause}\n")
        page = tmp_path / "page.md"
        assert main([*words, "--expect", "worse", "-o", str(page)]) == 0
        assert capsys.readouterr().out == f"{finding}\n"
        assert without_escapes(page.read_text()) == out
    else:
        assert "Worse" not in out
        assert "no cell has more than 2 pairs" in err or "no data files" in err
    assert main(["verdict", "--base", str(test), "--test", str(base)]) == 2


@pytest.mark.parametrize("name", [
    "flow_rtt_upload_median_ms", "queue_delay_upload_mean_ms", "queue_standing_upload_mean_bytes"])
def test_what_only_the_flow_itself_notices_is_worse(name: str) -> None:
    """As of a queue that keeps a flow's backlog from all others: probes see nothing."""
    def times(factor: float) -> Change:
        return lambda _cell, metric, value: value * factor if metric == name else value

    # A packet has 1514 bytes.
    unit = 1000 if name.endswith("bytes") else 1
    by_metric = verdicts(side(1, times(unit), target="5ms"), side(2, times(3 * unit), target="6ms"))
    assert {metric for metric, verdict in by_metric.items() if verdict == WORSE} == {name}


def test_a_latency_is_judged_by_what_it_has_beyond_the_path() -> None:
    """A wait that grows from 5 to 6 ms is a fifth more, though the round trip of 100 ms grows by
    less than a hundredth."""
    def at(wait_ms: float, draw: int, target: str) -> list[ScoredFile]:
        return [replace(run, values={**run.values, "latency_idle_min_ms": 100.0}) for run in side(
            draw, lambda cell, metric, value: 100 + wait_ms + value / 1000
            if metric == LATENCY else value, target=target)]

    assert {name: verdict for name, verdict in verdicts(
        at(5, 1, "5ms"), at(6, 2, "6ms")).items() if verdict not in (SAME, UNTOLD)} == {
        LATENCY: WORSE}


@pytest.mark.parametrize(("options", "message"), [
    (("--output", ".md"), "--output: .md; expected NAME.md for Markdown or NAME.html for a web"),
    (("--metrics", "a b,"), "unknown metric 'a b'; 'flent-aqm score --list' has all")])
def test_wrong_option_is_quoted_as_it_was_given(
        options: tuple[str, str], message: str, tmp_path: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    for each in ("base", "test"):
        write(tmp_path / each, "5ms", 0)
    sides = "--base", str(tmp_path / "base"), "--test", str(tmp_path / "test")
    assert main(["verdict", "--no-coverage", *sides, *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("text", ["inf", "nan", "0", "-1", "1e7", "x"])
def test_time_for_further_seeds_is_a_number_above_zero(
        text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Not for ever, and no bug."""
    with pytest.raises(SystemExit) as ended:
        main(["verdict", "--base", "a", "--test", "b", "--until-decided", text])
    assert ended.value.code == 2
    assert (f"{text!r} is not a number of minutes above 0 and up to 1,000,000"
            in capsys.readouterr().err)

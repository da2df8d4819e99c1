# SPDX-License-Identifier: GPL-3.0-or-later
"""Scores of readings whose answers are known."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from math import inf

import numpy
import pytest

from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues, Reading
from flent_aqm.parts.scorecard.scores import (
    ALIKE_SHARE,
    KINDS,
    Case,
    Score,
    _bootstrap_over_lines,
    _compare_attribute,
    _distance,
    _ratio_of_attribute,
    _wider_interval,
    scores,
)

# The idle line takes 20 ms.
_BASE = DirectionValues(shown_mbps=90.0, possible_mbps=100.0, idle_ms=20.0, glitches_per_minute=0.0)


def way(shown_ms: float | None, p95_ms: float, **more: float | None) -> DirectionValues:
    """A direction whose median is half of its 95th percentile."""
    return replace(_BASE, shown_ms=shown_ms, others_p95_ms=p95_ms, others_median_ms=p95_ms / 2,
                   own_ms=p95_ms, **more)


def reading(queue: str, down: DirectionValues, *, line: str = "line-seed1", seed: int = 1,
            good: bool | None = None) -> Reading:
    """A run without an upload."""
    return Reading(f"{line}-{queue}", queue, line, f"{queue}", False,
                   {"download": down, "upload": DirectionValues(), WORSE: down}, good, 10.0, 20.0,
                   float(seed))


def of(name: str, *readings: Reading) -> Score | None:
    """One score."""
    return scores(readings).get(name)


def test_throughput_is_a_share_of_what_is_possible() -> None:
    """With the least and the most; the worst is the one farthest off as a factor."""
    score = of("throughput", *(reading(f"q{number}", replace(_BASE, shown_mbps=mbps))
                               for number, mbps in enumerate((50.0, 100.0, 150.0))))
    assert score == Score(1.0, 3, None, None, 0.5, 1.5, Case("q1, download", 1.0),
                          Case("q0, download", 0.5))


def test_median_has_the_interval_of_the_sign_test() -> None:
    """Of six numbers, the least and the most: they hold it in 97 % of cases. Five have none."""
    runs = [reading(f"q{mbps}", replace(_BASE, shown_mbps=float(mbps))) for mbps in range(95, 101)]
    score, fewer = of("throughput", *runs), of("throughput", *runs[1:])
    assert score is not None
    assert fewer is not None
    assert (score.low, score.high) == (0.95, 1.0)
    assert fewer.low is None


def test_latency_is_held_against_each_truth() -> None:
    """Half of the 95th percentile is all of the median."""
    one = reading("q", way(50.0, 100.0))
    assert {name: found.value for name, found in scores([one]).items() if "latency_to" in name} == {
        "latency_to_median": 1.0, "latency_to_p95": 0.5, "latency_to_own": 0.5}


def test_latency_of_no_direction_is_held_against_the_worse() -> None:
    """And no direction by itself is scored then."""
    one = reading("q", way(None, 50.0))
    score = of("latency_to_p95", replace(one, ways={**one.ways, WORSE: way(200.0, 100.0)}))
    assert score == Score(2.0, 1, None, None, 2.0, 2.0, *[Case("q, worse", 2.0)] * 2)


def test_test_without_latency_has_no_score_of_it() -> None:
    """But glitches that it doesn't show."""
    one = reading("q", way(None, 300.0, glitches_per_minute=6.0))
    by_name = scores([one])
    assert not {"latency_to_median", "tells_apart", "hides_100_ms"} & set(by_name)
    assert by_name["blind_to_tail"].value == 6.0


@pytest.mark.parametrize(("shown_ms", "share"), [
    ((40.0, 80.0), 1.0), ((80.0, 40.0), 0.0), ((50.0, 50.0), 0.0), ((50.0, 50.001), 0.0)])
def test_queues_are_told_apart_by_a_difference_of_the_right_sign(
        shown_ms: tuple[float, float], share: float) -> None:
    """The second one's true latency is twice the first one's. What is less than 10 % tells
    nothing."""
    score = of("tells_apart", reading("short", way(shown_ms[0], 100.0)),
               reading("long", way(shown_ms[1], 200.0)))
    assert score is not None
    assert (score.value, score.count) == (share, 1)


def test_queues_of_other_lines_and_seeds_are_no_pair() -> None:
    """They differ in more than the queue."""
    assert of("tells_apart", reading("a", way(1.0, 100.0)),
              reading("b", way(9.0, 300.0), line="line-seed2")) is None


def test_share_has_the_interval_of_clopper_and_pearson() -> None:
    """Three of three: 29 % to 100 %."""
    score = of("tells_apart", *(reading(f"q{number}", way(ms, ms))
                                for number, ms in enumerate((100.0, 200.0, 400.0))))
    assert score is not None
    assert (score.value, score.count) == (1.0, 3)
    assert score.low == pytest.approx(0.025 ** (1 / 3))
    assert score.high == 1.0


def test_alike_queues_are_called_different() -> None:
    """Of the true values 5 % apart, those shown are half as much again."""
    score = of("invents_difference", reading("a", way(100.0, 100.0)),
               reading("b", way(150.0, 105.0)))
    assert score is not None
    assert (score.value, score.count, score.worst) == (1.0, 1, Case("a | b, download"))


def test_verdicts_are_wrong_on_bad_and_good_lines_alone() -> None:
    """Between a rise of 20 and of 100 ms no verdict is wrong."""
    readings = [reading("bad", way(50.0, 220.0), good=True),
                reading("bad2", way(50.0, 220.0), good=False),
                reading("good", way(50.0, 30.0), good=False),
                reading("between", way(50.0, 80.0), good=False)]
    by_name = scores(readings)
    assert (by_name["calls_bad_good"].value, by_name["calls_bad_good"].count) == (0.5, 2)
    assert (by_name["calls_bad_good"].worst, by_name["calls_bad_good"].best) == (
        Case("bad"), Case("bad2"))
    assert (by_name["calls_good_bad"].value, by_name["calls_good_bad"].count) == (1.0, 1)


def test_limit_of_100_ms_is_the_same_for_both() -> None:
    """Of the test's number and of the probe's 95th percentile."""
    by_name = scores([reading("hidden", way(100.0, 101.0)), reading("shown", way(101.0, 101.0)),
                      reading("fine", way(101.0, 100.0))])
    assert by_name["hides_100_ms"].value == 0.5
    assert by_name["invents_100_ms"].value == 1.0


def test_rate_below_four_fifths_is_too_slow() -> None:
    """Of a line that carries all."""
    score = of("too_slow", *(reading(f"q{mbps}", replace(_BASE, shown_mbps=mbps))
                                  for mbps in (79.9, 80.0)))
    assert score is not None
    assert (score.value, score.worst) == (0.5, Case("q79.9, download"))


def test_glitches_count_where_no_such_latency_is_shown() -> None:
    """A test that shows more than 100 ms above the idle line isn't blind."""
    score = of("blind_to_tail", reading("shown", way(121.0, 300.0, glitches_per_minute=9.0)),
               reading("hidden", way(120.0, 300.0, glitches_per_minute=4.0)))
    assert score == Score(4.0, 1, None, None, 4.0, 4.0, *[Case("hidden", 4.0)] * 2)


def test_spread_is_over_seeds_of_one_cell() -> None:
    """From the least to the most, of the median; a cell with one seed has none."""
    score = of("repeats_throughput", *(
        reading("q", replace(_BASE, shown_mbps=mbps), line=f"line-seed{seed}", seed=seed)
        for seed, mbps in enumerate((90.0, 100.0, 120.0))), reading("other", _BASE))
    assert score is not None
    assert score.value == pytest.approx(0.3)
    assert score.count == 1


def test_unknown_percentile_is_not_divided_by() -> None:
    """Nor is a rise of it known."""
    one = reading("q", way(50.0, 100.0))
    lost = replace(one, ways={name: replace(each, others_p95_ms=None, others_median_ms=None)
                              for name, each in one.ways.items()})
    assert {"latency_to_p95", "hides_100_ms"} & set(scores([lost])) == set()


def test_line_that_loses_more_than_one_packet_in_twenty_is_bad() -> None:
    """Its percentile is infinite: no ratio, but worse than any other line, and over each limit."""
    lost = reading("lossy", replace(way(50.0, 100.0), others_p95_ms=inf), good=True)
    by_name = scores([lost, reading("clear", way(40.0, 40.0), good=True)])
    assert by_name["latency_to_p95"].count == 1
    assert (by_name["calls_bad_good"].value, by_name["calls_bad_good"].worst) == (
        1.0, Case("lossy"))
    assert by_name["hides_100_ms"].value == 1.0
    assert by_name["tells_apart"].value == 1.0  # 50 for the lossy one, 40 for the clear one
    assert of("tells_apart", lost, replace(lost, words="lossy, too")) is None
    assert Reading.from_dict(json.loads(json.dumps(lost.as_dict(), allow_nan=False))) == lost


def test_interval_is_wider_where_cells_of_one_line_agree() -> None:
    """Ten cells of two lines that disagree say no more than two cells would; ten lines do."""
    def shares(lines: int) -> Score | None:
        """Whether 10 lines are called good, of so many independent ones."""
        return of("calls_bad_good", *(
            reading(f"q{number}", way(50.0, 220.0), line=f"line{number * lines // 10}-seed1",
                    good=number < 5) for number in range(10)))

    two, ten = shares(2), shares(10)
    assert two is not None
    assert ten is not None
    assert two.value == ten.value == 0.5
    assert (two.low, two.high) == (0.0, 1.0)
    assert (ten.low, ten.high) == pytest.approx((0.187, 0.813), abs=0.001)  # Clopper, Pearson


def test_runs_beside_a_bulk_flow_and_other_seeds_are_of_the_same_line() -> None:
    """For the bootstrap over lines."""
    groups = ("50mbit-40ms-seed1", "50mbit-40ms-beside-seed1", "50mbit-40ms-seed12",
              "50mbit-40ms-beside-bbr-seed1")
    assert {replace(reading("q", way(1.0, 2.0)), group=name).line for name in groups} == {
        "50mbit-40ms"}


def test_kinds_have_a_name_each() -> None:
    """And no reading makes any of them up."""
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    assert scores([]) == {}


def test_reading_comes_back_from_json() -> None:
    """As it went."""
    one = reading("q", way(50.0, 100.0), good=True)
    assert Reading.from_dict(one.as_dict()) == one


@pytest.mark.parametrize(("small_ms", "large_ms", "told"), [
    (100.0, 100.0 * (1 + ALIKE_SHARE), 1.0), (100.0, 100.0 * (1 + ALIKE_SHARE) - 1, 0.0),
    (0.0, 50.0, 1.0), (100.0, 10.0, 0.0)])
def test_queues_are_told_apart_from_a_clear_difference_on(
        small_ms: float, large_ms: float, told: float) -> None:
    """In the right order. A latency of 0 is less than any."""
    score = of("tells_apart", reading("good", way(small_ms, 50.0)),
               reading("bad", way(large_ms, 200.0)))
    assert score is not None
    assert score.value == told


@pytest.mark.parametrize(("name", "better", "worse", "alike"), [
    ("orders_median", {"others_median_ms": 50.0}, {"others_median_ms": 100.0},
     {"others_median_ms": 99.0}),
    ("orders_rise", {"others_p95_ms": 30.0}, {"others_p95_ms": 40.0}, {"others_p95_ms": 39.0}),
    ("orders_glitches", {"glitches_per_minute": 0.0}, {"glitches_per_minute": 6.0},
     {"glitches_per_minute": 5.0}),
    ("orders_loss", {"others_loss_pct": 0.0}, {"others_loss_pct": 0.5}, {"others_loss_pct": 0.4}),
    ("orders_qoo", {"qoo": 100.0}, {"qoo": 80.0}, {"qoo": 81.0}),
])
def test_order_by_each_truth_counts_clear_differences_alone(
        name: str, better: dict[str, float], worse: dict[str, float], alike: dict[str, float]
        ) -> None:
    """A test whose latency is higher on the worse queue is right, one whose latency is lower, or
    4 % higher, is wrong. Pairs within the bound are no case."""
    def share(shown_better: float, shown_worse: float, other: dict[str, float]) -> Score | None:
        return of(name, reading("better", replace(way(shown_better, 100.0), **better)),
                  reading("worse", replace(way(shown_worse, 100.0), **other)))

    found = [share(50.0, shown, worse) for shown in (60.0, 40.0, 52.0)]
    assert [(one.value, one.count) for one in found if one] == [(1.0, 1), (0.0, 1), (0.0, 1)]
    assert share(50.0, 60.0, alike) is None


def test_of_two_queues_that_both_lost_the_percentile_none_is_worse() -> None:
    """And one that lost it is worse than any other."""
    lost, whole = way(60.0, inf), way(50.0, 100.0)
    assert of("orders_rise", reading("a", lost), reading("b", way(50.0, inf))) is None
    score = of("orders_rise", reading("a", lost), reading("b", whole))
    assert score is not None
    assert (score.value, score.count) == (1.0, 1)


def test_idle_latency_and_rise_are_held_against_the_idle_line() -> None:
    """Shown 30 of 20 ms; the rise to 120 ms is 90, the true one to a median of 100 is 80."""
    one = replace(reading("q", way(120.0, 200.0, shown_rise_ms=90.0)), shown_idle_ms=30.0)
    by_name = scores([one])
    assert (by_name["idle_to_true"].value, by_name["rise_error_ms"].value) == (1.5, 10.0)
    assert not {"idle_to_true", "rise_error_ms"} & set(scores([reading("q", way(120.0, 200.0))]))


# A direction of which a perfect test shows what is possible.
_PERFECT = replace(_BASE, shown_mbps=100.0, idle_ms=20.0)


def perfect(queue: str, true_ms: float, shown_ms: float, *, seed: int = 1, good: bool = True,
            **more: float) -> Reading:
    """A run whose median, own and 95th percentile are the same, and which cost nothing."""
    down = replace(_PERFECT, shown_ms=shown_ms, others_p95_ms=true_ms, others_median_ms=true_ms,
                   own_ms=true_ms, shown_rise_ms=true_ms - 20, **more)
    return Reading(f"line-seed{seed}-{queue}", queue, f"line-seed{seed}", queue, False,
                   {"download": down, "upload": DirectionValues(), WORSE: down}, good, 0.0, 0.0,
                   0.0, 20.0)


def test_perfect_test_has_the_ideal_value_of_each_kind() -> None:
    """The one that the page tells as the best."""
    runs = [perfect(queue, true_ms, true_ms, seed=seed, good=true_ms < 100, glitches_per_minute=0.0,
                    others_loss_pct=loss, qoo=qoo)
            for queue, true_ms, loss, qoo in (("a", 25.0, 0.0, 100.0), ("b", 26.0, 0.0, 100.0),
                                              ("c", 400.0, 5.0, 0.0)) for seed in (1, 2)]
    glitches = replace(runs[-1], ways={name: replace(way, glitches_per_minute=60.0)
                                       for name, way in runs[-1].ways.items()})
    found = scores([*runs[:-1], glitches])
    assert found.keys() == {kind.name for kind in KINDS}
    assert {name: score.value for name, score in found.items()} == {
        kind.name: kind.best for kind in KINDS}
    # Nothing is wrong with it, and what is right is told.
    assert [name for name, score in found.items() if score.best is None] == []
    shares = {kind.name for kind in KINDS if found[kind.name].least is None}
    assert {name for name, score in found.items() if score.worst is None} == shares


def test_share_tells_a_case_of_each_side() -> None:
    """Whether its ideal is all or none."""
    found = scores([reading("wrong", way(100.0, 101.0)), reading("right", way(101.0, 202.0)),
                    reading("fine", way(50.0, 60.0)), reading("invented", way(101.0, 60.0))])
    for name, best, worst in (
            ("hides_100_ms", "right", "wrong"), ("invents_100_ms", "fine", "invented"),
            ("invents_difference", None, "fine | invented, download"),
            ("tells_apart", "right | fine, download", "wrong | right, download")):
        score = found[name]
        assert score.best == (Case(best) if best else None), name
        assert score.worst == (Case(worst) if worst else None), name


def test_ratio_is_near_or_far_as_a_factor() -> None:
    """A half is farther from 1 than 1.6, and 0.9 nearer."""
    found = scores([reading(queue, replace(way(shown, 200.0), shown_mbps=shown))
                    for queue, shown in (("half", 50.0), ("near", 90.0), ("more", 160.0))])
    for name in ("throughput", "latency_to_median"):
        score = found[name]
        assert (score.best, score.worst) == (Case("near, download", 0.9),
                                             Case("half, download", 0.5)), name


@pytest.mark.parametrize(("shown_ms", "true_ms", "share"), [
    ((100.0, 110.0), (100.0, 100.0), 1.0), ((100.0, 109.0), (100.0, 100.0), 0.0),
    ((100.0, 110.0), (100.0, 109.0), 1.0), ((100.0, 110.0), (100.0, 110.0), None)])
def test_difference_of_a_tenth_is_one(
        shown_ms: tuple[float, float], true_ms: tuple[float, float], share: float | None) -> None:
    """Of what the test shows, and of the truth."""
    score = of("invents_difference", *(reading(queue, way(shown, true)) for queue, shown, true in
                                       zip("ab", shown_ms, true_ms, strict=True)))
    assert (score and score.value) == share


def test_cost_is_that_of_runs_without_a_bulk_flow() -> None:
    """The cheapest is the best, by the difference from none."""
    runs = [replace(reading(queue, _BASE), seconds=seconds, beside=beside)
            for queue, seconds, beside in (("a", 0.25, False), ("b", 3.0, False), ("c", 9.0, True))]
    score = of("seconds", *runs)
    assert score is not None
    assert (score.value, score.best, score.worst) == (1.625, Case("a", 0.25), Case("b", 3.0))


@pytest.mark.parametrize(("rise_ms", "good", "kinds"), [
    (100.0, True, set()), (100.5, True, {"calls_bad_good"}), (100.5, None, {"calls_bad_good"}),
    (19.5, False, {"calls_good_bad"}), (20.0, False, set()), (20.5, False, set())])
def test_line_is_bad_above_a_rise_of_100_ms_and_good_below_20_ms(
        rise_ms: float, good: bool | None, kinds: set[str]) -> None:
    """A line without a verdict isn't called wrong, but counts where others have one."""
    found = scores([reading("a", way(50.0, 20.0 + rise_ms), good=good),
                    reading("between", way(50.0, 70.0), good=True)])
    assert {name for name in found if name.startswith("calls_")} == kinds
    for name in kinds:
        assert (found[name].value, found[name].count) == (float(good is not None), 1)


@pytest.mark.parametrize(("name", "one", "other", "counts"), [
    # Half of a millisecond is enough where it is twofold, but not for a rise.
    ("orders_median", {"others_median_ms": 0.5}, {"others_median_ms": 1.0}, True),
    ("orders_rise", {"others_p95_ms": 22.0}, {"others_p95_ms": 27.0}, True),
    ("orders_rise", {"others_p95_ms": 22.0}, {"others_p95_ms": 26.9}, False),
    # Of the others the difference alone counts.
    ("orders_glitches", {"glitches_per_minute": 12.0}, {"glitches_per_minute": 18.0}, True),
    ("orders_loss", {"others_loss_pct": 2.0}, {"others_loss_pct": 2.5}, True),
    ("orders_qoo", {"qoo": 60.0}, {"qoo": 40.0}, True),
    ("orders_qoo", {"qoo": None}, {"qoo": 40.0}, False),
    ("orders_qoo", {"qoo": 40.0}, {"qoo": None}, False),
])
def test_pair_is_clear_by_the_least_difference_and_factor_of_its_truth(
        name: str, one: dict[str, float], other: dict[str, float], counts: bool) -> None:
    score = of(name, reading("a", replace(way(50.0, 100.0), **one)),
               reading("b", replace(way(60.0, 100.0), **other)))
    assert (score is not None) is counts


@pytest.mark.parametrize(("others_p95_ms", "counts"), [(199.0, False), (200.0, True)])
def test_pair_is_to_be_told_apart_from_twice_the_percentile_on(
        others_p95_ms: float, counts: bool) -> None:
    score = of("tells_apart", reading("a", way(50.0, 100.0)),
               reading("b", way(60.0, others_p95_ms)))
    assert (score is not None) is counts


@pytest.mark.parametrize(("true_mbps", "shown_mbps", "counts"), [
    (100.0, None, False), (None, 50.0, False), (0.0, 50.0, False), (100.0, 0.0, True),
    (0.5, 0.5, True)])
def test_share_of_a_rate_needs_both_and_one_that_is_possible(
        true_mbps: float | None, shown_mbps: float | None, counts: bool) -> None:
    """A test may show 0."""
    score = of("throughput", reading("a", replace(_BASE, shown_mbps=shown_mbps,
                                                  possible_mbps=true_mbps)))
    assert (score is not None) is counts


@pytest.mark.parametrize(("shown", "median", "worst"), [
    ((0.0, 0.5, 1.2), 0.5, 0.0), ((0.5, 1.9, 1.2), 1.2, 0.5), ((0.6, 4.0, 1.2), 1.2, 4.0)])
def test_ratio_of_zero_is_farther_off_than_any_other(
        shown: tuple[float, ...], median: float, worst: float) -> None:
    """The distance is a factor: half is farther than 1.9 times. The nearest to 1 is 1.2."""
    score = of("throughput", *(reading(f"q{number}", replace(_BASE, shown_mbps=100 * one))
                               for number, one in enumerate(shown)))
    assert score is not None
    assert (score.value, score.best, score.worst) == (
        median, Case("q2, download", 1.2), Case(f"q{shown.index(worst)}, download", worst))


@pytest.mark.parametrize(("value", "best", "distance"), [
    (2.0, 1, math.log(2)), (0.5, 1, math.log(2)), (0.0, 1, inf), (-1.0, 1, inf), (-3.0, 0, 3.0),
    (15.0, 20.0, 5.0), (0.0, 0, 0.0)])
def test_distance_is_a_factor_from_one_and_a_difference_from_other_ideals(
        value: float, best: float, distance: float) -> None:
    assert _distance(value, best) == pytest.approx(distance)


@pytest.mark.parametrize(("mbps", "value"), [
    ((0.0, 0.0), None), ((1.0, 1.0), 0.0), ((0.2, 0.6), 1.0), ((50.0,), None)])
def test_spread_needs_two_seeds_and_a_median_above_zero(
        mbps: tuple[float, ...], value: float | None) -> None:
    """Of 0.2 and 0.6 it is 0.4 of 0.4."""
    score = of("repeats_throughput", *(
        reading("q", replace(_BASE, shown_mbps=one), line=f"line-seed{seed}", seed=seed)
        for seed, one in enumerate(mbps)))
    assert (score and score.value) == (value if value is None else pytest.approx(value))


def test_spread_of_a_test_without_directions_is_that_of_the_worse() -> None:
    """A direction of its own keeps that of the worse one out."""
    single = [replace(one, ways={"download": DirectionValues(), "upload": DirectionValues(),
                                 WORSE: DirectionValues(shown_ms=shown_ms)})
              for one, shown_ms in ((reading("q", _BASE, line=f"line-seed{seed}", seed=seed), ms)
                                    for seed, ms in ((1, 90.0), (2, 110.0)))]
    score = of("repeats_latency", *single)
    assert score is not None
    assert (score.value, score.count, score.worst) == (0.2, 1, Case("q, worse", 0.2))
    both = of("repeats_latency", *(reading("q", way(ms, 50.0), line=f"line-seed{seed}")
                                   for seed, ms in ((1, 90.0), (2, 110.0))))
    assert both is not None
    assert (both.count, both.worst) == (1, Case("q, download", 0.2))


@pytest.mark.parametrize(("shown_ms", "idle_ms", "count"), [
    (None, 20.0, 1), (120.0, 20.0, 1), (120.5, 20.0, 0), (50.0, None, 0), (None, None, 0)])
def test_glitches_are_unseen_up_to_100_ms_above_the_idle_line(
        shown_ms: float | None, idle_ms: float | None, count: int) -> None:
    """A latency that is unknown on the idle line tells nothing."""
    one = replace(way(shown_ms, 300.0, glitches_per_minute=6.0), idle_ms=idle_ms)
    score = of("blind_to_tail", reading("q", one))
    assert (score.count if score else 0) == count


def test_latency_of_zero_is_a_ratio_but_no_truth() -> None:
    """What is divided by must be there, and above 0."""
    assert of("latency_to_own", reading("q", replace(way(50.0, 100.0), own_ms=0.0))) is None
    assert of("latency_to_own", reading("q", replace(way(50.0, 100.0), own_ms=None))) is None
    score = of("latency_to_own", reading("q", replace(way(0.0, 100.0), own_ms=0.5)))
    assert score is not None
    assert score.value == 0.0
    for idle_ms, value in ((0.0, None), (None, None), (0.5, 60.0)):
        one = replace(reading("q", replace(_BASE, idle_ms=idle_ms)), shown_idle_ms=30.0)
        found = of("idle_to_true", one)
        assert (found and found.value) == value


@pytest.mark.parametrize(("first", "second", "ratio"), [
    (0.0, 0.0, 1.0), (inf, inf, 1.0), (0.0, 5.0, inf), (5.0, 0.0, inf), (0.5, 1.0, 2.0),
    (inf, 1.0, inf), (30.0, 20.0, 1.5)])
def test_ratio_of_two_latencies_is_the_larger_by_the_less(
        first: float, second: float, ratio: float) -> None:
    assert _ratio_of_attribute(DirectionValues(shown_ms=first), DirectionValues(shown_ms=second),
                               "shown_ms") == ratio


@pytest.mark.parametrize(("first", "second", "sign"), [
    (1.0, 2.0, -1), (2.0, 1.0, 1), (2.0, 2.0, 0), (inf, inf, 0), (inf, 2.0, 1)])
def test_latencies_are_compared_as_numbers(first: float, second: float, sign: int) -> None:
    assert _compare_attribute(DirectionValues(shown_ms=first), DirectionValues(shown_ms=second),
                              "shown_ms") == sign


def test_interval_of_a_bootstrap_holds_95_of_100_draws() -> None:
    """Of two lines with one value each, a quarter of the draws has the one, the other alone; of ten
    lines, of which one differs, a draw in three has none of it."""
    assert _bootstrap_over_lines([(1.0, "", "a"), (5.0, "", "b")], numpy.mean) == (1.0, 5.0)
    assert _bootstrap_over_lines([(1.0, "", "a"), (5.0, "", "a")], numpy.mean) is None
    low, high = _bootstrap_over_lines(
        [(float(number == 0), "", f"line{number}") for number in range(10)], numpy.mean) or (9, 9)
    # Binomial of ten draws: at most 3 in 98.7 % of them, at most 2 in 93.0 %.
    assert low == 0.0
    assert high == pytest.approx(0.3)


@pytest.mark.parametrize(("exact", "over_lines", "wider"), [
    (None, (1.0, 2.0), (None, None)), ((1.0, 2.0), None, (1.0, 2.0)),
    ((1.0, 2.0), (1.5, 3.0), (1.0, 3.0)), ((1.0, 2.0), (0.5, 1.5), (0.5, 2.0))])
def test_interval_is_the_one_that_spans_both(
        exact: tuple[float, float] | None, over_lines: tuple[float, float] | None,
        wider: tuple[float | None, float | None]) -> None:
    """None without the exact one, which needs six cells."""
    assert _wider_interval(exact, over_lines) == wider

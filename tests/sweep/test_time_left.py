# SPDX-License-Identifier: GPL-3.0-or-later
"""Time left, told after a tenth of sweeps whose runs took as long as they did once."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.time_left import TimeLeft

# Wall seconds of the study's runs on a busy machine, by test, cross traffic, and rate of 100,
# 300, 500, 700, 900 Mbit/s.
TOOK_S = {
    ("iperf3_download", False): (9.0, 7.0, 7.9, 6.6, 10.0),
    ("iperf3_download", True): (11.7, 9.9, 9.1, 8.5, 10.6),
    ("iperf3_upload", False): (9.4, 8.8, 7.5, 9.8, 8.5),
    ("iperf3_upload", True): (15.3, 9.6, 10.6, 11.6, 13.5),
    ("ndt7", False): (11.5, 9.8, 10.1, 11.8, 11.5),
    ("ndt7", True): (24.6, 15.8, 18.2, 19.1, 22.4),
}
LENGTH_S = {"ndt7": 30.0}


def study(dice: random.Random) -> list[tuple[Cell, float]]:
    """240 cells in Flent's order, each with the seconds it takes, which scatter by 20 %."""
    cells = []
    for (test, cross), rate, number in itertools.product(TOOK_S, range(5), range(8)):
        mbps = 100.0 + 200 * rate
        cells.append((Cell(
            name=f"{test}-{cross}-{mbps:g}-{number}", folder=Path("none"), test_name=test,
            scenario=Scenario().but(rate_up_mbps=mbps, rate_down_mbps=mbps, cross_traffic=cross),
            settings={}, commands={}, metadata={}, length_s=LENGTH_S.get(test, 20.0)),
            TOOK_S[test, cross][rate] * dice.lognormvariate(0, 0.2)))
    return cells


def shown_and_true_s(cells: Sequence[tuple[Cell, float]], jobs: int) -> tuple[float, float]:
    """What is told when a tenth has ended, and how long it is then, side by side."""
    left = TimeLeft([cell for cell, _ in cells], 0.0)
    running: list[tuple[float, int]] = []
    waiting = iter(enumerate(cells))
    shown_s = shown_at_s = now_s = 0.0
    count = 0
    while True:
        while len(running) < jobs and (following := next(waiting, None)):
            number, (cell, took_s) = following
            left.started(cell, now_s)
            heapq.heappush(running, (now_s + took_s, number))
        if not running:
            return shown_s, now_s - shown_at_s
        now_s, number = heapq.heappop(running)
        left.ended(cells[number][0], now_s, learn=True)
        count += 1
        if count == len(cells) // 10:
            left_s = left.left_s(now_s)
            assert left_s is not None
            shown_s, shown_at_s = left_s, now_s


@pytest.mark.parametrize("jobs", [1, 2, 16])
@pytest.mark.parametrize("shuffled", [True, False])
def test_time_left_after_a_tenth_is_right_within_a_quarter(jobs: int, shuffled: bool) -> None:
    """In Flent's shuffled order, and, as well, in that of the matrix."""
    for seed in range(20):
        dice = random.Random(seed)
        cells = study(dice)
        if shuffled:
            dice.shuffle(cells)
        shown_s, true_s = shown_and_true_s(cells, jobs)
        assert shown_s == pytest.approx(true_s, rel=0.25), seed


def test_failed_runs_tell_nothing_of_how_long_others_take() -> None:
    """A run that fails at once doesn't shorten the rest."""
    cells = study(random.Random(1))[:10]
    left = TimeLeft([cell for cell, _ in cells], 0.0)
    for cell, _ in cells[:5]:
        left.started(cell, 0.0)
        left.ended(cell, 0.001, learn=False)
    assert left.left_s(1.0) is None
    left.started(cells[5][0], 1.0)
    left.ended(cells[5][0], 11.0, learn=True)
    assert left.left_s(11.0) == pytest.approx(40.0, rel=0.15)


def one_cell(name: str, test: str, mbps: float = 100.0) -> Cell:
    return Cell(name=name, folder=Path("none"), test_name=test, scenario=Scenario().but(
        rate_up_mbps=mbps, rate_down_mbps=mbps), settings={}, commands={}, metadata={},
        length_s=10.0)


def test_runs_of_another_kind_count_like_one_run() -> None:
    """20 s of one kind and 40 of the other: 30 on average, so that the next of the other is taken
    to need (40 + 30) / 2. While it runs, what it has run is less."""
    cells = [one_cell("a", "ping"), one_cell("b", "ndt7"), one_cell("c", "ndt7")]
    left = TimeLeft(cells, 0.0)
    for cell, start_s, end_s in ((cells[0], 0.0, 20.0), (cells[1], 20.0, 60.0)):
        left.started(cell, start_s)
        left.ended(cell, end_s, learn=True)
    assert left.left_s(60.0) == pytest.approx(35)
    left.started(cells[2], 60.0)
    assert left.left_s(70.0) == pytest.approx(25)


def test_run_at_5000_mbps_is_taken_to_need_twice_as_long_as_at_a_low_rate() -> None:
    cells = [one_cell("a", "ndt7", 0.001), one_cell("b", "ndt7", 5000.0)]
    left = TimeLeft(cells, 0.0)
    left.started(cells[0], 0.0)
    left.ended(cells[0], 20.0, learn=True)
    assert left.left_s(20.0) == pytest.approx(40, rel=1e-3)


def worked_cells(count: int) -> list[Cell]:
    """Runs of one kind, each guessed to take as long as any other."""
    return [one_cell(str(number), "ndt7") for number in range(count)]


@pytest.mark.parametrize(("runs", "now_s", "left_s"), [
    # (begin, end) of four runs, of which one that is not over has no end, and a later one no begin
    ([(0, 10), (10, 20)], 20, 20),  # one at a time: two of 10 s left
    ([(0, 10), (0, 10)], 10, 10),  # two at a time
    ([(0, 10), (0, 10), (10, None)], 14, 16 / (24 / 14)),  # 6 s and 10 s left, 1.7 at a time
    ([(0, 10), (0, 10), (10, None), (10, None)], 14, 6),  # both have 6 s left
    ([(0, 10), (0, 10), (0, 10), (10, None)], 10, 10),  # the last alone, no faster than itself
    ([(0, 10), (0, 10), (0, 10), (0, 10)], 10, 0),
    ([(0, 0.5)], 0.5, 1.5),  # all runs within the first second
    ([(990, 1000)], 1000, 300),  # hardly anything ran so far: a tenth of a run at a time at least
    # 30 s are over where 10 were expected: 20 are now, of which none are left
    ([(0, 10), (0, None)], 30, 40 / (40 / 30)),
])
@pytest.mark.parametrize("began_s", [0.0, 5000.0])
def test_time_left_is_the_work_left_by_the_runs_side_by_side(
        runs: list[tuple[float, float | None]], now_s: float, left_s: float, began_s: float
) -> None:
    """Whatever the clock's zero."""
    cells = worked_cells(4)
    left = TimeLeft(cells, began_s)
    for cell, (start_s, end_s) in zip(cells, runs, strict=False):
        left.started(cell, began_s + start_s)
        if end_s is not None:
            left.ended(cell, began_s + end_s, learn=True)
    assert left.left_s(began_s + now_s) == pytest.approx(left_s)


def test_runs_that_failed_were_runs_side_by_side() -> None:
    """Their number is known, though not how long others take; a run that never started took no
    time."""
    cells = worked_cells(5)
    left = TimeLeft(cells, 0.0)
    for cell, learn in ((cells[0], True), (cells[1], False)):
        left.started(cell, 0.0)
        left.ended(cell, 10.0, learn=learn)
    assert left.left_s(10.0) == pytest.approx(30 / 2)
    left.ended(cells[2], 10.0, learn=False)
    assert left.left_s(10.0) == pytest.approx(20 / 2)


def test_run_with_cross_traffic_is_taken_to_need_1_6_times_as_long() -> None:
    """Until one has ended."""
    cells = worked_cells(2)
    cross = replace(cells[1], scenario=cells[1].scenario.but(cross_traffic=True))
    left = TimeLeft([cells[0], cross], 0.0)
    left.started(cells[0], 0.0)
    left.ended(cells[0], 10.0, learn=True)
    assert left.left_s(10.0) == pytest.approx(16)


def test_overdue_run_of_another_kind_tells_of_its_kind() -> None:
    """A ping of 10 s has ended, an ndt7 is on for 30: 20 on average, so that the next ndt7 is taken
    to need (30 + 20) / 2, and the next ping (10 + 20) / 2."""
    cells = [one_cell("a", "ping"), one_cell("b", "ndt7"), one_cell("c", "ndt7"),
             one_cell("d", "ping")]
    left = TimeLeft(cells, 0.0)
    left.started(cells[0], 0.0)
    left.started(cells[1], 0.0)
    left.ended(cells[0], 10.0, learn=True)
    assert left.left_s(30.0) == pytest.approx(((30 + 20) / 2 + (10 + 20) / 2) / (40 / 30))

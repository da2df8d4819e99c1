# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep prints while it runs, on a terminal and elsewhere, by a clock that stands still."""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from flent_aqm.base.errors import LabError
from flent_aqm.results.metrics.scores import Scores
from flent_aqm.results.metrics.table import Unavailable
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.progress import SweepProgress, one_line
from flent_aqm.sweep.run import FinishedRun

NONE = Unavailable("the test has no download")
SCORES = Scores(NONE, 95.6, 0.1, 0.13)


class Clock:
    """time.monotonic(), which a test moves on."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "monotonic", made)
    return made


def cells(count: int, **settings: object) -> list[Cell]:
    return [Cell(name=f"run{number}", folder=Path("none"), test_name="iperf3_upload",
                 scenario=Scenario.from_settings({"aqm": "sfq", **settings}), settings={},
                 commands={}, metadata={}, length_s=10) for number in range(1, count + 1)]


def progress_in(width: int, runs: list[Cell], *, terminal: bool = False
                ) -> tuple[SweepProgress, io.StringIO]:
    """A progress that prints with this width."""
    out = io.StringIO()
    return SweepProgress(runs, Console(
        file=out, width=width, force_terminal=terminal, color_system=None, highlight=False)), out


def done(cell: Cell, virtual_s: float | None = 10.0, scores: Scores = SCORES) -> FinishedRun:
    return FinishedRun(cell, scores, virtual_s, 1.0)


def test_runs_are_counted_in_the_order_of_their_ends(clock: Clock) -> None:
    """Also failed ones; the positions of ten runs have two columns."""
    runs = cells(10)
    progress, out = progress_in(200, runs)
    for number in range(10):
        clock.now_s += 1
        progress.ended(runs[number], LabError("it\nbroke") if number % 3 == 1
                       else done(runs[number]))
    lines = out.getvalue().splitlines()
    assert [line.partition(" run")[0] for line in lines] == [
        "ok      1/10", "FAILED  2/10", "ok      3/10", "ok      4/10", "FAILED  5/10",
        "ok      6/10", "ok      7/10", "FAILED  8/10", "ok      9/10", "ok     10/10"]
    assert lines[1] == "FAILED  2/10 run2: it broke"
    assert (progress.done, progress.failed) == (7, 3)
    progress.say_total()
    assert out.getvalue().splitlines()[-1] == (
        "7 done, 3 failed: 70 virtual seconds in 10 s (7.0 virtual s/s).")


def test_speed_is_right_within_the_first_second(clock: Clock) -> None:
    """And 0 before any run has succeeded; runs in real time have none."""
    runs = cells(3)
    progress, out = progress_in(200, runs)
    clock.now_s += 0.5
    assert progress.speed == 0
    progress.ended(runs[0], done(runs[0], None))
    progress.say_total()
    assert out.getvalue().splitlines()[-1] == "1 done, 0 failed: 0 s."
    progress.ended(runs[1], done(runs[1]))
    assert progress.speed == 20  # 10 s in half a second


def test_time_left_is_told_after_each_run_but_the_last(clock: Clock) -> None:
    """10 s a run, one after the other; on a terminal the bar tells it."""
    for terminal, lefts in ((False, ["0:00:20", "0:00:10", ""]), (True, ["", "", ""])):
        runs = cells(3)
        progress, out = progress_in(200, runs, terminal=terminal)
        for one in runs:
            progress.started(one)
            clock.now_s += 10
            progress.ended(one, done(one))
        assert [line.endswith(f", {left} left") if left else "left" not in line for line, left in
                zip(out.getvalue().splitlines(), lefts, strict=True)] == [True] * 3


def test_run_that_is_not_made_teaches_nothing_of_how_long_runs_take(clock: Clock) -> None:
    """And no longer counts as left."""
    runs = cells(3)
    progress, _ = progress_in(200, runs)
    progress.started(runs[0])
    progress.not_made(runs[0])
    assert progress._time_left_text() == ""
    progress.started(runs[1])
    clock.now_s += 10
    progress.ended(runs[1], done(runs[1]))
    assert progress._time_left_text() == "0:00:10"


def test_bar_fills_the_terminal_and_counts(clock: Clock) -> None:
    """Its fields: how many of how many, failed ones, the time left, and the speed."""
    runs = cells(4)
    progress, out = progress_in(70, runs, terminal=True)

    def bar() -> str:
        progress._progress.refresh()
        drawn_last = out.getvalue().rpartition("\x1b[2K")[2]  # what erases the line
        return re.sub(r"\x1b\[[0-9?]*[A-Za-z]|\r", "", drawn_last)

    with progress:
        assert " 0/4 " in bar()
        assert "-:--:--" in bar()
        assert "failed" not in bar()
        for one, result in ((runs[0], ValueError("why")), (runs[1], done(runs[1]))):
            progress.started(one)
            clock.now_s += 10
            progress.ended(one, result)
        assert re.search(r"━╸ +2/4 1 failed 0:00:20 0\.5 virtual s/s$", bar().rstrip()), bar()
        assert len(bar()) == 70
        progress.not_made(runs[2])
        assert " 3/4 " in bar()
        progress.ended(runs[3], done(runs[3]))
        assert " 4/4 1 failed -:--:-- 1.0 virtual s/s" in bar()


def test_no_bar_where_there_is_no_terminal(clock: Clock) -> None:
    progress, out = progress_in(70, cells(1))
    with progress:
        progress._progress.refresh()
    assert out.getvalue() == ""


FULL = "ok     1/2 iperf3_upload sfq 100 Mbit/s: up 95.60 Mbit/s, p99 0.13 ms"


@pytest.mark.parametrize(("width", "line"), [
    (len(FULL) + 1, FULL), (len(FULL), FULL),
    (len(FULL) - 1, FULL.replace("Mbit/s: up", "Mbit…: up")),
    (len(FULL) - 2, FULL.replace("Mbit/s: up", "Mbi…: up")),
    (12, "ok     1/2 …: up 95.60 Mbit/s, p99 0.13 ms")])
def test_line_is_cut_by_what_it_is_longer_than_the_terminal(
        clock: Clock, width: int, line: str) -> None:
    """One character for those that are left out; the result is told in any case."""
    runs = cells(2, rate_mbps=100)
    progress, out = progress_in(width, runs, terminal=True)
    progress.ended(runs[0], done(runs[0]))
    assert out.getvalue() == f"{line}\n"


def test_line_of_a_run_without_results_has_no_colon(clock: Clock) -> None:
    runs = cells(1, rate_mbps=100)
    progress, out = progress_in(80, runs, terminal=True)
    progress.ended(runs[0], done(runs[0], scores=Scores(NONE, NONE, NONE, NONE)))
    assert out.getvalue() == "ok     1/1 iperf3_upload sfq 100 Mbit/s\n"


@pytest.mark.parametrize(("there", "jobs", "needs_s", "line"), [
    (0, 1, None, "3 runs in the lab."), (1, 1, None, "3 runs in the lab, 1 of them there already."),
    (0, 2, None, "3 runs in the lab, 2 side by side."),
    (2, 16, 90.4, "3 runs in the lab, 2 of them there already, about 0:01:30."),
    (0, 1, 0.0, "3 runs in the lab, about 0:00:00.")])
def test_beginning_tells_only_what_there_is_to_tell(
        clock: Clock, there: int, jobs: int, needs_s: float | None, line: str) -> None:
    progress, out = progress_in(200, cells(1))
    progress.announce(3, there, jobs, "the lab", [], needs_s)
    assert out.getvalue() == f"{line}\n"


def test_lines_are_whole_on_a_narrow_terminal(clock: Clock) -> None:
    """So that they can be searched for, and copied."""
    long = "a line that is much longer than the terminal is wide"
    runs = cells(1)
    progress, out = progress_in(20, runs)
    progress.announce(1, 0, 1, "lab", [long])
    progress.say_fault(long)
    progress.say_fact(f"[red]{long}")
    progress.ended(runs[0], LabError(long))
    assert out.getvalue().splitlines() == [
        "1 run in lab.", f"warning: {long}", f"testbed: {long}", f"[red]{long}",
        f"FAILED 1/1 run1: {long}"]


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_standard_error_has_the_terminals_width_or_room_for_long_lines(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of a line have no colours of their own."""
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    progress = SweepProgress(cells(1))
    progress.say_fact("5 words")
    assert (progress.console.width, file.getvalue()) == (120, "5 words\n")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    progress = SweepProgress(cells(1))
    progress.say_fact("5 words")
    assert (progress.console.width, terminal.getvalue()) == (50, "5 words\n")


def test_error_in_one_line_has_its_type_unless_it_is_ours() -> None:
    assert one_line(LabError("it\n  broke ")) == "it broke"
    assert one_line(ValueError("it\nbroke")) == "ValueError: it broke"

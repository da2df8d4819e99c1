# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs side by side: what happens to those that start while a sweep is interrupted."""

from __future__ import annotations

import os
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.sweep import pool as pool_module
from flent_aqm.sweep.pool import Pool, elsewhere_of, parse_jobs


def test_run_that_starts_just_after_the_kill_is_killed_too() -> None:
    """abort() kills until nothing runs, and reports nothing."""
    entered, may_start, killed = threading.Event(), threading.Event(), threading.Event()
    running: list[object] = []
    reported: list[object] = []

    def run(cell: Any) -> Any:
        entered.set()
        assert may_start.wait(60)
        running.append(cell)
        assert killed.wait(60)

    def kill() -> None:
        if running:
            killed.set()
        else:  # too early: the run is about to start
            may_start.set()

    pool = Pool(run, 1, keep_to_core=False,
                ended=lambda cell, result: reported.append(result))
    pool.submit(cast(Any, "cell"))
    assert entered.wait(60)
    pool.abort(kill)
    pool.close()
    assert killed.is_set()
    assert reported == []


def test_run_that_no_thread_has_taken_is_not_waited_for() -> None:
    """A thread whose run has just ended takes the next one a moment later."""
    busy = threading.Event()
    begun: list[object] = []
    pool = Pool(cast(Any, begun.append), 1, keep_to_core=False,
                ended=lambda cell, result: begun.append(result))
    pool._threads.submit(busy.wait, 60)
    pool.submit(cast(Any, "cell"))
    killed = 0

    def kill() -> None:
        nonlocal killed
        killed += 1
        assert killed < 9, "nothing is left that could end"

    try:
        pool.abort(kill)
    finally:
        busy.set()
        pool.close()
    assert begun == []
    assert not pool.submit(cast(Any, "later"))


def test_more_runs_than_cores_go_side_by_side() -> None:
    """Runs on other machines need no core of this one: three more than there are cores all run at
    once, or none would end."""
    jobs = len(os.sched_getaffinity(0)) + 3
    together = threading.Barrier(jobs, timeout=60)
    ended: list[object] = []
    pool = Pool(cast(Any, lambda cell: together.wait()), jobs, keep_to_core=False,
                ended=lambda cell, result: ended.append(result))
    for number in range(jobs):
        pool.submit(cast(Any, number))
    pool.drain()
    pool.close()
    assert sorted(cast(Any, ended)) == list(range(jobs))


def test_error_of_one_cell_is_raised_when_all_have_ended() -> None:
    """Not while others still run, which would report to a sweep that is over."""
    may_end = threading.Event()
    ended: list[object] = []

    def run(cell: Any) -> Any:
        if cell == "late":
            assert may_end.wait(60)

    def tell(cell: Any, result: object) -> None:
        ended.append(cell)
        if cell == "bad":
            threading.Timer(0.2, may_end.set).start()
            raise OSError("no room")

    pool = Pool(run, 2, keep_to_core=False, ended=tell)
    for cell in ("bad", "late"):
        pool.submit(cast(Any, cell))
    with pytest.raises(OSError, match="no room"):
        pool.drain()
    assert ended == ["bad", "late"]
    pool.close()


@pytest.mark.parametrize("text", ["²", "1²", "-1", "x"])
def test_jobs_are_a_number_that_python_can_read(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a whole number"):
        parse_jobs(text, real_time="")


def test_jobs_in_real_time_are_one() -> None:
    """Without the key there is one; more are refused, whatever the number of cores."""
    assert parse_jobs(None, real_time="netns") == parse_jobs("1", real_time="netns") == 1
    assert [parse_jobs(text) for text in ("1", "7", "1024")] == [1, 7, 1024]
    for text in ("0", "1025"):
        with pytest.raises(ConfigError, match="is not a whole number from 1 to 1024"):
            parse_jobs(text)
    with pytest.raises(ConfigError, match="2 runs side by side would disturb each other in "
                                          "real time, on testbed netns; leave jobs out, or use"):
        parse_jobs("2", real_time="netns")


@pytest.mark.parametrize(("value", "real_time", "jobs"), [
    (False, "", None), (None, "", 3), ("", "", 3), (None, "netns", 1), ("", "netns", 1),
    (0, "", None), ("000000001", "", 1), ("0000000001", "", None), ("000001024", "", 1024),
    (2, "", 2), ("9999999999", "", None)])
def test_jobs_are_as_many_as_cores_of_this_process_unless_given(
        monkeypatch: pytest.MonkeyPatch, value: object, real_time: str, jobs: int | None) -> None:
    """A number has at most nine digits, so that a long one isn't read. None: refused."""
    monkeypatch.setattr(os, "sched_getaffinity", {0: {1, 4, 7}}.__getitem__)
    if jobs is None:
        with pytest.raises(ConfigError, match=r"jobs: (no, off and false are no values|'\d+' is "
                                              r"not).* a whole number from 1 to 1024"):
            parse_jobs(value, real_time=real_time)
        return
    assert parse_jobs(value, real_time=real_time) == jobs


def test_virtual_time_is_the_default() -> None:
    assert parse_jobs("2") == 2


@pytest.mark.parametrize(("section", "title"), [
    ({}, None), ({"scheduler": "one"}, "first one"), ({"scheduler": "two"}, "second two")])
def test_first_part_that_the_keys_ask_for_makes_the_runs(
        monkeypatch: pytest.MonkeyPatch, section: dict[str, str], title: str | None) -> None:
    """Parts that make none are passed over."""
    def part(name: str, keys: set[str]) -> Any:
        return lambda asked: f"{name} {asked['scheduler']}" if asked.get(
            "scheduler") in keys else None

    monkeypatch.setattr(pool_module, "load", lambda elsewhere: elsewhere)
    monkeypatch.setattr(pool_module, "parts", lambda: {
        "none": SimpleNamespace(elsewhere=""),
        "a": SimpleNamespace(elsewhere=part("first", {"one"})),
        "b": SimpleNamespace(elsewhere=part("second", {"one", "two"}))})
    assert cast(Any, elsewhere_of(section)) == title

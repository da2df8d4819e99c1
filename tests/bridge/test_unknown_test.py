# SPDX-License-Identifier: GPL-3.0-or-later
"""Data files of tests that nobody here has: plots out of their series."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.bridge.unknown_test import plots
from tests.files import RUNS, load, save

from ..warm_flent import run_flent

GOLDEN = RUNS


def private(tmp_path: Path, golden: str, **changes: Any) -> Path:
    """A golden run as if it came from somebody's own definition."""
    whole = load(GOLDEN / f"{golden}.flent.gz")
    whole["metadata"]["NAME"] = "my_own_test"
    for old, new in changes.pop("renamed", {}).items():
        for place in (whole["results"], whole["raw_values"], whole["metadata"]["SERIES_META"]):
            if old in place:
                place[new] = place.pop(old)
    path = tmp_path / "private.flent.gz"
    save(path, whole)
    return path


def flent(*words: object) -> subprocess.CompletedProcess[str]:
    """Flent with this package."""
    return run_flent(*map(str, words), cwd=Path.cwd())


@pytest.mark.parametrize(("golden", "plot"), [
    ("ndt7", None), ("stock_rrul", "ms_cdf"), ("stock_rrul", "mbits_s_box"),
    ("stock_rrul", "latency_tail")])
def test_file_of_an_unknown_test_draws(golden: str, plot: str | None, tmp_path: Path) -> None:
    """By default, by kinds of Flent's, and by ours for latencies."""
    picture = tmp_path / "plot.png"
    ended = flent(private(tmp_path, golden), "-o", picture, *(["-p", plot] if plot else ["-f",
                                                                                   "plot"]))
    assert (ended.returncode, "ERROR" in ended.stderr) == (0, False), ended.stderr
    assert picture.stat().st_size > 10_000


def test_unknown_plot_of_an_unknown_test_is_told_with_those_that_it_has(tmp_path: Path) -> None:
    """--list-plots knows none without the test."""
    ended = flent(private(tmp_path, "ndt7"), "-p", "nosuch", "-o", tmp_path / "plot.png")
    assert ended.returncode == 1
    assert "no plot 'nosuch'; known: ms_timeseries, ms_cdf, " in ended.stderr
    assert "--list-plots" not in ended.stderr


def test_hostile_names_of_series_are_labels(tmp_path: Path) -> None:
    """A formula that matplotlib can't read, a format, a tag, a path."""
    file = private(tmp_path, "stock_ping", renamed={
        "Ping (ms) ICMP": "$\\frac{ %s {x} <script> ../../etc/passwd"})
    picture = tmp_path / "plot.png"
    ended = flent(file, "-o", picture, "-p", "ms_timeseries")
    assert (ended.returncode, "ERROR" in ended.stderr) == (0, False), ended.stderr
    assert picture.stat().st_size > 10_000


def test_name_that_is_a_test_here_is_that_test(tmp_path: Path) -> None:
    """A definition that is there says more than the series."""
    ended = flent(GOLDEN / "stock_rrul.flent.gz", "-p", "ms_timeseries", "-o",
                  tmp_path / "plot.png")
    assert "ms_timeseries" in ended.stderr  # Flent knows no such plot of that test


def test_units_that_look_alike_have_plots_of_their_own() -> None:
    """Slugs differ, latency comes first."""
    by_name = plots({"a": "Mbits/s", "b": "Mbits-s", "c": "ms", "d": ""})
    names = [name for name in by_name if name.endswith("_timeseries")]
    assert names[0] == "ms_timeseries"
    assert len(names) == 4

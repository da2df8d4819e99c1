# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs with further seeds, until a verdict can tell or its time is over."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.paths import resource_dir
from flent_aqm.parts.kernels.verdict.command import _folders_for_new_runs
from flent_aqm.parts.kernels.verdict.more_seeds import FOLDER
from flent_aqm.results.metrics.run import load_run

from ....warm_flent import run_flent, run_flent_aqm

pytestmark = pytest.mark.lab


def seeds(folder: Path) -> list[int]:
    return sorted(int(str(load_run(file).settings["seed"])) for file in folder.glob("*.flent.gz"))


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target of 5 and of 5.3 ms, with three seeds each."""
    folder = tmp_path_factory.mktemp("sides")
    for target in ("5ms", "5300us"):
        done = run_flent(
            "-B", resource_dir("batches") / "gate.batch", *(
                f"--batch-override={one}" for one in (
                    "aqm=codel", f"aqm_target={target}", "for_check=one_flow", "tcp_ecn=1",
                    "test_parameters=round_trips=yes; flows=2xcubic",
                    "for_draw=one,two,three",
                    f"output_path={folder / target}")), cwd=folder, timeout_s=600)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_seeds_are_added_on_both_sides_until_it_is_decided(sides: Path) -> None:
    """Without time, none are."""
    words = ("verdict", "--base", "5ms", "--test", "5300us", "--metrics",
             "loss_loaded_pct,queue_delay_upload_mean_ms", "-o", "page.md", "--until-decided")
    without = run_flent_aqm(*words[:-1], cwd=sides)
    assert without.returncode == 3, without.stdout + without.stderr
    assert "further seeds may: --until-decided MINUTES makes their runs" in without.stderr
    at_once = run_flent_aqm(*words, "0.0001", cwd=sides)
    assert at_once.returncode == 3, at_once.stdout + at_once.stderr
    assert not list(sides.glob(f"*/{FOLDER}"))
    done = run_flent_aqm(*words, "5", cwd=sides, timeout_s=600)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "an't tell" not in done.stdout.splitlines()[-1]
    assert "--until-decided" not in done.stderr
    base, test = (seeds(sides / name / FOLDER) for name in ("5ms", "5300us"))
    assert base == test == list(range(4, 4 + len(base)))
    assert f"{3 + len(base)} pairs of runs" in (sides / "page.md").read_text()


def test_new_runs_need_one_folder_of_each_side(sides: Path) -> None:
    """Where they would go."""
    files = sorted((sides / "5ms").glob("*.flent.gz"))
    done = run_flent_aqm("verdict", "--base", *files, "--test", "5300us", "--metrics",
                         "loss_loaded_pct,latency_loaded_max_ms,jitter_loaded_ms",
                         "--until-decided", "1", cwd=sides)
    assert done.returncode == 2, done.stdout + done.stderr
    assert (f"--until-decided: --base: {len(files)} paths are given; expected one folder, into "
            "which the new runs go") in done.stderr


@pytest.mark.parametrize(("side", "seen"), [
    ("gone", "gone: No such file or directory"), ("file", "file: Not a directory")])
def test_folder_that_is_not_there_is_named(
        side: str, seen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the option that gave it."""
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("file").touch()
    with pytest.raises(ConfigError, match=f"--until-decided: --test: {seen}; expected one folder"):
        _folders_for_new_runs(argparse.Namespace(base=[Path("there")], test=[Path(side)]))

# SPDX-License-Identifier: GPL-3.0-or-later
"""A Flent with a search list and entry points, as release/upstream gives it, is left to find our
tests, runners and plotters by itself."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from flent_aqm.measure.runners.all_runners import RUNNERS
from flent_aqm.show.plots.all_plotters import PLOTTERS
from tests.docs.test_upstream import SERIES
from tests.files import ROOT

from .conftest import Env, new_env
from .test_names import RUN, listed

PROBE = "    aqm_probe = flent_aqm.measure.runners.all_runners:AqmProbeRunner\n"
HEAD = "flent.runners =\n"


def env_with_patched_flent(path: Path) -> Env:
    """An environment with the series applied to its Flent."""
    env = new_env(path)
    for name in ("flent", "unittests"):
        source = (env.site / name).resolve()
        (env.site / name).unlink()
        shutil.copytree(source, env.site / name,
                        ignore=shutil.ignore_patterns("test_data"))
    for patch in SERIES:
        subprocess.run(["patch", "-p1", "--fuzz=0", "--forward", "-s", "-i", patch], cwd=env.site,
                       check=True)
    return env


@pytest.fixture(scope="module")
def upstream(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Env:
    """With this package in it, whose entry points have the runner of these tests."""
    copy = Path(shutil.copytree(checkout, tmp_path_factory.mktemp("own") / "checkout"))
    settings = copy / "setup.cfg"
    settings.write_text(settings.read_text().replace(HEAD, HEAD + PROBE))
    env = env_with_patched_flent(tmp_path_factory.mktemp("upstream") / "env")
    env.install(copy)
    return env


def test_entry_points_are_those_of_our_tables() -> None:
    """By name and class: what the bridge looks up for an older Flent."""
    parsed = configparser.ConfigParser()
    parsed.read(ROOT / "setup.cfg")
    for group, module, table in (
            ("flent.runners", "flent_aqm.measure.runners.all_runners", RUNNERS),
            ("flent.plotters", "flent_aqm.show.plots.all_plotters", PLOTTERS)):
        lines = parsed["options.entry_points"][group].strip().splitlines()
        assert dict(line.split(" = ") for line in lines) == {
            name: f"{module}:{one.__name__}" for name, one in table.items()}


def test_our_tests_are_listed_once_and_run_by_name(upstream: Env, tmp_path: Path) -> None:
    """The definition by the search list, its runner by its entry point."""
    ended = upstream.run("flent", "--list-tests")
    assert (ended.status, ended.err) == (0, "")
    assert {"aqm_probe", "rrul", "ndt7"} <= listed(ended.out)
    assert ended.out.count("  aqm_probe ") == 1
    ended = upstream.run("flent", "aqm_probe", *RUN, cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    assert len([*tmp_path.glob("*.flent.gz")]) == 1


def test_what_upstream_does_is_not_patched(upstream: Env, installed: Env) -> None:
    """Look-ups of runners, plotters and names, and the list of tests; stock Flent has them all
    patched."""
    code = ("import flent.runners as r, flent.plotters as p, flent.settings as s; "
            "print(*(hasattr(f, '__wrapped__') for f in (r.get, p.get_plotter, "
            "s.Settings.load_test_or_host, s.ListTests.get_tests)))")
    assert upstream.code(code).split() == ["False"] * 4
    assert installed.code(code).split() == ["True"] * 4


def test_name_that_is_a_path_is_refused(upstream: Env, tmp_path: Path) -> None:
    """It may come out of a data file, and upstream's search would execute it."""
    (tmp_path / "mine.conf").write_text("raise Exception('executed')")
    code = ("from flent import settings\n"
            "one = settings.new()\n"
            f"try: one.load_test({str(tmp_path / 'mine')!r}, informational=True)\n"
            "except RuntimeError as fault: print(fault)\n")
    assert "is a path; expected a plain name" in upstream.code(code)

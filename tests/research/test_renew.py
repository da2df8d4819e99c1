# SPDX-License-Identifier: GPL-3.0-or-later
"""Every page of results is made again by one of the commands that are there for it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.parts.scorecard import command
from flent_aqm.parts.scorecard.contestant import contestant
from flent_aqm.parts.scorecard.places import places
from research.validation import numbers, renew, stamp
from tests.files import ROOT

DOCS = ROOT / "docs"
# By make validate, make bench with research.bench.document, research.validation.prediction,
# research.bench.gate and kernel_watch, research.infer, of what was built by hand (scorecard
# others), and, as the page says, flent-aqm figures.
OTHERS = {("results/validation.md", "checks"), ("results/performance.md", "figures"),
          ("results/prediction.md", "prediction"), ("results/speed-tests.md", "pictures"),
          ("results/speed-tests.md", "programs"),
          ("results/gate.md", "changes"), ("results/gate.md", "alarms"),
          ("results/gate.md", "others"), ("results/gate.md", "further"),
          ("results/gate.md", "blind"), ("results/gate.md", "blind later"),
          ("results/gate.md", "harmless"),
          ("results/gate.md", "coverage"),
          ("results/kernels.md", "kernels"), ("scorecard.md", "others"),
          ("infer.md", "held out"), ("lab.md", "moderation")}
# Names of recipes whose parts are called otherwise.
PARTS = {"l4s": "scenario 6", "l4s_links": "links", "bbr": "cases", "cake_mq": "two shares",
         "quic": "three stacks", "wifi": "three stations", "study": "findings",
         "scorecard_real": "real time", "scorecard_browser": "browser", "scorecard_worst": "worst"}


def test_each_part_of_each_page_has_one_command() -> None:
    """Of make docs, make results, or another one; and none is for a part that isn't there."""
    there = [(str(page.relative_to(DOCS)), part) for page in DOCS.rglob("*.md")
             for part in stamp.parts_of(page.read_text(encoding="utf-8"))]
    made = [*((part.page, name) for name, part in numbers.PARTS.items()),
            *((recipe.page, PARTS.get(name, name)) for name, recipe in renew.RECIPES.items()),
            *OTHERS]
    assert sorted(there) == sorted(made)


@pytest.mark.parametrize("name", renew.RECIPES)
def test_sweeps_of_a_recipe_can_be_planned(name: str, tmp_path: Path) -> None:
    """Their batches and keys are ones that there are."""
    *sweeps, _ = renew.RECIPES[name].commands(tmp_path)
    for words in sweeps:
        if words[1] == renew.SCORECARD:
            parser = argparse.ArgumentParser()
            command.add_arguments(parser)
            args = parser.parse_args(words[2:])
            assert places(args.cells, only=args.only)
            assert args.all or [contestant(test) for test in args.tests]
            continue
        done = subprocess.run([*words, "--batch-dry-run"], cwd=ROOT, capture_output=True, text=True,
                              check=False, env={**os.environ, "MPLBACKEND": "agg"})
        assert done.returncode == 0, done.stderr[-500:]
        assert "Would have run" in done.stdout + done.stderr


@pytest.mark.parametrize("name", renew.RECIPES)
def test_table_of_a_recipe_is_asked_for_as_its_program_wants(name: str, tmp_path: Path) -> None:
    """Which finds no results in an empty folder, and says so in a line."""
    (tmp_path / "1").mkdir()
    *_, words = renew.RECIPES[name].commands(tmp_path)
    done = subprocess.run([*words[:-1], str(tmp_path)], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert words[0] == sys.executable
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "No module named" not in done.stderr
    assert "unrecognized arguments" not in done.stderr

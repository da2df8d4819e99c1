# SPDX-License-Identifier: GPL-3.0-or-later
"""Planning executes a definition once per set of settings, and sees each difference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.sweep.plan.definitions import Definitions

BATCH = """
[Arg::short]
length = 5

[Arg::long]
length = 60

[Arg::rrul]
test_name = rrul

[Arg::ping]
test_name = ping

[Batch::try]
testbed = virtual
hosts = server
for_test = rrul, ping
for_length = short, long
repetitions = 2
title = ${test_name} ${length} ${repetition}
filename_extra = ${test_name}-${length}-${repetition}
"""
# Flent's run of a batch, with a count of the definitions that it executes, and the sum of the
# planned runs' lengths.
COUNTED = """
import sys
from flent import run_flent, testenv
from flent_aqm.sweep.sweep import Sweep
plan, lengths_s = Sweep.plan, {}
def noted(self, cell, section):
    lengths_s[cell.data_file] = cell.length_s
    return plan(self, cell, section)
Sweep.plan = noted
stock, count = testenv.TestEnvironment.execute, [0]
def execute(self, filename):
    count[0] += 1
    return stock(self, filename)
testenv.TestEnvironment.execute = execute
sys.argv = ["flent", "-B", "try.batch", "--batch-dry-run"]
status = run_flent()
print("planned", sum(lengths_s.values()))
print("executed", count[0])
sys.exit(status)
"""


class Settings:
    """Flent's settings, whose definition doubles the length, names a plot, and leaves the hosts."""

    executed = 0

    def __init__(self, **values: object) -> None:
        self.__dict__.update({"LENGTH": 5, "HOSTS": ["server"], "TIME": "now", **values})

    def load_test(self, *, informational: bool) -> None:
        assert informational, "else Flent would start tools"
        Settings.executed += 1
        self.__dict__["LENGTH"] *= 2
        self.__dict__["PLOT"] = "bars"


def loaded(*each: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """Settings after one Definitions loaded the definition for each, and how often it ran."""
    definitions, Settings.executed = Definitions(), 0
    made = [Settings(**values) for values in each]
    for settings in made:
        definitions.load(settings)
    return [settings.__dict__ for settings in made], Settings.executed


def test_definition_that_is_not_executed_again_has_the_same_effects() -> None:
    """What it changes and what it adds, and nothing else: not the run's own list and names."""
    hosts = ["server"]
    (first, second), executed = loaded(
        {"TIME": "one", "TITLE": "a", "DATA_FILENAME": "x", "BATCH_NAME": "b"},
        {"TIME": "two", "TITLE": "c", "DATA_FILENAME": "y", "BATCH_NAME": "d", "HOSTS": hosts})
    assert executed == 1
    effects = {"LENGTH": 10, "HOSTS": ["server"], "PLOT": "bars"}
    assert first == {**effects, "TIME": "one", "TITLE": "a", "DATA_FILENAME": "x",
                     "BATCH_NAME": "b"}
    assert second == {**effects, "TIME": "two", "TITLE": "c", "DATA_FILENAME": "y",
                      "BATCH_NAME": "d"}
    assert second["HOSTS"] is hosts


@pytest.mark.parametrize("other", [{"LENGTH": 6}, {"HOSTS": []}, {"PLOT": "lines"}, {"NOTE": ""}])
def test_definition_is_executed_again_for_other_settings(other: dict[str, object]) -> None:
    (_, second), executed = loaded({}, other)
    assert executed == 2
    assert second == {"TIME": "now", "HOSTS": ["server"], **other,
                      "LENGTH": 12 if "LENGTH" in other else 10, "PLOT": "bars"}


def test_planning_executes_each_definition_once_per_settings(tmp_path: Path) -> None:
    """Two tests with two lengths, eight runs, planned and listed: the lengths are right, and
    eight times fewer files are read."""
    (tmp_path / "try.batch").write_text(BATCH)
    executed = {}
    for batch, runs in ((BATCH, 8), (BATCH.replace("repetitions = 2", "repetitions = 20"), 80)):
        (tmp_path / "try.batch").write_text(batch)
        done = subprocess.run([sys.executable, "-c", COUNTED], cwd=tmp_path, text=True,
                              capture_output=True, check=True)
        assert done.stdout.count("(dry run)") == runs, done.stderr
        executed[runs] = int(done.stdout.rpartition("executed ")[2])
        # 10 s of margins around rrul's length, none around ping's.
        assert f"planned {runs // 4 * (15 + 70 + 5 + 60)}\n" in done.stdout
        assert "Estimated total" not in done.stdout  # of real time, which no lab takes
    assert executed[8] == executed[80] > 0

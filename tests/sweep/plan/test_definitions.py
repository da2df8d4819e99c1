# SPDX-License-Identifier: GPL-3.0-or-later
"""Planning executes a definition once per set of settings, and sees each difference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
    plan(self, cell, section)
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

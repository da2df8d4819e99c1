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
# Flent's run of a batch, with a count of the definitions that it executes.
COUNTED = """
import sys
from flent import run_flent, testenv
stock, count = testenv.TestEnvironment.execute, [0]
def execute(self, filename):
    count[0] += 1
    return stock(self, filename)
testenv.TestEnvironment.execute = execute
sys.argv = ["flent", "-B", "try.batch", "--batch-dry-run"]
status = run_flent()
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
        total_s = runs // 4 * (15 + 70 + 5 + 60)
        assert f"0:{total_s // 60:02}:{total_s % 60:02} ({runs} tests)" in done.stdout
    assert executed[8] == executed[80] > 0

# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that opens files in stock Flent: the line that it prints for each."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from flent_aqm.base import environment
from tests.files import RUNS, load, save


def test_each_file_has_a_line(tmp_path: Path) -> None:
    """null for a file that opens with a plot, else the reason: one that kills its process, too."""
    good = RUNS / "stock_ping.flent.gz"
    unknown = load(good)
    unknown["metadata"]["NAME"] = "no_test"
    slow = load(good)
    slow["metadata"]["TITLE"] = "a" * 100_000
    files = [good, save(tmp_path / "unknown.flent.gz", unknown),
             save(tmp_path / "slow.flent.gz", slow), good]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "flent_aqm.results.share.open_in_flent", "1", *files],
        capture_output=True, text=True, check=True,
        env={**os.environ, environment.DISABLE: "1", "MPLBACKEND": "agg"})
    told = [json.loads(line.removeprefix("opened ")) for line in done.stdout.splitlines()
            if line.startswith("opened ")]
    assert told[1].startswith("RuntimeError: Error loading test 'no_test'")
    # Drawing so long a text is a single call. The kernel ends it, unless the machine is so quick
    # that it ends by itself before.
    assert told[2] in ("it took too long, or Flent ended",
                       "Flent takes longer to open it than any file of its size should")
    assert [told[0], told[3]] == [None, None]


def test_files_open_below_a_hard_limit_on_processor_time() -> None:
    """Of `ulimit -t`, which only root may raise: 20 s, where 60 s would be allowed."""
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

    done = subprocess.run(
        [sys.executable, "-P", "-m", "flent_aqm.results.share.open_in_flent", "60",
         RUNS / "stock_ping.flent.gz"],
        capture_output=True, text=True, check=True, preexec_fn=limit,
        env={**os.environ, environment.DISABLE: "1", "MPLBACKEND": "agg"})
    assert "opened null" in done.stdout.splitlines(), done.stdout + done.stderr

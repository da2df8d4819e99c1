# SPDX-License-Identifier: GPL-3.0-or-later
"""Hostile files through the commands that read data: each is opened, or refused in a line.

A command gets all files at once and has to go on behind each. How long that takes is what
`python -m research.bench.hostile` measures, file by file, for share, the raw samples of export and
flent, too, which take minutes; here a command that hangs runs into a limit,
and one that takes too much memory is seen by its peak.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import families

MOST_MB = 500
HANGS_S = 900
# So that tests don't take minutes; the benchmark takes them all.
EVERY = 5

RUN = """
import json, os, resource, subprocess, sys
ended = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode
peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
open(sys.argv[1], "w").write(json.dumps([ended, peak_mb]))
"""

# Commands that take one file are called for each of many by one process.
EACH_REPLAY = """
import sys
from pathlib import Path
from flent_aqm.base.errors import BadResult
from flent_aqm.sweep.replay import recorded
for name in sys.argv[1:]:
    try:
        recorded.read(Path(name), Path("/"))
    except BadResult as error:
        print(f"refused: {error}")
    else:
        print("read")
"""
# As `flent -f summary` does it, and flent-gui when it opens a file.
EACH_FLENT = """
import io, sys
import flent_aqm.bridge.hook
flent_aqm.bridge.hook.install()
import flent
from flent_aqm.base.errors import AqmError
from flent import batch, formatters, resultset, settings
for name in sys.argv[1:]:
    try:
        results = resultset.ResultSet.load_file(name)
        chosen = settings.new()
        chosen.update(results.meta())
        chosen.load_test(informational=True)
        chosen.OUTPUT = io.StringIO()
        formatters.SummaryFormatter(chosen).format([results])
    except (RuntimeError, AqmError) as error:  # which the command flent shows as a line
        print(f"refused: {error}")
    else:
        print("read")
"""
FOLLOW = """
import json, sys
from pathlib import Path
from flent_aqm.show.report.follow import Follower
follower = Follower([Path(sys.argv[1])], "title", 1)
follower.look()
assert follower.state() and follower.page()
print(len(json.loads(follower.data())["data"]["runs"]))
"""


@dataclass(frozen=True)
class Ended:
    """status; peak_mb: the most memory that one of the processes had; what it printed."""

    status: int
    peak_mb: float
    out: str
    err: str

    def check(self) -> None:
        """Nothing that no command may do."""
        output = self.out + self.err
        assert self.status in (0, 1), self.err[-2000:]
        marks = ("Traceback", "a bug in", "can't show the data files", "\x1b", "\u202e")
        assert [mark for mark in marks if mark in output] == [], output[-2000:]
        assert self.peak_mb < MOST_MB


Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder with the files of all families, and a good one behind them all."""
    top = tmp_path_factory.mktemp("hostile")
    for family in (*families.CONTENT, *families.PLACES):
        families.make_family(family, top, EVERY)
    good = families.GOLDEN / "iperf3_download.flent.gz"
    (top / "zz-good.flent.gz").write_bytes(good.read_bytes())
    return top


def files_in(folder: Path) -> list[Path]:
    """All of them in order."""
    return sorted(path for path in folder.iterdir() if path.name.endswith(families.SUFFIX))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a program of this environment; gives how it ended."""
    def run(*words: str | Path) -> Ended:
        report = tmp_path / "told.json"
        done = subprocess.run(
            [sys.executable, "-c", RUN, report, sys.executable, *words], cwd=tmp_path,
            capture_output=True, timeout=HANGS_S, check=False, stdin=subprocess.DEVNULL,
            env={**os.environ, "MPLBACKEND": "agg", "HOME": str(tmp_path)})
        status, peak_mb = json.loads(report.read_text())
        ended = Ended(status, peak_mb, *(text.decode(errors="surrogateescape")
                                         for text in (done.stdout, done.stderr)))
        ended.check()
        return ended
    return run


OURS = ("-m", "flent_aqm.cli")
# Those of every kind, with runs and without. Figures 5, 6, 8 and 9, which these files have no
# runs for, differ from 3, 4 and 7 in words of ours.
FIGURES = ("figures", "-o", "figures", "--jobs", "1", "--test", "iperf3_download",
           "--where", "router_model=ideal",
           *(f"--figure={number}" for number in (1, 2, 3, 4, 7, 10)))


def test_there_are_enough_of_them(folder: Path) -> None:
    """As many as were asked for, though tests thin out the larger families."""
    assert len(files_in(folder)) > 197


def test_score_shows_what_opens_and_names_the_rest(folder: Path, run: Run) -> None:
    """As a table, and as CSV, in which no cell is a formula."""
    ended = run(*OURS, "score", folder)
    assert "zz-good" in ended.out
    refused = ended.err.count("skipped: ")
    assert refused > 80
    ended = run(*OURS, "score", "--format=csv", folder)
    lines = list(csv.reader(ended.out.splitlines()))
    # Folders of such a name are looked into, and hidden files are somebody's unfinished ones.
    files = [path for path in files_in(folder)
             if not os.path.isdir(path) and not path.name.startswith(".")]
    assert len(lines) == 1 + len(files) - refused
    assert [cell for line in lines for cell in line
            if cell[:1] in ("=", "@") or (cell[:1] in ("+", "-") and not _is_number(cell))] == []


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("words", [
    ("report", "-o", "x.html", "--jobs", "1"), FIGURES,
    ("export", "-o", "x.parquet", "--jobs", "1"), ("export", "-o", "x.csv", "--jobs", "1"),
    ("assert", "p99(latency_loaded) < 20ms"),
], ids=lambda words: "-".join(words[:2]))
def test_command_goes_on_behind_each(
    words: tuple[str, ...], folder: Path, run: Run, tmp_path: Path
) -> None:
    """With one process and one folder; what it writes is there."""
    ended = run(*OURS, *words, folder)
    assert ended.out
    if "-o" in words:
        made = tmp_path / words[words.index("-o") + 1]
        assert made.stat().st_size > 1000 or list(made.iterdir())
    if words[0] != "assert":
        assert "skipped: " in ended.err or "left out: " in ended.err


def test_followed_page_serves_what_opens(folder: Path, run: Run) -> None:
    """Page, data and state of all files at once."""
    ended = run("-c", FOLLOW, folder)
    assert int(ended.out) > 50


def test_flent_opens_each_or_refuses_it_in_a_line(folder: Path, run: Run) -> None:
    """With this package in it: nothing that it opens is what its own formatter stumbles over."""
    files = files_in(folder)
    ended = run("-c", EACH_FLENT, *files)
    lines = ended.out.splitlines()
    assert len(files) == sum(line == "read" or line.startswith("refused: ") for line in lines)


def test_replay_refuses_each_in_a_line(folder: Path, run: Run) -> None:
    """Up to the moment when a run would be made again."""
    files = files_in(folder)
    ended = run("-c", EACH_REPLAY, *files)
    assert len(ended.out.splitlines()) == len(files)

# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent FILE` of a stranger: a picture, or one line."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.files import RUNS, load

from ..warm_flent import run_flent

GOLDEN = RUNS
ICMP = "Ping (ms) ICMP"

Change = Callable[[dict[str, Any]], object]


def flent(folder: Path, change: Change, *words: str, before: str = "", after: str = ""
          ) -> subprocess.CompletedProcess[str]:
    """Flent, with this package in it, on a changed file; before, after: in its text."""
    whole = load(GOLDEN / "stock_ping.flent.gz")
    change(whole)
    path = folder / "strange.flent.gz"
    path.write_bytes(gzip.compress(json.dumps(whole).replace(before, after, 1).encode()))
    return run_flent(*words, path, cwd=folder, env={**os.environ, "MPLBACKEND": "agg"})


@pytest.mark.parametrize(("change", "cause"), [
    (lambda whole: whole["raw_values"][ICMP][3].update(val="HERE"), "1e999 is too large"),
    (lambda whole: whole["raw_values"][ICMP][3].update(val={"a": 1}), "expected a number above"),
    (lambda whole: whole["raw_values"][ICMP][3].update(t="now"), "expected a number above"),
    (lambda whole: whole["raw_values"][ICMP][3].update(val=2e18), "latency of 2e+15 s"),
    (lambda whole: whole["metadata"].pop("NAME"), "its NAME is missing"),
    (lambda whole: whole["metadata"].update(NAME="x" * 101), "up to 100 letters"),
    (lambda whole: whole["metadata"].update(NAME="%s%n%x"), "plain name"),
    (lambda whole: whole["metadata"].update(NAME="=1+1"), "plain name"),
    (lambda whole: whole["metadata"].update(STEP_SIZE=0), "STEP_SIZE"),
    (lambda whole: whole["metadata"]["SERIES_META"][ICMP].update(MEAN_VALUE="x"), "MEAN_VALUE"),
    (lambda whole: whole["metadata"].update(TEST_PARAMETERS={"upload_streams": [1]}),
     "; expected text or a number"),
    (lambda whole: whole["raw_values"].update({ICMP: [{}] * 400_001}), "more than 400,000"),
    (lambda whole: (whole.update(x_values=[1.0] * 250_000),
                    whole.update(results={ICMP: [1.0] * 250_000})), "more than 400,000"),
    (lambda whole: whole.update(x_values={}), "its x_values are {}; expected a list of numbers"),
    (lambda whole: whole.update(results=[]), "results is a list; expected a JSON object"),
    *((lambda whole, count=count: whole["metadata"].update(
        NAME="tcp_nup", TEST_PARAMETERS={"upload_streams": count}), "is too large")
      for count in ("+1000000", "1_000_000", "\uff11000000", 1e6, "1000000")),
])
def test_file_is_refused_in_one_line(change: Change, cause: str, tmp_path: Path) -> None:
    """With a status that says so; nothing is drawn."""
    ended = flent(tmp_path, change, "-p", "ping", "-o", "x.png", before='"HERE"', after="1e999")
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
    assert ended.stderr.startswith("ERROR: ")
    assert cause in ended.stderr


@pytest.mark.parametrize("change", [
    lambda whole: whole["metadata"].pop("TITLE"),
    lambda whole: whole["metadata"].update(TITLE=None, LOCAL_HOST=None, TOTAL_LENGTH=None),
    lambda whole: whole["metadata"].update(TITLE=r"$\frac{$"),
    lambda whole: whole["metadata"].update(TITLE="\x1b[2J\ud800\nx" * 1000),
    lambda whole: whole["metadata"].pop("T0"),
])
def test_file_is_drawn(change: Change, tmp_path: Path) -> None:
    """Whatever its title is; a terminal sees nothing of what it would obey."""
    for words in (("-p", "ping", "-o", "x.png"), ("-f", "summary")):
        ended = flent(tmp_path, change, *words)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "\x1b" not in ended.stdout
    assert (tmp_path / "x.png").stat().st_size > 10_000

# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole text at the end of made sweeps, on terminals of several widths: golden/summary."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from flent_aqm.results.metrics.scores import Scores
from flent_aqm.results.metrics.table import Unavailable
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep import summary
from tests.files import GOLDEN, RUNS, assert_as_kept

NONE = Unavailable("the test has no download")
LOST = Unavailable("2 % of the probes were lost", lost=True)
FEW = Unavailable("only 3 of 300 samples lie above p99", too_few=True)


def cell(number: int, test: str = "ndt7", title: str = "", there: bool = True,
         **settings: object) -> Cell:
    """A run in the current folder, whose path is the same on all machines."""
    one = Cell(f"run-{number}", Path("a-folder-with-a-name-that-is-longer-than-a-narrow-terminal"),
               test, Scenario.from_settings(settings), {"TEST_PARAMETERS": {}}, {},
               {"TITLE": title}, 10)
    one.folder.mkdir(exist_ok=True)
    if there:
        one.data_file.touch()
    return one


def shared_line() -> tuple[list[Cell], dict[Path, Scores], dict[Path, str]]:
    """Runs with and without cross traffic, in two groups, some failed."""
    cells, scores = [], {}
    for number, (aqm, cross) in enumerate((aqm, cross) for aqm in ("codel", "fq_codel")
                                          for cross in (False, True) for _ in range(4)):
        cells.append(cell(number, aqm=aqm, rate_mbps=100, cross_traffic=cross,
                          there=number not in (3, 7)))
        total = 90.0 if cross else NONE
        scores[cells[-1].data_file] = Scores(
            40.0 + 40 * (number % 2), 9.0 + number, 5.5, FEW if number == 5 else 20.0 + number,
            30.0, total_download_mbps=total, total_upload_mbps=total)
    return cells, scores, {cells[3].data_file: "the tool failed on port 5201, which is a long line",
                           cells[7].data_file: "the tool failed on port 80, which is a long line"}


def home_line() -> tuple[list[Cell], dict[Path, Scores], dict[Path, str]]:
    """A line with a modem, of which two settings were measured, each by its title."""
    cells = [cell(number, title=title, aqm="fq_codel", modem_mbps=60, shaper=shaper)
             for number, (title, shaper) in enumerate((("SQM off", "none"), ("SQM on", "htb")))]
    for one in cells:
        one.data_file.write_bytes((RUNS / "ndt7.flent.gz").read_bytes())
    return cells, {}, {}


def lost_probes() -> tuple[list[Cell], dict[Path, Scores], dict[Path, str]]:
    """Uploads alone, of which one run lost its 99th percentile."""
    cells = [cell(number, "iperf3_upload", aqm=aqm, base_delay_ms=20)
             for number, aqm in enumerate(("no_aqm", "pie"))]
    return cells, dict(zip([one.data_file for one in cells], (
        Scores(NONE, 95.5, 100.0, LOST), Scores(NONE, 95.5, 20.0, 30.0)), strict=True)), {}


SWEEPS = {"shared_line": shared_line, "home_line": home_line, "lost_probes": lost_probes}


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("sweep", SWEEPS)
def test_summary_is_as_kept(sweep: str, width: int, tmp_path: Path,
                            monkeypatch: pytest.MonkeyPatch) -> None:
    """With the colours of a terminal."""
    monkeypatch.chdir(tmp_path)
    cells, scores, failures = SWEEPS[sweep]()
    out = io.StringIO()
    summary.show(Console(file=out, width=width, force_terminal=True, color_system="standard",
                         highlight=False), cells, scores, failures, ())
    assert_as_kept(GOLDEN / "summary" / f"{sweep}_{width}.json",
                   {"lines": out.getvalue().splitlines()})

# SPDX-License-Identifier: GPL-3.0-or-later
"""The line of a run on a terminal: what sets it apart, what it found, within the width."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from rich.console import Console

from flent_aqm.results.metrics.scores import Scores
from flent_aqm.results.metrics.table import Unavailable
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.progress import SweepProgress
from flent_aqm.sweep.run import FinishedRun

NONE = Unavailable("the test has no download")
LOST = Unavailable("2 % of the probes were lost", lost=True)


def cell(folder: Path, name: str, **settings: object) -> Cell:
    return Cell(name=f"iperf3_upload-{name}-100mbit-long-name-of-a-file-2026-11-25T020000",
                folder=folder, test_name="iperf3_upload",
                scenario=Scenario.from_settings(settings), settings={}, commands={},
                metadata={}, length_s=10)


def shown(cells: list[Cell], run_scores: Scores, width: int) -> list[str]:
    """The lines of ended runs on a terminal of that width."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None,
                      highlight=False)
    progress = SweepProgress(cells, console)
    for one in cells:
        progress.ended(one, FinishedRun(one, run_scores, 10.0, 1.0))
    return out.getvalue().splitlines()


def test_line_of_a_run_tells_queue_rate_and_result(tmp_path: Path) -> None:
    """And no file's name, which would need a line of its own."""
    cells = [cell(tmp_path, "sfq", aqm="sfq"), cell(tmp_path, "codel", aqm="codel")]
    assert shown(cells, Scores(NONE, 95.6, 0.1, 0.13), 80) == [
        "ok     1/2 iperf3_upload sfq 100 Mbit/s: up 95.60 Mbit/s, p99 0.13 ms",
        "ok     2/2 iperf3_upload codel 100 Mbit/s: up 95.60 Mbit/s, p99 0.13 ms"]


@pytest.mark.parametrize("width", [60, 80])
def test_line_of_a_run_fits_the_terminal(tmp_path: Path, width: int) -> None:
    """Of many settings the last are cut off, never the result."""
    cells = [cell(tmp_path, str(number), aqm="fq_codel", tiers=1 + number % 2 * 2,
                  base_delay_ms=number, tcp_ecn=number % 2)
             for number in range(12)]
    lines = shown(cells, Scores(95.6, 95.6, LOST, LOST), width)
    assert max(map(len, lines)) <= width
    assert all(line.endswith("p99 lost") for line in lines)
    assert len(lines) == len(cells)


def test_what_hides_the_queue_on_the_router_is_told_once(tmp_path: Path) -> None:
    """Not only in the log and the data file; another one is told, too."""
    cells = [cell(tmp_path, aqm, aqm=aqm) for aqm in ("sfq", "codel", "pie")]
    line = "up: gso on wan: up to 64 KB count as one packet in the queue"
    out = io.StringIO()
    progress = SweepProgress(cells, Console(file=out, width=120, color_system=None))
    for one, warnings in zip(cells, ([line], [line], [line, "down: no byte queue limits"]),
                             strict=True):
        progress.ended(one, FinishedRun(one, Scores(NONE, 95.6, 0.1, 0.13,
                                                    router_warnings=warnings), 10.0, 1.0))
    told = [text.removeprefix("warning: ") for text in out.getvalue().splitlines()
            if text.startswith("warning: ")]
    assert told == [line, "down: no byte queue limits"]


def test_speed_is_virtual_time_by_wall_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                            ) -> None:
    """In the last line; runs in real time have none."""
    clock = iter(range(1000, 2000, 10))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    said = []
    for virtual_s in (22.0, None):
        out = io.StringIO()
        progress = SweepProgress([one := cell(tmp_path, "one", aqm="pie")], Console(file=out))
        progress.ended(one, FinishedRun(one, Scores(NONE, 95.6, 0.1, 0.13), virtual_s, 1.0))
        monkeypatch.setattr(progress, "_began_at", time.monotonic() - 1)
        progress.say_total()
        said.append(out.getvalue().splitlines()[-1])
    # The clock moves on by 10 s at each look: 11 s at the first, 21 s at the second.
    assert said == ["1 done, 0 failed: 22 virtual seconds in 11 s (1.0 virtual s/s).",
                    "1 done, 0 failed: 11 s."]

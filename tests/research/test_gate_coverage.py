# SPDX-License-Identifier: GPL-3.0-or-later
"""Which cells of the gate are chosen first, and what only one of them reaches."""

from __future__ import annotations

import re
from pathlib import Path

from flent_aqm.base.paths import resource_dir
from flent_aqm.parts.kernels.verdict.suggest import gate_cells
from flent_aqm.results import status
from flent_aqm.setup.kernel.coverage import Instrumented
from research.bench import gate
from research.bench.gate_coverage import greedy, summary
from research.bench.gate_page import write_part

TEXT = """\
static int enqueue(int packet)
{
\tif (packet)
\t\treturn 1;
\treturn 0;
}
static int drop(int packet)
{
\treturn packet;
}
"""
A, B = "net/sched/sch_a.c", "net/sched/sch_b.c"
RAN = {"small": {(A, 3)}, "wide": {(A, 3), (A, 5), (B, 1)}, "other": {(A, 3), (A, 9)}}


def test_next_is_the_cell_that_adds_most_lines() -> None:
    assert list(greedy(RAN)) == ["wide", "other", "small"]


def test_lines_are_counted_by_cell_and_by_file() -> None:
    code = Instrumented([], {A: {3: (0,), 4: (1,), 5: (2,), 9: (3,)}, B: {1: (4,), 2: (5,)},
                             "include/net/c.h": {1: (6,)}})
    found = summary(code, RAN, {A: TEXT, B: "x\nx\n"})
    assert found["files"] == {A: [3, 4], B: [1, 2]}
    assert found["cells"] == [
        {"cell": "wide", "lines": 3, "adds": 3, "only": 2, "functions": ["enqueue() in sch_a.c"]},
        {"cell": "other", "lines": 2, "adds": 1, "only": 1, "functions": ["drop() in sch_a.c"]},
        {"cell": "small", "lines": 1, "adds": 0, "only": 0, "functions": []}]


def test_the_page_has_a_table_of_cells_and_one_of_files(tmp_path: Path) -> None:
    """A part that the page lacks is put before that of alarms."""
    page = tmp_path / "gate.md"
    page.write_text("# Gate\n\n<!-- alarms: -->\n<!-- end of alarms -->\n\n"
                    "*Measured with flent-aqm 0.2.0 on Linux 7.3.4 (abc), 2026-11-25: 1 run.*\n")
    write_part("coverage", {
        "made": {"versions": ["0.2.0"], "kernels": ["7.3.4 (abc)"], "date": "2026-11-26",
                 "runs": 23},
        "queues": "fq_codel,pie", "files": {A: [3, 4], B: [0, 2]},
        "cells": [{"cell": "wide", "lines": 3, "adds": 3, "only": 2, "functions": ["f() in a.c"]}]},
        page)
    text = page.read_text()
    assert "| wide | 3 | 3 | 2 | `f() in a.c` |" in text
    assert f"| {A} | 4 | 3 | 75% |" in text
    assert B not in text
    assert "3 of 4 lines of these files with fq_codel, pie." in text


def test_every_cell_of_the_gate_is_in_the_batch_and_on_the_page() -> None:
    """The default batch runs each cell that `--suggest` and `make gate-coverage` know."""
    batch = (resource_dir("batches") / "gate.batch").read_text()
    line = re.search(r"^for_check = (.*)$", batch, re.M)
    assert line is not None
    assert line[1].split(", ") == list(gate_cells())
    document = (Path(__file__).parents[2] / "docs" / "own-queue.md").read_text()
    assert f"`gate.batch` has {len(gate_cells())} cells" in document


def test_sweep_is_there_once_each_run_is_or_failed(tmp_path: Path) -> None:
    """An interrupted sweep has an end, too, and was never completed."""
    assert not gate.is_there(tmp_path)
    (tmp_path / "1.flent.gz").touch()
    for planned, failed, ended_s, whole in (
            (1, {}, 2.0, True), (1, {}, None, False), (2, {}, 2.0, False),
            (2, {"2.flent.gz": "why"}, 2.0, True), (3, {"2.flent.gz": "why"}, 2.0, False)):
        status.write(tmp_path, status.Status(["flent"], planned, 0, 1.0, ended_s, failed))
        assert gate.is_there(tmp_path) is whole

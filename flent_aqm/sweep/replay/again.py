# SPDX-License-Identifier: GPL-3.0-or-later
"""Repeats a recorded run in its testbed."""

from __future__ import annotations

from typing import Any

from flent_aqm.lab.protocol import Testbed
from flent_aqm.lab.table import open_testbed
from flent_aqm.results.data_file import read_data_file
from flent_aqm.setup.parts import tool_versions
from flent_aqm.spec.cell import Cell
from flent_aqm.sweep import preflight
from flent_aqm.sweep.run import SweepFacts, run_cell


def again(cell: Cell, testbed: Testbed | None = None) -> dict[str, Any]:
    """Run a cell that recorded.read() returned, and return the content of its new data file as
    parsed JSON. The file stays in the cell's folder, which is made if necessary. The testbed is
    checked and prepared before the run, and cleaned up after it.

    Args:
        cell: the cell to run.
        testbed: where to run it, by default the testbed that its scenario names.

    Raises an AqmError if the run can't be made or fails.
    """
    testbed = testbed or open_testbed(cell.scenario.lab.testbed)
    testbed.check([cell])
    preflight.check([cell])
    testbed.prepare()
    try:
        run_cell(cell, testbed, SweepFacts(testbed.facts(cell.scenario.lab.kernel),
                                           tool_versions()))
    finally:
        testbed.clean_up()
    return read_data_file(cell.data_file).whole

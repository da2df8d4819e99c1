# SPDX-License-Identifier: GPL-3.0-or-later
"""Find runs that no page can show because of a defect in this package.

The other runs can then be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import a_defect
from flent_aqm.show.report.gather import ReportRow
from flent_aqm.show.report.html import render
from flent_aqm.show.report.model import build


def odd_runs(rows: Sequence[ReportRow]) -> dict[Path, str]:
    """Return path -> error of each data file whose run no page can show, not even alone, as text
    (see a_defect()). Empty if there is none, also if pages fail only with several runs together. It
    takes long, because it makes a page of each run."""
    odd = {}
    for row in rows:
        try:
            render(build([row], [], [], ""))
        except Exception as error:  # any error belongs to this run, which is alone on the page
            odd[row.path] = a_defect(error)
    return odd

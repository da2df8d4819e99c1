# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that no page can be made of, by a defect of ours: found one by one, so that the others are
shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import a_defect
from flent_aqm.show.report.gather import ReportRow
from flent_aqm.show.report.html import render
from flent_aqm.show.report.model import build


def odd_runs(rows: Sequence[ReportRow]) -> dict[Path, str]:
    """File -> why no page can be made of its run alone."""
    odd = {}
    for row in rows:
        try:
            render(build([row], [], [], ""))
        except Exception as error:  # whatever it is, it is this run's
            odd[row.path] = a_defect(error)
    return odd

# SPDX-License-Identifier: GPL-3.0-or-later
"""A plot as PDF says no more than one as PNG: warnings aren't lost among lines about fonts."""

from __future__ import annotations

from pathlib import Path

from tests.files import RUNS

from ...warm_flent import run_flent

RUN = RUNS / "stock_rrul.flent.gz"


def test_pdf_has_no_lines_about_fonts(tmp_path: Path) -> None:
    """A stock plot and one of this package's."""
    for plot in ("all", "latency_tail"):
        said = []
        for ending in ("png", "pdf"):
            done = run_flent("-p", plot, "-o", tmp_path / f"x.{ending}", RUN, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            said.append((done.stdout + done.stderr).splitlines())
        assert (tmp_path / "x.pdf").stat().st_size > 5000
        assert said[1] == said[0]
        assert len(said[0]) < 5

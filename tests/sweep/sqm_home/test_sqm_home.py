# SPDX-License-Identifier: GPL-3.0-or-later
"""SQM at home: the runs in their order, the table, the chart."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.commands.sqm_home import load_runs, measure, shares

FLENT_AQM = Path(sys.executable).with_name("flent-aqm")


@pytest.mark.parametrize("text", ["", "0", "101", "x", "85,,90", "nan", "-5", "inf"])
def test_sqm_home_share_beyond_the_line_is_refused(text: str) -> None:
    """Shares of the line lie between 1 and 100 %."""
    with pytest.raises(ConfigError, match="--percent"):
        shares(text)
    assert shares("100,87.5") == [100, 87.5]


def test_sqm_home_folders_of_others_are_refused(tmp_path: Path) -> None:
    """One without data files, one with files that aren't of this batch, one that is used."""
    with pytest.raises(ConfigError, match="no data files"):
        load_runs(tmp_path)
    (tmp_path / "x.flent.gz").write_bytes(b"")
    with pytest.raises(BadResult, match=r"x\.flent\.gz"):
        load_runs(tmp_path)
    with pytest.raises(ConfigError, match="has data files"):
        measure(tmp_path, [85], [])


@pytest.mark.lab
def test_sqm_home_sets_shares_of_what_the_first_run_measured(tmp_path: Path) -> None:
    """Four kinds of runs; the rates of SQM are half of what the first one measured, and
    the table tells the grades."""
    done = subprocess.run(
        [FLENT_AQM, "sqm-home", "-o", tmp_path / "new", "--percent", "50",
         "--set", "length=5", "--set", "modem_down_mbps=10", "--set", "modem_up_mbps=4"],
        cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    off, cake, fq_codel, again = load_runs(tmp_path / "new")
    down = sum(flow.mean_mbps or 0 for flow in off.way("download"))
    for run in (cake, fq_codel):
        assert run.settings["rate_down_mbps"] == pytest.approx(down / 2, abs=0.001)
        assert 0.4 * down < sum(flow.mean_mbps or 0 for flow in run.way("download")) < down / 2
    assert (cake.settings["aqm"], fq_codel.settings["aqm"]) == ("cake", "fq_codel")
    assert again.settings["shaper"] == "none"
    lines = [re.split(r"\s{2,}", line) for line in done.stdout.splitlines()]
    grades = {line[0]: line[6] for line in lines if len(line) == 12}
    assert grades.pop("setting") == "DSLReports"
    assert list(grades) == ["off", "50 % cake", "50 % htb_fq_codel", "off again"]
    assert grades["50 % cake"] in ("A+", "A")
    assert grades["off"] in ("C", "D", "F")
    assert (tmp_path / "new" / "sqm_home.png").stat().st_size > 10_000

# SPDX-License-Identifier: GPL-3.0-or-later
"""SQM at home: the runs in their order, the table, the chart."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.errors import BadResult, ConfigError
from flent_aqm.sqm_home.command import load_runs, measure, shares


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

# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of programs that comes first on the guest's PATH."""

from __future__ import annotations

from pathlib import Path

from flent_aqm.lab.guest_files import _write_programs
from flent_aqm.spec.scenario import Scenario


def test_script_for_flent_is_not_written_through_a_link(tmp_path: Path) -> None:
    """A program that is called flent, as in the cache, stays as it is on the host."""
    (tmp_path / "flent").write_text("of the host")
    _write_programs(tmp_path / "bin", Scenario(), lambda path: path,
                    {"flent": tmp_path / "flent"})
    assert (tmp_path / "flent").read_text() == "of the host"
    assert "run_flent" in (tmp_path / "bin" / "flent").read_text()

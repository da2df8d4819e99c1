# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that can't be started are told of in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.errors import ToolMissing
from flent_aqm.base.shell import run


def test_program_that_may_not_be_run_is_told_of(tmp_path: Path) -> None:
    """A kernel refuses more than what isn't there: a file without the right to be run, or
    capabilities of a program in a container that doesn't grant them."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(ToolMissing, match="program can't be run here: Permission denied"):
        run([program])
    with pytest.raises(ToolMissing, match="not installed"):
        run([tmp_path / "none"])

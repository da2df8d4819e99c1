# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell code on the client of a lab, where batches of the testbed netns run in virtual time."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.paths import resource_dir
from tests.files import load

from ..warm_flent import run_flent_aqm


@dataclass(frozen=True)
class Here:
    """A folder with batch files, in which the code runs, and into which its files come."""

    folder: Path

    def batch(self, text: str) -> None:
        """Write try.batch, which inherits from the project's base."""
        (self.folder / "try.batch").write_text(
            f"[Batch::try]\ninherits = base\noutput_path = results\n{text}\n")

    def run(self, code: str) -> str:
        """Run shell code as root in a new lab; gives both of its outputs together."""
        done = run_flent_aqm("lab", "--", "sh", "-c", f"exec 2>&1\n{code}", cwd=self.folder,
                             timeout_s=900)
        output = done.stdout + done.stderr
        assert "Traceback" not in output
        return output

    def data(self) -> dict[str, Any]:
        """What the data files hold, by the part of their names after the time."""
        return {path.name.split("-", 5)[-1]:
                load(path)
                for path in sorted((self.folder / "results").glob("*.flent.gz"))}


@pytest.fixture
def here(tmp_path: Path) -> Here:
    """An empty folder but for the project's base.batch."""
    shutil.copy(resource_dir("batches") / "base.batch", tmp_path)
    return Here(tmp_path)

# SPDX-License-Identifier: GPL-3.0-or-later
"""A shared file of each test of ours, and the environment with nothing but stock Flent, which is
that of tests/bridge."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.cli import main
from flent_aqm.results.share.stock_test import STORED_AS

from ...bridge.conftest import stock

__all__ = ["GOLDEN", "golden", "shared", "stock"]
GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "runs"
SPEEDTESTS = GOLDEN.parent / "speedtests"


def golden(test: str) -> Path:
    """A run of a test of ours."""
    file = GOLDEN / f"{test}.flent.gz"
    return file if file.exists() else SPEEDTESTS / file.name


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shared file of each test of ours that has one. Not to be changed."""
    folder = tmp_path_factory.mktemp("shared")
    files = [str(golden(test)) for test in STORED_AS]
    assert main(["share", *files, "-o", str(folder)]) == 0
    return folder

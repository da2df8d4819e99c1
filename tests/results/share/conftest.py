# SPDX-License-Identifier: GPL-3.0-or-later
"""A shared file of each test of ours, and the environment with nothing but stock Flent, which is
that of tests/bridge."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.cli import main
from flent_aqm.spec.cell import PROGRAM
from flent_aqm.spec.definitions import our_tests
from flent_aqm.tools import own
from flent_aqm.tools.table import SPEED_TESTS
from tests.files import RUNS

from ...bridge.conftest import stock

__all__ = ["GOLDEN", "KEPT", "golden", "shared", "stock"]
GOLDEN = RUNS
SPEEDTESTS = GOLDEN.parent / "speedtests"


def golden(test: str) -> Path:
    """A run of a test of ours."""
    file = GOLDEN / f"{test}.flent.gz"
    return file if file.exists() else SPEEDTESTS / file.name


# Speed tests are of one form, so that some of them tell of all.
KEPT = [test for test in our_tests() if golden(test).exists()]
assert set(our_tests()) - set(KEPT) <= {*SPEED_TESTS, own.NAME, PROGRAM}


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shared file of each test of ours that has one. Not to be changed."""
    folder = tmp_path_factory.mktemp("shared")
    files = [str(golden(test)) for test in KEPT]
    assert main(["share", *files, "-o", str(folder)]) == 0
    return folder

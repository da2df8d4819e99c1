# SPDX-License-Identifier: GPL-3.0-or-later
"""Flent's own unit tests, with this package installed.

Flent 2.3.0 ships them: its wheel installs them as the top-level package `unittests`.
Its test of the GUI runs where the extra `gui` is installed; Qt's offscreen platform is
all the screen that it needs. FLENT_OWN_TESTS=all adds the suite that draws every plot
of every sample file in every format, which takes many minutes.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec

from .conftest import Env

# Suite of Flent 2.3.0 -> its number of tests: fewer would mean that some weren't found.
SUITES = {"test_suite": 36, "all_tests": 64}
TESTS_OF_THE_GUI = 1
TIMEOUT_S = 3600


def test_flent_own_tests_when_we_are_installed_pass(installed: Env) -> None:
    """Every test of Flent passes, and none is skipped but the GUI's without Qt."""
    suite = "all_tests" if os.environ.get("FLENT_OWN_TESTS") == "all" else "test_suite"
    # Without this the test would pass with a Flent that we never got into.
    installed.code("import flent.runners as r; r.get('aqm_probe')")
    ended = installed.run("python", "-m", "unittest", f"unittests.{suite}",
                          timeout_s=TIMEOUT_S, environ={"QT_QPA_PLATFORM": "offscreen"})
    ran = re.search(r"^Ran (\d+) tests in .*\n\nOK(?: \(skipped=(\d+)\))?$", ended.err, re.M)
    assert ran is not None, ended.err
    assert ended.status == 0
    assert int(ran[1]) == SUITES[suite]
    assert int(ran[2] or 0) == (0 if find_spec("qtpy") else TESTS_OF_THE_GUI)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs shell code in a booted guest: on its client, with the router as the lab made it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flent_aqm.errors import ToolMissing
from flent_aqm.scenario import Scenario
from flent_aqm.testbed.kernel.locate import find_kernel
from flent_aqm.testbed.virtual import Lab

InGuest = Callable[[str], str]

# hook COMMAND SETTING… calls the hook; tc_router and read_back save words in the tests.
PRELUDE = """
hook() { verb=$1; shift; sh "$FLENT_AQM_HOOKS/on_router.sh" "$verb" testbed=virtual "$@"; }
tc_router() { ip netns exec router tc "$@"; }
rates='rate_down_mbps=100 rate_up_mbps=20'
"""


@pytest.fixture(scope="session")
def in_guest() -> InGuest:
    """in_guest(code): boots, runs the shell code on the client, gives its output.

    The code must end with status 0 and print nothing to standard error.
    """
    try:
        find_kernel()
    except ToolMissing as missing:
        pytest.skip(str(missing))

    def run(code: str) -> str:
        with Lab(Scenario(), ["sh", "-c", PRELUDE + code], servers=()) as lab:
            outcome = lab.run()
            assert (outcome.status, lab.stderr.read_text()) == (0, "")
            return lab.stdout.read_text()

    return run

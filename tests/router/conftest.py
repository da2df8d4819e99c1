# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs shell code in a booted guest: on its client, with the router as the lab made it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flent_aqm.lab.virtual import Lab
from flent_aqm.spec.scenario import Scenario

# For the code of the tests: hook COMMAND SETTING…, on_router PROGRAM ARGUMENT…, and fake_tc,
# which puts its standard input in tc's place, with the real one as $real_tc.
PRELUDE = """
hook() { verb=$1; shift; sh "$FLENT_AQM_HOOKS/on_router.sh" "$verb" testbed=virtual "$@"; }
on_router() { ip netns exec router "$@"; }
export real_tc="$(command -v tc)"
fake_tc() {
    mkdir -p /tmp/fake
    { echo '#!/bin/sh'; cat; } >/tmp/fake/tc
    chmod +x /tmp/fake/tc
    PATH=/tmp/fake:$PATH
}
real_tc_again() { PATH=${PATH#/tmp/fake:}; }
"""


@pytest.fixture(scope="session")
def in_guest() -> Callable[..., str]:
    """in_guest(code, aqm): boots, runs the shell code on the client, gives its output.

    The code must end with status 0 and print nothing to standard error. aqm: for the guest
    to have the tc that this one needs.
    """
    def run(code: str, aqm: str = "no_aqm") -> str:
        with Lab(Scenario().but(aqm=aqm), ["sh", "-c", PRELUDE + code], servers=()) as lab:
            outcome = lab.run()
            assert (outcome.status, lab.stderr.read_text()) == (0, "")
            return lab.stdout.read_text()

    return run

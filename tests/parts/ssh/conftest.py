# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs shell code on the client of a lab whose router is reached by ssh."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from flent_aqm.base import paths
from flent_aqm.lab.virtual import Lab
from flent_aqm.parts.ssh.try_router import GUEST as GUEST_SCRIPTS
from flent_aqm.spec.scenario import Scenario

from ...on_router import apply

_NOISE = ("Killed", "Terminated", "Timeout, server", "mux_client", "client_loop", "Connection to")
GUEST = Path(__file__).with_name("guest.sh")
APPLY = apply(aqm="fq_codel", rate_down_mbps=10, testbed="ssh://root@203.0.113.1")


@pytest.fixture(scope="session")
def in_guest() -> Callable[..., list[str]]:
    """in_guest(code, router): boots, runs the code on the client, gives the lines of output.

    Lines that ssh and a shell say about a broken connection or a killed process are left
    out. router: the function of guest.sh that sets it up, with its arguments. What is printed
    to standard error comes among the lines.
    """
    def run(code: str, router: str = "openssh_router", servers: tuple[str, ...] = ()) -> list[str]:
        prelude = (f"export SSH_HOST_SH={shlex.quote(str(GUEST_SCRIPTS / 'ssh_host.sh'))}\n"
                   f"export GUEST_SH={shlex.quote(str(GUEST))}\n"
                   f"export GUEST_PY={shlex.quote(str(GUEST.with_name('hold.py')))}\n"
                   f"export APPLY={shlex.quote(APPLY)}\n"
                   f"export PYTHONPATH={shlex.quote(str(paths.PACKAGE.parent))}\n"
                   f'exec 2>&1; . "$GUEST_SH"\n{router}\n')
        with Lab(Scenario(), ["sh", "-c", prelude + code], servers=servers) as lab:
            outcome = lab.run()
            text = lab.stdout.read_text()
            assert (outcome.status, lab.stderr.read_text()) == (0, ""), text
            return [line for line in text.splitlines() if not line.startswith(_NOISE)]

    return run

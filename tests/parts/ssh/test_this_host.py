# SPDX-License-Identifier: GPL-3.0-or-later
"""Flent's own machine, where the router is another one: nothing is mounted there."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

from flent_aqm.base import environment
from flent_aqm.base.paths import resource_dir
from flent_aqm.lab.protocol import FlentRun
from flent_aqm.parts.ssh.testbed import ThisHost
from flent_aqm.router.hook import apply_words
from flent_aqm.router.tc.words import Devices
from flent_aqm.spec.scenario import Scenario


@dataclass(frozen=True)
class Look(FlentRun):
    """In place of Flent with a batch: shows what it would find."""

    def argv(self, folder: str, results: str) -> list[str]:
        """Lines of output, and a file among the results."""
        return ["sh", "-c", f"""
            echo "$FLENT_AQM_HOOKS"; echo "$PYTHON"; flent --version | grep -o "^Flent v[0-9]"
            cat "$FLENT_AQM_APPLY"; echo x >{results}/f"""]


def test_command_on_this_machine_finds_flent_and_hooks_where_they_are() -> None:
    """Programs, hooks and settings, as a run's Flent and its hooks look for them."""
    scenario = Scenario.from_settings({
        "testbed": "ssh://root@192.0.2.1", "aqm": "codel", "aqm_target": "10ms", "shaper": "tbf"})
    devices = Devices("lan0", "wan0")
    with ThisHost(scenario, Look("", "none", (), (), 1.0), {
            environment.DEV_DOWN: "lan0", environment.DEV_UP: "wan0"}) as place:
        outcome = place.run()
        assert (outcome.status, place.stderr.read_text()) == (0, "")
        assert place.stdout.read_text().splitlines() == [
            str(resource_dir("router_hooks")), sys.executable, "Flent v2",
            "sh \"$FLENT_AQM_HOOKS/on_router.sh\" apply testbed=ssh://root@192.0.2.1 "
            + shlex.join(apply_words(scenario, devices))]
        assert (place.results / "f").read_text() == "x\n"

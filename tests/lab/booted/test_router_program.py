# SPDX-License-Identifier: GPL-3.0-or-later
"""A program of the user's on the router."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError, LabError
from flent_aqm.lab.guest_files import APPLY_IN_GUEST
from flent_aqm.lab.protocol import refuse_virtual_settings
from flent_aqm.lab.virtual import Lab
from flent_aqm.router.hook import read_back_command
from flent_aqm.router.proof import differences
from flent_aqm.router.tc.read_back import parse_read_back
from flent_aqm.spec.scenario import Scenario

# As a controller does it: it looks at its devices, has bash's <(…), writes where it may.
_CONTROLLER = """
read -r up < <(cat /sys/class/net/up/operstate)
sleep 2
tc qdisc change root dev up cake bandwidth "$1"
echo "up is $up" >/tmp/seen
sleep 1000
"""


def _run(scenario: Scenario, command: list[str]) -> str:
    with Lab(scenario, command, servers=(), prelude=[
            [".", APPLY_IN_GUEST]]) as lab:
        assert lab.run().status == 0, lab.stderr.read_text()
        return lab.stdout.read_text()


@pytest.mark.lab
def test_router_program_changes_the_rate_and_nothing_else_may_differ(tmp_path: Path) -> None:
    """It begins when the queue is in place and goes on beside the command. A rate that it has
    changed is no disobedience, what is not a rate still is."""
    (tmp_path / "control.sh").write_text(_CONTROLLER)
    settings = {"aqm": "cake", "shaper": "cake", "rate_mbps": "20",
                "router_program": f"bash '{tmp_path}/control.sh' 7Mbit"}
    scenario = Scenario.from_settings(settings)
    read = " ".join(read_back_command(scenario))
    seen, _, after = _run(
        scenario, ["sh", "-c", f"sleep 3; cat /tmp/seen; {read}"]).partition("\n")
    assert seen == "up is up"
    report = parse_read_back(after)
    assert after.count('"bandwidth":875000,') == 1  # bytes per second
    assert differences(scenario, report) == []
    assert differences(Scenario.from_settings({**settings, "router_program": ""}), report)
    assert differences(Scenario.from_settings({**settings, "aqm_rtt": "30ms"}), report)


@pytest.mark.lab
def test_router_program_that_fails_fails_the_run(tmp_path: Path) -> None:
    """With its status and its last words."""
    (tmp_path / "broken.sh").write_text("echo no config here >&2; exit 3\n")
    scenario = Scenario.from_settings({"router_program": f"sh {tmp_path}/broken.sh"})
    with pytest.raises(LabError, match=r"status 3 before .*: no config here"):
        _run(scenario, ["sleep", "1"])


def test_router_program_is_refused_outside_of_the_lab() -> None:
    """Before anything runs."""
    scenario = Scenario.from_settings({"router_program": "bash '/a b/c.sh' x"})
    with pytest.raises(ConfigError, match="router_program: on testbed netns"):
        refuse_virtual_settings("netns", scenario)
    with pytest.raises(ConfigError, match="no closing quotation mark"):
        Scenario.from_settings({"router_program": "bash 'x"})

# SPDX-License-Identifier: GPL-3.0-or-later
"""A command on the lab's client."""

from __future__ import annotations

from flent_aqm.lab.virtual import Lab
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.scenario import Scenario


def output(*argv: str, scenario: Scenario | None = None) -> str:
    """Standard output of a command on the client, which must end well."""
    scenario = scenario or Scenario()
    with Lab(scenario, argv, prelude=[apply_command(scenario)]) as lab:
        outcome = lab.run()
        assert outcome.status == 0, lab.stderr.read_text()
        return lab.stdout.read_text()

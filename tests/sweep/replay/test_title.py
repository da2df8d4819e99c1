# SPDX-License-Identifier: GPL-3.0-or-later
"""What `flent-aqm replay` says of the run that it repeats."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.commands.replay import _run_title
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize(("settings", "title"), [
    ({"rate_mbps": 20}, "ndt7, no_aqm, 20 Mbit/s down, 20 up, seed 1"),
    # The unused default of rate_mbps limits nothing.
    ({"shaper": "none", "link_trace": "seeded"}, "ndt7, no_aqm, not shaped, seed 1"),
    ({"shaper": "none", "modem_mbps": 9},
     "ndt7, no_aqm, modem of 9 Mbit/s down, 9 up, not shaped, seed 1"),
    ({"rate_mbps": 8, "modem_mbps": 9},
     "ndt7, no_aqm, modem of 9 Mbit/s down, 9 up, shaped to 8 Mbit/s down, 8 up, seed 1")])
def test_title_has_the_rates_that_limit_the_run(settings: dict[str, object], title: str) -> None:
    scenario = Scenario.from_settings({"aqm": "no_aqm", "seed": 1, **settings})
    assert _run_title(Cell("x", Path(), "ndt7", scenario, {}, {}, {}, 10)) == title

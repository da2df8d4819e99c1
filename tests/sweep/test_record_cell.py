# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests the cell of `lab --record`: the command is required, the time limit has two edges."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep import record

FILE = Path("run.flent.gz")


@pytest.mark.parametrize(("limit", "seconds"), [
    (None, 60), ("1", 1), ("9", 9), ("86399", 86_399), ("86400", 86_400)])
def test_the_time_limit_is_the_length_of_the_run(limit: str | None, seconds: int) -> None:
    cell = record._cell(Scenario.from_settings({}), ["iperf3", "-c", "a b"], FILE, limit)
    assert cell.length_s == cell.settings["LENGTH"] == seconds
    assert cell.name == "run"
    assert cell.scenario.as_dict()["client_program"] == "iperf3 -c 'a b'"


@pytest.mark.parametrize("limit", ["0", "86401", "99999", "100000", "01", "1.5", "-1"])
def test_a_time_limit_outside_1_s_to_a_day_is_refused(limit: str) -> None:
    with pytest.raises(ConfigError) as error:
        record._cell(Scenario.from_settings({}), ["true"], FILE, limit)
    assert str(error.value) == (f"--time-limit: {limit!r}; expected whole seconds, from 1 to 86400")


def test_a_missing_command_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        record._cell(Scenario.from_settings({}), [], FILE, None)
    assert str(error.value) == "--record: there is no command to measure; give it after --"

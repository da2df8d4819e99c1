# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of reference are what the records in the code say; make reference writes them."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from flent_aqm.asked.key_help import KEY_HELP
from flent_aqm.asked.keys import SCENARIO_KEYS, SWEEP_KEYS
from flent_aqm.asked.scenario import Scenario
from flent_aqm.asked.scenario_keys import read_fields
from flent_aqm.results.metrics.table import METRICS
from website.reference import metrics, write

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("page", "part"), write.PARTS, ids=lambda word: str(word))
def test_part_is_what_its_records_say(page: str, part: str) -> None:
    """Word for word."""
    assert write.written(page, part) == write.text(page, part), "run: make reference"


def test_each_key_has_help_and_each_help_is_of_a_key() -> None:
    """A field of Scenario, a key for both directions, or one of a sweep."""
    told = {name for group in KEY_HELP.values() for key, about in group.items()
            for name in (key, *(about.of_one_way or ()))}
    placeholders = {"aqm_NAME", "aqm_options", "router_NAME"}
    fields = {field.name for field in dataclasses.fields(Scenario)} - {"aqm_parameters"}
    assert fields | SWEEP_KEYS <= told
    assert told - placeholders <= SCENARIO_KEYS | SWEEP_KEYS
    assert set(read_fields({})) <= told | {"aqm_parameters"}


def test_each_metric_is_on_a_page() -> None:
    """By itself, by its pattern, or as a number of a tool."""
    rows = "\n".join(metrics.metrics())
    patterns = [re.compile(re.sub("WAY|PHASE|STAT", r"\\w+", name).replace("Tms", r"\d+ms") + "$")
                for name in re.findall(r"^\| `(\w+)`", rows, re.MULTILINE)]
    left = [name for name in METRICS if not any(one.match(name) for one in patterns)]
    page = (ROOT / "docs" / "reference" / "tools.md").read_text(encoding="utf-8")
    prefixes = tuple(re.findall(r"`(\w+_)…`: ", page))
    assert [name for name in left if not name.startswith(prefixes)] == []

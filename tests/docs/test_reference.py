# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of reference are what the records in the code say; make reference writes them."""

from __future__ import annotations

import re

import pytest

from flent_aqm.results.metrics.table import METRICS
from flent_aqm.spec.keys import SCENARIO_KEYS, SWEEP_KEYS
from release.website.reference import metrics, write
from tests.files import ROOT


@pytest.mark.parametrize(("page", "part"), write.PARTS, ids=lambda word: str(word))
def test_part_is_what_its_records_say(page: str, part: str) -> None:
    """Word for word."""
    assert write.written(page, part) == write.text(page, part), "run: make reference"


def test_each_key_is_on_the_page() -> None:
    """Those for both directions, too; parameters stand as aqm_NAME and shaper_NAME."""
    page = (ROOT / "docs" / "reference" / "keys.md").read_text(encoding="utf-8")
    keys = (SCENARIO_KEYS | SWEEP_KEYS.keys()) - {
        "aqm_parameters", "up_aqm_parameters", "shaper_parameters"}
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []


def test_each_metric_is_on_a_page() -> None:
    """By itself, by its pattern, or as a number of a tool."""
    rows = "\n".join(metrics.metrics())
    patterns = [re.compile(re.sub("WAY|PHASE|STAT", r"\\w+", name).replace("Tms", r"\d+ms") + "$")
                for name in re.findall(r"^\| `(\w+)`", rows, re.MULTILINE)]
    left = [name for name in METRICS if not any(one.match(name) for one in patterns)]
    page = (ROOT / "docs" / "reference" / "tools.md").read_text(encoding="utf-8")
    prefixes = tuple(re.findall(r"`(\w+_)…`: ", page))
    assert [name for name in left if not name.startswith(prefixes)] == []

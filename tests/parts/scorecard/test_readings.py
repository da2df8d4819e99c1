# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scorecard reads of a run: the traffic in 10^6 bytes, and the name of a test that is
given by a command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.parts.scorecard.own_commands import write_tool
from flent_aqm.parts.scorecard.reading import _megabytes
from flent_aqm.results.data_file import parse_data_file
from flent_aqm.results.metrics.run import as_run
from tests.files import RUNS, load

GOLDEN = RUNS / "ndt7.flent.gz"


def megabytes(before: dict[str, Any], after: dict[str, Any]) -> float | None:
    """Of a run whose router counted these bytes, by direction."""
    whole = load(GOLDEN)
    for moment, counted in (("before", before), ("after", after)):
        counters = whole["metadata"]["AQM"][moment]["counters"]
        for way, device in (("download", "down"), ("upload", "up")):
            counters[device] = {"shaper": {"bytes": counted[way]}}
    return _megabytes(as_run(parse_data_file(json.dumps(whole).encode(), GOLDEN)))


def test_traffic_is_what_the_router_counted_during_the_run_in_both_directions() -> None:
    found = megabytes({"download": 1_000_000, "upload": 500_000},
                      {"download": 5_000_000, "upload": 750_000})
    assert found == pytest.approx(4.25)


@pytest.mark.parametrize("missing", ["before", "after"])
def test_traffic_that_was_not_counted_is_unknown(missing: str) -> None:
    """Not 0, which would look like a test that sends nothing."""
    counted: dict[str, dict[str, Any]] = {
        moment: {"download": 1000, "upload": None if moment == missing else 1000}
        for moment in ("before", "after")}
    assert megabytes(**counted) is None


def test_command_is_named_after_its_program_unless_a_name_is_given(tmp_path: Path) -> None:
    """Not after its arguments."""
    for name, file in ((None, "sh"), ("mine", "mine")):
        path = write_tool(tmp_path, name, "/bin/sh -c {host} {port}", "/bin/sleep {port}",
                          "json: down=download_mbps", 60)
        assert path == tmp_path / "own" / f"{file}.py"

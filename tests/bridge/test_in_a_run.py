# SPDX-License-Identifier: GPL-3.0-or-later
"""What Flent does otherwise in a run of a sweep, whose every process costs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flent.resultset import ResultSet

from flent_aqm.base import environment
from flent_aqm.bridge import collect, data_files
from flent_aqm.results.data_file import parse_data_file, read_data_file
from tests.files import RUNS

RUN = RUNS / "ndt7.flent.gz"


@pytest.fixture
def in_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a testbed starts Flent."""
    monkeypatch.setenv(environment.CELL, "1")


def test_file_is_written_plain_for_the_sweep_to_read(in_run: None, tmp_path: Path) -> None:
    """With the content of Flent's own, in the same order."""
    results = ResultSet.load_file(str(RUN))
    dump_dir = data_files.dump_dir(ResultSet.dump_dir)
    assert dump_dir is not None
    dump_dir(results, str(tmp_path))
    file, = tmp_path.iterdir()
    assert file.suffix == ".flent"
    assert str(file) == results.dump_filename
    text = file.read_bytes()
    assert list(json.loads(text).items()) == list(json.loads(results.dumps()).items())
    assert parse_data_file(text, RUN).raw_values == read_data_file(RUN).raw_values


def test_other_files_are_written_by_flent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed, under the name that it has chosen."""
    monkeypatch.delenv(environment.CELL, raising=False)
    assert data_files.dump_dir(ResultSet.dump_dir) is None


@pytest.mark.parametrize(("cell", "how"), [("1", "direct"), ("", "parallel")])
def test_tools_output_is_parsed_without_further_processes(
    cell: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a run alone: elsewhere it's faster in parallel."""
    monkeypatch.setenv(environment.CELL, cell)
    parsed = []

    def stock(self: Any) -> Any:
        self.parse_results_parallel()
        return {}, {"series": {}}, {}

    collect.collect(stock)(SimpleNamespace(
        instances={}, failed_runners=0, parse_results_direct=lambda: parsed.append("direct"),
        parse_results_parallel=lambda: parsed.append("parallel")))
    assert parsed == [how]

# SPDX-License-Identifier: GPL-3.0-or-later
"""What is kept beside Flent's result sets: of which files a combined one is, what was computed of
one, and an older file as it was before Flent changed it."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.results.combined import MEMBERS, description_of, members_of
from flent_aqm.results.result_set import copy_before_flent, data_file_of, keep_old, once


class ResultSet(SimpleNamespace):
    """A result set with what Flent's has of these: metadata and raw values."""

    def meta(self, key: str | None = None) -> Any:
        return self.metadata if key is None else self.metadata[key]


def of_test(name: str) -> ResultSet:
    return ResultSet(metadata={"NAME": name})


@pytest.mark.parametrize(("tests", "description"), [
    ([], "own"), (["ndt7"], "own"), (["ndt7", "ndt7"], "own"),
    (["ping", "ndt7"], "ndt7, ping"), (["d", "c", "b", "a"], "a, b, c, d"),
    (["d", "c", "b", "a", "e"], "5 tests")])
def test_title_of_several_tests_names_up_to_four(tests: list[str], description: str) -> None:
    """Of more there is only room for their number; of one, Flent's own words are better."""
    assert description_of([of_test(name) for name in tests], "own") == description


def test_members_of_a_combined_result_set_count_for_it() -> None:
    whole, parts = of_test("combined"), [of_test("ping"), of_test("ndt7")]
    assert members_of(whole) == [whole]
    setattr(whole, MEMBERS, parts)
    assert members_of(whole) == parts
    assert description_of([whole], "own") == "ndt7, ping"


def test_result_is_computed_once_for_a_result_set_and_a_name() -> None:
    numbers = count(1)
    one, other = of_test("ping"), of_test("ping")
    assert [once(results, name, lambda: next(numbers)) for results, name in (
        (one, "a"), (one, "a"), (one, "b"), (other, "a"), (one, "a"))] == [1, 1, 2, 3, 1]


def test_older_file_is_read_as_it_was_before_flent_changed_it() -> None:
    """Flent changes its samples in place; a file of today's format needs no copy."""
    meta = {"SERIES_META": {"Ping": {"UNITS": "ms"}}, "NAME": "ping"}
    whole: dict[str, Any] = {"version": 3, "metadata": meta, "x_values": [0.0],
                             "raw_values": {"Ping": [{"t": 1.0, "val": 5.0}]}, "results": {}}
    old = copy_before_flent(whole, 4)
    assert old is not None
    assert copy_before_flent({**whole, "version": 4}, 4) is None
    whole["raw_values"]["Ping"][0]["val"] = 5000.0
    results = ResultSet(metadata={**meta, "FAKE_RAW_VALUES": True, "HOST": "server"},
                        raw_values=whole["raw_values"], _loaded_from="old.flent.gz")
    keep_old(results, None)
    assert data_file_of(results).raw_values["Ping"] == [{"t": 1.0, "val": 5000.0}]
    keep_old(results, old)
    data = data_file_of(results)
    assert (data.version, data.raw_values["Ping"]) == (3, [{"t": 1.0, "val": 5.0}])
    assert data.metadata == {**meta, "HOST": "server"}

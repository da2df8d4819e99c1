# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of a data file that Flent has loaded: its own, packed between processes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from flent.resultset import ResultSet, SeparatorDict

from flent_aqm.base.errors import BadResult
from flent_aqm.results.result_set import samples_of
from tests.files import RUNS, load


def both(name: str) -> tuple[Any, Any]:
    """Results by Flent's own reading, and as they are loaded."""
    whole = load(RUNS / name)
    return ResultSet.unserialise(whole), ResultSet.load_file(str(RUNS / name))


@pytest.mark.parametrize("name", ["ndt7.flent.gz", "stock_rrul.flent.gz"])
def test_results_are_those_of_flents_own_reading(name: str) -> None:
    """Also in another process, and in one after that."""
    own, loaded = both(name)
    sent = pickle.loads(pickle.dumps(loaded))
    for results in (loaded, sent, pickle.loads(pickle.dumps(sent))):
        assert isinstance(results, ResultSet)
        assert results
        assert len(results) == len(own)
        assert samples_of(results) == own.raw_values == results.raw_values
        assert {type(one) for series in results.raw_values.values() for one in series} == {
            SeparatorDict}
        assert samples_of(results) == own.raw_values  # now of Flent's class
        assert results.serialise() == own.serialise()
        assert (results.t0, list(results)) == (own.t0, list(own))
        for series in own.raw_values:
            assert list(results.raw_series(series)) == list(own.raw_series(series))


def test_window_that_gets_results_and_hands_them_on_makes_no_samples() -> None:
    """A series stays one piece of bytes, and is counted as it is."""
    _, loaded = both("ndt7.flent.gz")
    sent = pickle.loads(pickle.dumps(loaded))
    assert len(sent) == len(loaded)
    assert sent.meta() == loaded.meta()
    pickle.dumps(sent)
    assert {type(series) for series in vars(sent)["_plain"].values()} == {bytes}


def test_samples_that_are_added_or_replaced_are_kept() -> None:
    """As on Flent's own."""
    _, loaded = both("ndt7.flent.gz")
    loaded.add_raw_values("more", [{"t": 1.0, "val": 2.0}])
    assert list(pickle.loads(pickle.dumps(loaded)).raw_values)[-1] == "more"
    loaded.raw_values = {"one": [{"t": 1.0, "val": {"down": 2.0}}]}
    sent = pickle.loads(pickle.dumps(loaded))
    assert len(sent) == 1
    assert sent.raw_values["one"][0]["val::down"] == 2.0


def test_sample_without_a_time_is_refused_as_ever(tmp_path: Path) -> None:
    """Flent takes the first of all times."""
    whole = load(RUNS / "stock_ping.flent.gz")
    next(iter(whole["raw_values"].values()))[0]["t"] = None
    file = tmp_path / "odd.flent"
    file.write_text(json.dumps(whole))
    with pytest.raises(BadResult, match="a value is of another kind than expected"):
        ResultSet.load_file(str(file))

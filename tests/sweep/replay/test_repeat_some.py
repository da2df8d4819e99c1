# SPDX-License-Identifier: GPL-3.0-or-later
"""Which runs of an archive are repeated, and what becomes of those that give other data."""

from __future__ import annotations

import copy
import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult, LabError
from flent_aqm.results.share.archive import DATA, Packed
from flent_aqm.sweep.replay import archive, recorded
from flent_aqm.sweep.replay.archive import _sample, repeat_some

from .test_compare import RUN


def packed(name: str, test: str = "ndt7", testbed: str = "virtual") -> Packed:
    return Packed(name, test, testbed, "", "", {})


MANY = [packed("a"), packed("b"), packed("c", "ping"), packed("d", testbed="netns"),
        *(packed(name) for name in "efgh")]


@pytest.mark.parametrize(("most", "names"), [
    (3, "acd"), (4, "acdf"), (5, "acdeg"), (6, "abcdfh"), (7, "abcdegh"), (8, "abcdefgh"),
    (9, "abcdefgh")])
def test_sample_has_each_test_and_testbed_and_others_evenly(most: int, names: str) -> None:
    """The first file of each, then every second or third of the rest."""
    assert sorted(one.name for one in _sample(MANY, most)) == list(names)


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_small_sample_has_no_test_twice(most: int) -> None:
    """On one testbed."""
    assert len({(one.test, one.testbed) for one in _sample(MANY, most)}) == most


def other(change: Callable[[Any], object]) -> dict[str, Any]:
    data = copy.deepcopy(RUN)
    change(data)
    return data


def drop_more(data: Any) -> None:
    data["metadata"]["AQM"]["after"]["counters"]["up"]["qdisc"]["drops"] = 8
    data["raw_values"]["Ping"][0]["val"] = 3.0


def on_newer_tools(data: Any) -> None:
    drop_more(data)
    data["metadata"]["AQM"]["tools"] |= {"irtt": "0.9.2", "fping": "5"}


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Have each repeated run give this content, or end with this error."""
    def give(result: Any) -> None:
        def run(cell: object) -> Any:
            if isinstance(result, Exception):
                raise result
            return result

        monkeypatch.setattr(archive, "again", run)

    def read(path: Path, folder: Path, traces: object) -> Any:
        assert folder.is_dir()
        if "bad" in path.name:
            raise BadResult(f"{path}: it is none")
        return SimpleNamespace(cell=None, data=RUN)

    monkeypatch.setattr(recorded, "read", read)
    return give


def test_runs_that_give_the_same_data_are_told_from_those_that_cannot_be_made(
        tmp_path: Path, repeated: Callable[[Any], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """The reasons don't have the path, which the reader of the archive doesn't have."""
    repeated(copy.deepcopy(RUN))
    runs = repeat_some(tmp_path, [packed("one"), packed("bad", "ping")], 9, [])
    assert (runs.identical, runs.not_again) == (("one",), {"bad": "it is none"})
    assert capsys.readouterr().err == "repeating the run of one\n"
    repeated(LabError(f"{tmp_path / DATA / 'one'}: no lab"))
    assert repeat_some(tmp_path, [packed("one")], 9, []).not_again == {"one": "no lab"}


@pytest.mark.parametrize(("change", "advice"), [
    (drop_more, "leave the file out of the archive"),
    (on_newer_tools, ("the file was made with other versions (fping: nothing in the file, 5 now); "
                      "install those, or leave the file out of the archive"))])
def test_run_that_gives_other_data_is_refused_with_the_first_difference(
        tmp_path: Path, repeated: Callable[[Any], None], change: Callable[[Any], object],
        advice: str) -> None:
    """And with the first of the versions in which it may lie."""
    repeated(other(change))
    with pytest.raises(BadResult) as raised:
        repeat_some(tmp_path, [packed("one")], 1, [])
    assert str(raised.value) == (
        "one: repeating the run gave other data: samples of Ping, number 0 at 0.000000 s: "
        f'{{"val": 1.0}} in the file, {{"val": 3.0}} now; {advice}. flent-aqm replay shows all '
        "differences")


def test_run_is_told_before_it_begins(
        tmp_path: Path, repeated: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take minutes; a buffer would keep the line until then."""
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(shown))
    repeated(None)

    def run(cell: object) -> Any:
        assert shown.getvalue() == b"repeating the run of one\n"
        return RUN

    monkeypatch.setattr(archive, "again", run)
    assert repeat_some(tmp_path, [packed("one")], 1, []).identical == ("one",)

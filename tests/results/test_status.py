# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep keeps of itself beside its data files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.regular_file import MAX_NOTE_BYTES
from flent_aqm.results import status
from flent_aqm.results.status import NAME, Status

BEGUN = Status(("flent", "-B", "x.batch"), 10, 2, 1000.0)


def test_status_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """With what failed, and with its end."""
    failed = BEGUN.with_failed("a.flent.gz", "no route").with_failed("b.flent.gz", "no iperf3")
    status.write(tmp_path, failed)
    read = status.read(tmp_path)
    assert read == Status(["flent", "-B", "x.batch"], 10, 2, 1000.0, None,
                          {"a.flent.gz": "no route", "b.flent.gz": "no iperf3"})
    assert read.ended_s is None
    status.write(tmp_path, failed.ended())
    ended = status.read(tmp_path)
    assert ended is not None
    assert ended.ended_s is not None
    assert ended.ended_s > 1000


@pytest.mark.parametrize(("done", "failed", "left_s"), [
    # 2 were there before; 100 s have passed.
    (2, 0, None), (3, 0, 700.0), (6, 0, 100.0), (5, 1, 100.0), (2, 1, 700.0), (10, 0, 0.0),
    (11, 0, 0.0), (9, 1, 0.0)])
def test_time_left_is_that_of_the_pace_so_far(done: int, failed: int,
                                              left_s: float | None) -> None:
    """Failed runs have taken their time, too; runs that were there before have not."""
    now = BEGUN
    for number in range(failed):
        now = now.with_failed(f"{number}.flent.gz", "why")
    assert now.left_s(done, 1100.0) == left_s


def test_time_left_is_never_negative_and_unknown_after_the_end() -> None:
    """Also where the host's clock was set back."""
    assert BEGUN.left_s(3, 900.0) == 0.0
    assert BEGUN.ended().left_s(3, 1100.0) is None


GOOD: dict[str, Any] = {"schema": 1, "command": ["flent"], "planned": 3, "before": 0,
                        "began_s": 5.0, "ended_s": None, "failed": {}}


@pytest.mark.parametrize("change", [
    {"schema": 2}, {"began_s": "soon"}, {"began_s": None}, {"failed": []}, {"command": "flent"},
    {"planned": 3.0}, {"planned": True}, {"before": "0"}, {"before": None}])
def test_status_that_makes_no_sense_is_none(change: dict[str, Any], tmp_path: Path) -> None:
    """The file may be anybody's."""
    (tmp_path / NAME).write_text(json.dumps(GOOD))
    assert status.read(tmp_path) == Status(["flent"], 3, 0, 5.0)
    (tmp_path / NAME).write_text(json.dumps({**GOOD, **change}))
    assert status.read(tmp_path) is None


@pytest.mark.parametrize(("note", "read"), [
    ([["flent", "-B", "x"], ["flent"]], (["flent", "-B", "x"], ["flent"])), ([[1], "x"], (["1"],)),
    ("flent", ()), (None, ())])
def test_earlier_commands_that_make_no_sense_are_left_out(
        note: Any, read: tuple[list[str], ...], tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(json.dumps({**GOOD, "earlier": note}))
    now = status.read(tmp_path)
    assert now is not None
    assert now.earlier == read
    assert now.commands == [*read, ["flent"]]


def test_status_that_is_no_file_of_json_is_none(tmp_path: Path) -> None:
    """Nor one that is too large, nor a link to another."""
    assert status.read(tmp_path) is None
    (tmp_path / NAME).write_text("[]")
    assert status.read(tmp_path) is None
    (tmp_path / NAME).write_text("{")
    assert status.read(tmp_path) is None
    text = json.dumps(GOOD)
    (tmp_path / NAME).write_text(text + " " * (MAX_NOTE_BYTES - len(text)))
    assert status.read(tmp_path) is not None
    (tmp_path / NAME).write_text(text + " " * (MAX_NOTE_BYTES - len(text) + 1))
    assert status.read(tmp_path) is None
    (tmp_path / "other").write_text(text)
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).symlink_to("other")
    assert status.read(tmp_path) is None
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    assert status.read(tmp_path) is None


def test_done_are_data_files_that_are_whole(tmp_path: Path) -> None:
    """One that is being written has a point before its name."""
    for name in ("a.flent.gz", "b.flent.gz", ".c.flent.gz", "d.flent", "sweep.json"):
        (tmp_path / name).touch()
    assert status.count_done(tmp_path) == 2

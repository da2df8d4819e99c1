# SPDX-License-Identifier: GPL-3.0-or-later
"""Which base.batch is read before a user's batch file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flent_aqm.base.paths import base_batch, resource_dir

OURS = resource_dir("batches") / "base.batch"


@pytest.mark.parametrize(("text", "is_ours"), [
    ("[Batch::x]\ninherits = base\n", True), ("[Batch::x]\n  Inherits:BASE\n", True),
    ("[Batch::x]\ninherits = base\n[Batch::base]\nhosts = h\n", False),
    ("[batch::Base]\n[Batch::x]\ninherits = base\n", False),
    ("[Batch::x]\ninherits = base_of_mine\n", False), ("[Batch::x]\ninherits = mine\n", False),
    ("# inherits = base\n[Batch::x]\nhosts = h\n", False), ("", False)])
def test_ours_is_read_for_a_file_that_inherits_from_it(
        text: str, is_ours: bool, tmp_path: Path) -> None:
    """Not for a file with a base of its own, nor if it inherits from another section."""
    file = tmp_path / "mine.batch"
    file.write_text(text)
    assert base_batch(file) == (OURS if is_ours else None)


def test_one_beside_the_file_comes_first(tmp_path: Path) -> None:
    file, beside = tmp_path / "mine.batch", tmp_path / "base.batch"
    file.write_text("[Batch::x]\ninherits = base\n")
    beside.write_text("[Batch::base]\nabstract = yes\n")
    assert base_batch(file) == beside
    assert base_batch(beside) == beside
    assert base_batch(tmp_path / "none.batch") == beside


def test_file_that_is_not_there_or_no_file_has_none(tmp_path: Path) -> None:
    assert base_batch(tmp_path / "none.batch") is None
    assert base_batch(tmp_path) is None
    assert base_batch(Path(".")) is None


def test_folder_that_may_not_be_entered_has_none(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own question would raise; that the file can't be read is told later, in a line."""
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", refuse)
    monkeypatch.setattr(Path, "stat", refuse)
    assert base_batch(tmp_path / "mine.batch") is None

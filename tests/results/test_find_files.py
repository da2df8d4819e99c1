# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files a folder stands for."""

from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path
from typing import NoReturn

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.many_files import find_files


def test_symbolic_link_in_a_folder_is_left_out_and_named(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a stranger's folder it could lead to any file; one that is named is read."""
    outside = tmp_path / "outside.flent.gz"
    outside.write_bytes(b"")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "own.flent.gz").write_bytes(b"")
    for name, target in (("link", outside), ("again", folder / "own.flent.gz"),
                         ("nowhere", tmp_path / "none")):
        (folder / f"{name}.flent.gz").symlink_to(target)
    # The suffix of netperf-wrapper's files, by their content: this one has a data file's.
    (tmp_path / "outside.json.gz").write_bytes(gzip.compress(b'{"metadata": {}}'))
    (folder / "old.json.gz").symlink_to(tmp_path / "outside.json.gz")
    assert find_files([folder]) == [folder / "own.flent.gz"]
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 4
    assert all("a symbolic link in a folder is not followed" in line for line in told)
    assert find_files([folder / "link.flent.gz"]) == [folder / "link.flent.gz"]


def test_folder_of_links_alone_has_no_data_files(tmp_path: Path) -> None:
    (tmp_path / "link.flent.gz").symlink_to("/etc/passwd")
    with pytest.raises(ConfigError, match="no data files"):
        find_files([tmp_path])


def test_folder_that_cannot_be_read_is_not_said_to_be_empty(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> NoReturn:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(ConfigError, match="this folder can't be read: Permission denied"):
        find_files([tmp_path])

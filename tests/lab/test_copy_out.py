# SPDX-License-Identifier: GPL-3.0-or-later
"""What a command in the lab has made, on its way into a folder of the user's."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.copy_out import copy_out

NEVER = None  # the command saw nothing of the folder


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """What the command has made."""
    folder = tmp_path / "made"
    folder.mkdir()
    return folder


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The user's folder."""
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


def later_ns() -> int:
    """A time after all that has been done so far."""
    time.sleep(0.02)  # longer than a tick, by which file systems count
    return time.time_ns()


def test_files_and_folders_are_copied_and_nothing_else(made: Path, results: Path) -> None:
    """Empty folders, and the right to execute, too."""
    (made / "a" / "b").mkdir(parents=True)
    (made / "a" / "file").write_bytes(b"\0content")
    (made / "a" / "program").write_text("#!/bin/sh\n")
    (made / "a" / "program").chmod(0o755)
    (made / "link").symlink_to("/etc/passwd")
    (made / "link_to_folder").symlink_to("/etc")
    os.mkfifo(made / "pipe")
    assert copy_out(made, results, since_ns=NEVER) == []
    assert sorted(path.relative_to(results).as_posix() for path in results.rglob("*")) == [
        "a", "a/b", "a/file", "a/program"]
    assert (results / "a" / "file").read_bytes() == b"\0content"
    assert (results / "a" / "program").stat().st_mode & 0o100
    assert not (results / "a" / "file").stat().st_mode & 0o100


def test_file_that_the_command_saw_is_replaced(made: Path, results: Path) -> None:
    """It was there when the command began."""
    (results / "file").write_text("old")
    (made / "file").write_text("new")
    assert copy_out(made, results, since_ns=later_ns()) == []
    assert (results / "file").read_text() == "new"
    assert [path.name for path in results.iterdir()] == ["file"]


def test_data_file_of_flent_stays_though_the_command_saw_it(made: Path, results: Path) -> None:
    """Flent never looks whether the name is taken."""
    name, got = "ping-2026-01-01T000003.022935.flent.gz", "ping-2026-01-01T000003.022935-2.flent.gz"
    (results / name).write_text("old")
    (made / name).write_text("new")
    assert copy_out(made, results, since_ns=later_ns()) == [(name, got)]
    assert (results / name).read_text() == "old"
    assert (results / got).read_text() == "new"


@pytest.mark.parametrize(("name", "got"), [
    ("file", "file-2"), ("file.txt", "file-2.txt"), (".hidden", ".hidden-2"),
    ("ping-2026-01-01T000003.520192.a_b.flent.gz", "ping-2026-01-01T000003.520192.a_b-2.flent.gz"),
])
def test_file_that_the_command_did_not_see_stays(
    made: Path, results: Path, name: str, got: str
) -> None:
    """Because it is in a folder that is not shown inside, or because it came later."""
    since_ns = time.time_ns()
    time.sleep(0.02)
    (made / name).write_text("new")
    (results / name).write_text("old")
    for when in (NEVER, since_ns):
        assert copy_out(made, results, since_ns=when) == [(name, got)]
        assert (results / name).read_text() == "old"
        assert (results / got).read_text() == "new"
        (results / got).unlink()


def test_same_file_again_is_no_second_one(made: Path, results: Path) -> None:
    """A run that repeats brings the same, byte for byte."""
    (made / "file").write_text("same")
    for _ in range(3):
        assert copy_out(made, results, since_ns=NEVER) == []
    assert [path.name for path in results.iterdir()] == ["file"]


def test_links_that_are_there_are_not_followed(made: Path, results: Path, tmp_path: Path) -> None:
    """Neither one of a file's name nor one of a folder's, whether the command saw it or not."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("precious")
    (made / "file").write_text("new")
    (made / "folder").mkdir()
    (made / "folder" / "file").write_text("new")
    for number, when in enumerate((NEVER, later_ns)):
        folder = results / str(number)
        folder.mkdir()
        (folder / "file").symlink_to(precious / "file")
        (folder / "folder").symlink_to(precious)
        kept = copy_out(made, folder, since_ns=when and when())
        assert kept == ([] if when else [("file", "file-2"), ("folder", "folder-2")])
        assert (precious / "file").read_text() == "precious"
        assert [path.name for path in precious.iterdir()] == ["file"]
        suffix = "" if when else "-2"
        assert (folder / f"file{suffix}").read_text() == "new"
        assert (folder / f"folder{suffix}" / "file").read_text() == "new"
        assert (folder / f"file{suffix}").is_symlink() is False


def test_folder_in_the_way_of_a_file_stays(made: Path, results: Path) -> None:
    """Even where the command has removed it: what is in it was not its own."""
    (results / "name").mkdir()
    (results / "name" / "precious").write_text("precious")
    (made / "name").write_text("new")
    assert copy_out(made, results, since_ns=later_ns()) == [("name", "name-2")]
    assert (results / "name" / "precious").read_text() == "precious"
    assert (results / "name-2").read_text() == "new"


def test_sparse_file_stays_sparse(made: Path, results: Path) -> None:
    """2 GiB with a few bytes in the middle and a hole at the end take a few blocks."""
    with (made / "sparse").open("wb") as file:
        file.seek(1 << 30)
        file.write(b"middle")
        file.truncate(1 << 31)
    if (made / "sparse").stat().st_blocks > 1000:
        pytest.skip("the file system of the temporary folder has no holes")
    copy_out(made, results, since_ns=NEVER)
    copied = results / "sparse"
    assert copied.stat().st_size == 1 << 31
    assert copied.stat().st_blocks <= 16
    with copied.open("rb") as file:
        file.seek((1 << 30) - 1)
        assert file.read(8) == b"\0middle\0"


def test_many_and_deep_folders_need_few_open_files(made: Path, results: Path) -> None:
    """More side by side than files may be open, and deeper than Python may recurse."""
    for number in range(1500):
        (made / f"wide{number}").mkdir()
    deep = made
    for _ in range(1200):
        deep /= "d"
        deep.mkdir()
    (deep / "file").write_text("deep")
    copy_out(made, results, since_ns=NEVER)
    assert len(list(results.iterdir())) == 1501
    assert (results / deep.relative_to(made) / "file").read_text() == "deep"
    # pytest's own clean-up can't
    subprocess.run(["rm", "-rf", "--", made / "d", results / "d"], check=True)


def test_folder_that_cannot_be_written_is_one_line(made: Path, tmp_path: Path) -> None:
    """It names the folder, and the way out."""
    (made / "file").write_text("new")
    with pytest.raises(ConfigError, match=r"can't copy the command's files to /proc: .*; expected "
                                          "a folder that can be written and has room"):
        copy_out(made, Path("/proc"), since_ns=NEVER)
    with pytest.raises(ConfigError, match="to /proc: file: "):  # not by its temporary name
        copy_out(made, Path("/proc"), since_ns=NEVER)
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone").rmdir()
    with pytest.raises(ConfigError, match="gone: No such file or directory; expected a"):
        copy_out(made, tmp_path / "gone", since_ns=NEVER)

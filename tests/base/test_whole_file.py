# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that appear whole: what others do to the file in progress holds nobody up."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base import whole_file

HOLD = """
import fcntl, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
print("ready", flush=True)
while True:
    for path in folder.glob(".*.part"):
        file = path.open("rb")
        fcntl.flock(file, fcntl.LOCK_EX)
        print("held", flush=True)
        time.sleep(1000)
"""
WRITE = """
import os, pathlib, sys
from flent_aqm.base import whole_file
path = pathlib.Path(sys.argv[1], "data")
part = path.with_name(f".{path.name}.{os.getpid()}.part")
part.touch()
sys.stdin.readline()  # until a stranger has its lock
whole_file.write_text(path, "whole")
"""


def test_file_in_progress_that_a_stranger_has_locked_is_written_all_the_same(
    tmp_path: Path
) -> None:
    """Who may read a folder can lock the files in it; another takes the file's place."""
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE,
                          text=True) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == "ready\n"
        with subprocess.Popen([sys.executable, "-c", WRITE, tmp_path], stdin=subprocess.PIPE,
                              text=True) as writer:
            assert stranger.stdout.readline() == "held\n"
            writer.communicate("\n", timeout=60)
            assert writer.returncode == 0
        stranger.kill()
    assert (tmp_path / "data").read_text() == "whole"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_link_in_the_place_of_the_file_in_progress_is_not_followed(tmp_path: Path) -> None:
    """Who may write to the folder could else have any file of the writer's emptied."""
    mine = tmp_path / "mine"
    mine.write_text("kept")
    (tmp_path / f".data.{os.getpid()}.part").symlink_to(mine)
    whole_file.write_text(tmp_path / "data", "whole")
    assert (mine.read_text(), (tmp_path / "data").read_text()) == ("kept", "whole")


def test_hidden_file_of_the_users_is_not_taken_for_an_abandoned_one(tmp_path: Path) -> None:
    """Temporary files have the number of a process before their ending."""
    (tmp_path / ".mine.part").touch()
    whole_file.remove_abandoned([tmp_path])
    assert [path.name for path in tmp_path.iterdir()] == [".mine.part"]


def test_file_in_progress_is_not_taken_for_an_abandoned_one(tmp_path: Path) -> None:
    """Its lock shows that it is in use; without, it was left by a process that is gone."""
    left, other = tmp_path / ".left.1.part", tmp_path / "left.part"
    left.touch()
    other.touch()
    with whole_file.written_whole(tmp_path / "data") as file:
        file.write(b"whole")
        whole_file.remove_abandoned([tmp_path])
        assert not left.exists()
        assert not (tmp_path / "data").exists()
    assert (tmp_path / "data").read_bytes() == b"whole"
    assert {path.name for path in tmp_path.iterdir()} == {"data", "left.part"}


def test_file_whose_writer_fails_stays_as_it_was(tmp_path: Path) -> None:
    """With nothing left beside it."""
    whole_file.write_text(tmp_path / "data", "before")

    def fail_half_way() -> None:
        with whole_file.written_whole(tmp_path / "data") as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert (tmp_path / "data").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_file_whose_name_a_stranger_has_locked_gets_a_lock_of_its_own(tmp_path: Path) -> None:
    """So it is still known to be in use when the stranger has gone."""
    part = tmp_path / f".data.{os.getpid()}.part"
    with part.open("wb") as stranger:
        fcntl.flock(stranger, fcntl.LOCK_EX)
        with whole_file.written_whole(tmp_path / "data") as file:
            stranger.close()
            file.write(b"whole")
            whole_file.remove_abandoned([tmp_path])
    assert (tmp_path / "data").read_bytes() == b"whole"


def test_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    """Nor a device, such as /dev/stdout, by a program of root."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(OSError, match="it is a pipe, a device or a socket"):
            whole_file.write_text(path, "whole")
    assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == [link, pipe]

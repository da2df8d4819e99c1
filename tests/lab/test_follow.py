# SPDX-License-Identifier: GPL-3.0-or-later
"""A command's output on its way to the user, and what may stand in that way."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.copy_out import OutputFollower


class Stopped(Exception):
    """As when the lab is stopped at its limit."""


def test_all_that_was_written_arrives_however_late_it_is_read(tmp_path: Path) -> None:
    """More than a pipe holds, to a reader that begins when the command has ended."""
    data = bytes(range(256)) * 4096
    read_end, write_end = os.pipe()
    got = bytearray()

    def read() -> None:
        while piece := os.read(read_end, 1 << 16):
            got.extend(piece)

    reader = threading.Thread(target=read)
    with OutputFollower([(tmp_path / "stdout", write_end)]):
        (tmp_path / "stdout").write_bytes(data)
        threading.Timer(0.3, reader.start).start()
    os.close(write_end)
    reader.join()
    os.close(read_end)
    assert bytes(got) == data


def test_reader_that_never_reads_is_left_when_the_lab_is_stopped(tmp_path: Path) -> None:
    """With a pipe that is full, the limit of wall time holds all the same."""
    (tmp_path / "stdout").write_bytes(bytes(1 << 20))
    read_end, write_end = os.pipe()
    with pytest.raises(Stopped), OutputFollower([(tmp_path / "stdout", write_end)]) as follower:
        raise Stopped
    for thread in follower._threads:
        thread.join(30)
        assert not thread.is_alive()
    os.close(read_end)
    os.close(write_end)


def test_reader_that_has_gone_is_no_error(tmp_path: Path) -> None:
    """As `| head -1`."""
    (tmp_path / "stdout").write_bytes(bytes(1 << 20))
    read_end, write_end = os.pipe()
    os.close(read_end)
    with OutputFollower([(tmp_path / "stdout", write_end)]):
        pass
    os.close(write_end)


def test_output_that_can_not_be_written_is_no_reader_that_has_gone(tmp_path: Path) -> None:
    """As into a file on a full disk: the rest is lost, which is told once the files are safe."""
    (tmp_path / "stdout").write_bytes(b"x")
    with open("/dev/full", "wb", buffering=0) as full:
        with OutputFollower([(tmp_path / "stdout", full.fileno())]) as follower:
            pass
        with pytest.raises(ConfigError, match="command's output: No space left on device; the r"):
            follower.refuse_lost()
    with OutputFollower([]) as follower:
        pass
    follower.refuse_lost()


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_file_is_not_read(tmp_path: Path, kind: str) -> None:
    """A pipe would never end, a link may lead to any file."""
    path = tmp_path / "stdout"
    (tmp_path / "secret").write_text("secret")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(tmp_path / "secret")
    else:
        path.mkdir()
    read_end, write_end = os.pipe()
    with OutputFollower([(path, write_end)]):
        pass
    os.close(write_end)
    assert os.read(read_end, 100) == b""
    os.close(read_end)

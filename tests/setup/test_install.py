# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts get into the cache whole or not at all, by one set-up at a time."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest

from flent_aqm.base import paths
from flent_aqm.base.errors import SetupError
from flent_aqm.setup import install

HOLD_LOCK = """
import sys
from pathlib import Path
from flent_aqm.setup.install import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_staging_when_the_work_fails_leaves_nothing(tmp_path: Path) -> None:
    """An error in the middle of a build leaves neither a part nor its pieces."""

    def build() -> None:
        with install.staging(tmp_path) as work:
            (work / "piece").touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        build()
    assert list(tmp_path.iterdir()) == []


def test_locked_when_an_earlier_set_up_was_killed_clears_its_pieces(tmp_path: Path) -> None:
    """What a killed process couldn't remove, the next one does."""
    left_over = tmp_path / "staging-x" / "tree"
    left_over.mkdir(parents=True)
    with install.locked(tmp_path):
        assert not left_over.parent.exists()


def test_locked_when_held_by_another_waits_for_it(
        tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Two set-ups at a time don't mix; the second says why it waits."""
    waiter_code = HOLD_LOCK.replace("held", "second")
    with subprocess.Popen([sys.executable, "-c", HOLD_LOCK, tmp_path], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with subprocess.Popen([sys.executable, "-c", waiter_code, tmp_path], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as waiter:
            assert waiter.stderr is not None
            assert waiter.stdout is not None
            # it blocks here until it says that it waits: before the lock is free
            assert "waiting for another set-up" in waiter.stderr.readline()
            holder.stdin.close()
            assert waiter.stdout.read() == "second\n"


WORK_IN_FOLDER = """
import sys
from pathlib import Path
from flent_aqm.setup.install import held, locked, released
with locked(Path(sys.argv[1])), held(Path(sys.argv[1]), Path(sys.argv[1]) / "trees" / "linux"):
    with released(Path(sys.argv[1])):
        print("compiling", flush=True)
        sys.stdin.read()
print("done", flush=True)
"""


def test_while_a_build_compiles_others_use_the_cache_but_not_its_folder(
        tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A second build in the folder waits until the first has ended, which needs the cache's lock
    for that."""
    tree = tmp_path / "trees" / "linux"
    assert not install.is_held(tree)
    with subprocess.Popen([sys.executable, "-c", WORK_IN_FOLDER, tmp_path], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as builder:
        assert builder.stdin is not None
        assert builder.stdout is not None
        assert builder.stdout.readline() == "compiling\n"
        assert install.is_held(tree)
        with install.locked(tmp_path):
            assert "waiting" not in capfd.readouterr().err
            with install.held(tmp_path, tree.with_name("other")):
                assert "waiting" not in capfd.readouterr().err
            ends = threading.Timer(0.5, builder.stdin.close)
            ends.start()
            with install.held(tmp_path, tree):
                assert builder.stdout.read() == "done\n"
            ends.join()
        assert f"waiting for another build in {tree}" in capfd.readouterr().err
    assert not install.is_held(tree)


def test_work_stays_while_its_set_up_waits_for_a_tree_and_another_one_begins(
        tmp_path: Path) -> None:
    """As that of a build that copies another's tree, for which the lock is released: nothing but
    what a killed set-up left is removed."""
    tree = tmp_path / "trees" / "linux"
    with subprocess.Popen([sys.executable, "-c", WORK_IN_FOLDER, tmp_path], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as builder:
        assert builder.stdin is not None
        assert builder.stdout is not None
        assert builder.stdout.readline() == "compiling\n"
        with install.locked(tmp_path), install.staging(tmp_path) as work:
            (work / "piece").touch()
            (tmp_path / "staging-x").mkdir()
            third = subprocess.Popen([sys.executable, "-c", HOLD_LOCK, tmp_path],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

            def end_builder(stdin: IO[str] = builder.stdin) -> None:
                third.wait()
                stdin.close()

            ends = threading.Thread(target=end_builder)
            ends.start()
            with install.held(tmp_path, tree):
                assert (work / "piece").exists()
            ends.join()
            assert third.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "trees"]


SET_UP_OFTEN = """
import sys
from pathlib import Path
from flent_aqm.setup.install import locked
print("begun", flush=True)
for _ in range(20000):
    with locked(Path(sys.argv[1])):
        pass
"""


def test_work_that_begins_while_another_set_up_does_is_not_lost(tmp_path: Path) -> None:
    """That of the process beside, whose set-up waits: it may be found before it is locked."""
    with subprocess.Popen([sys.executable, "-c", SET_UP_OFTEN, tmp_path], text=True,
                          stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        while other.poll() is None:
            with install.staging(tmp_path) as work:
                (work / "piece").touch()
                assert (work / "piece").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_locked_when_the_cache_cannot_be_made_says_what_to_set(tmp_path: Path) -> None:
    """One line with the folder and the variable."""
    (tmp_path / "file").touch()
    with (pytest.raises(SetupError, match=r"/file: Not a directory; remove .*XDG_CACHE_HOME"),
          install.locked(tmp_path / "file" / "cache")):
        pass


def test_locked_when_something_else_is_in_the_way_names_it(tmp_path: Path) -> None:
    """Where the lock belongs, or a folder for what is built; another's fault stays as it is."""
    (tmp_path / "apt").touch()
    with (pytest.raises(SetupError, match=r"/apt: Not a directory; remove .*XDG_CACHE_HOME"),
          install.locked(tmp_path)):
        (tmp_path / "apt" / "lists").mkdir()
    with pytest.raises(SetupError, match=r"No space left .*; make room"), install.locked(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(FileNotFoundError), install.locked(tmp_path):
        (tmp_path.parent / "absent" / "file").touch()
    with (pytest.raises(SetupError, match="gone: No such file or directory; look why, and run "),
          install.locked(tmp_path)):
        (tmp_path / "gone").unlink()
    (tmp_path / "lock").unlink()
    (tmp_path / "lock").symlink_to("lock")
    with pytest.raises(SetupError, match="remove the symbolic link"), install.locked(tmp_path):
        pass
    (tmp_path / "lock").unlink()
    (tmp_path / "lock").mkdir()
    with pytest.raises(SetupError, match="lock: Is a directory; remove"), install.locked(tmp_path):
        pass
    (tmp_path / "lock").rmdir()
    (tmp_path / "lock").symlink_to("other")
    with (pytest.raises(SetupError, match=r"lock: .*; remove the symbolic link of that name"),
          install.locked(tmp_path)):
        pass


def test_fault_that_no_right_mends_is_not_called_a_lack_of_rights(tmp_path: Path) -> None:
    """Such as a file that is gone, or a failing disk."""
    with (pytest.raises(SetupError, match=r"absent: No such file or directory; look why, and run "),
          install.locked(tmp_path)):
        (tmp_path / "absent").read_bytes()


def test_locked_when_a_pipe_looks_like_left_over_work_does_not_open_it(tmp_path: Path) -> None:
    """Nobody will ever write into it."""
    os.mkfifo(tmp_path / "staging-x")
    with install.locked(tmp_path):
        assert (tmp_path / "staging-x").exists()


def test_publish_when_the_part_is_there_already_keeps_it(tmp_path: Path) -> None:
    """A part in use is never exchanged under its users."""
    for name in ("fresh", "part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "program").write_text(name)
    install.publish(tmp_path / "fresh", tmp_path / "part", Path.is_dir)
    assert (tmp_path / "part" / "program").read_text() == "part"


def test_publish_when_the_part_is_damaged_replaces_it(tmp_path: Path) -> None:
    """And leaves nothing of it."""
    (tmp_path / "part").mkdir()
    with install.staging(tmp_path) as work:
        (work / "fresh").mkdir()
        (work / "fresh" / "program").write_text("fresh")
        install.publish(work / "fresh", tmp_path / "part",
                        lambda folder: (folder / "program").exists())
    assert [path.name for path in tmp_path.iterdir()] == ["part"]
    assert (tmp_path / "part" / "program").read_text() == "fresh"


def test_link_when_there_is_an_older_one_points_to_the_new_target(tmp_path: Path) -> None:
    """An update of a tool moves its name over."""
    for version in ("1", "2"):
        (tmp_path / f"tool-{version}").write_text(version)
        install.link(tmp_path / f"tool-{version}", tmp_path / "bin" / "tool")
    assert (tmp_path / "bin" / "tool").read_text() == "2"
    assert [path.name for path in (tmp_path / "bin").iterdir()] == ["tool"]


def test_require_space_when_there_is_too_little_names_both_sizes(tmp_path: Path) -> None:
    """Found before the download, not after minutes of compiling."""
    with pytest.raises(SetupError, match=r"needs 1000000000\.0 GB in .* GB are free"):
        install.require_space(tmp_path, 10**18, "a build")


def test_require_space_when_only_a_little_is_lacking_shows_that(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not 4.0 GB of which 4.0 GB are free. Root's cache is always the machine's, so root isn't told
    of the variable."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=3_990_000_000))
    with pytest.raises(SetupError, match=r"needs 4\.0 GB in .*, where 3\.9 GB are free; make room, "
                                         r"or set XDG_CACHE_HOME to a folder with more$"):
        install.require_space(tmp_path, 4 * 10**9, "a build")
    with pytest.raises(SetupError, match=r"3\.9 GB are free; make room$"):
        install.require_space(paths.SYSTEM_CACHE, 4 * 10**9, "a build")


HOLD_ANYBODYS = """
import fcntl, sys
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_lock_that_anybody_can_hold_holds_up_no_set_up(tmp_path: Path) -> None:
    """The file of an older version could be opened by all users, and so be locked: a set-up
    takes a new one, which nobody else can open."""
    (tmp_path / "lock").touch()
    (tmp_path / "lock").chmod(0o644)
    code = HOLD_LOCK.replace("sys.stdin.read()", "")
    with subprocess.Popen([sys.executable, "-c", HOLD_ANYBODYS, tmp_path / "lock"], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdin is not None
        assert stranger.stdout.readline() == "held\n"
        done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True,
                              text=True, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "held\n", "")
        stranger.stdin.close()
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_lock_when_others_may_read_the_folder_stays_closed_to_them(tmp_path: Path) -> None:
    """With any umask."""
    before = os.umask(0)
    try:
        with install.locked(tmp_path):
            assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary folders of runs: whose they are, and who removes them."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from flent_aqm.base.errors import LabError
from flent_aqm.lab import guest_files
from flent_aqm.lab.folder import PREFIX, OwnedFolder, remove_abandoned
from flent_aqm.lab.netns import Namespaces
from flent_aqm.spec.scenario import Scenario

MAKE_AND_WAIT = """
import time
from flent_aqm.lab.folder import OwnedFolder
print(OwnedFolder().path, flush=True)
time.sleep(1000)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_folder_of_a_killed_process_is_removed_and_of_a_living_one_kept(temporary: Path) -> None:
    """After kill -9 of its owner, and not before, a folder goes with the next start."""
    with subprocess.Popen([sys.executable, "-c", MAKE_AND_WAIT], text=True,
                          stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        theirs = Path(owner.stdout.readline().strip())
        (theirs / "file").write_text("x")
        ours = OwnedFolder()
        assert {theirs, ours.path} == set(temporary.iterdir())
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        remove_abandoned()
        assert [ours.path] == list(temporary.iterdir())
        ours.remove()
        ours.remove()
    assert list(temporary.iterdir()) == []


def test_others_names_links_and_files_are_left_alone(temporary: Path) -> None:
    """Only folders of that name are ours; a link of that name leads somewhere else."""
    (temporary / "other").mkdir()
    (temporary / f"{PREFIX}link").symlink_to(temporary / "other")
    (temporary / f"{PREFIX}file").write_text("x")
    before = sorted(temporary.iterdir())
    remove_abandoned()
    assert sorted(temporary.iterdir()) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder to another user needs root")
def test_folder_of_another_user_is_left_alone(temporary: Path) -> None:
    """Root sees all folders, and removes its own alone."""
    folder = temporary / f"{PREFIX}theirs"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    remove_abandoned()
    assert folder.exists()


def test_file_system_without_locks_is_told_and_gets_no_folder(
        temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one folder after the other would be made for ever."""
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match=f"no folder in {temporary} can be locked; set TMPDIR"):
        OwnedFolder()
    assert list(temporary.iterdir()) == []


def test_folder_too_deep_for_python_is_removed_all_the_same(
        temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which may end with an error, or without a word and with the folder there."""
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    OwnedFolder().remove()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(("fault", "advice"), [
    (OSError(errno.ENOSPC, "No space left on device", "/x"),
     "/x: No space left on device; make room there, or set TMPDIR to another folder"),
    (shutil.Error([("/a", "/b", "[Errno 28] No space left on device: '/b'")]),
     "No space left on device: '/b'; make room there, or set TMPDIR to another folder"),
    (PermissionError(errno.EACCES, "Permission denied", "/x"),
     "/x: Permission denied; set TMPDIR to another folder"),
    (FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"),
     "found in ['/tmp']; make room there, or set TMPDIR to another folder")])
def test_folder_that_cannot_be_filled_is_no_defect(
        temporary: Path, monkeypatch: pytest.MonkeyPatch, fault: OSError, advice: str) -> None:
    """The user learns where it is, and no folder stays."""
    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(guest_files, "write", fail)
    with pytest.raises(LabError, match=rf"run's folder in {temporary}: .*{re.escape(advice)}$"):
        Namespaces(Scenario(), ["true"])
    assert list(temporary.iterdir()) == []
    monkeypatch.setattr(tempfile, "mkdtemp", fail)
    with pytest.raises(LabError, match=rf"run's folder in {temporary}: .*{re.escape(advice)}$"):
        Namespaces(Scenario(), ["true"])

# SPDX-License-Identifier: GPL-3.0-or-later
"""What a place for a command prints on its console: as much as a disk and a memory take."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from flent_aqm.base.errors import ConfigError, LabError, LabTimeout
from flent_aqm.lab import place
from flent_aqm.lab.place import RunEnvironment
from flent_aqm.spec.scenario import Scenario


class Noisy(RunEnvironment):
    """As a kernel that warns of every packet."""

    name, hidden, real_time, words = "the lab", (), True, "echo first; exec yes more"

    def _command_line(self) -> list[str]:
        return ["sh", "-c", self.words]


def test_console_without_end_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before the limit of time; of what it says the beginning and the end are read."""
    monkeypatch.setattr(place, "MOST_CONSOLE_BYTES", 1 << 20)
    monkeypatch.setattr(place, "_READ_BYTES", 1 << 10)
    with Noisy(Scenario(), ["true"], wall_limit_s=300) as noisy:
        with pytest.raises(LabError, match="printed more than 1 MiB on its console"):
            noisy.run()
        assert noisy.console().startswith("first\nmore\n")
        assert len(noisy.console()) <= 2 << 10


def test_short_console_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line twice where the beginning and the end meet."""
    monkeypatch.setattr(place, "_READ_BYTES", 100)
    monkeypatch.setattr(Noisy, "words", "seq 40")
    with Noisy(Scenario(), ["true"]) as noisy:
        with pytest.raises(LabError, match="ended before its command did: 40"):
            noisy.run()
        assert noisy.console().split() == [str(number) for number in range(1, 41)]


def test_command_stopped_without_a_word_is_not_said_to_be_killed(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """By the signal that stopped it at its limit."""
    monkeypatch.setattr(Noisy, "words", "exec sleep 60")
    with Noisy(Scenario(), ["true"], wall_limit_s=0.5) as silent, \
            pytest.raises(LabTimeout, match=r"0\.5 s of wall time; its console shows nothing$"):
        silent.run()


def test_full_disk_is_named_where_no_status_could_be_written(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor, perhaps, a word on the console."""
    monkeypatch.setattr(Noisy, "words", "exec true")
    monkeypatch.setattr(os, "statvfs", lambda _path: SimpleNamespace(
        f_bavail=0, f_favail=9, f_files=9))
    with Noisy(Scenario(), ["true"]) as full, pytest.raises(LabError, match=(
            f"it ended with status 0; {full.folder.parent} is full: make room there, or set TMP")):
        full.run()


def test_file_that_its_owner_may_not_read_is_made_readable(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by chmod 0 in the lab. Root may read it in any case, so access() is replaced."""
    (tmp_path / "closed").touch(0o100)
    monkeypatch.setattr(os, "access", lambda *_: False)
    place._remove_all_but_files(tmp_path)
    assert (tmp_path / "closed").stat().st_mode & 0o777 == 0o500


def test_folder_for_temporary_files_with_a_blank_is_refused(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On every testbed, so that the lab's kernel alone isn't the reason."""
    (tmp_path / "a b").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "a b"))
    with pytest.raises(ConfigError, match="without blanks, line breaks and commas, for the lab's "
                                          "kernel and scripts; set TMPDIR"):
        Noisy(Scenario(), ["true"])

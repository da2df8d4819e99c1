# SPDX-License-Identifier: GPL-3.0-or-later
"""What set-up brings is found in the same way by all commands."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from flent_aqm.base.errors import ToolMissing
from flent_aqm.setup.tools import find_tool, put_tools_on_path, tool_path


def program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_search_by_name_finds_what_find_tool_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's cache, the machine's, PATH; more than once is as good as once."""
    own = program(tmp_path / "cache" / "flent-aqm" / "bin", "tool-of-test")
    other = program(tmp_path / "bin", "tool-of-test")
    alone = program(tmp_path / "bin", "other-tool-of-test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{other.parent}{os.pathsep}/usr/bin")
    monkeypatch.delenv("FLENT_AQM_HOOKS", raising=False)
    put_tools_on_path()
    path = os.environ["PATH"]
    put_tools_on_path()
    assert os.environ["PATH"] == path
    assert shutil.which("tool-of-test") == str(find_tool("tool-of-test")) == str(own)
    assert shutil.which("other-tool-of-test") == str(alone)


def test_path_inside_of_a_lab_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """There it was put together for the run."""
    monkeypatch.setenv("FLENT_AQM_HOOKS", "/anywhere")
    monkeypatch.setenv("PATH", "/usr/bin")
    put_tools_on_path()
    assert os.environ["PATH"] == "/usr/bin"


def test_program_that_may_not_be_executed_is_not_called_missing_only(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as not found, and nothing is gained by installing it once more."""
    program(tmp_path / "bin", "tool-of-test").chmod(0o644)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(ToolMissing, match=r"^tool-of-test is not installed, not on PATH, or this "
                                          "user may not execute it; see flent-aqm doctor$"):
        tool_path("tool-of-test")

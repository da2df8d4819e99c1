# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of this machine's files a command of the lab gets to see by its words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab import guest_files


def test_labs_own_namespaces_and_outputs_may_be_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this machine has such folders, too. Others of these names can't be reached."""
    monkeypatch.setattr(os.path, "exists", lambda path: True)

    def named(*words: str) -> list[Path]:
        return [*guest_files._named_files(words, Path("/root"), ("/run",))]

    assert named("ls", "/run/netns", "/run/lab/out") == []
    assert set(named("cat", "/run/mine/x")) == {Path("/run/mine")}
    with pytest.raises(ConfigError, match="this machine's /run/results/x can't be reached"):
        named("cat", "/run/results/x")

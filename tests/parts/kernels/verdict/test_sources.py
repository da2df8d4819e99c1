# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels whose sources can't be compared, or that have none."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError, SetupError, ToolMissing
from flent_aqm.parts.kernels import own
from flent_aqm.setup.kernel import coverage, recipe
from flent_aqm.setup.kernel.tree import NOTES


def test_sources_that_cannot_be_compared_are_told_with_their_whole_versions(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's versions may differ at their ends alone."""
    for side, version in (("base", "6.12.48+deb13-1"), ("test", "6.12.48+deb13-2")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "kernel.json").write_text(json.dumps(
            {"package": "linux-source-6.12", "version": version}))
    kernel: Any = None
    monkeypatch.setattr(own, "kernel_folder", lambda _: tmp_path / "test")
    monkeypatch.setattr(own, "origin_of", lambda *_: None)
    with pytest.raises(SetupError, match=r"6\.12\.48\+deb13-1 and linux-source-6\.12 "
                                         r"6\.12\.48\+deb13-2; changed lines"):
        own.changes_of(tmp_path, tmp_path / "base", kernel)


def test_header_of_another_part_than_the_network_is_not_called_unused(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only objects in net/ are searched for headers."""
    kernel: Any = SimpleNamespace(name="mine", tree="tree", command="")
    (tmp_path / "trees" / "tree" / NOTES).mkdir(parents=True)
    (tmp_path / "kernel.json").write_text("{}")
    monkeypatch.setattr(own, "kernel_folder", lambda _: tmp_path)
    monkeypatch.setattr(own, "origin_of", lambda *_: None)
    monkeypatch.setattr(coverage, "files_to_instrument", lambda *_: [])
    with pytest.raises(SetupError, match=r"or a header of one in net/: include/linux/reciprocal"):
        own.build_recording(tmp_path, kernel, ["include/linux/reciprocal_div.h"])


def test_kernel_without_a_source_may_be_given_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                  ) -> None:
    """A kernel may be there: that of a package, or of FLENT_AQM_KERNEL."""
    monkeypatch.setattr(recipe, "stock_source", lambda: None)
    with pytest.raises(ToolMissing, match="run: flent-aqm setup, or give --source"):
        own.build_named(tmp_path, "mine", own.KernelRequest(), "")


def test_options_that_are_neither_a_file_nor_a_word_are_told_both(tmp_path: Path) -> None:
    """As of Debug, in place of debug."""
    with pytest.raises(ConfigError, match=(
            r"^--config: there is no file /.*/Debug; expected one with lines CONFIG_NAME=value, or "
            "one of the words debug and nat$")):
        own.read_options(str(tmp_path / "Debug"))
    assert own.read_options("debug")

# SPDX-License-Identifier: GPL-3.0-or-later
"""The headers of tc, out of a source package with one tarball or another number of them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base import paths
from flent_aqm.base.errors import SetupError
from flent_aqm.setup import tc_plugin


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Debian's, with these tarballs of iproute2: their suffixes are in `suffixes`."""
    top = tmp_path / "iproute2-6.18"
    for name in ("include/a.h", "tc/tc_util.h"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("x")
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr(paths, "caches", lambda: [cache])

    class Archive:
        suffixes: Sequence[str] = ()

        def __init__(self, *_words: object, **_more: object) -> None:
            pass

        def download_source(self, name: str, version: str, folder: Path) -> Path:
            folder.mkdir()
            for suffix in Archive.suffixes:
                subprocess.run(["tar", "-caf", folder / f"{name}_{version}.orig.tar.{suffix}",
                                "-C", tmp_path, top.name], check=True)
            (folder / f"{name}_{version}.orig.tar.xz.asc").write_text("signature")
            return folder

    monkeypatch.setattr(tc_plugin, "DebianArchive", Archive)
    return Archive


@pytest.mark.parametrize(("suffix", "damaged"), [
    ("xz", False), ("gz", False), ("bz2", False), ("xz", True)])
def test_tarball_may_have_any_compression(
        suffix: str, damaged: bool, archive: Any, tmp_path: Path) -> None:
    """A folder that lacks headers, as after a power cut, is replaced."""
    archive.suffixes = [suffix]
    if damaged:
        (tmp_path / "cache" / "iproute2-headers" / "6.18" / "include").mkdir(parents=True)
    headers = tc_plugin.tc_headers(tmp_path / "cache", Path("/x/iproute2-6.18/tc"))
    assert (headers / "include" / "a.h").exists()
    assert (headers / "tc" / "tc_util.h").exists()


@pytest.mark.parametrize("suffixes", [[], ["xz", "gz"]])
def test_other_number_of_tarballs_is_told(suffixes: Sequence[str], archive: Any, tmp_path: Path
                                          ) -> None:
    """With the files that there are."""
    archive.suffixes = suffixes
    with pytest.raises(SetupError, match=rf"^the source of iproute2 6\.18 has {len(suffixes)} "
                                         r"tarballs \*\.orig\.tar\.\*; .*6\.18\.orig\.tar\.xz"):
        tc_plugin.tc_headers(tmp_path / "cache", Path("/x/iproute2-6.18/tc"))


@pytest.mark.parametrize("lost", ["tc", "q_any.so"])
def test_tc_that_lacks_a_file_is_built_again(lost: str, archive: Any, tmp_path: Path) -> None:
    """As after a power cut; one that is whole stays."""
    archive.suffixes = ["xz"]
    cache = tmp_path / "cache"
    tool = cache / "tools" / "iproute2-6.18"
    for path in (tool / "tc", tool / "lib" / "tc"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    (cache / "new-tc").symlink_to(tool)
    files = [("any", b"int any_qdisc_util;\n")]
    folder = cache / "tc" / tc_plugin.build_tc(cache, files)
    before = folder.stat().st_ino
    assert cache / "tc" / tc_plugin.build_tc(cache, files) == folder
    assert folder.stat().st_ino == before
    (folder / lost).unlink()
    assert cache / "tc" / tc_plugin.build_tc(cache, files) == folder
    assert sorted(path.name for path in folder.iterdir()) == ["q_any.so", "tc"]

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


@pytest.mark.parametrize("suffix", ["xz", "gz", "bz2"])
def test_tarball_may_have_any_compression(suffix: str, archive: Any, tmp_path: Path) -> None:
    archive.suffixes = [suffix]
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

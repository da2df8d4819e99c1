# SPDX-License-Identifier: GPL-3.0-or-later
"""The Debian source package, as release/debian/make_source.sh makes it."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from flent_aqm import __version__
from research.bench.checkouts import copy_checkout


@pytest.mark.skipif(shutil.which("dpkg-source") is None, reason="dpkg-dev isn't installed")
def test_folder_has_the_source_package_of_one_version(tmp_path: Path) -> None:
    """Others would be built and published with it. The archive of the crates is not made again."""
    top, folder = copy_checkout(tmp_path / "checkout"), tmp_path / "deb"
    folder.mkdir()
    for name in ("flent-aqm_0.1.0.orig.tar.gz", "flent-aqm_0.1.0.orig-ndt7-client.tar.xz",
                 "flent-aqm_0.1.0-1.debian.tar.xz", "flent-aqm_0.1.0-1.dsc", "other_1.dsc"):
        (folder / name).touch()
    crates = folder / f"flent-aqm_{__version__}.orig-ndt7-client.tar.xz"
    (tmp_path / "ndt7-client").mkdir()
    (tmp_path / "ndt7-client" / "Cargo.toml").touch()
    with tarfile.open(crates, "w:xz") as archive:
        archive.add(tmp_path / "ndt7-client", "ndt7-client")
    before = crates.read_bytes()
    subprocess.run([top / "release" / "debian" / "make_source.sh", folder], check=True)
    left = {path.name for path in folder.iterdir()}
    assert not [name for name in left if "0.1.0" in name]
    assert left >= {crates.name, f"flent-aqm_{__version__}.orig.tar.gz", "other_1.dsc"}
    assert crates.read_bytes() == before

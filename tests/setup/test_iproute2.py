# SPDX-License-Identifier: GPL-3.0-or-later
"""The newer tc: taken out of packages, made to run with its own C library, and found again."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from flent_aqm.base import paths
from flent_aqm.base.errors import SetupError, ToolMissing
from flent_aqm.setup import iproute2
from flent_aqm.setup.apt import Package
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep import preflight

needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg is not installed")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# Stands in for the C library's loader: runs the program with what comes behind it.
LOADER = """#!/bin/sh
[ "$1" = --library-path ] && [ -e "$2/libmnl.so.0" ] || exit 1
shift 2
exec sh "$@"
"""


class Archive:
    """Packages with programs that are shell scripts. version: of the tc among them."""

    def __init__(self, folder: Path, version: str) -> None:
        self._folder = folder
        self._files = {
            "iproute2": {"usr/sbin/tc": f"#!/bin/sh\necho tc utility, iproute2-{version}\n"},
            "libc6": {f"{LIBRARIES}/ld-linux-x86-64.so.2": LOADER},
            "libmnl0": {f"{LIBRARIES}/libmnl.so.0": ""},
        }

    def newest(self, name: str) -> Package:
        """Of each package there is one version."""
        return Package(name, "7.2.0-1")

    def download(self, package: Package, folder: Path) -> Path:
        """Make it."""
        root = self._folder / package.name
        for name, text in self._files.get(package.name, {}).items():
            path = root / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
            path.chmod(0o755)
        control = root / "DEBIAN" / "control"
        control.parent.mkdir(parents=True)
        control.write_text(f"Package: {package.name}\nVersion: {package.version}\n"
                           "Architecture: amd64\nMaintainer: Nobody <a@b.test>\nDescription: x\n")
        folder.mkdir()
        subprocess.run(["dpkg-deb", "-b", root, folder], check=True, capture_output=True)
        deb, = folder.glob("*.deb")
        return deb


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, the only one there is; and no tc on PATH."""
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setattr(paths, "SYSTEM_CACHE", tmp_path / "none")
    monkeypatch.setattr(paths, "user_cache", lambda: folder)
    monkeypatch.setattr(iproute2, "find_program", lambda name: None)
    return folder


@needs_dpkg
def test_new_tc_when_fetched_runs_and_is_found(cache: Path, tmp_path: Path) -> None:
    """By the link in the cache, from another folder, with the libraries beside it."""
    assert not iproute2.new_tc_is_there()
    iproute2.set_up_new_tc(cache, Archive(tmp_path / "debs", "6.18.0"))  # type: ignore[arg-type]
    tc = iproute2.find_new_tc()
    assert tc == cache / "new-tc" / "tc"
    assert iproute2.tc_version(tc) == (6, 18)
    assert [path.name for path in (cache / "tools").iterdir()] == ["iproute2-7.2.0-1"]


@needs_dpkg
def test_damaged_new_tc_does_not_hide_the_systems(cache: Path, tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is new enough."""
    iproute2.set_up_new_tc(cache, Archive(tmp_path / "debs", "6.18.0"))  # type: ignore[arg-type]
    system = tmp_path / "tc"
    system.write_text("#!/bin/sh\necho 'tc utility, iproute2-6.19.0'\n")
    system.chmod(0o755)
    monkeypatch.setattr(iproute2, "find_program", lambda name: system)
    assert iproute2.find_new_tc() == cache / "new-tc" / "tc"
    (cache / "tools" / "iproute2-7.2.0-1" / "lib" / "tc").write_text("")
    assert iproute2.find_new_tc() == system


@needs_dpkg
def test_new_tc_when_damaged_is_fetched_again(cache: Path, tmp_path: Path) -> None:
    """Into its place."""
    iproute2.set_up_new_tc(cache, Archive(tmp_path / "debs", "6.18.0"))  # type: ignore[arg-type]
    program = cache / "tools" / "iproute2-7.2.0-1" / "lib" / "tc"
    program.write_text("")
    assert not iproute2.new_tc_is_there()
    iproute2.set_up_new_tc(cache, Archive(tmp_path / "again", "6.18.0"))  # type: ignore[arg-type]
    assert iproute2.new_tc_is_there()
    assert [path.name for path in (cache / "tools").iterdir()] == ["iproute2-7.2.0-1"]


@needs_dpkg
@pytest.mark.parametrize(("version", "message"), [
    ("6.17.0", r"is of iproute2 6\.17, older than 6\.18; install iproute2 6\.18 or newer yourself"),
    ("ss200127", r"can't be used: it prints no version of the expected form; install iproute2"),
    ("; exit 3", r"can't be used: /.*/tc -V: ended with status 3: .*; install iproute2")])
def test_new_tc_when_too_old_or_broken_is_not_kept(
        cache: Path, tmp_path: Path, version: str, message: str) -> None:
    """Told in one line, and nothing is found afterwards."""
    with pytest.raises(SetupError, match=message):
        iproute2.set_up_new_tc(
            cache, Archive(tmp_path / "debs", version))  # type: ignore[arg-type]
    assert not iproute2.new_tc_is_there()


@needs_dpkg
def test_package_without_tc_where_it_was_is_told_in_one_line(cache: Path, tmp_path: Path) -> None:
    """Such as after a move to another folder."""
    archive = Archive(tmp_path / "debs", "6.18.0")
    archive._files["iproute2"] = {"usr/libexec/tc": "#!/bin/sh\n"}
    with pytest.raises(SetupError, match=r"iproute2 7\.2\.0-1 has no sbin/tc; install"):
        iproute2.set_up_new_tc(cache, archive)  # type: ignore[arg-type]
    assert not iproute2.new_tc_is_there()


def test_sweep_with_dualpi2_without_new_tc_is_refused(
        cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first run; but on a router behind ssh it is the router's tc that counts."""
    def cell(testbed: str) -> Cell:
        requested = Scenario().but(aqm="dualpi2", testbed=testbed)
        return Cell("x", tmp_path, "ping", requested, {}, {}, {}, 1.0)

    monkeypatch.setattr(preflight, "check_tools", lambda names: None)
    monkeypatch.setattr(preflight, "needs_of_run", lambda *what: type("Needs", (), {"tools": ()}))
    with pytest.raises(ToolMissing, match=r"aqm dualpi2: it needs .* tc of iproute2 6\.18, and "):
        preflight.check([cell("virtual")])
    preflight.check([cell("ssh://root@192.0.2.1")])

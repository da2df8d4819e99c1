# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab out of a wheel: found, run, and refused where it is another version's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flent_aqm.base import paths
from flent_aqm.base.errors import ToolMissing
from flent_aqm.setup.apt import Package
from flent_aqm.setup.install import find_tool_link
from flent_aqm.setup.kernel import build, locate, recipe
from flent_aqm.setup.kernel.recipe import KernelSource
from release.build_backend import lab_papers, lab_wheel
from release.build_backend.flent_aqm_backend import write_wheel

from .conftest import Env

SOURCE = KernelSource("linux-source-9.9", "9.9.1-1")
INFO = "flent_aqm_lab-0.dist-info"


def lab_of_this_machine(folder: Path) -> Path:
    """A wheel with the programs of this machine's cache, without their papers."""
    irtt = find_tool_link("irtt")
    assert irtt is not None
    files, executable = {}, set()
    for name, path in lab_wheel.parts(irtt.parents[2]):
        files[f"{paths.READY_MADE}/{name}"] = path.read_bytes()
        if path.stat().st_mode & 0o100:
            executable.add(f"{paths.READY_MADE}/{name}")
    files[f"{paths.READY_MADE}/{recipe.CHOICE}"] = json.dumps(
        recipe.read_choices()[0].__dict__).encode()
    files[f"{INFO}/METADATA"] = b"Metadata-Version: 2.1\nName: flent-aqm-lab\nVersion: 0\n"
    wheel = folder / "flent_aqm_lab-0-py3-none-linux_x86_64.whl"
    write_wheel(wheel, INFO, files, executable, lab_wheel.TAG)
    return wheel


@pytest.mark.lab
def test_both_wheels_without_compiler_or_cache_run_the_lab(
    wheel: Path, fresh: Env, tmp_path: Path
) -> None:
    """Every built part is the wheel's, set-up has nothing to do, and a guest boots with them.
    A folder of the machine's cache is no help: only what the package needs is on PATH."""
    fresh.install(wheel)
    fresh.install(lab_of_this_machine(tmp_path))
    bins = tmp_path / "bins"
    bins.mkdir()
    for name in ("sh", "ip", "tc", "sysctl", "ethtool", "iperf3", "netserver", "tcpdump"):
        if program := shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin"):
            (bins / name).symlink_to(program)
    environ = {"PATH": str(bins), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    parts = json.loads(fresh.run("flent-aqm", "doctor", "--json", environ=environ).out)
    where = {part["name"]: part["where"] for part in parts}
    lab = str(fresh.site / paths.READY_MADE)
    for name in ("lab kernel", "irtt", "ndt7-client", "tc for dualpi2"):
        assert where[name].startswith(lab), name
    assert {part["name"]: part["version"] for part in parts}["ndt7-client"] == "0.3.1-1"
    ended = fresh.run("flent-aqm", "setup", environ=environ)
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    assert not (tmp_path / "cache" / "flent-aqm").exists()
    booted = fresh.run("flent-aqm", "lab", "--aqm", "dualpi2", "--", "sh", "-c",
                       "readlink -f $(command -v irtt) $(command -v ndt7-client) "
                       "$(command -v tc); irtt client -i 10ms -d 100ms server | tail -n 3",
                       environ=environ)
    assert booted.status == 0, booted.err
    assert [line.rsplit("/", 2)[1:] for line in booted.out.splitlines()[:3]] == [
        [irtt_folder(where), "irtt"], ["ndt7-client-0.3.1-1", "ndt7-client"], ["new-tc", "tc"]]
    assert "timer stats: 0/10" in booted.out


def irtt_folder(where: dict[str, str]) -> str:
    return Path(where["irtt"]).parent.name


@pytest.fixture
def other_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed flent-aqm-lab whose kernel has other patches than ours; nothing else."""
    folder = tmp_path / paths.READY_MADE
    kernel = folder / "kernels" / "0123456789abcdef" / "linux"
    kernel.parent.mkdir(parents=True)
    kernel.touch()
    (folder / recipe.CHOICE).write_text(json.dumps(SOURCE.__dict__))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(locate.VARIABLE, raising=False)
    monkeypatch.setattr(paths, "SYSTEM_CACHE", tmp_path / "none")
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "flent_aqm")
    return folder


def test_kernel_of_another_version_is_not_used_and_told(other_version: Path) -> None:
    """One line says whose it is, and what to run."""
    assert not build.kernel_is_there()
    with pytest.raises(ToolMissing, match="of the installed flent-aqm-lab has other options or "
                                          "patches than this flent-aqm; run: flent-aqm setup"):
        locate.find_kernel()


def test_set_up_with_the_kernel_of_another_version_says_so_and_compiles(
    other_version: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str]
) -> None:
    """The source is the one that the archive has."""
    built = []
    monkeypatch.setattr(build, "_build_lab_kernel",
                        lambda cache, archive, wanted: built.append(wanted.source))

    class Archive:
        def versions(self, pattern: str) -> list[Package]:
            return [Package("linux-source-9.9", "9.9.2-1")]

    cache = paths.user_cache()
    cache.mkdir(parents=True)
    build.set_up_kernel(cache, Archive())  # type: ignore[arg-type]
    assert "flent-aqm-lab has other options or patches than this flent-aqm; compiling one" in (
        capsys.readouterr().err)
    assert built == [KernelSource("linux-source-9.9", "9.9.2-1")]


def test_kernel_of_our_version_is_found_beside_the_package(other_version: Path) -> None:
    """By the same hash that set-up names its own by."""
    fitting = other_version / "kernels" / recipe.current_recipe(SOURCE).hash / "linux"
    fitting.parent.mkdir()
    fitting.write_text("#!/bin/sh\n")
    fitting.chmod(0o755)
    assert locate.find_kernel().path == fitting
    assert build.kernel_is_there()


def test_sources_name_all_that_is_linked_in() -> None:
    """The kernel's, each program's, and those of libraries that went into a Go program."""
    from flent_aqm.setup.debs import Deb

    deb = Deb("irtt", "0.9-1+b2", "irtt", "0.9-1", "golang-1.26 (= 1.26.2-1), x-y (= 1:2)")
    assert lab_papers.sources(SOURCE, [deb]).splitlines() == [
        "deb linux-source-9.9 9.9.1-1", "dsc golang-1.26 1.26.2-1", "dsc irtt 0.9-1",
        "dsc x-y 1:2", "crate ndt7-client 0.3.1"]


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg is not installed")
def test_unpacked_package_leaves_its_papers(tmp_path: Path) -> None:
    """Source, version and licence stand beside the program."""
    from flent_aqm.setup import debs

    root = tmp_path / "root"
    control = ("Package: one\nVersion: 2-1+b1\nSource: other (2-1)\nArchitecture: amd64\n"
               "Maintainer: N <a@b.test>\nDescription: x\n")
    for name, text in (("DEBIAN/control", control), ("usr/share/doc/one/copyright", "free")):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    subprocess.run(["dpkg-deb", "-b", root, tmp_path / "one.deb"], check=True,
                   capture_output=True)
    papers = tmp_path / "papers"
    papers.mkdir()
    debs.unpack([tmp_path / "one.deb"], tmp_path / "tree", papers=papers)
    assert json.loads((papers / debs.PACKAGES).read_text()) == [
        {"package": "one", "version": "2-1+b1", "source": "other", "source_version": "2-1",
         "built_using": ""}]
    assert (papers / debs.LICENCES / "one").read_text() == "free"
    assert os.listdir(papers / debs.LICENCES) == ["one"]

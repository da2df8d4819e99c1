# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel's source out of a repository or folder of the user's, which nothing is written to.
Small trees with the real git; the build itself is tests/parts/kernels/test_own_kernel.py's."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError, SetupError, ToolMissing
from flent_aqm.setup.apt import DebianArchive, Package
from flent_aqm.setup.kernel.sources import (
    GitOrigin,
    GitTree,
    InstalledOrigin,
    _unpack,
    absolute_source,
    commit_of,
    parse_origin,
)
from flent_aqm.setup.kernel.tree import KernelTree
from flent_aqm.setup.progress import Progress


def git(place: Path, *words: str) -> str:
    """Run git as somebody."""
    return subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.net", *words], cwd=place,
        check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source of two files, in no repository, with an object that is none of it."""
    place = tmp_path / "linux"
    place.mkdir()
    (place / "Kconfig").write_text("config A\n")
    (place / "sch.c").write_text("one\n")
    (place / ".gitignore").write_text("*.o\n")
    (place / "sch.o").write_text("object\n")
    return place


@pytest.fixture
def repository(source: Path) -> Path:
    """The same as a repository with two commits, `old` and main."""
    git(source, "init", "-qb", "main")
    git(source, "add", ".")
    git(source, "commit", "-qm", "one")
    git(source, "tag", "old")
    (source / "sch.c").write_text("two\n")
    git(source, "commit", "-qam", "two")
    git(source, "branch", "bare", git(source, "commit-tree", "-m", "none", git(
        source, "hash-object", "-t", "tree", "-w", os.devnull)))
    return source


def fill(origin: GitOrigin, tree: Path) -> None:
    """As a build does, with a change of the lab's."""
    tree.mkdir(exist_ok=True)
    kept = KernelTree(tree)
    kept.take_back()
    origin.fill(tree, tree, Progress("kernel"))
    kept.append("Kconfig", "config B\n")
    kept.set_times()


@pytest.mark.parametrize(("makefile", "series"), [
    ("# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n", "6.12"),
    ("all:\n\techo\n", ""), (None, ""),
])
def test_series_of_a_commit_is_what_its_makefile_says(
        repository: Path, tmp_path: Path, makefile: str | None, series: str) -> None:
    """Not that of the files as they are now."""
    if makefile is not None:
        (repository / "Makefile").write_text(makefile)
        git(repository, "add", ".")
        git(repository, "commit", "-qm", "version")
    (repository / "Makefile").write_text("VERSION = 1\nPATCHLEVEL = 0\n")
    assert GitOrigin(tmp_path / "trees", repository, "main").series == series
    assert GitOrigin(tmp_path / "trees", repository, None).series == "1.0"


def test_commits_change_in_a_kept_tree_only_what_differs(repository: Path, tmp_path: Path) -> None:
    """What is patched in both keeps its time; the repository stays as it is."""
    before = {path: path.stat().st_mtime_ns for path in repository.rglob("*") if path.is_file()}
    tree = tmp_path / "tree"
    old = GitOrigin(tmp_path / "trees", repository, "old")
    fill(old, tree)
    assert (tree / "sch.c").read_text() == "one\n"
    assert not (tree / "sch.o").exists()
    times = [(tree / name).stat().st_mtime_ns for name in ("Kconfig", "sch.c")]
    new = GitOrigin(tmp_path / "trees", repository, "main")
    assert (new.folder, new.source.version) == (old.folder, git(repository, "rev-parse",
                                                                "main^{tree}"))
    fill(new, tree)
    assert (tree / "sch.c").read_text() == "two\n"
    assert (tree / "Kconfig").read_text() == "config A\nconfig B\n"
    after = [(tree / name).stat().st_mtime_ns for name in ("Kconfig", "sch.c")]
    assert after[0] == times[0]
    assert after[1] != times[1]
    assert {path: path.stat().st_mtime_ns for path in repository.rglob("*")
            if path.is_file()} == before


def test_repository_that_is_gone_is_named(repository: Path, tmp_path: Path) -> None:
    """git names only set-up's own repository, and an object."""
    trees = tmp_path / "trees"
    origin = GitOrigin(trees, repository, "main")
    repository.rename(tmp_path / "moved")
    with pytest.raises(SetupError, match=rf"the repository {re.escape(str(repository))}/\.git is "
                                         r"gone, .*: put it back, or build the kernel again"):
        GitTree(trees, origin.folder, origin.tree_id).changed_since(origin.commit)


def test_changed_files_may_have_names_that_are_not_ascii(repository: Path, tmp_path: Path
                                                          ) -> None:
    """Quoted ones would be names of no file."""
    (repository / "sch_größe.c").write_text("mine\n")
    (repository / 'sch "b" c.h').write_text("too\n")
    old = GitOrigin(tmp_path / "trees", repository, "old")
    new = GitOrigin(tmp_path / "trees", repository, None)
    assert new.changed_since(old.tree_id) == {
        "sch.c": (b"one\n", b"two\n"), "sch_größe.c": (None, b"mine\n"),
        'sch "b" c.h': (None, b"too\n")}
    assert old.changed_since(new.tree_id) == {
        name: (now, then) for name, (then, now) in new.changed_since(old.tree_id).items()}


def test_a_tree_is_taken_as_it_is_now_committed_or_not(repository: Path, tmp_path: Path) -> None:
    """With new files, without objects; the same content has the same name again."""
    committed = GitOrigin(tmp_path / "trees", repository, None)
    (repository / "sch.c").write_text("three\n")
    (repository / "sch_foo.c").write_text("foo\n")
    dirty = GitOrigin(tmp_path / "trees", repository, None)
    assert dirty.source != committed.source
    fill(dirty, tmp_path / "tree")
    assert (tmp_path / "tree" / "sch_foo.c").read_text() == "foo\n"
    assert (tmp_path / "tree" / "sch.c").read_text() == "three\n"
    assert not (tmp_path / "tree" / "sch.o").exists()
    assert git(repository, "status", "--porcelain").split() == ["M", "sch.c", "??", "sch_foo.c"]
    git(repository, "checkout", "-q", "sch.c")
    os.unlink(repository / "sch_foo.c")
    assert GitOrigin(tmp_path / "trees", repository, None).source == committed.source


def test_an_unpacked_source_package_is_taken_whole(source: Path, tmp_path: Path) -> None:
    """Debian's .gitignore leaves out everything; objects still are no source."""
    (source / ".gitignore").write_text("*.o\n/*\n!/debian/\n")
    fill(GitOrigin(tmp_path / "trees", source, None), tmp_path / "tree")
    assert (tmp_path / "tree" / "sch.c").read_text() == "one\n"
    assert not (tmp_path / "tree" / "sch.o").exists()
    # Also what comes or changes after the first build.
    (source / "sch.c").write_text("two\n")
    (source / "sch_foo.c").write_text("foo\n")
    fill(GitOrigin(tmp_path / "trees", source, None), tmp_path / "tree")
    assert (tmp_path / "tree" / "sch.c").read_text() == "two\n"
    assert (tmp_path / "tree" / "sch_foo.c").read_text() == "foo\n"
    assert not (tmp_path / "tree" / "sch.o").exists()


def test_a_folder_in_no_repository_is_taken_too(source: Path, tmp_path: Path) -> None:
    """And has no commits."""
    origin = GitOrigin(tmp_path / "trees", source, None)
    fill(origin, tmp_path / "tree")
    assert (tmp_path / "tree" / "sch.c").read_text() == "one\n"
    assert not (source / ".git").exists()
    with pytest.raises(ConfigError, match=r"commit 'v9': fatal: not a git repository"):
        GitOrigin(tmp_path / "trees", source, "v9")


def test_folder_below_the_top_of_a_repository_is_told_with_the_top(
        repository: Path, tmp_path: Path) -> None:
    """git's own refusals have other causes, such as another owner."""
    (repository / "net").mkdir()
    with pytest.raises(ConfigError, match=rf"'v1': the top folder of its repository is "
                                          rf"{re.escape(str(repository))}; give that$"):
        GitOrigin(tmp_path / "trees", repository / "net", "v1")


@pytest.mark.parametrize(("text", "output"), [
    ("linux", "has no Kconfig|is neither a package"),
    ("/nowhere@v7.3", "'/nowhere': No such file or directory; .*: clone it first, if there is"),
    ("https://git.example/linux.git@v6.6", "'https://git.example/linux.git': No such .*clone"),
    ("linux-source-x", "with a kernel's source, nor REPOSITORY@REF; give one of these, "),
    ("x" * 300, "is neither a package such as"),
    (__file__, r"a kernel's source \(as a path: Not a directory\), nor REPOSITORY@REF; .* unpack"),
    ("x" * 300 + "@v7.3", "x': File name too long; "),
    ("REPOSITORY@v9.9", "has no commit 'v9.9'"),
    ("REPOSITORY@--all", "has no commit '--all'"),
    ("REPOSITORY@bare", "the commit 'bare' of .*/linux has no Kconfig; expected a commit of a "),
])
def test_what_is_no_source_is_refused(
    repository: Path, tmp_path: Path, text: str, output: str
) -> None:
    """In one line that says what is expected."""
    with pytest.raises(ConfigError, match=output):
        parse_origin(text.replace("REPOSITORY", str(repository)), tmp_path,
                     DebianArchive(tmp_path))


@pytest.mark.parametrize(("text", "absolute"), [
    ("linux-source-6.18", "linux-source-6.18"), ("linux-source-6.18=6.18.3-1",
                                                 "linux-source-6.18=6.18.3-1"),
    ("linux", "HERE/linux"), ("linux@v6.18", "HERE/linux@v6.18"), ("a@b", "HERE/a@b"),
    ("/src/linux@v1", "/src/linux@v1")])
def test_source_in_a_kernels_description_means_the_same_in_any_folder(
        text: str, absolute: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package stays one, even if the folder has something of its name."""
    monkeypatch.chdir(tmp_path)
    for name in ("linux", "a@b", "linux-source-6.18"):
        (tmp_path / name).mkdir()
    assert absolute_source(text) == absolute.replace("HERE", str(tmp_path))


def test_short_hash_of_several_commits_asks_for_more_digits(tmp_path: Path) -> None:
    """Of 1500 commits, some begin with the same four digits. "No commit" would be false."""
    repository = tmp_path / "many"
    git(tmp_path, "init", "-q", str(repository))
    subprocess.run(["git", "-C", repository, "fast-import", "--quiet"], check=True, text=True,
                   input="".join(f"commit refs/heads/many\ncommitter a <a@b> {number} +0000\n"
                                 f"data {len(str(number))}\n{number}\n" for number in range(1500)))
    beginnings = Counter(one[:4] for one in git(repository, "log", "--format=%H", "many").split())
    several = next(one for one, count in beginnings.items() if count > 1)
    with pytest.raises(ConfigError, match=(
            f"^--source: several commits of {repository} begin with '{several}'; give more ")):
        commit_of("--source", repository, several)
    free = next(one for one in ("dead", "beef", "cafe", "f00d") if one not in beginnings)
    with pytest.raises(ConfigError, match=f"has no commit '{free}'; give a hash"):
        commit_of("--source", repository, free)


def test_short_hash_of_other_objects_is_not_called_one_of_commits(
        repository: Path, tmp_path: Path) -> None:
    """More digits would not help."""
    for number in range(1500):
        (tmp_path / f"{number}").write_text(f"{number}\n")
    hashes = git(repository, "hash-object", "-w",
                 *(str(tmp_path / f"{number}") for number in range(1500))).split()
    commits = {one[:4] for one in git(repository, "log", "--all", "--format=%H").split()}
    several = next(one for one, count in Counter(each[:4] for each in hashes).items()
                   if count > 1 and one not in commits)
    with pytest.raises(ConfigError, match=f"has no commit '{several}'; give a hash"):
        commit_of("--source", repository, several)


class _Archive:
    """Stands for Debian's: two versions of one package, and another package."""

    def versions(self, name_pattern: str) -> list[Package]:
        return [Package("linux-source-7.2", "7.2.13-1"),
                Package("linux-source-7.2", "7.2.6-1~bpo13+1"),
                Package("linux-source-6.12", "6.12.107-1")]


def test_version_of_debian_is_the_newest_or_the_one_that_is_named(tmp_path: Path) -> None:
    """One that isn't there is refused with those that are."""
    def version(text: str) -> str:
        archive: Any = _Archive()
        return parse_origin(text, tmp_path, archive).source.version

    assert version("linux-source-7.2") == "7.2.13-1"
    assert version("linux-source-7.2=7.2.6-1~bpo13+1") == "7.2.6-1~bpo13+1"
    with pytest.raises(ConfigError, match=r"no linux-source-7\.2 7\.2\.1-1; they have 7\.2\.13"):
        version("linux-source-7.2=7.2.1-1")
    with pytest.raises(ConfigError, match=r"^--source: Debian's suites have no linux-source-6\.18; "
                                          r"they have linux-source-7\.2, linux-source-6\.12$"):
        version("linux-source-6.18")


def test_installed_package_is_unpacked_once(tmp_path: Path) -> None:
    """Of a package that dpkg knows, with the tarball where packages of kernels have theirs."""
    (tmp_path / "linux-source" / "kernel").mkdir(parents=True)
    (tmp_path / "linux-source" / "kernel" / "Kconfig").write_text("config A\n")
    subprocess.run(["tar", "-cJf", "dpkg.tar.xz", "linux-source"], cwd=tmp_path, check=True)
    origin = InstalledOrigin("dpkg", tmp_path)
    assert origin.source.version[0].isdigit()
    tree = tmp_path / "tree"
    tree.mkdir()
    origin.fill(tree, tmp_path, Progress("kernel"))
    (tree / "kernel" / "Kconfig").write_text("ours\n")
    origin.fill(tree, tmp_path, Progress("kernel"))
    assert (tree / "kernel" / "Kconfig").read_text() == "ours\n"


def test_program_that_unpacks_is_asked_for_by_its_name(tmp_path: Path) -> None:
    """xz and dpkg-deb are on each Debian, but not elsewhere."""
    with pytest.raises(ToolMissing, match=r"^no-such-xz is not installed, or not on PATH; see"):
        _unpack([["no-such-xz", "-dc"]], tmp_path)
    (tmp_path / "xz").touch()
    with pytest.raises(ToolMissing, match="xz can't be started: Permission denied; give it the"):
        _unpack([[str(tmp_path / "xz"), "-dc"]], tmp_path)


def test_files_of_other_machines_are_not_unpacked(tmp_path: Path) -> None:
    """But what tells kconfig and make of them, and all of User-Mode Linux."""
    kept = {"arch/arm/Kconfig", "arch/um/kernel/um_arch.c", "arch/x86/um/tsc.c", "arch/Kconfig",
            "drivers/usb/Makefile", "drivers/tty/tty_io.c", "drivers/net/veth.c", "fs/usb.c",
            "rust/Makefile", "lib/raid6/rvv.h"}
    for name in {*kept, "arch/arm/mm/init.c", "tools/arch/arm64/lib/head.S", "rust/kernel/lib.rs",
                 "drivers/usb/core/usb.c", "drivers/net/ethernet/a/b.h"}:
        (tmp_path / "linux-source" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "linux-source" / name).touch()
    subprocess.run(["tar", "-cJf", "dpkg.tar.xz", "linux-source"], cwd=tmp_path, check=True)
    tree = tmp_path / "tree"
    tree.mkdir()
    InstalledOrigin("dpkg", tmp_path).fill(tree, tmp_path, Progress("kernel"))
    assert {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()} == kept


def test_package_that_is_not_installed_is_refused(tmp_path: Path) -> None:
    """By its name; so is one without a tarball."""
    for name in ("linux-source-0.0", "dpkg"):
        with pytest.raises(SetupError, match=f"{name} is not installed, or lacks"):
            InstalledOrigin(name, tmp_path)

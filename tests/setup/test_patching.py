# SPDX-License-Identifier: GPL-3.0-or-later
"""Patches that a kernel source takes, by the real patch on a small tree; and which source is
taken where some don't fit. Debian's archive and the build are stood in for: a kernel takes
minutes."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

from flent_aqm.base.errors import CommandFailed, SetupError
from flent_aqm.setup import parts
from flent_aqm.setup.apt import DebianArchive, Package
from flent_aqm.setup.kernel import build, patching, recipe
from flent_aqm.setup.kernel.locate import Kernel
from flent_aqm.setup.kernel.named import NamedKernel, save
from flent_aqm.setup.kernel.patching import PatchDoesntFit
from flent_aqm.setup.kernel.recipe import Recipe
from flent_aqm.setup.kernel.tree import KernelTree

OPTIONAL = next(iter(patching.OPTIONAL))
LINES = [f"line {number}\n" for number in range(20)]


def patch_of(change: dict[int, str], lines: list[str]) -> bytes:
    """A patch of the file that changes these lines of it."""
    changed = [change.get(number, line) for number, line in enumerate(lines)]
    return "".join(difflib.unified_diff(lines, changed, "a/file", "b/file")).encode()


FIRST, SECOND = patch_of({2: "two\n"}, LINES), patch_of({15: "fifteen\n"}, LINES)
# Two changes of which the second fits nowhere.
HALF = patch_of({2: "2\n", 17: "17\n"}, [*LINES[:16], "no such line\n", *LINES[17:]])


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source of one file."""
    (tmp_path / "file").write_text("".join(LINES))
    return tmp_path


def test_optional_patch_that_does_not_fit_is_left_out_whole(tree: Path) -> None:
    """Its half that would fit isn't applied; what comes behind it is."""
    patches = [("0001-a.patch", FIRST), (OPTIONAL, HALF), ("0009-b.patch", SECOND)]
    applied = patching.apply_all(tree, patches, keep=KernelTree(tree).keep)
    assert [name for name, _content in applied] == ["0001-a.patch", "0009-b.patch"]
    text = (tree / "file").read_text()
    assert text == "".join(LINES).replace("line 2\n", "two\n").replace("line 15\n", "fifteen\n")
    assert list(tree.glob("*.rej")) == list(tree.glob("*.orig")) == []
    without = patching.left_out(patches, applied)
    assert without == [OPTIONAL]
    assert patching.cost_of(without) == (
        f"without {OPTIONAL.removesuffix('.patch')}: {patching.OPTIONAL[OPTIONAL].cost}")


def test_patch_that_fails_for_another_reason_is_not_left_out(
        tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, say: a kernel without it would be built, and nobody told."""
    (tree / "patch").write_text("#!/bin/sh\necho 'patch: **** write error' >&2\nexit 2\n")
    (tree / "patch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tree}:{os.environ['PATH']}")
    with pytest.raises(CommandFailed, match="write error"):
        patching.apply_all(tree, [(OPTIONAL, FIRST)], keep=KernelTree(tree).keep)


@pytest.mark.parametrize("content", [FIRST[:-8], b"no patch"])
def test_damaged_patch_does_not_fit(tree: Path, content: bytes) -> None:
    """By its own name, however patch says it."""
    with pytest.raises(PatchDoesntFit, match="mine"):
        patching.apply_own(tree, "mine", content, keep=KernelTree(tree).keep)
    assert (tree / "file").read_text() == "".join(LINES)


def test_bytes_of_a_patch_that_are_not_utf_8_are_applied_as_they_are(tree: Path) -> None:
    """Its author's name, a comment, and the name of a new file, which is taken back."""
    patch = ("From: Jürgen\n".encode("latin-1") + FIRST.replace(b"two", "zwölf".encode("latin-1"))
             + "--- /dev/null\n+++ b/größe.c\n@@ -0,0 +1 @@\n+x\n".encode("latin-1"))
    kept = KernelTree(tree)
    patching.apply_own(tree, "mine", patch, keep=kept.keep)
    new = tree / os.fsdecode("größe.c".encode("latin-1"))
    assert "zwölf\n".encode("latin-1") in (tree / "file").read_bytes()
    assert new.read_text() == "x\n"
    kept.append("file", f"{new.name}\n")
    assert (tree / "file").read_bytes().endswith("größe.c\n".encode("latin-1"))
    kept.set_times()
    kept.take_back()
    assert not new.exists()
    assert (tree / "file").read_text() == "".join(LINES)


def test_optional_patch_is_left_out_with_those_that_need_it(tree: Path) -> None:
    """By text alone they would fit."""
    name, needing = next((needed, name) for name, one in patching.OPTIONAL.items()
                         for needed in one.needs)
    patches = [(name, HALF), (needing, FIRST), ("0009-b.patch", SECOND)]
    applied = patching.apply_all(tree, patches, keep=KernelTree(tree).keep)
    assert patching.left_out(patches, applied) == [name, needing]
    assert "two\n" not in (tree / "file").read_text()


def test_required_patch_that_does_not_fit_is_refused_by_name(tree: Path) -> None:
    """With what patch says."""
    with pytest.raises(PatchDoesntFit, match=r"0001-a.patch doesn't fit .* file: Hunk #2 FAILED"):
        patching.apply_all(tree, [("0001-a.patch", HALF)], keep=KernelTree(tree).keep)


@pytest.mark.parametrize(("content", "why"), [
    (FIRST + b"--- a/net/gone.c\n+++ b/net/gone.c\n@@ -1 +1 @@\n-x\n+y\n",
     r"fit the source: the source has no net/gone\.c$"),
    (FIRST + b"--- /dev/null\n+++ b/file\n@@ -0,0 +1 @@\n+x\n",
     r"fit the source: The next patch would create the file file, which already exists!"),
    (FIRST + b"--- a/file\n+++ /dev/null\n@@ -1 +0,0 @@\n-line 0\n",
     "fit the source: file: Not deleting file file as content differs from patch$"),
    (FIRST.replace(b" line 3", b"garbage"),
     "^mine is damaged: malformed patch at the line 'garbage'; expected it as git diff or "),
    (FIRST + b"--- net/gone.c\n+++ net/gone.c\n@@ -1 +1 @@\n-x\n+y\n",
     r"the source has no gone\.c, where the first folder in net/gone\.c does not count$"),
    (b"--- /home/me/old/file\n+++ b/file\n@@ -1 +1 @@\n-line 0\n+x\n",
     "^mine: '/home/me/old/file' is not a path in the kernel's source; expected one such as a/"),
])
def test_reason_names_the_file_that_it_is_about(tree: Path, content: bytes, why: str) -> None:
    """And not that of the part before it, or only the files that patch has looked at."""
    with pytest.raises(SetupError, match=why):
        patching.apply_own(tree, "mine", content, keep=KernelTree(tree).keep)
    assert (tree / "file").read_text() == "".join(LINES)


def test_patches_can_be_taken_back_and_the_optional_ones_left_out(tree: Path) -> None:
    """As for a source on which one fits and doesn't compile."""
    patches = [("0001-a.patch", FIRST), (OPTIONAL, SECOND)]
    kept = KernelTree(tree)
    assert patching.apply_all(tree, patches, keep=kept.keep) == patches
    kept.take_back()
    assert (tree / "file").read_text() == "".join(LINES)
    assert patching.apply_all(tree, patches, keep=kept.keep, optional=False) == patches[:1]
    assert "fifteen" not in (tree / "file").read_text()


def test_table_names_patches_that_there_are() -> None:
    """Those for repeating, the boundary, the router, links, the hosts' cards and the tick are
    required."""
    there = {path.name for path in recipe.PATCHES.iterdir()}
    assert set(patching.OPTIONAL) < there
    assert {name[:4] for name in there - set(patching.OPTIONAL)} == {
        "0001", "0002", "0003", "0004", "0009", "0010", "0011", "0012", "0013", "0014",
        "0016", "0017"}


class Archive(DebianArchive):
    """In place of Debian's."""

    def __init__(self, *versions: str) -> None:
        self._versions = versions

    def versions(self, name_pattern: str) -> list[Package]:
        return [Package("linux-source-9.9", version) for version in self._versions]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Versions that were built; required patches fit those of one digit alone."""
    versions: list[str] = []

    def stand_in(cache: Path, archive: DebianArchive, wanted: Recipe) -> None:
        if len(wanted.source.version) > 1:
            raise PatchDoesntFit("0001-a.patch doesn't fit this kernel version")
        versions.append(wanted.source.version)

    (tmp_path / "flent-aqm").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("flent_aqm.base.paths.SYSTEM_CACHE", tmp_path / "nobody-was-here")
    monkeypatch.setattr(build, "_build_lab_kernel", stand_in)
    return versions


def test_newest_source_that_takes_the_required_patches_is_built(
    built: list[str], tmp_path: Path
) -> None:
    """And is the one in use from then on."""
    build.set_up_kernel(tmp_path / "flent-aqm", Archive("11", "10", "9", "8"))
    assert built == ["9"]
    assert recipe.read_choice(tmp_path / "flent-aqm").version == "9"


def test_where_no_source_takes_them_all_are_named(built: list[str], tmp_path: Path) -> None:
    """With the patch that doesn't fit."""
    with pytest.raises(SetupError, match=r"\(.*9 11: 0001-a.*; linux-source-9.9 10: 0001-a.*\); u"):
        build.set_up_kernel(tmp_path / "flent-aqm", Archive("11", "10"))
    assert built == []


def test_packages_of_users_kernels_with_options_stay(built: list[str], tmp_path: Path) -> None:
    """Their trees have names of their own, the package has not."""
    cache = tmp_path / "flent-aqm"
    for name, tree in (("nat", "linux-source-9.9_7-89abcdef"), ("mine", "linux-source-9.9_6")):
        save(cache, NamedKernel(name, name, "", "9.9.1", "", "", tree=tree))
        (cache / "trees" / tree).mkdir(parents=True)
    (cache / "trees" / "linux-source-9.9_5-89abcdef").mkdir()
    (cache / "debs").mkdir()
    for version in ("9", "7", "6", "5"):
        (cache / "debs" / f"linux-source-9.9_{version}_all.deb").touch()
    build.set_up_kernel(cache, Archive("9"))
    assert sorted(path.name for path in (cache / "trees").iterdir()) == [
        "linux-source-9.9_6", "linux-source-9.9_7-89abcdef"]
    assert sorted(path.name for path in (cache / "debs").iterdir()) == [
        f"linux-source-9.9_{version}_all.deb" for version in ("6", "7", "9")]


def test_doctor_says_what_the_kernel_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside its version."""
    kernel = Kernel(Path("/bin/true"), "9.9.1", "0" * 16, (OPTIONAL,))
    monkeypatch.setattr(parts, "find_kernel", lambda: kernel)
    assert next(parts.all_parts()).version == f"9.9.1, without {OPTIONAL.removesuffix('.patch')}"

# SPDX-License-Identifier: GPL-3.0-or-later
"""A kept source: what is changed comes back, and make sees what is new. The real make and a
tree of one file; a kernel takes minutes."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from flent_aqm.base.errors import SetupError
from flent_aqm.setup.kernel.compile import (
    COMMON_HEADERS,
    EXPECTED_LINES,
    EXPECTED_LINKS,
    expected_lines,
)
from flent_aqm.setup.kernel.patching import apply_own
from flent_aqm.setup.kernel.tree import NOTES, KernelTree, files_of

MAKEFILE = "out: in\n\tcp in out; echo made\n"


@pytest.fixture
def tree(tmp_path: Path) -> KernelTree:
    """A source whose make copies a file."""
    (tmp_path / "in").write_text("stock\n")
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return KernelTree(tmp_path)


def make(tree: KernelTree) -> bool:
    """Run make; whether it had something to do. Its result is always that of the source."""
    with tree.compiling():
        done = subprocess.run(["make", "-s"], cwd=tree.path, check=True, capture_output=True,
                              text=True)
    assert (tree.path / "out").read_text() == (tree.path / "in").read_text()
    return "made" in done.stdout


def build(tree: KernelTree, content: str | None) -> bool:
    """As a build does: take back, change, settle, make."""
    tree.take_back()
    if content is not None:
        tree.write("in", content.encode())
    tree.set_times()
    return make(tree)


def test_the_same_change_again_compiles_nothing_and_another_one_does(tree: KernelTree) -> None:
    """Though the file is put back and written anew each time."""
    assert build(tree, "mine\n")
    assert not build(tree, "mine\n")
    assert build(tree, "other\n")
    assert build(tree, "mine\n")
    assert build(tree, None)
    assert (tree.path / "in").read_text() == "stock\n"
    assert not build(tree, None)


def test_a_build_that_stopped_before_make_is_caught_up_with(tree: KernelTree) -> None:
    """What make has not seen is not taken for compiled."""
    assert build(tree, "mine\n")
    tree.take_back()
    tree.write("in", b"other\n")
    tree.set_times()  # and here it was killed
    assert build(tree, "mine\n")
    tree.take_back()
    tree.write("in", b"third\n")  # or even here
    assert not build(tree, "mine\n")
    assert build(tree, None)


def test_files_that_the_source_lacks_are_gone_again(tree: KernelTree) -> None:
    """And lines that were added."""
    tree.write("sch_foo.c", b"new")
    tree.append("Makefile", "more:\n")
    tree.take_back()
    assert not (tree.path / "sch_foo.c").exists()
    assert (tree.path / "Makefile").read_text() == MAKEFILE
    with pytest.raises(SetupError, match=r"no net/sched/Kconfig; expected the source of Linux"):
        tree.append("net/sched/Kconfig", "\n")


@pytest.mark.parametrize("change", [
    lambda tree: tree.write("link", b"mine\n"), lambda tree: tree.append("link", "mine\n"),
    lambda tree: (tree.keep(["link"]), (tree.path / "link").unlink()),
    lambda tree: (tree.keep(["link"]), tree.write("in", b"mine\n"))],
    ids=["written", "appended to", "removed", "written below"])
@pytest.mark.parametrize("target", ["in", "folder"])
def test_link_of_the_source_comes_back_and_leads_to_the_same(
        change: Callable[[KernelTree], object], target: str, tree: KernelTree) -> None:
    """What replaces it is not written to the file that it leads to."""
    (tree.path / "folder").mkdir()
    (tree.path / "link").symlink_to(target)
    with contextlib.suppress(IsADirectoryError):
        change(tree)
    assert (tree.path / "in").read_text() in (
        "stock\n", *(["mine\n"] if (tree.path / "link").is_symlink() else []))
    assert target == "folder" or tree.original("link") == b"stock\n"
    tree.take_back()
    assert os.readlink(tree.path / "link") == target
    assert (tree.path / "in").read_text() == "stock\n"


def test_folder_whose_last_file_a_patch_deletes_comes_back(tree: KernelTree) -> None:
    """The program patch removes it, too. Another folder had only a link."""
    file, link = (tree.path / "net" / name for name in ("gone/last.c", "also/link"))
    for path in (file, link):
        path.parent.mkdir(parents=True)
    file.write_text("old\n")
    link.symlink_to("../gone/last.c")
    for _again in range(2):
        tree.keep(["net/also/link"])
        link.unlink()
        link.parent.rmdir()
        apply_own(tree.path, "mine", b"--- a/net/gone/last.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n",
                  keep=tree.keep)
        assert not file.parent.parent.exists()
        tree.take_back()
        assert link.read_text() == file.read_text() == "old\n"


def test_link_that_came_back_is_compiled_again(tree: KernelTree) -> None:
    """Though the file that it leads to is older than what was made."""
    (tree.path / "in").rename(tree.path / "real")
    (tree.path / "in").symlink_to("real")
    os.utime(tree.path / "real", (1000, 1000))
    assert build(tree, None)
    assert build(tree, "mine\n")
    assert not build(tree, "mine\n")
    assert build(tree, None)
    assert not build(tree, None)
    assert (tree.path / "in").read_text() == "stock\n"


def test_objects_that_a_killed_make_left_are_removed(tree: KernelTree) -> None:
    """They may be half written; those of earlier builds stay."""
    (tree.path / "old.o").write_text("whole")
    os.utime(tree.path / "old.o", ns=(1, 1))
    with contextlib.suppress(KeyboardInterrupt), tree.compiling():
        (tree.path / "new.o").write_text("ha")
        raise KeyboardInterrupt
    assert (tree.path / NOTES / "compiling").exists()
    with tree.compiling():
        assert not (tree.path / "new.o").exists()
        assert (tree.path / "old.o").exists()


def test_a_patch_tells_its_files_and_may_not_leave_the_source(
        tree: KernelTree, tmp_path: Path) -> None:
    """With git's renames and new files."""
    text = (b"--- a/in\t2026-01-01\n+++ b/in\n@@ -1 +1 @@\n-stock\n+mine\n"
            b"--- /dev/null\n+++ b/net/new.c\n@@ -0,0 +1 @@\n+x\n"
            b"rename from old.c\nrename to new/old.c\n")
    assert {"in", "net/new.c", "old.c", "new/old.c"} <= set(files_of(text))
    with pytest.raises(SetupError, match="/etc/passwd' is not a path in the kernel's source; exp"):
        tree.keep(["a/../../etc/passwd"])


def test_a_folder_of_another_source_takes_this_ones_place_and_goes_again(
        tree: KernelTree, tmp_path: Path) -> None:
    """With the source's own content, where a build has changed it; objects are no sources."""
    ours, theirs = tree.path / "arch" / "um", tmp_path / "donor" / "arch" / "um"
    donor = KernelTree(tmp_path / "donor")
    for folder, files in ((ours, {"both.c": "old", "gone.h": "old", "Kconfig": "old", "a.o": "1"}),
                          (theirs, {"both.c": "new", "sub/more.S": "new", "Kconfig": "new",
                                    "b.o": "2", "include/generated/made.h": "2"})):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    donor.write("arch/um/both.c", b"patched")
    donor.write("arch/um/added.c", b"patched")

    def content() -> dict[str, str]:
        return {str(path.relative_to(ours)): path.read_text()
                for path in ours.rglob("*") if path.is_file()}

    before = content()
    for _again in range(2):
        tree.take_back()
        assert content() == before
        tree.backport("arch/um", donor)
        assert content() == {"both.c": "new", "sub/more.S": "new", "Kconfig": "new", "a.o": "1"}
        tree.set_times()
    tree.take_back()
    assert content() == before


def test_only_what_is_older_than_its_sources_counts_as_to_be_compiled(tmp_path: Path) -> None:
    """By kbuild's notes; a tree without objects of its own is compiled whole."""
    (tmp_path / "scripts" / "kconfig").mkdir(parents=True)
    (tmp_path / "scripts" / "kconfig" / ".conf.o.cmd").write_text("")
    assert expected_lines(tmp_path) == EXPECTED_LINES
    (tmp_path / "net").mkdir()
    for name in ("net/a.c", "net/b.c", "net/both.h"):
        (tmp_path / name).write_text("")
    for name in ("a", "b"):
        (tmp_path / "net" / f".{name}.o.cmd").write_text(
            f"savedcmd_net/{name}.o := gcc -c net/{name}.c\n\nsource_net/{name}.o := net/{name}.c\n"
            f"\ndeps_net/{name}.o := \\\n    $(wildcard include/config/X) \\\n  net/both.h \\\n")
        (tmp_path / "net" / f"{name}.o").write_text("")

    def changed(*names: str) -> int:
        for path in tmp_path.glob("net/*"):
            late = path.relative_to(tmp_path).as_posix() in names
            moment = 300 if late else 200 if path.suffix == ".o" else 100
            os.utime(path, (moment, moment))
        return expected_lines(tmp_path) - EXPECTED_LINKS

    assert [changed(), changed("net/a.c"), changed("net/both.h")] == [0, 1, 2]
    (tmp_path / "net" / "b.o").unlink()
    assert changed() == 1
    # a.o starts with the headers that are compiled once, b.o doesn't
    headers = tmp_path / COMMON_HEADERS[0]
    headers.parent.mkdir(parents=True)
    headers.write_text("source_include/linux/h.gch := net/h.h\n")
    (headers.parent / "common_headers.h.gch").write_text("")
    os.utime(headers.parent / "common_headers.h.gch", (200, 200))
    (tmp_path / "net" / "h.h").write_text("")
    (tmp_path / "net" / ".a.o.names.h").write_text("")
    assert [changed(), changed("net/h.h")] == [1, 2]

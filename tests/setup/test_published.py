# SPDX-License-Identifier: GPL-3.0-or-later
"""Patches in the form in which people publish them: mailboxes of git, with files that set-up leaves
packed, and with headers beside C files. By the real git and patch on a small tree."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError, SetupError
from flent_aqm.setup.kernel import build, published
from flent_aqm.setup.kernel.additions import (
    CONTROL,
    QUEUE,
    Addition,
    FileKind,
    read_additions,
    read_bytes,
)
from flent_aqm.setup.kernel.compile import all_faults
from flent_aqm.setup.kernel.patching import PatchDoesntFit
from flent_aqm.setup.kernel.recipe import KernelSource, Recipe
from flent_aqm.setup.kernel.tree import KernelTree
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.tc_plugin import read_files

CODE = Path(__file__).parents[1] / "own_code"
LINES = [f"line {number}\n" for number in range(20)]


def git(place: Path, *words: str) -> str:
    """Run git as somebody with letters that mails encode."""
    return subprocess.run(
        ["git", "-c", "user.name=Тест", "-c", "user.email=t@example.net", *words], cwd=place,
        check=True, capture_output=True, text=True).stdout


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """A mailbox of three commits, each on the one before, and its cover letter: the second changes
    the same line again, and a file of tools/testing; the third that alone."""
    place = tmp_path / "linux"
    (place / "tools" / "testing").mkdir(parents=True)
    file, test = place / "sch.c", place / "tools" / "testing" / "Makefile"
    git(place, "init", "-qb", "main")
    for number, text in enumerate(("line 5\n", "once\n", "twice\n", "twice\n")):
        file.write_text("".join([*LINES[:5], text, *LINES[6:]]))
        test.write_text(f"{max(0, number - 1)}\n")
        git(place, "add", ".")
        git(place, "commit", "-qm", f"Größer {number}" if number else "start")
    box = tmp_path / "series.mbox"
    box.write_text(git(place, "format-patch", "--stdout", "--cover-letter", "main~3"))
    return box


@pytest.fixture
def tree(tmp_path: Path) -> KernelTree:
    """The source before the series, as set-up unpacks it."""
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "sch.c").write_text("".join(LINES))
    return KernelTree(folder)


def test_mailbox_is_applied_mail_by_mail_without_what_is_packed(
        series: Path, tree: KernelTree) -> None:
    """The files that are left out are named, each time."""
    left_out = published.apply(tree.path, series.name, series.read_bytes(), keep=tree.keep)
    assert left_out == ["tools/testing/Makefile"] * 2
    assert "line 4\ntwice\nline 6\n" in (tree.path / "sch.c").read_text()
    assert not (tree.path / "tools").exists()
    tree.take_back()
    assert (tree.path / "sch.c").read_text() == "".join(LINES)


def test_mail_that_does_not_fit_is_named_by_its_subject(series: Path, tree: KernelTree) -> None:
    """With the hunk; what is left out is not blamed."""
    file = tree.path / "sch.c"
    file.write_text(file.read_text().replace("line 5\n", "line five\n"))
    with pytest.raises(PatchDoesntFit) as raised:
        published.apply(tree.path, series.name, series.read_bytes(), keep=tree.keep)
    text = str(raised.value)
    assert "series.mbox ([PATCH 1/3] Größer 1) doesn't fit" in text
    assert "sch.c: Hunk #1 FAILED" in text
    assert "testing" not in text


@pytest.mark.parametrize(("subject", "told"), [
    (b"=?x-unknown?q?Gr=C3=B6=C3=9Fer?=", "=?x-unknown?q?Gr=C3=B6=C3=9Fer?="),
    (b"=?utf-8?q?Gr=F6=DFer?=", "=?utf-8?q?Gr=F6=DFer?="),
    (b"=?utf-8?b?R?=", "=?utf-8?b?R?="), (b"=?undefined?q?x?=", "=?undefined?q?x?="),
    (b"Gr\xf6\xdfer", "Gr\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}er"),
    ("=?utf-8?q?Größer?=".encode("latin-1"),
     "=?utf-8?q?Gr\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}er?=")])
def test_subject_that_can_not_be_decoded_is_told_as_it_stands(
        subject: bytes, told: str, tree: KernelTree) -> None:
    """It names the mail in messages, and is no reason to refuse the patch."""
    mail = (b"From 0123 Mon Sep 17 00:00:00 2001\nSubject: " + subject
            + b"\n\n--- a/sch.c\n+++ b/sch.c\n@@ -1,2 +1,2 @@\n-line 0\n+changed\n line 1\n")
    assert published.apply(tree.path, "box", mail, keep=tree.keep) == []
    with pytest.raises(PatchDoesntFit) as raised:
        published.apply(tree.path, "box", mail, keep=tree.keep)
    assert str(raised.value).startswith(f"box ({told}) doesn't fit")


def test_file_that_the_source_has_is_changed_wherever_it_is(series: Path, tree: KernelTree) -> None:
    """As a repository of one's own has all files."""
    (tree.path / "tools" / "testing").mkdir(parents=True)
    (tree.path / "tools" / "testing" / "Makefile").write_text("0\n")
    assert published.apply(tree.path, series.name, series.read_bytes(), keep=tree.keep) == []
    assert (tree.path / "tools" / "testing" / "Makefile").read_text() == "2\n"


@pytest.mark.parametrize("encoding", ["7bit", "base64"])
def test_attached_patch_of_a_mail_is_applied(tree: KernelTree, encoding: str) -> None:
    """It was left out without a word. A mailbox without any patch is refused."""
    patch = b"--- a/sch.c\n+++ b/sch.c\n@@ -1,2 +1,2 @@\n-line 0\n+changed\n line 1\n"
    body = base64.encodebytes(patch) if encoding == "base64" else patch
    head = (b"From 0123 Mon Sep 17 00:00:00 2001\nSubject: attached\nMIME-Version: 1.0\n"
            b'Content-Type: multipart/mixed; boundary="=x"\n\n--=x\n\nHello\n')
    attached = (b"--=x\nContent-Type: text/x-patch\nContent-Transfer-Encoding: "
                + encoding.encode() + b"\n\n" + body + b"\n")
    with pytest.raises(PatchDoesntFit, match="box is a mailbox without a patch"):
        published.apply(tree.path, "box", head + b"--=x--\n", keep=tree.keep)
    assert published.apply(tree.path, "box", head + attached + b"--=x--\n", keep=tree.keep) == []
    assert (tree.path / "sch.c").read_text().startswith("changed\nline 1\n")


def test_patch_of_packed_files_alone_changes_nothing(tree: KernelTree) -> None:
    """And text that is no patch is still refused."""
    patch = b"--- a/drivers/gpu/drm.c\n+++ b/drivers/gpu/drm.c\n@@ -1 +1 @@\n-a\n+b\n"
    assert published.apply(tree.path, "p", patch, keep=tree.keep) == ["drivers/gpu/drm.c"]
    with pytest.raises(PatchDoesntFit, match=r"p has no line that begins with --- or .*; expected"):
        published.apply(tree.path, "p", b"Hello\n", keep=tree.keep)
    with pytest.raises(PatchDoesntFit, match="p has no line that begins with --- or"):
        published.apply(tree.path, "p", b"", keep=tree.keep)
    with pytest.raises(PatchDoesntFit, match=r"^p has no hunk, which begins with @@; expected"):
        published.apply(tree.path, "p", b"--- a/sch.c\n+++ b/sch.c\n", keep=tree.keep)


def test_renamed_and_merely_touched_files_that_are_packed_are_left_out(
        tmp_path: Path, tree: KernelTree) -> None:
    """Beside a change of a file that is there: git names them without a/ and b/, or in its first
    line alone. Those that are there are renamed, and get their mode."""
    place = tmp_path / "linux"
    for name in ("tools/testing/old.sh", "tools/testing/touched.sh", "Documentation/old.rst"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("a\nb\nc\nd\n")
    (place / "sch.c").write_text("".join(LINES))
    git(place, "init", "-qb", "main")
    git(place, "add", ".")
    git(place, "commit", "-qm", "start")
    git(place, "mv", "tools/testing/old.sh", "tools/testing/new.sh")
    git(place, "mv", "Documentation/old.rst", "Documentation/new.rst")
    (place / "tools/testing/touched.sh").chmod(0o755)
    (place / "sch.c").write_text("".join(["changed\n", *LINES[1:]]))
    git(place, "add", ".")
    git(place, "commit", "-qm", "all of it")
    patch = git(place, "format-patch", "-M", "--stdout", "main~1").encode()
    assert published.apply(tree.path, "p", patch, keep=tree.keep) == [
        "Documentation/new.rst", "tools/testing/new.sh", "tools/testing/touched.sh"]
    assert (tree.path / "sch.c").read_text().startswith("changed\nline 1\n")
    assert sorted(path.name for path in tree.path.iterdir()) == sorted(
        {"sch.c", *(path.name for path in tree.path.iterdir() if path.name.startswith("."))})


def test_headers_beside_a_file_come_with_it_and_belong_to_the_recipe(tmp_path: Path) -> None:
    """Those that it includes, and that these do; none of the kernel's."""
    (tmp_path / "sch_foo.c").write_text('#include <net/pkt_sched.h>\n#include "foo.h"\n'
                                        f'#include "gone.h"\n#include "{"x" * 300}.h"\n'
                                        '.id = "foo"\n')
    (tmp_path / "foo.h").write_text('#include "bar.h"\n#include "foo.h"\n')
    (tmp_path / "bar.h").write_text("int bar;\n")
    (tmp_path / "other.h").write_text("")

    def recipe() -> Recipe:
        (one,) = read_additions(QUEUE, "--qdisc", [tmp_path / "sch_foo.c"])
        assert [name for name, _ in one.headers] == ["foo.h", "bar.h"]
        return Recipe(KernelSource("linux-source-1.2", "1"), "", (), additions=(one,))

    before = recipe().hash
    (tmp_path / "bar.h").write_text("long bar;\n")
    assert recipe().hash != before


@pytest.mark.parametrize(("kind", "name", "switches"), [
    (CONTROL, "highspeed", ["TCP_CONG_HSTCP"]), (CONTROL, "mine", ["TCP_CONG_MINE"]),
    (QUEUE, "codel", ["NET_SCH_CODEL"]), (QUEUE, "mine", ["NET_SCH_MINE"]), (QUEUE, "mq", []),
    (QUEUE, "blackhole", ["NET_SCHED"]), (QUEUE, "later", ["NET_SCH_LATER"])])
def test_option_of_a_file_is_that_by_which_the_source_compiles_it(
        kind: FileKind, name: str, switches: list[str], tmp_path: Path) -> None:
    """Lines of Linux 7.3, and one that goes on. Its kconfig would drop an option that no file
    declares, as this Makefile does."""
    for folder, makefile, options, sources in (
            ("net/ipv4", "obj-$(CONFIG_TCP_CONG_HSTCP) += tcp_highspeed.o\n", ["TCP_CONG_HSTCP"],
             ["tcp_highspeed.c"]),
            ("net/sched", (
             "obj-y\t:= sch_generic.o sch_mq.o\n"
             "obj-$(CONFIG_NET_SCHED)\t\t+= sch_api.o sch_blackhole.o\n"
             "obj-$(CONFIG_NET_SCH_FQ_CODEL)\t+= sch_fq_codel.o\n"
             "obj-$(CONFIG_NET_SCH_CODEL)\t+= sch_codel.o\n"
             "obj-$(CONFIG_NET_SCH_LATER)+= \\\n\tsch_later.o\n"),
             ["NET_SCHED", "NET_SCH_CODEL", "NET_SCH_LATER"],
             ["sch_mq.c", "sch_blackhole.c", "sch_codel.c", "sch_later.c"])):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "Makefile").write_text(makefile)
        (tmp_path / folder / "Kconfig").write_text("".join(f"config {one}\n" for one in options))
        for source in sources:
            (tmp_path / folder / source).touch()
    (tmp_path / "Makefile").write_text(
        "allnoconfig:\n\tsed -n 's/^config \\(.*\\)/CONFIG_\\1=/p' net/*/Kconfig >known\n"
        "\tgrep -F -f known $(KCONFIG_ALLCONFIG) >.config || true\n")
    wanted = Recipe(KernelSource("linux-source-7.3", "1"), "", (),
                    additions=(Addition(kind, name, b"changed\n"),))
    origin: Any = SimpleNamespace(fill=lambda *_: None)
    tree = KernelTree(tmp_path)
    build._make_changes(tmp_path, tree, origin, wanted, tmp_path, Progress(""))
    assert (tmp_path / ".config").read_text() == "".join(f"CONFIG_{one}=y\n" for one in switches)
    assert build._switches(tree, wanted) == switches


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    """Of which the kernel can hold only one."""
    files = [tmp_path / folder / "sch_foo.c" for folder in ("mine", "yours")]
    for file in files:
        file.parent.mkdir()
        file.write_text('.id = "foo"\n')
    with pytest.raises(ConfigError, match=r"--qdisc: sch_foo\.c is given twice; give one"):
        read_additions(QUEUE, "--qdisc", files)


def test_file_that_registers_several_names_is_quoted_with_each(tmp_path: Path) -> None:
    """As the kernel's sch_fifo.c: under another name it would be there twice."""
    (tmp_path / "sch_fifo.c").write_text('.id = "pfifo",\n.id = "bfifo",\n')
    with pytest.raises(ConfigError, match=r'line \.id = "fifo", but "pfifo", "bfifo"; .*--patch$'):
        read_additions(QUEUE, "--qdisc", [tmp_path / "sch_fifo.c"])


def test_name_of_a_file_for_tc_is_told_with_its_letters(tmp_path: Path) -> None:
    """Q_My-Queue has a name, but none that tc and the kernel take."""
    with pytest.raises(ConfigError, match=r"'q_My-Queue\.c' is not .*15 lower-case letters, "):
        read_files([tmp_path / "q_My-Queue.c"])
    twice = [tmp_path / name / "q_mine.c" for name in ("one", "two")]
    for path in twice:
        path.parent.mkdir()
        path.write_text("struct qdisc_util mine_qdisc_util;")
    with pytest.raises(ConfigError, match=r"^--tc: q_mine\.c is given twice; give one file of "):
        read_files(twice)


def test_file_that_is_none_is_told_from_a_missing_one(tmp_path: Path) -> None:
    """A pipe of the shell is there; the option may be --config."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match=r"^--config: /.*/pipe is a folder, pipe or device; exp"):
        read_bytes("--config", tmp_path / "pipe")
    with pytest.raises(ConfigError, match=r"^--config: there is no file /.*/none$"):
        read_bytes("--config", tmp_path / "none")
    (tmp_path / "long").write_bytes(bytes(2_000_001))
    with pytest.raises(ConfigError, match=r"long has 2,000,001 bytes; expected at most 2,000,000$"):
        read_bytes("--config", tmp_path / "long")


def test_all_errors_of_the_compiler_are_told() -> None:
    """Each once, as files are compiled side by side; of many the first."""
    def line(number: int) -> str:
        return f"net/sched/sch_foo.c:{number}:1: error: 'a{number}' undeclared\n"

    noise = "  CC net/sched/sch_foo.o\nmake[3]: *** [sch_foo.o] Error 1\n"
    assert all_faults(noise + line(1) + line(1) + line(2)) == "; ".join(
        line(number).strip() for number in (1, 2))
    assert all_faults("".join(map(line, range(9)))).endswith("; and 4 more")
    assert all_faults(noise) == "make[3]: *** [sch_foo.o] Error 1"
    no_rule = "make[4]: *** No rule to make target 'sch_bar.o', needed by 'built-in.a'.  Stop.\n"
    assert all_faults("make: *** Waiting for unfinished jobs....\n" + noise + no_rule
                      ) == no_rule.strip()


@pytest.mark.lab
def test_options_that_tc_can_not_load_are_told_when_they_are_built(tmp_path: Path) -> None:
    """tc would call the queue unknown, in each run."""
    from flent_aqm.base.paths import cache_to_write
    from flent_aqm.setup.install import locked
    from flent_aqm.setup.tc_plugin import build_tc

    text = (CODE / "q_headdrop.c").read_text().replace("headdrop", "gonedrop")
    path = tmp_path / "q_gonedrop.c"
    path.write_text(text.replace("print_uint(", "sprint_rate_of_old((int)", 1))
    path.write_text("void sprint_rate_of_old(int, ...);\n" + path.read_text())
    cache = cache_to_write()
    with locked(cache), pytest.raises(
            SetupError, match=r"q_gonedrop\.c can't be loaded by tc, which has no "
                              r"sprint_rate_of_old; expected functions of /.*tc$"):
        build_tc(cache, read_files([path]))

# SPDX-License-Identifier: GPL-3.0-or-later
"""Configures and compiles a kernel's source with its own make."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from flent_aqm.base.errors import CommandFailed, SetupError
from flent_aqm.base.shell import run
from flent_aqm.base.whole_file import write_text
from flent_aqm.setup.kernel.config_check import check_config
from flent_aqm.setup.kernel.tree import Tree
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.stream import run_watched

# Lines that make prints for this fragment with 7.3, and those of archives and links that it prints
# each time; only for the progress shown.
EXPECTED_LINES, EXPECTED_LINKS = 1240, 25

# The program doesn't depend on who built it, where and when.
BUILD_IDENTITY = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01 00:00:00 UTC",
    "KBUILD_BUILD_USER": "flent-aqm",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
}
# Options that older kernels have instead of one of the fragment, which follows from them there ->
# the file that declares them. Before 7.3, SYSCTL follows from PROC_SYSCTL.
OLDER_NAMES = {"PROC_SYSCTL": "fs/proc/Kconfig"}
# Options that came after the oldest kernel which the lab takes -> the file that declares them. An
# older one does without: a queue that it can't run, a switch for what it always has.
LATER_NAMES = {"NET_SCH_DUALPI2": "net/sched/Kconfig",
               "NETFILTER_XTABLES_LEGACY": "net/netfilter/Kconfig"}
# What an object is made of, in kbuild's note on it: `source_PATH := FILE`, then lines of headers.
_MADE_OF = re.compile(r"^(?:source_\S+ := |  )([^\s$(]+)", re.MULTILINE)
# kbuild's notes on the common headers, which patch 0015 compiles.
COMMON_HEADERS = tuple(f"include/{folder}/.common_headers.h.gch.cmd" for folder in ("linux", "net"))
_WARNING = re.compile(r"^(\S+\.[chS]):\d+(?::\d+)?: warning: .*")
# Errors that a message tells; the log has the others.
MOST_FAULTS = 5
# The compiler's, kconfig's, make's and the linker's words, the most telling first.
_FAULTS = (re.compile(r"^\S+:\d+(:\d+)?: (fatal )?error: "),
           re.compile(r"^\S+:\d+: (syntax error|.*invalid)"),
           re.compile("undefined reference|multiple definition"), re.compile("rror"))


def configure(tree: Path, fragment: str) -> None:
    """allnoconfig plus the fragment; the result is checked against it. The same fragment and
    the same Kconfig files leave what is there."""
    fragment = _without_later(tree, fragment) + _older_names(tree)
    write_text(tree / "lab.config", fragment)
    make(tree, "KCONFIG_ALLCONFIG=lab.config", "allnoconfig")
    check_config(fragment, (tree / ".config").read_text(encoding="utf-8"))


def _older_names(tree: Path) -> str:
    """Options that switch on what the fragment has, where the source is older than a change."""
    return "".join(
        f"CONFIG_{name}=y\n" for name, file in OLDER_NAMES.items()
        if _declares(tree / file, name))


def _without_later(tree: Path, fragment: str) -> str:
    """Return the fragment without options that the source doesn't have yet."""
    absent = {name for name, file in LATER_NAMES.items() if not _declares(tree / file, name)}
    return "".join(line for line in fragment.splitlines(keepends=True)
                   if line.partition("=")[0].removeprefix("CONFIG_") not in absent)


def _declares(kconfig: Path, option: str) -> bool:
    return kconfig.is_file() and re.search(
        rf"^config {option}$", kconfig.read_text(encoding="utf-8"), re.MULTILINE) is not None


def compile_tree(tree: Tree, log: Path, progress: Progress) -> None:
    """Raise SetupError with the faults, as the compiler tells them, and where the log is."""
    lines, expected = 0, expected_lines(tree.path)

    def count(_line: str) -> None:
        nonlocal lines
        lines += 1
        progress.count("compiling", lines, expected)

    jobs = len(os.sched_getaffinity(0))
    with tree.compiling():
        try:
            run_watched(["make", "ARCH=um", f"-j{jobs}"], count, cwd=tree.path,
                        env=environment(), log=log)
        except CommandFailed:
            failed = all_faults(log.read_text(encoding="utf-8", errors="replace"))
        else:
            return
    raise SetupError(f"the kernel did not compile: {failed}; all of it is in {log}")


def expected_lines(tree: Path) -> int:
    """Return about how many lines make will print: the objects older than what they are made of,
    as kbuild has noted it beside each. New options are not seen before make looks at them."""
    # make's own programs are there once the options are chosen
    notes = [note for folder in tree.iterdir() if folder.is_dir() and folder.name != "scripts"
             for note in folder.rglob(".*.o.cmd")]
    if not notes:
        return EXPECTED_LINES

    @cache
    def changed_s(name: str) -> float:
        path = tree / name
        return path.stat().st_mtime if path.is_file() else 0.0

    def is_old(note: Path) -> bool:
        made_s = changed_s(str(note.with_name(note.name[1:].removesuffix(".cmd"))))
        names = _MADE_OF.findall(note.read_text(encoding="utf-8", errors="replace"))
        return any(changed_s(name) > made_s for name in names)

    # an object that starts with the compiled headers has a file of names beside it (patch 0015)
    all_old = any((tree / name).is_file() and is_old(tree / name) for name in COMMON_HEADERS)
    old = sum((all_old and note.with_suffix(".names.h").is_file()) or is_old(note)
              for note in notes)
    return old + EXPECTED_LINKS


def all_faults(output: str) -> str:
    """Return the compiler's errors, each once, or what else says best what is wrong."""
    lines = list(dict.fromkeys(line.strip() for line in output.splitlines()
                               if _FAULTS[0].search(line)))
    if len(lines) < 2:
        return first_fault(output)
    more = f"; and {len(lines) - MOST_FAULTS} more" if len(lines) > MOST_FAULTS else ""
    return "; ".join(lines[:MOST_FAULTS]) + more


def warnings_in(output: str, names: Sequence[str]) -> list[str]:
    """Return the compiler's warnings about these files, each once, in the order of make's output.
    names: paths in the kernel's source."""
    found = (_WARNING.match(line) for line in output.splitlines())
    return list(dict.fromkeys(match[0] for match in found if match and match[1] in names))


def refuse_not_compiled(tree: Path, names: Sequence[str], left_packed: Sequence[str]) -> list[str]:
    """Return the files that the kernel has no object of, and the headers that no object is made
    of. names: files that a user has changed; left_packed: those that set-up doesn't unpack.

    Raise SetupError where no changed file has any part in the kernel: it would be the kernel
    without the change.
    """
    code = [name for name in names if name.endswith((".c", ".h"))]
    used = {os.path.normpath(file) for file in _files_in_objects(tree)}
    unused = [*(name for name in code if name not in used), *left_packed]
    # Of a Makefile nobody can tell; a line is added to that of each changed C file.
    others = [name for name in names if name not in code
              and not name.endswith((".rst", ".txt", "Makefile", "MAINTAINERS"))]
    if unused and len(unused) == len(code) + len(left_packed) and not others:
        raise SetupError(f"nothing of the change is in the kernel: {', '.join(unused)} "
                         f"{'is' if len(unused) == 1 else 'are'} not compiled with the lab's "
                         "options; switch the code on by --config")
    return unused


def _files_in_objects(tree: Path) -> Iterator[str]:
    """Yield the files that the objects linked into the kernel, and the compiled headers, are made
    of."""
    notes = [tree / name for name in COMMON_HEADERS if (tree / name).is_file()]
    for folder, _, names in os.walk(tree):
        notes += [Path(folder, name) for name in names
                  if name.startswith(".") and name.endswith(".o.cmd")
                  and os.path.exists(Path(folder, name[1:].removesuffix(".cmd")))]
    for note in notes:
        yield from _MADE_OF.findall(note.read_text(encoding="utf-8", errors="replace"))


def first_fault(output: str) -> str:
    """Return the line of make's output that says best what is wrong."""
    lines = output.splitlines()
    for pattern in _FAULTS:
        for line in lines:
            if pattern.search(line):
                return line.strip()
    return "see the log"


def make(tree: Path, *words: str) -> str:
    """Run make for these goals, and return what it says."""
    return run(["make", "ARCH=um", *words], cwd=tree, env=environment(), timeout_s=600)


def environment() -> dict[str, str]:
    """Nothing of the caller's: flags of an outer make, compilers of one's own, locale."""
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", **BUILD_IDENTITY}

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
from flent_aqm.setup.kernel.tree import KernelTree
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.stream import run_watched

# Lines that make prints for the lab's options with 7.3, and those of archives and linking, which it
# prints each time. For the progress display.
EXPECTED_LINES, EXPECTED_LINKS = 1240, 25

# The beginning of the message about a change of which no object of the kernel is made.
NOT_IN_KERNEL = "nothing of the change is in the kernel"
# Settings by which the kernel doesn't depend on who built it, where and when.
BUILD_IDENTITY = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01 00:00:00 UTC",
    "KBUILD_BUILD_USER": "flent-aqm",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
}
# Options that older kernels need to set an option of the fragment -> the file that declares them.
# Before 7.3, SYSCTL can only be set through PROC_SYSCTL.
OLDER_NAMES = {"PROC_SYSCTL": "fs/proc/Kconfig"}
# Options that are newer than the oldest kernel which the lab supports -> the file that declares
# them. An older kernel doesn't need them: they are for a queue that it doesn't have, or switch
# something that it always has.
LATER_NAMES = {"NET_SCH_DUALPI2": "net/sched/Kconfig",
               "NETFILTER_XTABLES_LEGACY": "net/netfilter/Kconfig"}
# Files of which an object is made, in kbuild's note beside it: `source_PATH := FILE`, then lines of
# headers.
_MADE_OF = re.compile(r"^(?:source_\S+ := |  )([^\s$(]+)", re.MULTILINE)
# kbuild's notes on the common headers, which patch 0015 compiles.
COMMON_HEADERS = tuple(f"include/{folder}/.common_headers.h.gch.cmd" for folder in ("linux", "net"))
_WARNING = re.compile(r"^(\S+\.[chS]):\d+(?::\d+)?: warning: .*")
# Number of errors in a message; the log has all.
MOST_FAULTS = 5
# Error messages of compiler, kconfig, make and linker, the most informative first.
_FAULTS = (re.compile(r"^\S+:\d+(:\d+)?: (fatal )?error: "),
           re.compile(r"^\S+:\d+: (syntax error|.*invalid)"),
           re.compile(r"undefined reference|multiple definition|\*\*\* (?!\[|Waiting)"),
           re.compile("rror"))


def configure(tree: Path, fragment: str) -> None:
    """Generate the kernel's configuration, .config: allnoconfig with the options of the fragment.
    Options of LATER_NAMES that the source doesn't have are left out, and those of OLDER_NAMES that
    it has are switched on. Raises SetupError if the result differs from these options, or if a line
    of the fragment is neither an option, blank nor a comment. Raises CommandFailed if make fails,
    ToolMissing if it isn't installed.

    The requested options are written to lab.config in the source. With the same fragment and
    Kconfig files, an existing .config isn't touched.

    Args:
        tree: folder of the source.
        fragment: lines CONFIG_NAME=value.
    """
    fragment = _without_newer_options(tree, fragment) + _older_options(tree)
    write_text(tree / "lab.config", fragment)
    make(tree, "KCONFIG_ALLCONFIG=lab.config", "allnoconfig")
    check_config(fragment, (tree / ".config").read_text(encoding="utf-8"))


def _older_options(tree: Path) -> str:
    """Return a line CONFIG_NAME=y for each option of OLDER_NAMES that the source declares. "" if it
    declares none, as newer sources."""
    return "".join(
        f"CONFIG_{name}=y\n" for name, file in OLDER_NAMES.items()
        if _declares(tree / file, name))


def _without_newer_options(tree: Path, fragment: str) -> str:
    """Return the fragment without lines for options of LATER_NAMES that the source doesn't have."""
    absent = {name for name, file in LATER_NAMES.items() if not _declares(tree / file, name)}
    return "".join(line for line in fragment.splitlines(keepends=True)
                   if line.partition("=")[0].removeprefix("CONFIG_") not in absent)


def _declares(kconfig: Path, option: str) -> bool:
    """Return whether a Kconfig file declares an option by a line `config OPTION` (not menuconfig).
    False if there is no such file.

    option: name without CONFIG_.
    """
    return kconfig.is_file() and re.search(
        rf"^config {option}$", kconfig.read_text(encoding="utf-8"), re.MULTILINE) is not None


def compile_tree(tree: KernelTree, log: Path, progress: Progress) -> None:
    """Compile the kernel, with a job for each processor that this process may use, and show the
    progress. configure() comes first. Raises SetupError, with the compiler's errors and the path of
    the log, if make fails, ToolMissing if it isn't installed.

    log: file for make's whole output, which replaces an older one.
    """
    lines, expected = 0, expected_lines(tree.path)

    def count(_line: str) -> None:
        """Add a line of make's output to `lines`, and show the progress of compile_tree() with the
        number of `expected` lines."""
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
    raise SetupError(f"the kernel did not compile: {failed}; the whole output is in {log}")


def expected_lines(tree: Path) -> int:
    """Return about how many lines make will print, for the progress display: the number of objects
    to compile, and lines about linking.

    An object is to be compiled if it is older than one of the files it is made of, by kbuild's
    notes, or doesn't exist, or uses the common headers of patch 0015 and they are to be compiled.
    Changes of options aren't considered. For a source that was never compiled, return
    EXPECTED_LINES.

    tree: folder of the source.
    """
    # Programs in the folder scripts have been built when the options were chosen.
    notes = [note for folder in tree.iterdir() if folder.is_dir() and folder.name != "scripts"
             for note in folder.rglob(".*.o.cmd")]
    if not notes:
        return EXPECTED_LINES

    @cache
    def changed_s(name: str) -> float:
        """Return the time at which a file was changed, in epoch seconds. 0 if there is no such
        file.

        name: path of the file, absolute or relative to `tree`, the argument of expected_lines().
        """
        path = tree / name
        return path.stat().st_mtime if path.is_file() else 0.0

    def is_old(note: Path) -> bool:
        """Return whether the object of a note is older than one of the files it is made of. True
        also if it doesn't exist but one of these files does.

        note: path of kbuild's note, .NAME.o.cmd, beside the object.
        """
        made_s = changed_s(str(note.with_name(note.name[1:].removesuffix(".cmd"))))
        names = _MADE_OF.findall(note.read_text(encoding="utf-8", errors="replace"))
        return any(changed_s(name) > made_s for name in names)

    # An object that is compiled with the common headers has a .names.h file beside it (patch 0015).
    all_old = any((tree / name).is_file() and is_old(tree / name) for name in COMMON_HEADERS)
    old = sum((all_old and note.with_suffix(".names.h").is_file()) or is_old(note)
              for note in notes)
    return old + EXPECTED_LINKS


def all_faults(output: str) -> str:
    """Return the compiler's error messages, each once and at most MOST_FAULTS, with "; " between
    them and the number of the others. If there are fewer than two, return first_fault() instead.

    output: make's whole output.
    """
    lines = list(dict.fromkeys(line.strip() for line in output.splitlines()
                               if _FAULTS[0].search(line)))
    if len(lines) < 2:
        return first_fault(output)
    more = f"; and {len(lines) - MOST_FAULTS} more" if len(lines) > MOST_FAULTS else ""
    return "; ".join(lines[:MOST_FAULTS]) + more


def warnings_in(output: str, names: Sequence[str]) -> list[str]:
    """Return the lines of the compiler's warnings about some files, "FILE:LINE:COLUMN: warning:
    TEXT", each once, in the order of make's output.

    Args:
        output: make's whole output.
        names: paths of the files in the kernel's source.
    """
    found = (_WARNING.match(line) for line in output.splitlines())
    return list(dict.fromkeys(match[0] for match in found if match and match[1] in names))


def refuse_not_compiled(tree: Path, names: Sequence[str], left_packed: Sequence[str]) -> list[str]:
    """Return the changed C files and headers of which no object of the kernel is made, followed by
    `left_packed`.

    Args:
        tree: folder of the compiled source.
        names: paths of all files that the user has changed.
        left_packed: paths of changed files that set-up doesn't unpack.

    Raises:
        SetupError: if that list isn't empty and has every changed C file and header, because then
            the kernel is the one without the change. It isn't raised if a file was changed whose
            effect is unknown: neither C file or header, nor Makefile or document. A change of
            Makefiles alone isn't refused.
    """
    code = [name for name in names if name.endswith((".c", ".h"))]
    used = {os.path.normpath(file) for file in _files_in_objects(tree)}
    not_compiled = [name for name in code if name not in used]
    unused = [*not_compiled, *left_packed]
    # Whether a changed Makefile has an effect is unknown. Set-up itself adds lines to those of
    # changed C files.
    others = [name for name in names if name not in code
              and not name.endswith((".rst", ".txt", "Makefile", "MAINTAINERS"))]
    if unused and len(unused) == len(code) + len(left_packed) and not others:
        causes = [f"{', '.join(files)} {'is' if len(files) == 1 else 'are'} {cause}"
                  for files, cause in (
                      (not_compiled, ("not compiled with the lab's options (switch the code on by "
                                      "--config)")),
                      (left_packed, "left out by set-up, as User-Mode Linux compiles no such file"))
                  if files]
        raise SetupError(f"{NOT_IN_KERNEL}: {'; '.join(causes)}")
    return unused


def _files_in_objects(tree: Path) -> Iterator[str]:
    """Yield the paths of the files of which the kernel's existing objects and the common headers of
    patch 0015 are made, with repeats. They are as in kbuild's notes: relative to `tree` or
    absolute, and not normalized."""
    notes = [tree / name for name in COMMON_HEADERS if (tree / name).is_file()]
    for folder, _, names in os.walk(tree):
        notes += [Path(folder, name) for name in names
                  if name.startswith(".") and name.endswith(".o.cmd")
                  and os.path.exists(Path(folder, name[1:].removesuffix(".cmd")))]
    for note in notes:
        yield from _MADE_OF.findall(note.read_text(encoding="utf-8", errors="replace"))


def first_fault(output: str) -> str:
    """Return the line of a compiler's or make's output that is most informative about the error:
    the first one of the most informative kind. "no error message" if no line has an error."""
    lines = output.splitlines()
    for pattern in _FAULTS:
        for line in lines:
            if pattern.search(line):
                return line.strip()
    return "no error message"


def make(tree: Path, *words: str) -> str:
    """Run make of the kernel, for User-Mode Linux, and return its standard output. Raises
    CommandFailed if it fails or takes more than 10 minutes, ToolMissing if it isn't installed.

    Args:
        tree: folder of the source.
        words: goals and settings of make.
    """
    return run(["make", "ARCH=um", *words], cwd=tree, env=environment(), timeout_s=600)


def environment() -> dict[str, str]:
    """Return all environment variables of a build: PATH with the system's folders, the locale C,
    and BUILD_IDENTITY. No value is the caller's: flags of an outer make, other compilers or a
    locale would change the build."""
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", **BUILD_IDENTITY}

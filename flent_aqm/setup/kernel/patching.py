# SPDX-License-Identifier: GPL-3.0-or-later
"""Applies the lab's patches to a kernel's source, and decides which are optional.

Most patches are required: without them runs don't repeat, a guest could write to the host, or
models of routers and links are missing. Most optional patches only save time. If an optional patch
doesn't fit a newer source, the kernel is built without it and without the patches that need it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.errors import CommandFailed, SetupError
from flent_aqm.base.shell import run
from flent_aqm.setup.kernel.tree import files_of


@dataclass(frozen=True)
class Optional:
    """An optional patch.

    Attributes:
        cost: what a kernel lacks without the patch, as text for the user.
        needs: file names of earlier patches without which it doesn't fit, doesn't compile, or does
            harm.
    """

    cost: str
    needs: tuple[str, ...] = ()


# Exit status of the program patch if parts of a patch don't fit. Other failures have others.
_DOESNT_FIT = 1
# Optional patches by file name. docs/results/performance.md has figures.
OPTIONAL = {
    "0005-cheaper-page-faults.patch": Optional("programs in the lab start more slowly"),
    "0006-1-stubs-end-with-their-kernel.patch": Optional(
        "a program that starts just as the lab is killed can stay behind"),
    "0006-2-programs-above-the-kernel.patch": Optional("0006-4 needs it"),
    "0006-3-kernel-image-in-shared-memory.patch": Optional(
        "0006-4 needs it", ("0005-cheaper-page-faults.patch",)),
    "0006-4-kernel-reserved-in-programs.patch": Optional(
        "0006-5 needs it", ("0006-2-programs-above-the-kernel.patch",
                            "0006-3-kernel-image-in-shared-memory.patch")),
    "0006-5-kernel-in-its-programs-processes.patch": Optional(
        "each system call in the lab takes several times as long",
        ("0006-4-kernel-reserved-in-programs.patch",)),
    "0006-6-contiguous-memory-for-the-c-library.patch": Optional(
        "each folder that is read changes mappings which all the lab's processes follow"),
    "0006-7-floating-point-registers-when-needed.patch": Optional(
        "each system call in the lab copies the floating-point registers",
        ("0006-5-kernel-in-its-programs-processes.patch",)),
    "0007-read-only-host-files-stay-in-memory.patch": Optional(
        "programs in the lab read their files from the host anew each time"),
    "0008-long-copies-by-string-instructions.patch": Optional(
        "runs at 1 Gbit/s take some 4 % longer"),
    "0015-common-headers-compiled-once.patch": Optional("a kernel takes longer to build"),
}

# File name and content of a patch.
Patch = tuple[str, bytes]
# Function that is called with the names of files before a patch changes them.
Keep = Callable[[Iterable[str]], None]


class PatchDoesntFit(SetupError):
    """Raised if a patch doesn't fit the source of a kernel or program, or if a file isn't a patch.
    It is a SetupError, too."""


def apply_all(tree: Path, patches: Sequence[Patch], *, keep: Keep,
              optional: bool = True) -> list[Patch]:
    """Apply patches in their order. Return the applied patches.

    A patch is optional if OPTIONAL has its name. An optional patch that doesn't fit, or needs a
    patch that wasn't applied, is left out and changes nothing. Raises PatchDoesntFit if a required
    patch doesn't fit or isn't a patch, CommandFailed if the program patch fails for another reason,
    ToolMissing if it isn't installed, and errors of `keep`. The patches before it stay applied.

    Args:
        tree: folder of the kernel's source.
        patches: name and content of each patch.
        keep: called with the names of files before they are changed, as apply_own() does.
        optional: False to leave out all optional patches.
    """
    applied: dict[str, bytes] = {}
    for name, content in patches:
        can_do_without = OPTIONAL.get(name)
        if can_do_without and not (optional and applied.keys() >= set(can_do_without.needs)):
            continue
        try:
            apply_own(tree, name, content, keep=keep)
        except PatchDoesntFit:
            if can_do_without:
                continue
            raise
        applied[name] = content
    return list(applied.items())


def apply_own(tree: Path, name: str, content: bytes, *, keep: Keep) -> None:
    """Apply one patch. Raises PatchDoesntFit, with the parts that don't fit, or if the content
    isn't a patch. Then nothing is changed. Raises ToolMissing if the program patch isn't installed,
    CommandFailed if it failed for another reason, such as a full disk. Then the patch may be
    applied in part.

    Args:
        tree: folder of the source, of a kernel or another program.
        name: name of the patch, for messages.
        content: content of the patch.
        keep: called with the names of the patch's files (files_of()) before they are changed, and
            before it is known whether the patch fits. If it raises an error, that is raised (a
            SetupError with the patch's name), and nothing is changed.
    """
    names = files_of(content)
    if not names:
        raise PatchDoesntFit(f"{name} has no line that begins with --- or +++; expected a patch of "
                             "text files, as git diff or diff -u writes it")
    try:
        keep(names)
    except SetupError as fault:
        raise SetupError(f"{name}: {fault}") from None
    try:
        _run_patch(tree, content, "--dry-run")
    except CommandFailed as error:
        if "Only garbage was found" in error.stdout + error.stderr:
            raise PatchDoesntFit(f"{name} has no hunk, which begins with @@; expected a patch of "
                                 "text files, as git diff or diff -u writes it") from None
        # The number is that of a line of the part that is applied, not of the file.
        if malformed := re.search(r"malformed patch at line \d+: (.*)",
                                  error.stdout + error.stderr):
            raise PatchDoesntFit(f"{name} is damaged: malformed patch at the line "
                                 f"{malformed[1].strip()[:60]!r}; expected it as git "
                                 "diff or diff -u writes it, without lines broken, changed or cut "
                                 "off, as mail programs do") from None
        if error.returncode != _DOESNT_FIT:
            raise
        raise PatchDoesntFit(f"{name} doesn't fit the source: "
                             f"{_failed_hunks(error.stdout + error.stderr)}") from None
    _run_patch(tree, content)


def _failed_hunks(output: str) -> str:
    """Return the lines of the output that tell what doesn't fit, such as "FILE: Hunk #1 FAILED at
    12.", with "; " between them. FILE is left out of lines that aren't about the file named last.
    If there are no such lines, return the output in one line. At most 500 characters.

    output: output of the program patch.
    """
    failures, file = [], ""
    for line in output.replace(",\nwhich", ", which").splitlines():
        if line.startswith(("checking file ", "patching file ")):
            file = line.split(" ", 2)[2]
        elif line.startswith("|--- "):  # quoted from the patch, for a file that isn't there
            failures.append(f"the source has no {_without_folder(line.split()[1])}")
        elif line.startswith("The next patch would "):
            failures.append(line.strip())
        elif re.match(r"Hunk .*FAILED|Not deleting ", line) or "previously applied" in line:
            failures.append(f"{file}: {line.strip()}" if file else line.strip())
    return "; ".join(failures)[:500] or " ".join(output.split())[:500]


def _without_folder(name: str) -> str:
    """Return the path of a file in the source, for a message: the name in the patch without its
    first folder, and if that isn't a or b, as git writes it, that it doesn't count."""
    folder, _, path = name.partition("/")
    return (f"{path or name}, where the first folder in {name} does not count"
            if folder not in ("a", "b") else path or name)


def left_out(patches: Sequence[Patch], applied: Sequence[Patch]) -> list[str]:
    """Return the names of the patches that were not applied, in the order of `patches`.

    Args:
        patches: all patches of a recipe.
        applied: those of them that were applied.
    """
    there = {name for name, _content in applied}
    return [name for name, _content in patches if name not in there]


def cost_of(names: Sequence[str]) -> str:
    """Return a clause on what a kernel without these patches lacks, "without PATCH: COST; PATCH:
    COST", where PATCH is a name without .patch, and COST is "not known here" if the patch isn't in
    OPTIONAL. "" if there are no names.

    names: file names of the patches.
    """
    if not names:
        return ""
    unknown = Optional("not known here")
    return "without " + "; ".join(
        f"{name.removesuffix('.patch')}: {OPTIONAL.get(name, unknown).cost}" for name in names)


def _run_patch(tree: Path, content: bytes, *options: str) -> None:
    """Run the program patch on the tree. It changes the tree's files, unless `options` have
    "--dry-run". Raises ToolMissing if it isn't installed, CommandFailed with the exit status
    _DOESNT_FIT if the patch doesn't fit, CommandFailed with another one if patch fails for another
    reason.

    Args:
        tree: folder of the kernel's source.
        content: content of the patch.
        options: further options of the program.
    """
    run(["patch", "-p1", "--fuzz=0", "--batch", "--forward", "--no-backup-if-mismatch", *options],
        cwd=tree, stdin=content)

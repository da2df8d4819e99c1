# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the lab's patches a kernel source gets.

Most are required: without them runs don't repeat, a guest could write to the host, or models of
routers and links are missing. Some only save time. A newer source on which one of those no longer
fits is built without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from flent_aqm.base.errors import CommandFailed, SetupError
from flent_aqm.base.shell import run
from flent_aqm.setup.kernel.tree import files_of

# Patches that a kernel can do without -> what that costs; docs/performance.md has figures.
OPTIONAL = {
    "0005-cheaper-page-faults.patch": "programs in the lab start more slowly",
    "0006-kernel-in-its-programs-processes.patch":
        "each system call in the lab takes several times as long",
    "0007-read-only-host-files-stay-in-memory.patch":
        "programs in the lab read their files from the host anew each time",
    "0008-long-copies-by-string-instructions.patch":
        "runs at 1 Gbit/s take some 4 % longer",
}

Patch = tuple[str, bytes]
# Told the names of files before a patch changes them.
Keep = Callable[[Iterable[str]], None]


class PatchDoesntFit(SetupError):
    """A required patch can't be applied to a source version."""


def apply_all(tree: Path, patches: Sequence[Patch], *, keep: Keep,
              optional: bool = True) -> list[Patch]:
    """Apply patches in their order; return those that were applied.

    optional: also those that a kernel can do without. One of these that doesn't fit is left
    out and changes nothing. Raises PatchDoesntFit for any other.
    """
    applied = []
    for name, content in patches:
        can_do_without = name in OPTIONAL
        if can_do_without and not optional:
            continue
        try:
            apply_own(tree, name, content, keep=keep)
        except PatchDoesntFit:
            if can_do_without:
                continue
            raise
        applied.append((name, content))
    return applied


def apply_own(tree: Path, name: str, content: bytes, *, keep: Keep) -> None:
    """Apply one patch, whole or not at all. Raises PatchDoesntFit that tells which part of it
    doesn't fit."""
    names = files_of(content)
    if not names:
        raise PatchDoesntFit(f"{name} is no patch: no line of it begins with --- or +++")
    keep(names)
    try:
        _patch(tree, content, "--dry-run")
    except CommandFailed as error:
        raise PatchDoesntFit(f"{name} doesn't fit this kernel's source: "
                             f"{_what_failed(error.stdout or error.stderr)}") from None
    _patch(tree, content)


def _what_failed(said: str) -> str:
    """Of patch's words: each file with its hunks that failed."""
    found, file = [], ""
    for line in said.splitlines():
        if line.startswith(("checking file ", "patching file ")):
            file = line.split(" ", 2)[2]
        elif re.match(r"Hunk .*FAILED", line) or "can't find file" in line or "malformed" in line \
                or "previously applied" in line:
            found.append(f"{file}: {line.strip()}" if file else line.strip())
    return "; ".join(found)[:500] or " ".join(said.split())[:500]


def left_out(patches: Sequence[Patch], applied: Sequence[Patch]) -> list[str]:
    """Return the names of the patches that are not in the kernel."""
    there = {name for name, _content in applied}
    return [name for name, _content in patches if name not in there]


def cost_of(names: Sequence[str]) -> str:
    """Return a sentence on what a kernel without these patches lacks, "" for none."""
    if not names:
        return ""
    return "without " + "; ".join(
        f"{name.removesuffix('.patch')}: {OPTIONAL.get(name, 'not known here')}" for name in names)


def _patch(tree: Path, content: bytes, *options: str) -> None:
    run(["patch", "-p1", "--fuzz=0", "--batch", "--forward", "--no-backup-if-mismatch", *options],
        cwd=tree, stdin=content.decode("utf-8", "surrogateescape"))

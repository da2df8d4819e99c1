# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the lab's patches a kernel source gets.

Most are required: without them runs don't repeat, a guest could write to the host, or a router
model is missing. Some only save time. A newer source on which one of those no longer fits is
built without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import CommandFailed, SetupError
from flent_aqm.base.shell import run

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


class PatchDoesntFit(SetupError):
    """A required patch can't be applied to a source version."""


def apply_all(tree: Path, patches: Sequence[Patch], *, optional: bool = True) -> list[Patch]:
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
            # First without writing: a patch is applied whole or not at all.
            _patch(tree, content, "--dry-run")
        except CommandFailed as error:
            if can_do_without:
                continue
            raise PatchDoesntFit(f"{name} doesn't fit this kernel version: "
                                 f"{' '.join(error.stdout.split())[:500]}") from None
        _patch(tree, content)
        applied.append((name, content))
    return applied


def take_back(tree: Path, applied: Sequence[Patch]) -> None:
    """Undo what apply_all() did; what was compiled stays."""
    for _name, content in reversed(applied):
        _patch(tree, content, "--reverse")


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
    forward = () if "--reverse" in options else ("--forward",)
    run(["patch", "-p1", "--fuzz=0", "--batch", *forward, *options], cwd=tree,
        stdin=content.decode("utf-8"))

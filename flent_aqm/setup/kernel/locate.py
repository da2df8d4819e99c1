# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds a kernel for the lab that set-up or the user has built."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

from flent_aqm.base import environment
from flent_aqm.base.errors import ToolMissing
from flent_aqm.base.paths import caches, find_cached, ready_made
from flent_aqm.base.regular_file import read_note
from flent_aqm.setup.kernel.named import find_named
from flent_aqm.setup.kernel.recipe import current_recipe, read_choices
from flent_aqm.spec.kernel import STOCK

# Environment variable with the path of another `linux` program to use instead.
VARIABLE = environment.KERNEL


@dataclass(frozen=True)
class Kernel:
    """A kernel for the lab.

    Attributes:
        path: path of the program.
        version: version such as "7.3.4", "unknown" if its note is missing or damaged.
        hash: hash of its recipe. For the program of FLENT_AQM_KERNEL, the beginning of its file's
            hash.
        left_out: names of the patches that it was built without. Empty if its note is missing or
            damaged.
        name: value of the batch key `kernel` by which it was found. STOCK also for the program of
            FLENT_AQM_KERNEL, and for any kernel that was found by its hash.
    """

    path: Path
    version: str
    hash: str
    left_out: tuple[str, ...] = ()
    name: str = STOCK

    @property
    def has_kasan(self) -> bool:
        """True if the kernel checks all its memory accesses (CONFIG_KASAN). False if its
        configuration isn't known."""
        try:
            return "\nCONFIG_KASAN=y\n" in self.path.with_name("config").read_text()
        except OSError:
            return False  # the configuration of FLENT_AQM_KERNEL's program isn't known


def find_kernel() -> Kernel:
    """Return the kernel of find_lab_kernel(), or if FLENT_AQM_KERNEL is set the kernel of that path
    instead. Raises ToolMissing if there is no such kernel, or if FLENT_AQM_KERNEL isn't a program.
    """
    kernel_path = os.environ.get(VARIABLE)
    return _kernel_of_user(Path(kernel_path)) if kernel_path else find_lab_kernel()


def find_lab_kernel() -> Kernel:
    """Return the lab's kernel for the current options and patches, of the first source version in
    use for which a cache has it. Whether its program is complete isn't checked. Raises ToolMissing
    if there is none."""
    choices = read_choices()
    for source in choices:
        name = current_recipe(source).hash
        path = find_cached("kernels", name, "linux")
        if path is not None:
            return _kernel_with_note(path, name)
    if not choices:
        raise ToolMissing("no lab kernel is found in "
                          f"{' and '.join(map(str, caches()))}, or the note on it there can't be "
                          "read; run, as this user: flent-aqm setup")
    why = unfit_ready_made() or "the lab kernel is not built for these options and patches"
    raise ToolMissing(f"{why}; run: flent-aqm setup")


def unfit_ready_made() -> str:
    """Return a clause that says why the kernel of the wheel or Debian package flent-aqm-lab isn't
    used. "" if neither is installed. Call it only if no kernel was found."""
    if ready_made() is None:
        return ""
    return ("the lab kernel of the installed flent-aqm-lab has other options or patches than this "
            "flent-aqm")


def kernel_called(name: str) -> Kernel:
    """Return the kernel for a value of the batch key `kernel`. Raises ToolMissing if there is none,
    if its program is gone from the cache or its description is damaged, or if it was built by
    another version of the lab, SetupError if its version is too old for this lab.

    name: "stock" for the kernel that find_kernel() returns, or the name of a kernel of the user.
    """
    if name == STOCK:
        return find_kernel()
    named = find_named(name)
    return replace(_kernel_with_note(named.path, named.hash), name=name)


def kernel_of(wanted: str) -> Kernel | None:
    """Return the kernel with a hash, None if this machine doesn't have it. Its `name` is STOCK,
    even if a user has built it. If FLENT_AQM_KERNEL is set, only that kernel is considered. Raises
    ToolMissing if FLENT_AQM_KERNEL isn't a program.

    wanted: the hash, as Kernel has it.
    """
    if os.environ.get(VARIABLE):
        kernel = find_kernel()
        return kernel if kernel.hash == wanted else None
    return built_kernel(wanted)


def built_kernel(wanted: str) -> Kernel | None:
    """Return the kernel with a hash from the first cache that has it, None if no cache has it. Its
    `name` is STOCK, even if a user has built it.

    wanted: hash of the recipe.
    """
    path = find_cached("kernels", wanted, "linux")
    return None if path is None else _kernel_with_note(path, wanted)


def _kernel_with_note(path: Path, recipe_hash: str) -> Kernel:
    """Return the kernel at this path, with the name STOCK, and with the version and the patches
    left out from the note that set-up wrote beside it. If the note is missing or damaged, the
    version is "unknown", and no patches are left out.

    recipe_hash: hash to give the kernel.
    """
    try:
        facts = read_note(path.with_name("kernel.json"))
        return Kernel(path, str(facts["kernel_version"]), recipe_hash,
                      tuple(map(str, facts.get("left_out", ()))))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Kernel(path, "unknown", recipe_hash)


def _kernel_of_user(path: Path) -> Kernel:
    """Return the kernel of FLENT_AQM_KERNEL, whose path is given, with the beginning of its file's
    hash. Its version is "unknown" unless it has a note beside it. Raises ToolMissing if the file
    isn't a program."""
    if not os.access(path, os.X_OK) or not path.is_file():
        raise ToolMissing(f"{VARIABLE}: {path} is not a file that this user may execute; unset it, "
                          "or give the path of a User-Mode Linux kernel")
    # Its recipe is unknown, so the hash is that of the file.
    return _kernel_with_note(path, hashlib.sha256(path.read_bytes()).hexdigest()[:16])

# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things are: the project's own folders, and what set-up has built."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
SYSTEM_CACHE = Path("/var/cache/flent-aqm")
# The package of the wheel flent-aqm-lab: what set-up would build, ready-made.
READY_MADE = "flent_aqm_lab"
# The Debian package of the same purpose has it here.
DEBIAN_READY_MADE = Path("/usr/lib/flent-aqm-lab")


def resource_dir(name: str) -> Path:
    """Return the folder tests_defs, batches or router_hooks.

    They stand beside the package in a checkout and inside it when installed.
    """
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


def is_installed() -> bool:
    """Return whether this package was installed by copying it, as opposed to run from a
    checkout."""
    return (PACKAGE / "tests_defs").is_dir()


def user_cache() -> Path:
    """Return the cache folder of this user (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base:
        home = os.path.expanduser("~")  # as it stands for a user whom nobody knows
        base = os.path.join(home if os.path.isabs(home) else "/nonexistent", ".cache")
    return Path(base) / "flent-aqm"


def cache_to_write() -> Path:
    """Return where set-up puts what it builds: root builds for all users of the machine."""
    return SYSTEM_CACHE if os.geteuid() == 0 else user_cache()


def ready_made() -> Path | None:
    """Return the folder of the wheel or Debian package flent-aqm-lab, None where neither is
    installed.

    It lies beside this package, or, for a checkout, among the environment's packages, or where
    Debian's package has it: nowhere else, as programs in it are run."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for folder in (PACKAGE.parent / READY_MADE,
                   Path(sys.prefix, "lib", version, "site-packages", READY_MADE),
                   DEBIAN_READY_MADE):
        if os.path.isdir(folder / "kernels"):
            return folder
    return None


def caches() -> list[Path]:
    """Return the folders in which built parts are looked for, in order: what this user has
    built, what was installed ready-made, what root has built. They need not exist."""
    there = ready_made()
    return [user_cache(), *([there] if there else []), SYSTEM_CACHE]


def program_dirs(cache: Path) -> list[Path]:
    """Return the existing folders of one of caches() that have programs for PATH.

    In a wheel, which can hold no links, programs stand in their folders, CACHE/tools/NAME-VERSION.
    """
    if os.path.isdir(cache / "bin"):
        return [cache / "bin"]
    return sorted(cache.glob("tools/*")) if cache == ready_made() else []


def find_cached(*parts: str) -> Path | None:
    """Return the first existing file among caches(). What this user may not look at is not there:
    Path.exists() would raise for the cache of another."""
    for base in caches():
        path = base.joinpath(*parts)
        if os.path.exists(path):
            return path
    return None

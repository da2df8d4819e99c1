# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the project's own folders, and what set-up has built."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
SYSTEM_CACHE = Path("/var/cache/flent-aqm")
# The package of the wheel flent-aqm-lab: what set-up would build, ready-made.
READY_MADE = "flent_aqm_lab"
# The Debian package of the same purpose has it here.
DEBIAN_READY_MADE = Path("/usr/lib/flent-aqm-lab")


BASE_BATCH = "base.batch"
_INHERITS_BASE = re.compile(r"^[ \t]*inherits[ \t]*[=:][ \t]*base[ \t]*$",
                            re.MULTILINE | re.IGNORECASE)
_BASE_SECTION = re.compile(r"^\[Batch::base\]", re.MULTILINE | re.IGNORECASE)


def resource_dir(name: str) -> Path:
    """Return the path of a folder that comes with the project. It need not exist.

    The folders are beside the package in a checkout, and inside it when installed.

    name: "tests_defs", "batches" or "router_hooks".
    """
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


def base_batch(file: Path) -> Path | None:
    """Return the path of the base.batch that is read before a batch file: that in the file's
    folder, if there is one (which may be the file itself), otherwise this package's, if a batch of
    the file inherits from `base` and the file has no section of that name. None if neither is to be
    read, also if there is none in the folder and the batch file doesn't exist or can't be read."""
    # Not Path.is_file(), which raises PermissionError for a folder that can't be entered.
    beside = file.parent / BASE_BATCH
    if os.path.isfile(beside):
        return beside
    try:
        text = file.read_text("utf-8", errors="replace") if os.path.isfile(file) else ""
    except OSError:
        return None
    if _INHERITS_BASE.search(text) and not _BASE_SECTION.search(text):
        return resource_dir("batches") / BASE_BATCH
    return None


def is_installed() -> bool:
    """Return whether this package was installed as a copy. False in a checkout."""
    return (PACKAGE / "tests_defs").is_dir()


def user_cache() -> Path:
    """Return the path of this user's cache folder: flent-aqm in XDG_CACHE_HOME, or in ~/.cache if
    that is unset or empty. It need not exist. For a user without a home and without
    XDG_CACHE_HOME, it is in /nonexistent."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base:
        home = os.path.expanduser("~")  # stays "~" for a user without an entry in passwd
        base = os.path.join(home if os.path.isabs(home) else "/nonexistent", ".cache")
    return Path(base) / "flent-aqm"


def cache_to_write() -> Path:
    """Return the path of the cache folder that set-up writes: for root it is SYSTEM_CACHE, which
    all users of the machine can read, otherwise the user's."""
    return SYSTEM_CACHE if os.geteuid() == 0 else user_cache()


def or_another_cache(cache: Path, which: str) -> str:
    """Return ", or set XDG_CACHE_HOME to a folder WHICH", the end of a message that advises another
    cache folder. "" for SYSTEM_CACHE, because XDG_CACHE_HOME doesn't move it.

    Args:
        cache: the cache folder.
        which: words that describe the other folder, such as "with more".
    """
    return "" if cache == SYSTEM_CACHE else f", or set XDG_CACHE_HOME to a folder {which}"


def ready_made() -> Path | None:
    """Return the folder of the wheel or Debian package flent-aqm-lab, the first that has a folder
    `kernels`. None if neither is installed.

    The folder is looked for beside this package, among the environment's packages (for a checkout),
    and in the Debian package's place. It is looked for nowhere else because programs in it are run.
    """
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for folder in (PACKAGE.parent / READY_MADE,
                   Path(sys.prefix, "lib", version, "site-packages", READY_MADE),
                   DEBIAN_READY_MADE):
        if os.path.isdir(folder / "kernels"):
            return folder
    return None


def caches() -> list[Path]:
    """Return the folders in which programs and kernels are looked for, in this order: built by this
    user, installed ready-made (only if installed), built by root. The others need not exist."""
    there = ready_made()
    return [user_cache(), *([there] if there else []), SYSTEM_CACHE]


def program_dirs(cache: Path) -> list[Path]:
    """Return the folders of a cache that belong on PATH, because programs are in them. Empty if the
    cache has none.

    A cache that set-up made has links in CACHE/bin. A wheel can't hold links: its programs are in
    CACHE/tools/NAME-VERSION.
    """
    if os.path.isdir(cache / "bin"):
        return [cache / "bin"]
    return sorted(cache.glob("tools/*")) if cache == ready_made() else []


def find_cached(*parts: str) -> Path | None:
    """Return the path CACHE/PARTS in the first of caches() that has it, None if none has it. A
    cache that this user may not read counts as absent.

    parts: names of folders, and of the file or folder to find.
    """
    for base in caches():
        path = base.joinpath(*parts)
        if os.path.exists(path):  # Path.exists() would raise PermissionError
            return path
    return None

# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things are: the project's own folders, and what set-up has built."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
SYSTEM_CACHE = Path("/var/cache/flent-aqm")


def resource_dir(name: str) -> Path:
    """The folder tests_defs, batches or router_hooks.

    They stand beside the package in a checkout and inside it when installed.
    """
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


def is_installed() -> bool:
    """Whether this package was installed by copying it, as opposed to run from a checkout."""
    return (PACKAGE / "tests_defs").is_dir()


def user_cache() -> Path:
    """The cache folder of this user (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base:
        home = os.path.expanduser("~")  # as it stands for a user whom nobody knows
        base = os.path.join(home if os.path.isabs(home) else "/nonexistent", ".cache")
    return Path(base) / "flent-aqm"


def cache_to_write() -> Path:
    """Where set-up puts what it builds: root builds for all users of the machine."""
    return SYSTEM_CACHE if os.geteuid() == 0 else user_cache()


def find_cached(*parts: str) -> Path | None:
    """The first existing file among this user's cache and the machine's. What this user may
    not look at is not there: Path.exists() would raise for the cache of another."""
    for base in (user_cache(), SYSTEM_CACHE):
        path = base.joinpath(*parts)
        if os.path.exists(path):
            return path
    return None

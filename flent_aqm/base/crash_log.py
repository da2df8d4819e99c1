# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a crash log: command, versions and traceback of an error that nobody expected."""

from __future__ import annotations

import platform
import tempfile
import time
import traceback
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from flent_aqm.base.paths import user_cache

PACKAGES = ("flent-aqm", "flent", "numpy", "matplotlib")


def write_crash_log(argv: Sequence[str], error: BaseException) -> Path:
    """Write a crash log and return its path.

    The log goes into the user's cache, or into a new temporary folder if the cache can't be
    written. Its name is the time; one of the same second is replaced. If neither folder can be
    written, the returned path is a text that says so.

    Args:
        argv: the words of the command line, with the program's name first.
        error: the exception that ended the command.
    """
    text = "\n".join([
        f"command: {' '.join(argv)}",
        f"system: {platform.platform()}, Python {platform.python_version()}",
        *(f"{name}: {_package_version(name)}" for name in PACKAGES),
        "", *traceback.format_exception(error),
    ])
    name = time.strftime("crash-%Y%m%dT%H%M%SZ.log", time.gmtime())
    for make_folder in (_cache_folder, _temporary_folder):
        try:
            path = make_folder() / name
            # An argument may have bytes that are no text.
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
            return path
        except OSError:
            continue
    return Path("(no log: no folder could be written)")


def _cache_folder() -> Path:
    """Return the folder for crash logs in the user's cache, which is created if it doesn't exist.
    Raises OSError if it can't be created."""
    folder = user_cache() / "crashes"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _temporary_folder() -> Path:
    """Create a temporary folder and return its path. It stays. Raises OSError if it can't be
    created."""
    return Path(tempfile.mkdtemp(prefix="flent-aqm-"))


def _package_version(name: str) -> str:
    """Return the version of an installed Python package, or "not installed".

    name: name of the package.
    """
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"

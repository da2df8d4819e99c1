# SPDX-License-Identifier: GPL-3.0-or-later
"""The package as guests see it: a copy of a checkout's sources, compiled.

A checkout has more in it than its sources: compiled files of those modules that somebody
imported, editors' backups, older results. Python looks for such files, and each file that it
finds is a look at the clock for the guest's kernel and a piece of memory for the program; a
run would tell whether they were there. The copy has the same files wherever it is made, is
named by a hash of what is in them, and stays as it is when sources are edited during a sweep.

An installed package needs none: what installs it compiles all of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from flent_aqm.base import paths
from flent_aqm.base.errors import LabError

# Not batches: a guest gets its run's own, and people keep theirs beside the package's.
PARTS = ("flent_aqm", "tests_defs", "router_hooks")
# Folders that a wheel has inside the package and a checkout beside it.
_BESIDE = ("tests_defs", "router_hooks", "batches")
# Those of files that are read inside.
SUFFIXES = frozenset({".py", ".sh", ".pl", ".conf", ".inc", ".config", ".patch", ".txt"})
FOLDER = "package"
# Copies that nothing has used for so long are removed when a new one is made.
KEPT_S = 7 * 86400.0


def package_folder(guest_place: str, spare: Path) -> Path:
    """Return the folder that guests see at guest_place, with the package in it.

    The copy is made in the cache when it is first needed, or in the folder spare where no
    cache can be written.
    """
    if paths.is_installed():
        return paths.PACKAGE.parent
    name = f"{package_hash()}-{sys.implementation.cache_tag}"
    folder = paths.find_cached(FOLDER, name)
    if folder is None:
        folder = _made(guest_place, name, spare)
    with contextlib.suppress(OSError):  # of another user
        os.utime(folder)
    return folder


@cache
def package_hash() -> str:
    """Return a hash of this package's sources: names and content, without paths of the machine.
    It is the same of a checkout and of a wheel made of it, and of a checkout with batches of one's
    own."""
    digest = hashlib.sha256()
    for path, name in _sources():
        content = path.read_bytes()
        digest.update(f"{name}\0{os.access(path, os.X_OK)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _sources() -> Iterator[tuple[Path, str]]:
    """Yield each file of a copy, and its path there, in an order that is the same everywhere."""
    tops = {part: paths.PACKAGE if part == "flent_aqm" else paths.resource_dir(part)
            for part in PARTS}
    for part, top in tops.items():
        for path in sorted(top.rglob("*")):
            below = path.relative_to(top)
            if path.suffix in SUFFIXES and path.is_file() and not (
                    part == "flent_aqm" and below.parts[0] in _BESIDE):
                yield path, f"{part}/{below}"


def _made(guest_place: str, name: str, spare: Path) -> Path:
    """Return a new copy, in the cache if possible."""
    for base in (paths.cache_to_write() / FOLDER, spare):
        with contextlib.suppress(OSError):
            base.mkdir(parents=True, exist_ok=True)
            _remove_unused(base)
            with tempfile.TemporaryDirectory(prefix="new-", dir=base) as temporary:
                part = Path(temporary) / name
                _fill(part, guest_place)
                # Another process may have been faster; then that one is as good.
                with contextlib.suppress(OSError):
                    part.rename(base / name)
            if (base / name).is_dir():
                return base / name
    raise LabError(f"can't copy the package for the lab: neither {paths.cache_to_write()} nor "
                   f"{spare} can be written; set XDG_CACHE_HOME to a folder that can")


def _fill(folder: Path, guest_place: str) -> None:
    for path, name in _sources():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o755 if os.access(path, os.X_OK) else 0o644)
    # In a process of its own with a fixed hash seed, so that the files are the same, too.
    # Python then takes them as they are, without a look at the source's time.
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-m", "compileall", "-q", "-j1",
         "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", guest_place,
         str(folder / "flent_aqm")],
        env={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8"}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"can't compile the package for the lab: {done.stdout.strip()[-300:]}")
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)  # for other users, whatever the umask is


def _remove_unused(base: Path) -> None:
    for path in base.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process removes them, too
            if time.time() - path.stat().st_mtime > KEPT_S:
                shutil.rmtree(path, ignore_errors=True)

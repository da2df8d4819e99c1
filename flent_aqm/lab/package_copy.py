# SPDX-License-Identifier: GPL-3.0-or-later
"""A compiled copy of this package's sources, which guests see in place of a checkout.

A checkout contains more than its sources: compiled files of modules that were imported, backups of
editors, older results. Python looks for such files, and each file that it finds takes time of the
guest's clock and memory of the program, so it would change the measurements. The copy contains the
same files on every machine. It is named by a hash of its content, and stays as it is when sources
are edited during a sweep.

An installed package needs no copy, because its installer compiles all of it.
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
from flent_aqm.base.errors import LabError, cause_of

# Folders to copy. Not batches: a guest gets only the batch of its run, and people keep their own
# batches beside the package's.
PARTS = ("flent_aqm", "tests_defs", "router_hooks")
# Folders that are inside the package in a wheel, and beside it in a checkout.
_BESIDE = ("tests_defs", "router_hooks", "batches")
# Suffixes of the files that are read inside the guest.
SUFFIXES = frozenset({".py", ".sh", ".pl", ".conf", ".inc", ".config", ".patch", ".txt"})
# Folder of the copies in the cache.
FOLDER = "package"
# Seconds after which unused copies are removed. They are removed when a new copy is made.
KEPT_S = 7 * 86400.0


def package_folder(guest_place: str, spare: Path) -> Path:
    """Return the folder on the host that contains the package, and that guests mount at
    `guest_place`.

    For an installed package, that is where it is. For a checkout, it is a copy in a cache. If there
    is none, one is made in the cache, or in `spare` if the cache can't be written, and copies that
    were not used for KEPT_S seconds are removed there. The copy's time of change is set to now if
    that is permitted, which tells that it is used.

    Args:
        guest_place: path inside the guest.
        spare: folder on the host, made if necessary.

    Raises LabError if neither can be written, or if the package can't be read or compiled.
    """
    if paths.is_installed():
        return paths.PACKAGE.parent
    name = f"{package_hash()}-{sys.implementation.cache_tag}"
    folder = paths.find_cached(FOLDER, name)
    if folder is None:
        folder = _make_copy(guest_place, name, spare)
    with contextlib.suppress(OSError):  # of another user
        os.utime(folder)
    return folder


@cache
def package_hash() -> str:
    """Return a hash, 16 hexadecimal digits, of this package's files with the SUFFIXES, as
    _sources() yields them: of their names, their contents, and whether they are executable. The
    files are read at the first call only.

    A checkout and a wheel built from it have the same hash. Batches don't count.

    Raises LabError if a file can't be read.
    """
    digest = hashlib.sha256()
    try:
        for path, name in _sources():
            content = path.read_bytes()
            digest.update(f"{name}\0{os.access(path, os.X_OK)}\0{len(content)}\0".encode())
            digest.update(content)
    except OSError as error:
        raise LabError(f"can't read flent-aqm's own file {error.filename}: {cause_of(error)}; "
                       "install flent-aqm again, or make the file readable") from None
    return digest.hexdigest()[:16]


def _sources() -> Iterator[tuple[Path, str]]:
    """Yield each file of the package with one of the SUFFIXES: its path, and its path in the copy,
    such as "flent_aqm/cli.py". The order is the same on every machine. Batches are left out."""
    tops = {part: paths.PACKAGE if part == "flent_aqm" else paths.resource_dir(part)
            for part in PARTS}
    for part, top in tops.items():
        for path in sorted(top.rglob("*")):
            below = path.relative_to(top)
            if path.suffix in SUFFIXES and path.is_file() and not (
                    part == "flent_aqm" and below.parts[0] in _BESIDE):
                yield path, f"{part}/{below}"


def _make_copy(guest_place: str, name: str, spare: Path) -> Path:
    """Make a copy of the package, in the cache if possible, otherwise in `spare`. Return its
    folder. If another process has made the same copy meanwhile, return that. Before that, copies in
    the same folder that were not used for KEPT_S seconds are removed.

    Args:
        guest_place: path at which guests mount the copy, compiled into its .pyc files.
        name: name of the copy's folder: hash and Python's cache tag.
        spare: folder that is used if the cache can't be written, made if necessary.

    Raises LabError if neither can be written, if a source can't be read, or if the package can't be
    compiled.
    """
    faults: list[str] = []
    for base in (paths.cache_to_write() / FOLDER, spare):
        try:
            base.mkdir(parents=True, exist_ok=True)
            _remove_unused(base)
            with tempfile.TemporaryDirectory(prefix="new-", dir=base) as temporary:
                part = Path(temporary) / name
                _fill_copy(part, guest_place)
                try:
                    part.rename(base / name)
                except OSError:
                    # If another process was faster, its copy is the same.
                    if not (base / name).is_dir():
                        raise
            return base / name
        except OSError as error:
            faults.append(f"{error.filename or base}: {cause_of(error)}")
    raise LabError(f"can't copy the package for the lab: {'; '.join(faults)}; mend that"
                   + paths.or_another_cache(paths.cache_to_write(), "that can be written"))


def _fill_copy(folder: Path, guest_place: str) -> None:
    """Copy the sources to `folder`, which is made, and compile the Python files of flent_aqm. Files
    and folders can be read by all users. Raises LabError if a file can't be compiled, OSError if
    one can't be read or written.

    Args:
        folder: the copy's folder.
        guest_place: path at which guests mount the copy, compiled into its .pyc files.
    """
    for path, name in _sources():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o755 if os.access(path, os.X_OK) else 0o644)
    # In a process of its own with a fixed hash seed, so that the compiled files are the same on
    # every machine. With unchecked hashes, Python doesn't compare them with the source's time.
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-m", "compileall", "-q", "-j1",
         "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", guest_place,
         str(folder / "flent_aqm")],
        env={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8"}, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stdout.strip() or done.stderr.strip() or f"exit status {done.returncode}"
        # The first fault, whose path the user doesn't have.
        first = said.partition("\n\n")[0].replace(f"{guest_place}/", "")
        raise LabError("can't compile the package for the lab; if its source was changed, mend it: "
                       f"compileall: {first[-300:]}")
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)  # for other users, whatever the umask is


def _remove_unused(base: Path) -> None:
    """Remove the folders in the folder `base` whose last change is more than KEPT_S seconds ago:
    copies that were not used since then, and unfinished ones. What can't be removed stays. Raises
    OSError if `base` can't be read."""
    for path in base.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process removes them, too
            if time.time() - path.stat().st_mtime > KEPT_S:
                shutil.rmtree(path, ignore_errors=True)

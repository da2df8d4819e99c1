# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts finished parts into the cache folder, whole or not at all.

    CACHE/lock                 held while anything is built
    CACHE/staging-XXXX/        work under way; left over only after a kill, then removed
    CACHE/kernels/HASH/        finished parts, each moved in by one rename
    CACHE/tools/NAME-VERSION/
    CACHE/bin/NAME             link to the version in use
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from flent_aqm.base.errors import SetupError
from flent_aqm.base.paths import caches, program_dirs
from flent_aqm.setup.progress import Progress

_STAGING = "staging-"
_FULL = (errno.ENOSPC, errno.EDQUOT)  # a write that fails tells no name


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """Hold the cache folder for building, and clear what a killed set-up left there.

    Waits, and says so, while another set-up holds it. Raises SetupError when the
    folder, or a file in it, can't be written.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        handle = _open_lock(cache / "lock")
    except OSError as error:
        raise _unwritable(error, cache) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            Progress("set-up").step(f"waiting for another set-up that works in {cache}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        for left_over in cache.glob(f"{_STAGING}*"):
            if left_over.is_dir():  # to open another kind may wait for ever
                shutil.rmtree(left_over, ignore_errors=True)
        yield
    except OSError as error:
        # A file where a folder belongs, a full disk: nothing that is wrong with this program.
        if error.errno in _FULL or cache in Path(os.fsdecode(error.filename or "")).parents:
            raise _unwritable(error, cache) from None
        raise
    finally:
        os.close(handle)


def _unwritable(error: OSError, cache: Path) -> SetupError:
    return SetupError(f"{os.fsdecode(error.filename or cache)}: {error.strerror}; remove what is "
                      "in the way, or set XDG_CACHE_HOME to a folder that can be written")


def _open_lock(path: Path) -> int:
    """Open the lock file, which nobody else may: who can open a file, to read it even, can
    hold its lock for ever."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        about = os.fstat(handle)
        if about.st_uid == os.geteuid() and not about.st_mode & 0o077:
            return handle
        # An older version made it, and anybody may hold it: another takes its place.
        os.close(handle)
        number, fresh = tempfile.mkstemp(prefix=".lock-", dir=path.parent)
        os.close(number)
        os.replace(fresh, path)


@contextmanager
def staging(cache: Path) -> Iterator[Path]:
    """A folder for work under way, on the file system of the cache; removed at the end.

    Only inside locked().
    """
    folder = Path(tempfile.mkdtemp(prefix=_STAGING, dir=cache))
    # apt downloads as a user of its own, and what root builds is for everybody.
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish(finished: Path, target: Path, is_fit: Callable[[Path], bool] = os.path.isdir) -> None:
    """Move a finished folder into its place; a target that is there already stays, if it is fit.

    Only inside staging(), which removes one that isn't.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not is_fit(target):
        target.rename(finished.with_name(f"unfit-{target.name}"))
    try:
        finished.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def link(target: Path, name: Path) -> None:
    """Let the link `name` point to target, by a relative path, in one step."""
    name.parent.mkdir(parents=True, exist_ok=True)
    fresh = name.with_name(f".{name.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(os.path.relpath(target, name.parent))
    fresh.replace(name)


def require_space(folder: Path, bytes_needed: int, what: str) -> None:
    """Raise SetupError unless the folder's file system has this much room."""
    free = shutil.disk_usage(folder).free
    if free < bytes_needed:
        raise SetupError(f"{what} needs {bytes_needed / 1e9:.1f} GB in {folder}, "
                         f"{free / 1e9:.1f} GB are free; make room or set XDG_CACHE_HOME")


def find_tool_link(name: str) -> Path | None:
    """Return what CACHE/bin/NAME points to, in the first of the caches that has it."""
    for cache in caches():
        for folder in program_dirs(cache):
            if os.path.exists(folder / name):
                return Path(os.path.realpath(folder / name))
    return None

# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts finished parts into the cache folder, each complete or not at all.

    CACHE/lock                 held while anything is built, but for the time in which a user's
                               kernel is compiled
    CACHE/trees/NAME.lock      held by the build that works in the kernel source CACHE/trees/NAME
    CACHE/staging-XXXX/        unfinished work, locked itself; removed by the next set-up if one was
                               killed
    CACHE/kernels/HASH/        finished parts, each moved here by one rename
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
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from flent_aqm.base.errors import SetupError, cause_of
from flent_aqm.base.paths import caches, or_another_cache, program_dirs
from flent_aqm.setup.progress import Progress

_STAGING = "staging-"
# Handles of the locks of cache folders that this process holds.
_handles: dict[Path, int] = {}
_FULL = (errno.ENOSPC, errno.EDQUOT)  # these errors of write() have no file name
# Error -> what the user can do.
_TO_DO = {**dict.fromkeys(_FULL, "make room"),
          **dict.fromkeys((errno.ENOTDIR, errno.EEXIST, errno.EISDIR),
                          "remove the file or folder of that name"),
          **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "make it writable"),
          errno.ELOOP: "remove the symbolic link of that name",
          **dict.fromkeys((errno.EMFILE, errno.ENFILE),
                          "raise the limit of open files (ulimit -n)")}
# Advice for all other errors.
_LOOK = "look why, and run the same command again"


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """Context manager: hold the lock of the cache folder while the block builds. The folder is
    created if it doesn't exist, and staging folders that a killed set-up left are removed. Those in
    use stay.

    If another set-up holds the lock, print a line and wait. A second locked() inside the block
    would wait for ever. Raises SetupError if the folder or its lock file can't be made or opened,
    and in place of an OSError of the block about a file in the folder or a full disk. Other
    exceptions of the block are raised unchanged.
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
            with suppress(OSError), _lock_of_work(left_over):
                shutil.rmtree(left_over, ignore_errors=True)
        _handles[cache] = handle
        yield
    except OSError as error:
        # A file in the place of a folder, or a full disk, is no defect of this program.
        if error.errno in _FULL or cache in Path(os.fsdecode(error.filename or "")).parents:
            raise _unwritable(error, cache) from None
        raise
    finally:
        _handles.pop(cache, None)
        os.close(handle)


@contextmanager
def released(cache: Path) -> Iterator[None]:
    """Context manager: release the cache's lock while the block runs, if this process holds it by
    locked(). At the block's end, wait until it can be held again. Other set-ups leave alone what is
    in folders of staging() meanwhile."""
    handle = _handles.get(cache)
    if handle is not None:
        fcntl.flock(handle, fcntl.LOCK_UN)
    try:
        yield
    finally:
        if handle is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)


@contextmanager
def held(cache: Path, folder: Path) -> Iterator[None]:
    """Context manager: hold the lock of a folder in the cache, FOLDER.lock, while the block runs.
    The folder need not exist. Its parent is created.

    If another build holds the lock, print a line and wait. Only while waiting, the cache's lock is
    released, because the other build needs it to end. Raises OSError if the lock file can't be
    opened.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    handle = _open_lock(folder.with_name(f"{folder.name}.lock"))
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            Progress("set-up").step(f"waiting for another build in {folder}")
            with released(cache):
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def is_held(folder: Path) -> bool:
    """Return whether this or another process holds the lock of a folder, FOLDER.lock, by held().
    False if the lock file can't be opened."""
    try:
        handle = os.open(folder.with_name(f"{folder.name}.lock"), os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _unwritable(error: OSError, cache: Path) -> SetupError:
    """Return the SetupError for a file or folder that can't be written, with what the user can do.

    Args:
        error: the error of the system call.
        cache: the cache folder, named if the error has no file name.
    """
    path = Path(os.fsdecode(error.filename or cache))
    if error.errno == errno.ENOTDIR:  # not the path itself, but what stands above it
        path = next((one for one in reversed(path.parents) if not one.is_dir()), path)
    return SetupError(f"{path}: {cause_of(error)}; "
                      f"{_TO_DO.get(error.errno or 0, _LOOK)}"
                      f"{or_another_cache(cache, 'that can be written')}")


def _open_lock(path: Path) -> int:
    """Create or open a lock file, and return its descriptor, which the caller closes. The lock
    isn't taken. No other user can open the file: a user who can open it, even for reading, can hold
    its lock for ever. A file that others can open is replaced. Raises OSError if the file can't be
    opened or replaced."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        about = os.fstat(handle)
        if about.st_uid == os.geteuid() and not about.st_mode & 0o077:
            return handle
        # An older version made it accessible to others, who may hold its lock. Replace it.
        os.close(handle)
        number, fresh = tempfile.mkstemp(prefix=".lock-", dir=path.parent)
        os.close(number)
        os.replace(fresh, path)


@contextmanager
def staging(cache: Path) -> Iterator[Path]:
    """Context manager: yield a new folder for unfinished work, on the file system of the cache. It
    is removed at the block's end. Other set-ups don't remove it before. Use it only within
    locked(), whose lock may be released meanwhile."""
    with ExitStack() as lock:
        while True:
            folder = Path(tempfile.mkdtemp(prefix=_STAGING, dir=cache))
            try:
                lock.enter_context(_lock_of_work(folder))
                break
            except (BlockingIOError, FileNotFoundError):
                pass  # another set-up has removed it, because it wasn't locked yet
        try:
            # apt downloads as a user of its own, and programs that root builds are for all users.
            folder.chmod(0o755)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _lock_of_work(folder: Path) -> Iterator[None]:
    """Context manager: hold the lock of a folder of staging(), which is that of the folder itself,
    while the block runs. Raises BlockingIOError if another process holds it, FileNotFoundError if
    the folder has been removed, another OSError if the path isn't a folder or can't be opened."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.stat()  # the holder before may have removed it
        yield
    finally:
        os.close(handle)


def publish(finished: Path, target: Path, is_fit: Callable[[Path], bool]) -> None:
    """Move a finished folder to its final path. An existing target folder stays if it is fit, and
    the finished folder is then not moved. Otherwise the target is replaced. An empty target is
    always replaced.

    Use it only within staging(), which removes the folder that isn't used. Raises OSError if the
    folder can't be moved and there is no fit target, such as if the target is a file.

    Args:
        finished: the folder to move, in a folder of staging().
        target: its final path, whose parent folders are created.
        is_fit: function (folder) -> True if an existing target can be used.
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
    """Make a symbolic link to `target`, by a relative path, in one atomic step. Missing parent
    folders are created. An existing link or file is replaced. Raises OSError if the link can't be
    made, such as if `name` is a folder.

    Args:
        target: path that the link leads to. It need not exist.
        name: path of the link.
    """
    name.parent.mkdir(parents=True, exist_ok=True)
    fresh = name.with_name(f".{name.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(os.path.relpath(target, name.parent))
    fresh.replace(name)


def require_space(folder: Path, bytes_needed: int, work: str) -> None:
    """Raise SetupError unless the file system of an existing folder has `bytes_needed` free bytes.

    work: the work that needs them, such as "building the kernel", for the message.
    """
    free = shutil.disk_usage(folder).free
    if free < bytes_needed:
        raise SetupError(f"{work} needs {bytes_needed / 1e9:.1f} GB in {folder}, where "
                         f"{free // 10**8 / 10:.1f} GB are free; make room"
                         f"{or_another_cache(folder, 'with more')}")


def find_tool_link(name: str) -> Path | None:
    """Return the real path of a program that set-up has put into a cache, in the first cache that
    has it. None if no cache has it.

    name: name of the program.
    """
    for cache in caches():
        for folder in program_dirs(cache):
            if os.path.exists(folder / name):
                return Path(os.path.realpath(folder / name))
    return None

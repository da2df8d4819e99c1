# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary folders that are removed even after their process was killed (kill -9).

The process that creates a folder locks it (flock). The kernel releases the lock however the process
ends, so a folder whose lock is free is abandoned. Unlike a process number, a lock can't be reused,
and it also works across PID namespaces.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PREFIX = "flent-aqm-run-"
# New folders that are tried one after the other.
_TRIES = 100


class OwnedFolder:
    """A new temporary folder below TMPDIR, locked by this process. remove() removes it. If the
    process ends without that, however it ends, the next OwnedFolder that the same user makes in
    this TMPDIR removes it.

    Making one therefore removes all abandoned folders of this user. Raises OSError if the folder
    can't be created or locked.

    Attributes:
        path: the folder.
    """

    def __init__(self) -> None:
        remove_abandoned()
        for _ in range(_TRIES):
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            self._lock = _lock(self.path, wait=True)
            if self._lock is not None:
                return
            # Another process has taken it for an abandoned one, or the file system has no locks.
            _remove(self.path)
        raise OSError(errno.ENOLCK, f"no folder in {tempfile.gettempdir()} can be locked; set "
                                    "TMPDIR to a folder on another file system")

    def remove(self) -> None:
        """Remove the folder with its content, and release its lock. Errors are ignored: what can't
        be removed stays. May be called again."""
        _remove(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned() -> None:
    """Remove the folders of OwnedFolder in TMPDIR (their names begin with PREFIX) that belong to
    this user and whose process is gone, which shows in a lock that is free. Errors are ignored."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        lock = _lock(path, wait=False)
        if lock is not None:
            _remove(path)
            os.close(lock)


def _remove(path: Path) -> None:
    """Remove a folder with its content. Errors are ignored: what can't be removed stays."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    # What ran inside has made folders in folders in folders, too deep for Python.
    if os.path.lexists(path):
        subprocess.run(["rm", "-rf", "--", path], check=False, stderr=subprocess.DEVNULL)


def _lock(path: Path, *, wait: bool) -> int | None:
    """Lock a folder and return the file descriptor that holds the lock. Closing it releases the
    lock.

    Return None if the lock is held already, by this or another process, and `wait` is false, if the
    folder belongs to another user, if it is gone or replaced, or if it can't be opened or locked. A
    symbolic link is not followed: None.

    Args:
        wait: wait until the lock is released.
    """
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            status = os.fstat(handle)
            # Another process may have removed the folder before it was locked here.
            if status.st_uid == os.geteuid() and os.path.samestat(status, os.lstat(path)):
                return handle
        except OSError:
            pass
        os.close(handle)
    return None

# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary folders that don't outlive their process for long, even after kill -9.

Each is locked (flock) by the process that made it. The kernel drops the lock when the
process ends in whatever way, so a folder whose lock is free belongs to nobody; unlike
a process number, that can't be reused, and it holds across PID namespaces.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PREFIX = "flent-aqm-run-"


class OwnedFolder:
    """A new temporary folder. remove() ends it; so does, later, any process of the same user.

    path: where it is, below TMPDIR.
    """

    def __init__(self) -> None:
        remove_abandoned()
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            self._lock = _lock(self.path, wait=True)
            if self._lock is not None:
                return

    def remove(self) -> None:
        """Remove it with all that is in it. More than once is as good as once."""
        _remove(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned() -> None:
    """Remove this user's folders in TMPDIR whose process is gone."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        lock = _lock(path, wait=False)
        if lock is not None:
            _remove(path)
            os.close(lock)


def _remove(path: Path) -> None:
    try:
        shutil.rmtree(path, ignore_errors=True)
    except RecursionError:  # what ran inside has made folders in folders in folders
        subprocess.run(["rm", "-rf", "--", path], check=False, stderr=subprocess.DEVNULL)


def _lock(path: Path, *, wait: bool) -> int | None:
    """Return a handle that holds the folder's lock; None where another has it, or where it isn't
    ours or there any more."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            status = os.fstat(handle)
            # Between making and locking it, or finding and locking it, another may have
            # removed it.
            if status.st_uid == os.geteuid() and os.path.samestat(status, os.lstat(path)):
                return handle
        except OSError:
            pass
        os.close(handle)
    return None

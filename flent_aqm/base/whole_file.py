# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes files that appear whole or not at all, even if the process is killed.

A file is written under a temporary name and renamed when it is complete. A lock (flock) on the
temporary file shows that its writer is alive, because the kernel drops the lock when the process
ends. lab/folder.py does the same with folders.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from flent_aqm.base.regular_file import IRREGULAR

_SUFFIX = ".part"
_TRIES, _AGAIN_S = 50, 0.01
# Errors of creating a file that are about its folder, as there is no file yet.
_OF_THE_FOLDER = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS)


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """Context manager: yield a file open for writing bytes, which replaces `path` when the block
    ends without an error. After an error, `path` stays as it was, and the new file is removed. The
    folder must exist. Raises OSError if the file can't be written; its text names the folder if
    that is the reason. It is also raised if a pipe, device or socket is in the file's place, which
    would be lost.

    Threads of one process must not write the same path at once.
    """
    if not path.name:  # such as "."
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with contextlib.suppress(FileNotFoundError):
        kind = os.stat(path).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise OSError(errno.EINVAL, IRREGULAR, str(path))
    part = path.with_name(f".{path.name}.{os.getpid()}{_SUFFIX}")
    try:
        with _create_locked(part) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, which appears whole or not at all, in place of an existing one.
    The folder must exist. Raises OSError if the file can't be written, UnicodeEncodeError if the
    text has lone surrogates."""
    with written_whole(path) as file:
        file.write(text.encode())


def remove_abandoned(folders: Iterable[Path]) -> None:
    """Remove temporary files (.NAME.PID.part) that written_whole() does not hold locked: those of
    processes that were killed while they wrote. Files that can't be removed stay, and on a file
    system without locks all files.

    folders: folders to search, without their subfolders.
    """
    for folder in folders:
        for path in folder.glob(f".*.*{_SUFFIX}"):
            if not path.name.removesuffix(_SUFFIX).rpartition(".")[2].isdecimal():
                continue
            with contextlib.suppress(OSError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


def _create_locked(path: Path) -> IO[bytes]:
    """Create a file, or empty an existing one, and return it, open for writing bytes, and locked if
    the file system has locks. A file that another process keeps locked (see _take_lock()) is
    replaced by a new one. The caller closes it. Raises OSError if it can't be created."""
    while True:
        try:
            # Not through a link, which another user may have laid: its target would be emptied.
            file = os.fdopen(os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666), "wb")
        except OSError as error:
            if error.errno in _OF_THE_FOLDER:
                raise OSError(error.errno, f"{error.strerror}: folder {path.parent}", str(path)
                              ) from None
            if error.errno != errno.ELOOP:
                raise
            path.unlink(missing_ok=True)
            continue
        if not _take_lock(file):
            # Another user who may read the folder holds the lock, so a new file takes its place.
            path.unlink(missing_ok=True)
            file.close()
            continue
        with contextlib.suppress(OSError):
            # Another process may have removed the file before it was locked.
            if os.path.samestat(os.fstat(file.fileno()), os.lstat(path)):
                return file
        file.close()


def _take_lock(file: IO[bytes]) -> bool:
    """Lock a file. Return True, also on a file system without locks. Return False if another
    process keeps the lock for half a second: remove_abandoned() holds it only for a moment."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_AGAIN_S)
        except OSError:
            return True
        else:
            return True
    return False
